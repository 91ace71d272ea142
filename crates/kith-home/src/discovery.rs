//! The folders whose project instructions count.
//!
//! From `cwd` upward, but never further than one's own: to the root of the repository, else to the
//! last folder below the user's home, else not at all. A file that someone planted in a folder
//! above must not load. The user's home itself is never a project, not even as a repository.

use std::path::{Path, PathBuf};

use crate::placeholder::is_placeholder;

/// More folders than a path of any system can have: a repository must be found from any depth inside
/// it.
pub const WALK_FOLDERS_MAX: usize = 4096;

/// The entries by which the root of a repository is known: each a folder or a file.
pub const REPOSITORY_ENTRIES: [&str; 4] = [".git", ".hg", ".jj", ".svn"];

/// Whether the folder is the root of a repository.
pub fn holds_repository(folder: &Path) -> bool {
    // While a sandbox runs, an absent `.git` has a placeholder.
    let is_there =
        |entry: &&str| folder.join(entry).symlink_metadata().is_ok_and(|it| !is_placeholder(&it));
    REPOSITORY_ENTRIES.iter().any(is_there)
}

/// The root of the innermost repository that holds a folder.
pub fn repository_root(cwd: &Path) -> Option<PathBuf> {
    let mut folders = cwd.ancestors().take(WALK_FOLDERS_MAX);
    folders.find(|folder| holds_repository(folder)).map(Path::to_owned)
}

/// The folders whose `AGENTS.md` and skills are those of the project, far to near. All paths are canonical.
pub(crate) fn project_folders(
    cwd: &Path,
    repository: Option<&Path>,
    user_home: Option<&Path>,
) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = match (repository, user_home) {
        (Some(root), _) => upward(cwd).take_while(|it| it.starts_with(root)).collect(),
        (None, Some(user_home)) if cwd.starts_with(user_home) => {
            upward(cwd).take_while(|it| it != user_home).collect()
        }
        (None, _) => vec![cwd.to_owned()],
    };
    folders.retain(|it| Some(it.as_path()) != user_home);
    folders.reverse();
    folders
}

fn upward(cwd: &Path) -> impl Iterator<Item = PathBuf> {
    cwd.ancestors().take(WALK_FOLDERS_MAX).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_a_repository_the_walk_ends_at_its_root() {
        check(
            "/u/x/repo/a/b",
            Some("/u/x/repo"),
            "/u/x",
            &["/u/x/repo", "/u/x/repo/a", "/u/x/repo/a/b"],
        );
        check("/srv/repo", Some("/srv/repo"), "/u/x", &["/srv/repo"]);
        // A home that is kept in a repository is still no project.
        check("/u/x/a", Some("/u/x"), "/u/x", &["/u/x/a"]);
    }

    #[test]
    fn without_a_repository_it_ends_before_the_users_home() {
        check("/u/x/a/b", None, "/u/x", &["/u/x/a", "/u/x/a/b"]);
        check("/u/x", None, "/u/x", &[]);
    }

    #[test]
    fn elsewhere_only_the_folder_itself_counts() {
        check("/tmp/a/b", None, "/u/x", &["/tmp/a/b"]);
        check("/u/xy/a", None, "/u/x", &["/u/xy/a"]);
    }

    #[track_caller]
    fn check(cwd: &str, repository: Option<&str>, user_home: &str, expected: &[&str]) {
        let folders =
            project_folders(Path::new(cwd), repository.map(Path::new), Some(Path::new(user_home)));
        let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
        assert_eq!(folders, expected);
    }
}
