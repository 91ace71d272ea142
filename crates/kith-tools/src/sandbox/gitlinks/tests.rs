use std::os::unix::fs::{PermissionsExt, symlink};

use tempfile::TempDir;

use super::super::plan::{SandboxPlaces, plan};
use super::*;

/// A workspace with a repository of the owner, as a command finds it.
struct Workspace {
    _folder: TempDir,
    dir: PathBuf,
}

const PLANTED: &str = "[core]\n\tfsmonitor = ./plant\n";

impl Workspace {
    fn new() -> Workspace {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().canonicalize().unwrap().join("project");
        let workspace = Workspace { dir, _folder: folder };
        workspace.write(".git/HEAD", "ref: refs/heads/main\n");
        workspace.write(".git/config", "[core]\n\tbare = false\n");
        workspace
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn view(&self) -> SandboxView {
        let places = SandboxPlaces {
            workspace: self.dir.clone(),
            cwd: self.dir.clone(),
            house: PathBuf::from("/elsewhere"),
            ..SandboxPlaces::default()
        };
        plan(&places, false).unwrap()
    }

    /// What `command` does, and then what is done when a command has ended.
    fn after(&self, command: impl FnOnce()) {
        let view = self.view();
        let before = Repositories::of(&view);
        command();
        before.disarm_new(&view, &[]);
    }

    fn has(&self, path: &str) -> bool {
        fs::symlink_metadata(self.dir.join(path)).is_ok()
    }
}

#[test]
fn many_files_do_not_hide_a_repository_that_a_command_makes() {
    let workspace = Workspace::new();
    workspace.after(|| {
        for n in 0..6_000 {
            workspace.write(&format!("many/{n}"), "");
        }
        workspace.write("z/deep/.git/HEAD", "ref: refs/heads/main\n");
        workspace.write("z/deep/.git/config", PLANTED);
    });
    assert!(!workspace.has("z/deep/.git"));
}

#[test]
fn a_repository_in_a_folder_that_a_command_has_closed_is_renamed() {
    let workspace = Workspace::new();
    workspace.after(|| {
        workspace.write("closed/sub/.git/HEAD", "ref: refs/heads/main\n");
        workspace.write("closed/sub/.git/config", PLANTED);
        let closed = fs::Permissions::from_mode(0o311);
        fs::set_permissions(workspace.dir.join("closed"), closed).unwrap();
    });
    assert!(!workspace.has("closed/sub/.git"));
}

#[test]
fn a_repository_that_is_moved_with_the_folder_around_it_is_renamed() {
    let workspace = Workspace::new();
    workspace.write("../hidden/sub/.git/HEAD", "ref: refs/heads/main\n");
    workspace.write("../hidden/sub/.git/config", PLANTED);
    workspace.write("known/.git/HEAD", "ref: refs/heads/main\n");
    workspace.write("known/.git/config", PLANTED);
    let view = workspace.view();
    // As if all of them were older than the command.
    let before = Repositories { began: i64::MAX, ..Repositories::of(&view) };
    fs::rename(workspace.dir.join("../hidden"), workspace.dir.join("moved")).unwrap();
    before.disarm_new(&view, &[]);
    assert!(!workspace.has("moved/sub/.git"));
    assert!(workspace.has("known/.git"), "what was there before is the owner's");
}

#[test]
fn a_look_that_ends_early_says_so() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a", "b", "c"] {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("file"), "").unwrap();
    }
    assert!(WorkspaceContents::among(folder.path(), 3).is_cut);
    assert!(!WorkspaceContents::among(folder.path(), 4).is_cut);
}

#[test]
fn steps_that_a_command_adds_to_a_rebase_do_not_run_and_those_of_the_owner_do() {
    let workspace = Workspace::new();
    let todo = ".git/rebase-merge/git-rebase-todo";
    workspace.write(todo, "pick 1\nexec make\n");
    workspace.after(|| workspace.write(todo, "exec make\n"));
    assert!(workspace.has(todo), "nothing was added");
    workspace.after(|| workspace.write(todo, "exec make\n  x ./plant\n"));
    assert!(!workspace.has(todo));
    workspace.after(|| {
        let folder = workspace.dir.join(".git/rebase-merge");
        fs::remove_dir_all(&folder).unwrap();
        workspace.write("steps/git-rebase-todo", "exec ./plant\n");
        symlink("../steps", folder).unwrap();
    });
    assert!(!workspace.has(".git/rebase-merge"));
    // Its own rebase goes on with the next command.
    workspace.after(|| workspace.write(todo, "pick 1\nfixup 2\n"));
    assert!(workspace.has(todo));
}

#[test]
fn a_lock_of_settings_that_a_command_leaves_is_renamed_and_the_owners_stays() {
    let workspace = Workspace::new();
    workspace.after(|| workspace.write(".git/config.lock", ""));
    assert!(!workspace.has(".git/config.lock"));
    workspace.write(".git/config.lock", "");
    workspace.after(|| ());
    assert!(workspace.has(".git/config.lock"));
}
