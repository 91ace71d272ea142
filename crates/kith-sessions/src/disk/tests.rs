use super::*;

#[cfg(unix)]
#[test]
fn what_is_made_belongs_to_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("a/b");
    DiskFiles.create_dir_all(&inner).unwrap();
    let path = inner.join("file");
    DiskFiles.create_new(&path).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&inner), 0o700);
    assert_eq!(mode(&path), 0o600);
}

#[test]
fn writing_is_always_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let mut one = DiskFiles.create_new(&path).unwrap();
    let mut other = DiskFiles.open_append(&path).unwrap();
    assert_eq!(one.write(b"ab").unwrap(), 2);
    assert_eq!(other.write(b"cd").unwrap(), 2);
    one.set_len(3).unwrap();
    assert_eq!(one.write(b"!").unwrap(), 1);
    one.sync_data().unwrap();
    DiskFiles.sync_dir(folder.path()).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"abc!");
    assert_eq!(DiskFiles.len(&path).unwrap(), 4);
    assert!(DiskFiles.create_new(&path).is_err());
    assert_eq!(DiskFiles.list(folder.path()).unwrap(), [path]);
}

#[test]
fn reading_begins_where_it_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, b"abcdef").unwrap();
    for (offset, expected) in [(0, "abcdef"), (4, "ef"), (6, ""), (9, "")] {
        let mut found = String::new();
        let mut file = DiskFiles.open_read_at(&path, offset).unwrap();
        file.read_to_string(&mut found).unwrap();
        assert_eq!(found, expected, "from {offset}");
    }
}

#[test]
fn a_folder_is_made_again_without_complaint_and_not_over_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("a/b");
    DiskFiles.create_dir_all(&inner).unwrap();
    DiskFiles.create_dir_all(&inner).unwrap();
    fs::write(inner.join("file"), b"").unwrap();
    assert!(DiskFiles.create_dir_all(&inner.join("file/c")).is_err());
}
