use kith_home::placeholder::{Placeholder, StandIn};
use kith_home::protected::{HOME_FILES, HOUSE_SELF, PROMPT_FILES};

use super::super::spec::{GuardKind, PathGuard};
use super::*;

fn places(folder: &Path) -> SandboxPlaces {
    SandboxPlaces {
        workspace: folder.to_owned(),
        cwd: folder.to_owned(),
        homes: vec![folder.to_owned()],
        house: folder.to_owned(),
        ..SandboxPlaces::default()
    }
}

fn guard_of<'a>(view: &'a SandboxView, path: &Path) -> Option<&'a PathGuard> {
    view.guards.iter().find(|it| it.path == path)
}

#[test]
fn the_self_is_guarded_whether_it_exists_or_not() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().canonicalize().unwrap();
    fs::write(dir.join("Agent.md"), "x").unwrap();
    let view = plan(&places(&dir), false).unwrap();
    for name in HOME_FILES.iter().chain(&HOUSE_SELF) {
        let guard = guard_of(&view, &dir.join(name)).unwrap();
        assert_eq!((guard.kind, guard.is_writable_place), (GuardKind::ReadOnly, true), "{name}");
    }
    assert_eq!(guard_of(&view, &dir.join(".kith")).unwrap().kind, GuardKind::Masked);
    assert_eq!(guard_of(&view, &dir.join(".git")).unwrap().kind, GuardKind::ReadOnly);
}

#[test]
fn further_folders_of_skills_are_guarded_whether_they_exist_or_not() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().canonicalize().unwrap();
    fs::create_dir_all(dir.join("more/skills")).unwrap();
    let skills = vec![dir.join("more/skills"), dir.join("later"), PathBuf::from("/elsewhere")];
    let view = plan(&SandboxPlaces { skills, ..places(&dir) }, false).unwrap();
    for (name, kind) in [
        ("more/skills", GuardKind::ReadOnly),
        ("more", GuardKind::Pinned),
        ("later", GuardKind::ReadOnly),
    ] {
        assert_eq!(guard_of(&view, &dir.join(name)).unwrap().kind, kind, "{name}");
    }
    assert_eq!(guard_of(&view, Path::new("/elsewhere")), None);
}

#[test]
fn a_folder_above_a_guard_is_pinned_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().canonicalize().unwrap();
    fs::create_dir(dir.join(".git")).unwrap();
    fs::write(dir.join(".git/HEAD"), "x").unwrap();
    let view = plan(&places(&dir), false).unwrap();
    let place = |path: PathBuf| view.guards.iter().position(|it| it.path == path).unwrap();
    assert_eq!(view.guards[place(dir.join(".git"))].kind, GuardKind::Pinned);
    assert!(place(dir.join(".git")) < place(dir.join(".git/config")));
}

#[test]
fn a_workspace_that_holds_a_home_or_the_system_is_refused() {
    for (workspace, home) in [
        ("/", "/home/x"),
        ("/home", "/home/x"),
        ("/usr/src", "/home/x"),
        ("/tmp", "/home/x"),
        ("/home", "/u/x"),
        ("/root", "/home/x"),
        ("/run/x", "/home/x"),
    ] {
        let places =
            SandboxPlaces { user_home: Some(PathBuf::from(home)), ..places(Path::new(workspace)) };
        assert!(plan(&places, false).is_err(), "{workspace}");
    }
}

#[test]
fn the_users_home_is_no_workspace() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().canonicalize().unwrap();
    let at_home = SandboxPlaces { user_home: Some(dir.clone()), ..places(&dir) };
    assert!(plan(&at_home, false).unwrap_err().contains("is your home folder"));
    let also_writable = SandboxPlaces {
        writable: vec![dir.clone()],
        ..SandboxPlaces { user_home: Some(dir.clone()), ..places(&dir.join("project")) }
    };
    assert!(plan(&also_writable, false).unwrap_err().contains("is your home folder"));
}

#[test]
fn secrets_in_a_workspace_that_is_a_part_of_the_home_are_masked() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().canonicalize().unwrap();
    let dir = home.join(".config");
    fs::create_dir_all(dir.join("gh")).unwrap();
    let places = SandboxPlaces { user_home: Some(home), ..places(&dir) };
    let view = plan(&places, false).unwrap();
    assert_eq!(guard_of(&view, &dir.join("gh")).unwrap().kind, GuardKind::Masked);
    assert_eq!(guard_of(&view, &dir.join("autostart")).unwrap().kind, GuardKind::ReadOnly);
    // Of what does not exist, the first folder that would have to be made.
    assert_eq!(guard_of(&view, &dir.join("gcloud")).unwrap().kind, GuardKind::Masked);
}

