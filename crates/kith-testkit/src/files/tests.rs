use std::io::Read as _;

use super::*;

const FOLDER: &str = "/house";
const FILE: &str = "/house/log";

/// A file whose name and whose first four bytes are durable.
fn synced() -> (MemoryFiles, Box<dyn AppendFile>) {
    let files = MemoryFiles::new();
    files.create_dir_all(Path::new(FOLDER)).unwrap();
    let mut file = files.create_new(Path::new(FILE)).unwrap();
    assert_eq!(file.write(b"1234").unwrap(), 4);
    file.sync_data().unwrap();
    files.sync_dir(Path::new(FOLDER)).unwrap();
    (files, file)
}

#[track_caller]
fn check(files: &MemoryFiles, after_kill: &str, after_power_cut: &str) {
    for (model, expected) in
        [(CrashModel::ProcessKilled, after_kill), (CrashModel::PowerCut, after_power_cut)]
    {
        let bytes = files.reboot(model).contents(FILE).unwrap();
        assert_eq!(String::from_utf8_lossy(&bytes), expected, "{model:?}");
    }
}

#[test]
fn operations_are_counted_and_named() {
    let (files, mut file) = synced();
    file.set_len(1).unwrap();
    files.rename(Path::new(FILE), Path::new("/house/log2")).unwrap();
    files.remove(Path::new("/house/log2")).unwrap();
    assert_eq!(
        files.operations(),
        [
            "create_dir_all /house",
            "create /house/log",
            "write /house/log 4",
            "sync /house/log",
            "sync_dir /house",
            "set_len /house/log 1",
            "rename /house/log to /house/log2",
            "remove /house/log2",
        ]
    );
    assert_eq!(files.count(), 8);
    assert!(files.paths().is_empty());
}

#[test]
fn a_file_reads_as_it_was_written() {
    let (files, mut file) = synced();
    file.write(b"56").unwrap();
    let mut text = String::new();
    files.open_read(Path::new(FILE)).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "123456");
    assert_eq!(files.len(Path::new(FILE)).unwrap(), 6);
    assert_eq!(files.list(Path::new(FOLDER)).unwrap(), [PathBuf::from(FILE)]);
    let again = files.create_new(Path::new(FILE)).err().unwrap();
    assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
    for missing in ["/house/other", "/elsewhere/log"] {
        let error = files.open_append(Path::new(missing)).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
    assert!(files.create_new(Path::new("/elsewhere/log")).is_err());
    assert!(files.list(Path::new("/elsewhere")).is_err());
}

#[test]
fn only_synced_bytes_survive_a_power_cut() {
    let (files, mut file) = synced();
    file.write(b"56").unwrap();
    check(&files, "123456", "1234");
}

#[test]
fn a_truncation_that_was_not_synced_is_undone_by_a_power_cut() {
    let (files, mut file) = synced();
    file.set_len(2).unwrap();
    check(&files, "12", "1234");
    let (files, mut file) = synced();
    file.set_len(2).unwrap();
    file.sync_data().unwrap();
    check(&files, "12", "12");
}

#[test]
fn only_synced_names_survive_a_power_cut() {
    let (files, _file) = synced();
    files.create_new(Path::new("/house/new")).unwrap().sync_data().unwrap();
    files.rename(Path::new(FILE), Path::new("/house/moved")).unwrap();
    let paths = |model| files.reboot(model).paths();
    assert_eq!(
        paths(CrashModel::ProcessKilled),
        [PathBuf::from("/house/moved"), PathBuf::from("/house/new")]
    );
    assert_eq!(paths(CrashModel::PowerCut), [PathBuf::from(FILE)]);
}

#[test]
fn a_name_that_is_synced_before_its_bytes_names_an_empty_file() {
    let files = MemoryFiles::new();
    files.create_dir_all(Path::new(FOLDER)).unwrap();
    files.create_new(Path::new(FILE)).unwrap().write(b"1234").unwrap();
    files.sync_dir(Path::new(FOLDER)).unwrap();
    check(&files, "1234", "");
}

#[test]
fn a_kill_in_a_write_leaves_nothing_half_or_all_of_it() {
    for (written, left) in
        [(Written::Nothing, "1234"), (Written::Half, "123456"), (Written::All, "12345678")]
    {
        let (files, mut file) = synced();
        files.plan(files.count() + 1, Fault::Kill { written });
        assert_eq!(file.write(b"5678").unwrap_err().to_string(), "process killed");
        check(&files, left, "1234");
    }
}

#[test]
fn a_kill_in_a_sync_saves_nothing_half_or_all() {
    for (written, left) in
        [(Written::Nothing, "1234"), (Written::Half, "123456"), (Written::All, "12345678")]
    {
        let (files, mut file) = synced();
        files.plan(files.count() + 2, Fault::Kill { written });
        file.write(b"5678").unwrap();
        assert!(file.sync_data().is_err());
        check(&files, "12345678", left);
    }
}

#[test]
fn a_kill_in_a_rename_happens_before_or_after_it() {
    for (written, left) in
        [(Written::Nothing, FILE), (Written::Half, FILE), (Written::All, "/house/b")]
    {
        let (files, _file) = synced();
        files.plan(files.count() + 1, Fault::Kill { written });
        assert!(files.rename(Path::new(FILE), Path::new("/house/b")).is_err());
        assert_eq!(files.reboot(CrashModel::ProcessKilled).paths(), [PathBuf::from(left)]);
    }
}

