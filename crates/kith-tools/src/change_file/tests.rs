use super::*;

#[test]
fn a_long_diff_is_cut_at_a_line_and_says_how_much_is_left_out() {
    let new = (0..1000).map(|n| format!("line {n}\n")).collect::<Vec<_>>().concat();
    let whole = diff("", &new, usize::MAX);
    let cut = diff("", &new, 200);
    assert!(cut.len() < 300, "{cut}");
    let (shown, rest) = cut.rsplit_once('\n').unwrap();
    assert!(whole.starts_with(shown), "{shown}");
    let n_left = whole.lines().count() - shown.lines().count();
    assert_eq!(rest, format!("… {n_left} more lines of the diff"));
}

#[test]
fn a_file_that_appears_meanwhile_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let handle = File::open(folder.path()).unwrap();
    std::fs::write(folder.path().join("a"), "of another").unwrap();
    let failed = write_beside(handle.as_fd(), Path::new("a"), "ours", None).unwrap_err();
    assert_eq!(failed.kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(std::fs::read_to_string(folder.path().join("a")).unwrap(), "of another");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left behind");
}

#[test]
fn a_file_is_private_while_it_is_written_in_place_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let handle = File::open(folder.path()).unwrap();
    let old = handle.metadata().unwrap();
    let (_, file) = temporary_file(handle.as_fd(), Path::new("a"), Some(&old)).unwrap();
    assert_eq!(file.metadata().unwrap().mode() & 0o077, 0);
}
