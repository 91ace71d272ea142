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
fn a_folder_above_a_guard_is_pinned_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().canonicalize().unwrap();
    fs::create_dir(dir.join(".git")).unwrap();
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