#[test]
fn the_dead_do_nothing() {
    let (files, mut file) = synced();
    let rebooted = files.reboot(CrashModel::ProcessKilled);
    let count = files.count();
    assert!(file.write(b"5").is_err() && file.sync_data().is_err() && file.set_len(0).is_err());
    assert!(files.open_read(Path::new(FILE)).is_err() && files.len(Path::new(FILE)).is_err());
    assert!(files.list(Path::new(FOLDER)).is_err() && files.remove(Path::new(FILE)).is_err());
    assert_eq!(files.count(), count);
    assert_eq!(rebooted.contents(FILE).unwrap(), b"1234");
    assert_eq!(rebooted.count(), 0);
}

#[test]
fn a_full_disk_takes_half_a_write_and_then_nothing_until_there_is_room() {
    let (files, mut file) = synced();
    files.plan(files.count() + 1, Fault::Full);
    assert_eq!(file.write(b"5678").unwrap(), 2);
    assert_eq!(file.write(b"78").unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert!(files.create_new(Path::new("/house/b")).is_err());
    file.set_len(4).unwrap();
    file.sync_data().unwrap();
    files.heal();
    assert_eq!(file.write(b"56").unwrap(), 2);
    assert_eq!(files.contents(FILE).unwrap(), b"123456");
}

#[test]
fn a_read_only_disk_can_be_read_and_not_changed() {
    let (files, mut file) = synced();
    files.plan(files.count() + 1, Fault::ReadOnly);
    assert_eq!(file.write(b"5").unwrap_err().kind(), io::ErrorKind::ReadOnlyFilesystem);
    assert!(files.open_append(Path::new(FILE)).is_err() && files.remove(Path::new(FILE)).is_err());
    assert!(files.open_read(Path::new(FILE)).is_ok());
    files.heal();
    assert_eq!(file.write(b"5").unwrap(), 1);
}

#[test]
fn bytes_of_a_failed_sync_are_not_saved_by_a_later_one() {
    let (files, mut file) = synced();
    files.plan(files.count() + 1, Fault::FailSync);
    file.write(b"56").unwrap();
    assert_eq!(file.sync_data().unwrap_err().raw_os_error(), Some(5));
    check(&files, "123456", "1234");

    let (files, mut file) = synced();
    files.plan(files.count() + 1, Fault::FailSync);
    file.write(b"56").unwrap();
    assert!(file.sync_data().is_err());
    file.write(b"78").unwrap();
    file.sync_data().unwrap();
    check(&files, "12345678", "1234\x00\x0078");
}

#[test]
fn bytes_written_again_after_a_failed_sync_are_saved() {
    let (files, mut file) = synced();
    files.plan(files.count() + 1, Fault::FailSync);
    file.write(b"56").unwrap();
    assert!(file.sync_data().is_err());
    file.set_len(4).unwrap();
    file.write(b"56").unwrap();
    file.sync_data().unwrap();
    check(&files, "123456", "123456");
}

#[test]
fn a_short_write_takes_half_once() {
    let (files, mut file) = synced();
    files.plan(files.count() + 1, Fault::ShortWrite);
    assert_eq!(file.write(b"567890").unwrap(), 3);
    assert_eq!(file.write(b"890").unwrap(), 3);
}

#[test]
fn calls_that_read_can_fail_too() {
    let (files, mut file) = synced();
    files.fail_at(1, Fault::Fail);
    assert!(files.open_read(Path::new(FILE)).is_ok() && !files.has_failed());
    assert!(files.len(Path::new(FILE)).is_err() && files.has_failed());
    assert!(files.len(Path::new(FILE)).is_ok());
    files.fail_at(0, Fault::Torn);
    assert_eq!(file.write(b"5678").unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!(files.contents(FILE).unwrap(), b"123456");
    files.fail_at(0, Fault::Offline);
    assert!(file.sync_data().is_err() && files.list(Path::new(FOLDER)).is_err());
    files.heal();
    assert!(file.sync_data().is_ok());
}

#[test]
fn a_power_cut_may_leave_half_of_what_was_not_synced() {
    let (files, mut file) = synced();
    file.write(b"5678").unwrap();
    files.create_new(Path::new("/house/new")).unwrap();
    let after = files.after(CrashModel::PowerCutHalf);
    assert_eq!(after.contents(FILE).unwrap(), b"123456");
    assert!(after.contents("/house/new").is_some());
    assert!(!files.is_killed(), "only `reboot` ends the process");
}

#[test]
fn a_hook_is_called_before_each_operation_but_not_for_its_own() {
    let (files, mut file) = synced();
    let (told, own) = (Arc::new(Mutex::new(Vec::new())), files.clone());
    let heard = Arc::clone(&told);
    files.set_hook(move |operation, path| {
        own.len(path)?;
        heard.lock().unwrap().push(operation.to_owned());
        if operation == "write" { Err(io::Error::other("no")) } else { Ok(()) }
    });
    assert!(file.write(b"5").is_err());
    file.sync_data().unwrap();
    files.remove_hook();
    file.write(b"5").unwrap();
    assert_eq!(*told.lock().unwrap(), ["write", "sync_data"]);
    assert_eq!(files.contents(FILE).unwrap(), b"12345");
}
