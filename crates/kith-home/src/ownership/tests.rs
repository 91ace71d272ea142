use super::*;

#[test]
fn own_files_and_those_of_root_are_taken() {
    check(1000, 0o644, None);
    check(ROOT, 0o644, None);
    check(1000, 0o664, None);
}

#[test]
fn what_another_user_wrote_or_could_write_is_doubted() {
    check(1001, 0o644, Some(&Problem::ForeignOwner { uid: 1001 }));
    check(1001, 0o666, Some(&Problem::ForeignOwner { uid: 1001 }));
    check(1000, 0o646, Some(&Problem::WritableByOthers));
    check(ROOT, 0o777, Some(&Problem::WritableByOthers));
}

#[test]
fn a_file_of_the_last_second_there_is_is_never_settled() {
    let folder = tempfile::tempdir().unwrap();
    let FileStamp::Present(stat) = FileStamp::of(folder.path()) else { panic!("it is there") };
    let stamp = FileStamp::Present(FileStat { modified: (i64::MAX, 0), ..stat });
    assert!(!stamp.is_settled(u64::MAX));
}

#[track_caller]
fn check(uid: u32, mode: u32, expected: Option<&Problem>) {
    assert_eq!(problem_of(uid, mode, 1000).as_ref(), expected);
}
