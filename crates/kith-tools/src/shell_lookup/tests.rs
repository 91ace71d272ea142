use std::os::unix::fs::symlink;

use kith_shell::gather::{ShellRequest, gather};
use tempfile::TempDir;

use super::*;

struct Project {
    folder: TempDir,
    lookup: DiskLookup,
}

impl Project {
    fn new() -> Project {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        for name in ["repo/src", "repo/bin", "system/bin", "elsewhere", "user/.ssh"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        for name in ["repo/bin/cat", "system/bin/cat", "system/bin/ls"] {
            fs::write(root.join(name), "").unwrap();
            fs::set_permissions(root.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let places = Places {
            workspace: vec![root.join("repo")],
            cwd: root.join("repo"),
            house: root.join("house"),
            homes: vec![root.join("house")],
            user_home: Some(root.join("user")),
            ..Places::default()
        };
        let program_folders = vec![root.join("repo/bin"), root.join("system/bin")];
        Project { folder, lookup: DiskLookup { places, program_folders } }
    }

    fn root(&self) -> PathBuf {
        fs::canonicalize(self.folder.path()).unwrap()
    }

    fn zone(&self, path: &str) -> Zone {
        self.lookup.path(&self.root().join(path)).zone
    }

    fn place(&self, name: &str) -> ProgramPlace {
        self.lookup.program(name, &self.root().join("repo")).place
    }
}

#[test]
fn a_link_is_judged_by_its_name_and_by_where_it_leads() {
    let project = Project::new();
    let root = project.root();
    symlink(root.join("user/.ssh"), root.join("repo/docs")).unwrap();
    symlink(root.join("repo/AGENTS.md"), root.join("repo/notes.md")).unwrap();
    symlink("src", root.join("repo/skip")).unwrap();
    fs::write(root.join("repo/AGENTS.md"), "x").unwrap();
    assert_eq!(project.zone("repo/docs/new_file"), Zone::Secret);
    assert_eq!(project.zone("repo/notes.md"), Zone::Oneself);
    assert_eq!(project.zone("repo/skip/../../elsewhere/x"), Zone::Outside);
    assert_eq!(project.zone("repo/skip/../src/x"), Zone::Workspace);
}

#[test]
fn a_program_planted_in_the_workspace_is_found_there() {
    let project = Project::new();
    assert_eq!(project.place("cat"), ProgramPlace::Workspace);
    assert_eq!(project.place("ls"), ProgramPlace::System);
    assert_eq!(project.place("./bin/cat"), ProgramPlace::Workspace);
    assert_eq!(project.place("no-such-program"), ProgramPlace::Unknown);
    // An installed name that leads to a file of the workspace.
    let root = project.root();
    symlink(root.join("repo/bin/cat"), root.join("system/bin/tool")).unwrap();
    assert_eq!(project.place("tool"), ProgramPlace::Workspace);
}

#[test]
fn relative_paths_follow_a_change_of_folder() {
    let project = Project::new();
    let cwd = project.root().join("repo");
    let zones = |command: &str| {
        let request = ShellRequest { command, cwd: &cwd, network: false, unsandboxed: false };
        let facts = gather(&request, &project.lookup);
        let last = facts.segments.last().unwrap();
        last.paths.iter().map(|it| it.zone).collect::<Vec<Zone>>()
    };
    assert_eq!(zones("cd src && touch ../x"), [Zone::Workspace]);
    assert_eq!(zones("touch ../x"), [Zone::Outside]);
    // Without `&&`, the folder may be either.
    assert_eq!(zones("cd src; touch ../x"), [Zone::Outside, Zone::Workspace]);
    assert_eq!(zones("(cd src && ls) && touch ../x"), [Zone::Outside]);
    assert_eq!(zones("cd ../elsewhere && touch x"), [Zone::Outside]);
    assert_eq!(zones("cat ~/.ssh/config"), [Zone::Secret]);
}

#[test]
fn a_path_of_very_many_parts_is_resolved_to_its_end() {
    let project = Project::new();
    let root = project.root();
    symlink(root.join("user/.ssh"), root.join("repo/docs")).unwrap();
    let path = format!("repo/{}docs/key", "src/../".repeat(200));
    assert_eq!(project.zone(&path), Zone::Secret);
}

#[test]
fn a_link_to_what_does_not_exist_is_something() {
    let project = Project::new();
    let root = project.root();
    symlink(root.join("elsewhere/new"), root.join("repo/link")).unwrap();
    assert_eq!(project.lookup.path(&root.join("repo/link")).entry, PathEntry::Special);
    assert_eq!(project.lookup.path(&root.join("repo/none")).entry, PathEntry::Absent);
}
