//! What a repository would make git run: whether its settings are those that `git init` and `git clone`
//! write, and nothing else.
//!
//! The list is of what is harmless. Git has hundreds of settings, and many of them name a program.

use std::fs;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Bytes of settings that are read; longer ones are not those of a new repository.
const GIT_SETTINGS_BYTES_MAX: u64 = 64 * 1024;

/// Settings by which git runs nothing, with the section they stand in.
const HARMLESS: [(&str, &[&str]); 4] = [
    (
        "core",
        &[
            "repositoryformatversion",
            "filemode",
            "bare",
            "logallrefupdates",
            "ignorecase",
            "precomposeunicode",
            "symlinks",
        ],
    ),
    ("remote", &["url", "fetch"]),
    ("branch", &["remote", "merge"]),
    ("user", &["name", "email"]),
];

/// Files that lead git to further settings.
pub(super) const LEADING: [&str; 2] = ["commondir", "config.worktree"];

/// Whether git runs nothing of its own accord in the repository whose inside this folder is.
pub(super) fn is_harmless(folder: &Path) -> bool {
    let is_absent = |name: &str| fs::symlink_metadata(folder.join(name)).is_err();
    let is_folder = fs::symlink_metadata(folder).is_ok_and(|it| it.is_dir());
    is_folder
        && LEADING.iter().all(|it| is_absent(it))
        && ["modules", "worktrees"].iter().all(|it| is_absent(it) || is_empty(&folder.join(it)))
        && (is_absent("hooks") || has_only_samples(&folder.join("hooks")))
        && (is_absent("config")
            || text_of(&folder.join("config")).is_some_and(|it| runs_nothing(&it)))
}

/// An error is no proof.
fn names_in(folder: &Path) -> Option<Vec<std::ffi::OsString>> {
    let is_folder = fs::symlink_metadata(folder).is_ok_and(|it| it.is_dir());
    let entries = is_folder.then(|| fs::read_dir(folder).ok()).flatten()?;
    entries.map(|it| it.ok().map(|it| it.file_name())).collect()
}

fn is_empty(folder: &Path) -> bool {
    names_in(folder).is_some_and(|it| it.is_empty())
}

fn has_only_samples(folder: &Path) -> bool {
    let is_sample = |it: &std::ffi::OsString| it.as_encoded_bytes().ends_with(b".sample");
    names_in(folder).is_some_and(|it| it.iter().all(is_sample))
}

fn text_of(path: &Path) -> Option<String> {
    let is_file = fs::symlink_metadata(path).is_ok_and(|it| it.is_file());
    let file = is_file.then(|| {
        fs::OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
            .open(path)
    });
    let mut text = String::new();
    let read = file?.ok()?.take(GIT_SETTINGS_BYTES_MAX + 1).read_to_string(&mut text).ok()?;
    (read as u64 <= GIT_SETTINGS_BYTES_MAX).then_some(text)
}

/// Understands one setting or heading in a line, as git itself writes them. Anything else may mean more to git.
fn runs_nothing(text: &str) -> bool {
    let mut allowed: &[&str] = &[];
    text.lines().all(|line| {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            return true;
        }
        if let Some(heading) = line.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
            let name = heading.split_once(" \"").map_or(heading, |(name, _)| name);
            let is_plain = !heading.contains(']');
            let known = HARMLESS.iter().find(|it| it.0 == name.to_ascii_lowercase());
            allowed = known.map_or(&[], |it| it.1);
            return is_plain && known.is_some();
        }
        let Some((name, value)) = line.split_once('=') else { return false };
        let name = name.trim().to_ascii_lowercase();
        !value.ends_with('\\') && allowed.contains(&name.as_str())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_writes_into_a_new_repository_is_harmless() {
        let text = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\
                    [remote \"origin\"]\n\turl = https://example.org/x\n\
                    \tfetch = +refs/heads/*:refs/remotes/origin/*\n\
                    [branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n";
        assert!(runs_nothing(text));
    }

    #[test]
    fn everything_else_is_not() {
        for text in [
            "[core]\nfsmonitor = x",
            "[Core]\nFsMonitor = x",
            "[core] fsmonitor = x",
            "[core]fsmonitor=x ; ]",
            "[core]\nbare = \\\nfsmonitor = x",
            "[core]\nbare",
            "[include]\npath = x",
            "[core.x]\nbare = x",
            "[user]\nbare = false",
            "[filter \"x\"]\nclean = x",
            "[core \"] fsmonitor = x # \"]",
            "bare = false",
        ] {
            assert!(!runs_nothing(text), "{text}");
        }
    }

    #[test]
    fn a_hook_or_a_lead_elsewhere_is_not_harmless() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        fs::create_dir(dir.join("hooks")).unwrap();
        fs::write(dir.join("hooks/pre-commit.sample"), "x").unwrap();
        fs::write(dir.join("config"), "[core]\n\tbare = false\n").unwrap();
        assert!(is_harmless(dir));
        for name in ["hooks/pre-commit", "commondir", "config.worktree", "modules", "worktrees"] {
            fs::write(dir.join(name), "x").unwrap();
            assert!(!is_harmless(dir), "{name}");
            fs::remove_file(dir.join(name)).unwrap();
        }
        fs::rename(dir.join("config"), dir.join("other")).unwrap();
        std::os::unix::fs::symlink("other", dir.join("config")).unwrap();
        assert!(!is_harmless(dir));
    }
}
