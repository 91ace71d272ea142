use super::*;

const ALL: [StandIn; 3] = [StandIn::Folder, StandIn::EmptyFile, StandIn::OwnCommonDir];

#[test]
fn a_placeholder_lasts_as_long_as_the_last_sandbox_that_holds_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("SOUL.md");
    for stand_in in ALL {
        let first = Placeholder::hold(&path, stand_in).unwrap().unwrap();
        let second = Placeholder::hold(&path, stand_in).unwrap().unwrap();
        drop(first);
        assert!(is_placeholder_at(&path));
        drop(second);
        assert!(!path.exists());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_file_or_folder_of_the_owner_is_never_taken_for_a_placeholder() {
    let folder = tempfile::tempdir().unwrap();
    let (file, dir) = (folder.path().join("SOUL.md"), folder.path().join("memory"));
    fs::write(&file, "").unwrap();
    fs::create_dir(&dir).unwrap();
    for path in [file, dir] {
        assert!(Placeholder::hold(&path, StandIn::Folder).unwrap().is_none());
        make_way(&path).unwrap();
        assert!(path.exists());
    }
}

#[test]
fn what_a_power_cut_left_behind_is_removed_by_the_next_run_or_for_the_owner() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("commondir");
    for stand_in in ALL {
        create(&path, stand_in).unwrap();
        drop(Placeholder::hold(&path, stand_in).unwrap().unwrap());
        assert!(!path.exists());
        create(&path, stand_in).unwrap();
        make_way(&path).unwrap();
        assert!(!path.exists());
    }
    // Its text had not reached the disk.
    create(&path, StandIn::EmptyFile).unwrap();
    let held = Placeholder::hold(&path, StandIn::OwnCommonDir).unwrap().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), ".\n");
    drop(held);
}

#[test]
fn the_owner_is_told_while_a_sandbox_needs_the_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("SOUL.md");
    let held = Placeholder::hold(&path, StandIn::Folder).unwrap().unwrap();
    assert!(make_way(&path).unwrap_err().to_string().contains("a command of the agent runs"));
    assert!(is_placeholder_at(&path));
    drop(held);
}

#[test]
fn a_folder_that_was_filled_meanwhile_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(".kith");
    let held = Placeholder::hold(&path, StandIn::Folder).unwrap().unwrap();
    let writable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&path, writable).unwrap();
    fs::write(path.join("state.db"), "x").unwrap();
    drop(held);
    assert!(path.join("state.db").exists());
}
