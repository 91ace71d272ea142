use std::io::Write;

use super::*;
use crate::placeholder::{Placeholder, StandIn};

#[test]
fn a_file_at_the_limit_enters_whole_and_one_more_character_cuts_it() {
    for letter in ["a", "é", "字", "🎸"] {
        let injected = inject(letter.repeat(65_536).as_bytes());
        assert_eq!(injected.content, letter.repeat(65_536));
        assert_eq!((injected.chars, injected.injected_chars), (Some(65_536), 65_536));

        let injected = inject(letter.repeat(65_537).as_bytes());
        let mark = "\n[… 6555 of 65537 characters are left out here; the whole file is `X.md` …]\n";
        let cut = format!("{}{mark}{}", letter.repeat(45_875), letter.repeat(13_107));
        assert_eq!(injected.content, cut);
        assert_eq!((injected.chars, injected.injected_chars), (Some(65_537), 58_982));
    }
}

#[test]
fn what_is_no_text_is_replaced_and_reported() {
    check(b"plain \xc3\xa9", "plain é", &[]);
    check(b"\xef\xbb\xbfname: Luna", "name: Luna", &[]);
    check(b"a\xffb\xf0\x9f", "a\u{fffd}b\u{fffd}", &[Problem::NotText]);
    check(b"a\0b\xff", "a\u{fffd}b\u{fffd}", &[Problem::NotText]);
    check(b"", "", &[]);
}

#[test]
fn the_hash_is_of_the_bytes_on_disk() {
    let file = read(b"\xef\xbb\xbfabc\xff");
    let expected = sha256_hex(b"\xef\xbb\xbfabc\xff");
    assert_eq!(file.sha256.as_deref(), Some(expected.as_str()));
    assert_eq!(
        sha256_hex(b"abc"),
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
}

#[test]
fn a_huge_file_gives_its_two_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("X.md");
    let mut file = File::create(&path).unwrap();
    file.write_all("头".repeat(100_000).as_bytes()).unwrap();
    // Sparse: two gigabytes that take no room. The end is off by one byte for every alignment.
    file.set_len(2 * 1024 * 1024 * 1024 + 1).unwrap();
    file.seek(SeekFrom::End(0)).unwrap();
    file.write_all("尾".repeat(100_000).as_bytes()).unwrap();

    let mut file = opened(&path);
    assert_eq!(file.sha256, None);
    let injected = file.inject("X.md");
    let mark = "\n[… most of 2147783649 bytes are left out here; the whole file is `X.md` …]\n";
    let cut = format!("{}{mark}{}", "头".repeat(45_875), "尾".repeat(13_107));
    assert_eq!(injected, Excerpt { content: cut, chars: None, injected_chars: 58_982 });
    assert_eq!(file.problems, [Problem::Cut { missing_chars: None }]);
}

#[test]
fn what_is_not_there_or_no_file_is_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(open(&folder.path().join("X.md")), Ok(FileLookup::Absent)));
    assert!(matches!(open(folder.path()), Ok(FileLookup::NotAFile)));
    fs::write(folder.path().join("file"), "").unwrap();
    assert!(matches!(open(&folder.path().join("file/X.md")), Ok(FileLookup::Absent)));
}

#[test]
fn links_that_lead_nowhere_are_errors() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let (dangling, circle) = (folder.path().join("dangling"), folder.path().join("circle"));
    symlink("gone", &dangling).unwrap();
    symlink("circle", &circle).unwrap();
    assert!(open(&dangling).is_err());
    assert!(open(&circle).is_err());
}

#[track_caller]
fn check(bytes: &[u8], text: &str, problems: &[Problem]) {
    let file = read(bytes);
    assert_eq!(file.text(), text);
    assert_eq!(file.problems, problems);
}

fn inject(bytes: &[u8]) -> Excerpt {
    read(bytes).inject("X.md")
}

fn read(bytes: &[u8]) -> PromptFile {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("X.md");
    fs::write(&path, bytes).unwrap();
    opened(&path)
}

fn opened(path: &Path) -> PromptFile {
    let Ok(FileLookup::File(OpenFile { file, metadata, .. })) = open(path) else {
        panic!("no file")
    };
    PromptFile::read(path, file, &metadata).unwrap()
}

#[test]
fn what_stands_for_an_absent_file_while_a_sandbox_runs_is_absent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("SOUL.md");
    fs::create_dir(&path).unwrap();
    assert!(matches!(open(&path).unwrap(), FileLookup::NotAFile));
    fs::remove_dir(&path).unwrap();
    let held = Placeholder::hold(&path, StandIn::Folder).unwrap();
    assert!(matches!(open(&path).unwrap(), FileLookup::Absent));
    drop(held);
}
