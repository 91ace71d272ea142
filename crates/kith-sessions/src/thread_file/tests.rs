use std::collections::HashMap;

use super::*;
use crate::disk::DiskFiles;
use kith_testkit::files::{Fault, MemoryFiles};
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::proptest;
use proptest::test_runner::{Config, RngSeed};

const DIR: &str = "/house/.kith";
const OPERATIONS_MAX: usize = 20;

fn same_cases() -> Config {
    let rng_seed = RngSeed::Fixed(0x6b69_7468);
    Config { cases: 500, rng_seed, failure_persistence: None, ..Config::default() }
}

fn in_memory() -> (MemoryFiles, ThreadFiles) {
    let files = MemoryFiles::default();
    (files.clone(), ThreadFiles::new(Arc::new(files), DIR.as_ref()))
}

fn name_of(agent_id: &str, thread_id: &str) -> String {
    let (_, threads) = in_memory();
    let path = threads.path(agent_id, &thread_id.parse().unwrap());
    path.strip_prefix("/house/.kith/threads").unwrap().display().to_string()
}

#[test]
fn names_stay_readable() {
    assert_eq!(name_of("main", "cli:room:0f"), "cli%3aroom%3a0f.jsonl");
    assert_eq!(name_of("main", "web:room:A/../b"), "web%3aroom%3a%41%2f%2e%2e%2fb.jsonl");
    assert_eq!(name_of("main", "feishu:chat:你"), "feishu%3achat%3a%e4%bd%a0.jsonl");
    assert_eq!(name_of("ux", "cli:room:a"), "ux/cli%3aroom%3aa.jsonl");
    assert_eq!(
        name_of("../UX.jsonl", "cli:room:a"),
        "%2e%2e%2f%55%58%2ejsonl/cli%3aroom%3aa.jsonl"
    );
}

#[test]
fn a_long_id_has_a_short_name_of_its_own() {
    let long = |end: &str| name_of("main", &format!("cli:room:{}{end}", "长".repeat(400)));
    assert!(long("a").len() < 143, "{}", long("a"));
    assert_ne!(long("a"), long("b"));
    // The longest name that is still spelled out, and the first that is not.
    let spelled = |n| name_of("main", &format!("cli:room:{}", "a".repeat(n)));
    assert_eq!(spelled(115).len(), 128 + SUFFIX.len());
    assert!(!spelled(115).contains('~') && spelled(116).contains('~'));
}

proptest! {
    #![proptest_config(same_cases())]

    #[test]
    fn no_two_ids_share_a_name_where_case_does_not_count(ids in vec("[aAbB%~éÉ\\.:/ -]{0,6}|.{0,60}", 2..20)) {
        let mut ids = ids;
        ids.sort();
        ids.dedup();
        let mut names = HashMap::new();
        for id in ids {
            let name = encoded(&id);
            // Nothing in it for a disk to fold, to normalise or to take for a path.
            assert!(name.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || b"-_%~".contains(&it)));
            assert!(name.len() <= NAME_BYTES_MAX);
            let earlier = names.insert(name.clone(), id.clone());
            assert_eq!(earlier, None, "`{id}` has the name `{name}` too");
        }
    }

    #[test]
    fn the_last_line_is_found_whatever_stands_before(
        lines in vec((0..40_000_usize, b' '..b'~'), 1..4),
        is_torn in any::<bool>(),
    ) {
        let (files, threads) = in_memory();
        let path = PathBuf::from("/house/.kith/threads/a.jsonl");
        let lines: Vec<Vec<u8>> = lines.into_iter().map(|(len, byte)| vec![byte; len]).collect();
        let mut bytes = lines.join(&b'\n');
        if !is_torn {
            bytes.push(b'\n');
        }
        files.create_dir_all(path.parent().unwrap()).unwrap();
        write_all(&mut *files.create_new(&path).unwrap(), &bytes).unwrap();
        let expected = match lines.last() {
            _ if bytes.is_empty() => LastLine::Absent,
            // A torn line without a byte is the newline of the one before it.
            Some(last) if is_torn && !last.is_empty() => LastLine::Torn,
            Some(last) if !is_torn => LastLine::Whole(last.clone()),
            _ => LastLine::Whole(lines[lines.len() - 2].clone()),
        };
        assert!(threads.last(&path).unwrap() == expected);
    }
}

#[test]
fn a_file_is_replaced_whole_or_stays_as_it_was() {
    for fault in [Fault::Fail, Fault::Torn, Fault::Offline] {
        for n in 0..OPERATIONS_MAX {
            let (files, threads) = in_memory();
            let path = threads.path("main", &"cli:room:a".parse().unwrap());
            threads.replace(&path, b"one\n").unwrap();
            files.fail_at(n, fault);
            let replaced = threads.replace(&path, b"two\nthree\n").is_ok();
            files.heal();
            let held = threads.lines(&path).unwrap().unwrap();
            let expected: &[&[u8]] = if replaced { &[b"two", b"three"] } else { &[b"one"] };
            assert_eq!(held, expected);
            // What is left beside it is in nobody's way.
            threads.replace(&path, b"four\n").unwrap();
            assert_eq!(threads.lines(&path).unwrap().unwrap(), [b"four"]);
        }
    }
}

#[test]
fn an_append_that_fails_is_cut_off() {
    for n in 0..OPERATIONS_MAX {
        let (files, threads) = in_memory();
        let path = threads.path("main", &"cli:room:a".parse().unwrap());
        threads.replace(&path, b"one\n").unwrap();
        files.fail_at(n, Fault::Torn);
        let appended = threads.append(&path, b"two\n").is_ok();
        files.heal();
        let held = threads.lines(&path).unwrap().unwrap();
        let expected: &[&[u8]] = if appended { &[b"one", b"two"] } else { &[b"one"] };
        assert_eq!(held, expected);
        assert!(matches!(threads.last(&path).unwrap(), LastLine::Whole(_)));
    }
}

#[test]
fn files_are_their_owners_and_without_lines_there_is_none() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let threads = ThreadFiles::new(Arc::new(DiskFiles), dir.path());
    let path = threads.path("ux", &"cli:room:a".parse().unwrap());
    assert_eq!(threads.last(&path).unwrap(), LastLine::Absent);
    assert_eq!(threads.lines(&path).unwrap(), None);
    assert!(!dir.path().join("threads").exists());
    threads.replace(&path, b"one\n").unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    assert_eq!(threads.list(["ux"]).unwrap(), std::slice::from_ref(&path));
    threads.replace(&path, b"").unwrap();
    assert!(!path.exists());
    threads.replace(&path, b"").unwrap();
}