#[test]
fn every_folder_between_a_writable_one_and_a_home_is_pinned() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().canonicalize().unwrap();
    let home = dir.join("a/b/home");
    fs::create_dir_all(&home).unwrap();
    let places = SandboxPlaces { homes: vec![home.clone()], ..places(&dir) };
    let view = plan(&places, false).unwrap();
    let kind_of = |path: &Path| view.mounts.iter().find(|it| it.path == path).map(|it| &it.kind);
    assert_eq!(kind_of(&home), Some(&MountKind::ReadOnly));
    assert_eq!(kind_of(&dir.join("a/b")), Some(&MountKind::Writable));
    assert_eq!(kind_of(&dir.join("a")), Some(&MountKind::Writable));
}

#[test]
fn prompt_files_are_guarded_in_every_folder_of_the_chain() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().canonicalize().unwrap();
    let cwd = dir.join("a/b");
    fs::create_dir_all(&cwd).unwrap();
    let places = SandboxPlaces {
        workspace: dir.clone(),
        cwd: cwd.clone(),
        house: PathBuf::from("/elsewhere"),
        ..SandboxPlaces::default()
    };
    let view = plan(&places, false).unwrap();
    for folder in [&dir, &dir.join("a"), &cwd] {
        for name in PROMPT_FILES.iter().chain(&["kith.toml", ".kith", ".git"]) {
            assert!(guard_of(&view, &folder.join(name)).is_some(), "{name}");
        }
    }
}

#[test]
fn links_on_the_way_to_a_guard_and_what_they_end_at_are_guarded() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().canonicalize().unwrap();
    fs::create_dir(dir.join("notes")).unwrap();
    std::os::unix::fs::symlink("hop", dir.join("USER.md")).unwrap();
    std::os::unix::fs::symlink("./notes/../notes/user.md", dir.join("hop")).unwrap();
    // A link that leads to itself is guarded too, and is no hang.
    std::os::unix::fs::symlink("SOUL.md", dir.join("SOUL.md")).unwrap();
    let view = plan(&places(&dir), false).unwrap();
    for (name, kind) in [
        ("USER.md", GuardKind::ReadOnly),
        ("hop", GuardKind::ReadOnly),
        ("notes", GuardKind::Pinned),
        ("notes/user.md", GuardKind::ReadOnly),
        ("SOUL.md", GuardKind::ReadOnly),
    ] {
        assert_eq!(guard_of(&view, &dir.join(name)).unwrap().kind, kind, "{name}");
    }
}

#[test]
fn what_stands_for_a_folder_is_not_looked_into() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().canonicalize().unwrap();
    std::os::unix::fs::symlink("notes/deep/soul.md", dir.join("SOUL.md")).unwrap();
    let guarded = |view: &SandboxView| guard_of(view, &dir.join("notes")).map(|it| it.kind);
    assert_eq!(guarded(&plan(&places(&dir), false).unwrap()), Some(GuardKind::ReadOnly));
    let held = Placeholder::hold(&dir.join("notes"), StandIn::Folder).unwrap();
    assert_eq!(guarded(&plan(&places(&dir), false).unwrap()), Some(GuardKind::ReadOnly));
    drop(held);
}

#[test]
fn what_git_is_told_to_run_and_start_up_files_are_guarded_where_they_lie() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().canonicalize().unwrap();
    let dir = home.join("project");
    for name in [".git/hooks", "scripts", "nvim"] {
        fs::create_dir_all(dir.join(name)).unwrap();
    }
    let settings = "[core]\nhooksPath = githooks\n[include]\npath = ../more.inc\n\
                    [filter \"x\"]\nclean = scripts/clean\n";
    for (name, text) in [
        (".git/HEAD", "x"),
        (".git/config", settings),
        ("scripts/pre-commit", ""),
        ("scripts/clean", ""),
        ("bashrc", ""),
    ] {
        fs::write(dir.join(name), text).unwrap();
    }
    let link = |target: &str, path: PathBuf| std::os::unix::fs::symlink(target, path).unwrap();
    link("../../scripts/pre-commit", dir.join(".git/hooks/pre-commit"));
    link("project/bashrc", home.join(".bashrc"));
    fs::create_dir(home.join(".config")).unwrap();
    link("../project/nvim", home.join(".config/nvim"));
    let view = plan(&SandboxPlaces { user_home: Some(home), ..places(&dir) }, false).unwrap();
    for name in ["scripts/pre-commit", "scripts/clean", "githooks", "bashrc", "nvim", "more.inc"] {
        assert_eq!(guard_of(&view, &dir.join(name)).unwrap().kind, GuardKind::ReadOnly, "{name}");
    }
    assert_eq!(guard_of(&view, &dir.join("scripts")).unwrap().kind, GuardKind::Pinned);
    assert_eq!(guard_of(&view, &dir.join("more.inc")).unwrap().stand_in, StandIn::EmptyFile);
}
