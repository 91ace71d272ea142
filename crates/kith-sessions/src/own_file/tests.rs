use std::os::unix::fs::{chown, symlink};

use tempfile::TempDir;

use super::*;

/// The user and group id of `nobody` on Linux.
const NOBODY: u32 = 65534;

#[test]
fn only_a_plain_file_of_ours_with_one_name_is_opened() {
    let (dir, kith_dir) = house();
    let (path, letter) = (kith_dir.join("file"), dir.path().join("letter"));
    fs::write(&letter, "dear friend").unwrap();
    check(&path, None);
    fs::write(&path, "mine").unwrap();
    check(&path, None);
    fs::remove_file(&path).unwrap();
    symlink(&letter, &path).unwrap();
    check(&path, Some(LINK));
    fs::remove_file(&path).unwrap();
    symlink(dir.path().join("nothing"), &path).unwrap();
    check(&path, Some(LINK));
    fs::remove_file(&path).unwrap();
    fs::hard_link(&letter, &path).unwrap();
    check(&path, Some(SECOND_NAME));
    fs::remove_file(&path).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    check(&path, Some(NOT_PLAIN));
    fs::remove_file(&path).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    check(&path, Some(NOT_PLAIN));
    assert_eq!(fs::read_to_string(&letter).unwrap(), "dear friend");
    assert!(!dir.path().join("nothing").exists());
}

#[test]
fn no_folder_up_to_the_kith_folder_is_a_link() {
    let (dir, kith_dir) = house();
    let elsewhere = dir.path().join("elsewhere");
    fs::create_dir_all(elsewhere.join("sessions")).unwrap();
    symlink(elsewhere.join("sessions"), kith_dir.join("sessions")).unwrap();
    let refused =
        |path: &Path| open(path, OpenOptions::new().write(true).create(true)).unwrap_err();
    let error = refused(&kith_dir.join("sessions/x.jsonl"));
    assert_eq!(foreign_file(&error).unwrap().path, kith_dir.join("sessions"));
    assert_eq!(
        check_folder(&kith_dir.join("sessions")).unwrap_err().to_string(),
        error.to_string()
    );
    fs::remove_dir_all(&kith_dir).unwrap();
    symlink(&elsewhere, &kith_dir).unwrap();
    let error = refused(&kith_dir.join("sessions/x.jsonl"));
    assert_eq!(foreign_file(&error).unwrap().path, kith_dir);
    assert_eq!(fs::read_dir(elsewhere.join("sessions")).unwrap().count(), 0);
    // A house may be reached through a link: only what could come with it is looked at.
    fs::remove_file(&kith_dir).unwrap();
    fs::create_dir(&kith_dir).unwrap();
    symlink(dir.path(), elsewhere.join("house")).unwrap();
    refused_nothing(&elsewhere.join("house/.kith/file"));
}

#[test]
fn what_belongs_to_another_user_is_not_opened() {
    let (_dir, kith_dir) = house();
    let path = kith_dir.join("file");
    fs::write(&path, "mine").unwrap();
    if our_uid() != 0 {
        // Nobody but root can give a file away.
        return;
    }
    chown(&path, Some(NOBODY), None).unwrap();
    check(&path, Some(OTHER_OWNER));
    chown(&path, Some(0), None).unwrap();
    check(&path, None);
    chown(&kith_dir, Some(NOBODY), None).unwrap();
    check(&path, Some(OTHER_OWNER));
}

#[track_caller]
fn check(path: &Path, problem: Option<&str>) {
    let problem_of = |error: io::Error| foreign_file(&error).map(|it| it.problem);
    for options in [OpenOptions::new().read(true), OpenOptions::new().append(true)] {
        let found = open(path, options).err();
        let is_absent = found.as_ref().is_some_and(|it| it.kind() == io::ErrorKind::NotFound);
        assert_eq!(found.filter(|_| !is_absent).and_then(problem_of), problem);
    }
    assert_eq!(metadata(path).err().and_then(problem_of), problem);
}

fn refused_nothing(path: &Path) {
    open(path, OpenOptions::new().write(true).create(true).truncate(false)).unwrap();
}

fn house() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let kith_dir = dir.path().join(".kith");
    fs::create_dir(&kith_dir).unwrap();
    (dir, kith_dir)
}
