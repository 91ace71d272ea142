use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::Mutex;

use kith_vocab::event::Event;
use tempfile::TempDir;

use super::*;
use crate::desk::Desk;
use crate::samples::{header, long, notice, session_id, user};

#[tokio::test]
async fn a_copy_holds_every_session_its_blobs_and_the_desk_and_nothing_derived() {
    let folder = TempDir::new().unwrap();
    let (from, to) = (folder.path().join("from/.kith"), folder.path().join("to/.kith"));
    let store = SessionStore::new(Arc::new(DiskFiles), &from);
    let events = [user(1, None, &long('a')), notice(2, "b")];
    store.create(&header(1), &events).unwrap();
    store.create(&header(2), &[notice(1, "c")]).unwrap();
    drop(SqliteDesk::open(&from.join("state.db"), "device".to_owned()).await.unwrap());
    for name in ["index.db", "index.db-wal", "host.lock", "threads/x.jsonl", "memory/project.md"] {
        fs::create_dir_all(from.join(name).parent().unwrap()).unwrap();
        fs::write(from.join(name), "x").unwrap();
    }
    symlink("/etc/passwd", from.join("memory/link")).unwrap();

    let mut copied = BackupCopy::default();
    copied.add_kith_dir(&from, &to).await.unwrap();
    let copied = copied.counts;
    assert_eq!((copied.sessions, copied.left_out.len()), (2, 1), "{copied:?}");
    let copy = SessionStore::new(Arc::new(DiskFiles), &to);
    let mut read = Vec::new();
    let reading = copy.read(session_id(1), None, &mut |event: Event| read.push(event)).unwrap();
    assert_eq!((reading.tail, read.as_slice()), (Tail::Clean, events.as_slice()));
    let desk = SqliteDesk::open_read_only(&to.join("state.db")).await.unwrap().unwrap();
    assert_eq!(desk.device_id(), "device");
    let mut names: Vec<_> = fs::read_dir(&to).unwrap().map(|it| it.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["blobs", "memory", "sessions", "state.db"]);
    let mode = fs::metadata(copy.path(session_id(1))).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn a_batch_that_was_being_written_is_not_in_the_copy() {
    let folder = TempDir::new().unwrap();
    let (from, to) = (folder.path().join("from/.kith"), folder.path().join("to/.kith"));
    let store = SessionStore::new(Arc::new(DiskFiles), &from);
    store.create(&header(1), &[notice(1, "a")]).unwrap();
    let path = store.path(session_id(1));
    let whole = fs::read(&path).unwrap();
    fs::write(&path, [whole.as_slice(), b"{\"seq\":2,"].concat()).unwrap();
    BackupCopy::default().add_kith_dir(&from, &to).await.unwrap();
    let copy = SessionStore::new(Arc::new(DiskFiles), &to);
    assert_eq!(fs::read(copy.path(session_id(1))).unwrap(), whole);
    assert_eq!(fs::read(&path).unwrap().len(), whole.len() + 9, "the source is as it was");
}

#[test]
fn folders_that_never_end_are_refused() {
    let folder = TempDir::new().unwrap();
    let deep: PathBuf = std::iter::repeat_n("d", DEPTH_MAX + 2).collect();
    fs::create_dir_all(folder.path().join("from").join(deep)).unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let error = BackupCopy::default().add(&from, &to).unwrap_err();
    assert!(matches!(error, BackupError::Copy { .. }), "{error}");
}

#[tokio::test]
async fn a_copy_that_is_given_up_leaves_nothing_and_a_whole_one_has_its_name() {
    let folder = TempDir::new().unwrap();
    let (house, target) = (folder.path().join("house"), folder.path().join("copy"));
    fs::create_dir_all(&house).unwrap();
    fs::write(house.join("Agent.md"), "be kind").unwrap();
    let entries = || fs::read_dir(folder.path()).unwrap().count();
    let mut given_up = Backup::begin(&target).unwrap();
    given_up.add(&house, Path::new("Agent.md")).unwrap();
    assert_eq!((entries(), target.exists()), (2, false));
    drop(given_up);
    assert_eq!(entries(), 1);

    let mut backup = Backup::begin(&target).unwrap();
    for name in ["Agent.md", "SOUL.md"] {
        backup.add(&house, Path::new(name)).unwrap();
    }
    backup.add_kith_dir(&house).await.unwrap();
    assert_eq!(backup.finish().unwrap().files, 1);
    assert_eq!(fs::read_to_string(target.join("Agent.md")).unwrap(), "be kind");
    assert_eq!(entries(), 2);
}

#[tokio::test]
async fn each_file_is_reported_when_it_is_copied() {
    let folder = TempDir::new().unwrap();
    let (house, target) = (folder.path().join("house"), folder.path().join("copy"));
    let store = SessionStore::new(Arc::new(DiskFiles), &house.join(".kith"));
    for n in [1, 2] {
        store.create(&header(n), &[notice(1, "a")]).unwrap();
    }
    let reports = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&reports);
    let report = move |copied: &BackupCounts| told.lock().unwrap().push(copied.clone());
    let mut backup = Backup::begin(&target).unwrap().reporting(report);
    backup.add_kith_dir(&house).await.unwrap();
    let whole = backup.finish().unwrap();
    let reports = reports.lock().unwrap();
    assert_eq!(reports.len() as u64, whole.files);
    assert!(reports.is_sorted_by_key(|it| (it.files, it.bytes)));
    assert_eq!(reports.last().map(|it| it.bytes), Some(whole.bytes));
}

#[tokio::test]
async fn a_session_that_was_removed_meanwhile_is_not_in_the_copy() {
    let folder = TempDir::new().unwrap();
    let (from, to) = (folder.path().join("from/.kith"), folder.path().join("to/.kith"));
    let store = SessionStore::new(Arc::new(DiskFiles), &from);
    for n in [1, 2] {
        store.create(&header(n), &[user(1, None, &long('a'))]).unwrap();
    }
    let mut copied = BackupCopy::default();
    copied.add_sessions(&from, &to, None).await.unwrap();
    let both = copied.counts.clone();
    store.remove(session_id(1)).unwrap();
    copied.leave_out_removed(&from, &to).unwrap();
    let copied = copied.counts;
    let copy = SessionStore::new(Arc::new(DiskFiles), &to);
    assert_eq!(copy.list().unwrap(), [session_id(2)]);
    assert_eq!((copied.sessions, copied.files), (both.sessions - 1, both.files - 1));
    assert!(copied.bytes < both.bytes);
}

#[tokio::test]
async fn a_desk_is_copied_to_a_path_of_any_bytes() {
    use std::os::unix::ffi::OsStrExt;

    let folder = TempDir::new().unwrap();
    let odd = folder.path().join(std::ffi::OsStr::from_bytes(b"caf\xe9 %20?#"));
    let desk =
        SqliteDesk::open(&folder.path().join("state.db"), "device".to_owned()).await.unwrap();
    fs::create_dir(&odd).unwrap();
    desk.copy_to(&odd.join("state.db")).await.unwrap();
    let copy = SqliteDesk::open(&odd.join("state.db"), "another".to_owned()).await.unwrap();
    assert_eq!(copy.device_id(), "device");
}
