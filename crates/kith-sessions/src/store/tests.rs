use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::disk::DiskFiles;
use crate::line::{EncodedBatch, encode_batch};
use crate::samples::{
    NOW, StillClock, event_id, file_of, header, notice, session_id, small_session, user,
};
use kith_testkit::files::{CrashModel, Fault, MemoryFiles};

const DIR: &str = "/house/.kith";
const OPERATIONS_MAX: usize = 30;

#[test]
fn a_session_is_made_whole_or_not_at_all() {
    for fault in [Fault::Fail, Fault::ShortWrite, Fault::Torn, Fault::Offline] {
        for n in 0..OPERATIONS_MAX {
            let (files, store) = memory_house();
            files.fail_at(n, fault);
            let events = [notice(1, "a"), notice(2, "b")];
            let made = store.create(&header(1), &events).is_ok();
            for model in CrashModel::EACH {
                check_whole_or_absent(&files.after(model), made);
            }
            files.heal();
            check_whole_or_absent(&files, made);
            // Whoever is told that it failed may try again, and only a dead disk prevents it.
            if !made && fault != Fault::Offline {
                store.create(&header(1), &events).unwrap();
            }
        }
    }
}

#[track_caller]
fn check_whole_or_absent(files: &MemoryFiles, made: bool) {
    let store = SessionStore::new(Arc::new(files.clone()), Path::new(DIR));
    match store.read(session_id(1), None, &mut |_| ()) {
        Ok(reading) => assert_eq!((reading.events, reading.tail), (2, Tail::Clean)),
        Err(LogError::NotFound { .. }) => assert!(!made, "an acknowledged session is gone"),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_session_is_made_once() {
    let (files, store) = memory_house();
    store.create(&header(1), &[]).unwrap();
    let error = store.create(&header(1), &[]).unwrap_err();
    assert!(matches!(error, LogError::Exists { .. }), "{error}");
    assert_eq!(files.paths(), [store.path(session_id(1))]);
}

#[test]
fn what_a_crash_left_of_a_session_half_made_is_replaced() {
    let (files, store) = memory_house();
    store.create(&header(2), &[]).unwrap();
    let beside = store.path(session_id(1)).with_extension("jsonl.tmp-new");
    files.write_raw(&beside, b"half");
    store.create(&header(1), &[]).unwrap();
    assert_eq!(files.paths(), [store.path(session_id(1)), store.path(session_id(2))]);
}

#[test]
fn wrong_headers_and_first_events_are_refused() {
    let (files, store) = memory_house();
    let mut newer = header(1);
    newer.v = 2;
    let error = store.create(&newer, &[]).unwrap_err();
    assert!(matches!(error, LogError::RefusedHeader { .. }), "{error}");
    let error = store.create(&header(1), &[notice(2, "not the first")]).unwrap_err();
    assert!(error.to_string().contains("non_monotonic_seq"), "{error}");
    assert!(files.paths().is_empty());
}

#[test]
fn a_session_cut_at_any_byte_of_its_last_batches_opens() {
    let (bytes, ends) = file_of(&small_session());
    for cut in ends[2]..=bytes.len() {
        let (files, store) = memory_house();
        store.create(&header(2), &[]).unwrap();
        files.write_raw(store.path(session_id(1)), &bytes[..cut]);
        check_opens(&store, cut, &|path| files.contents(path));
    }
}

#[test]
fn a_cut_session_opens_on_a_real_disk() {
    let (bytes, ends) = file_of(&small_session());
    for cut in [ends[3] - 1, ends[3] + 30, bytes.len() - 1] {
        let folder = tempfile::tempdir().unwrap();
        let store = SessionStore::new(Arc::new(DiskFiles), folder.path());
        store.create(&header(2), &[]).unwrap();
        fs::write(store.path(session_id(1)), &bytes[..cut]).unwrap();
        check_opens(&store, cut, &|path| fs::read(path).ok());
    }
}

/// Opens a session that was cut at a byte: earlier batches are there, what was torn is kept beside
/// it, and the session goes on.
#[track_caller]
fn check_opens(store: &SessionStore, cut: usize, bytes_at: &dyn Fn(&Path) -> Option<Vec<u8>>) {
    let (bytes, _) = file_of(&small_session());
    let whole = small_session().concat();
    let mut found = Vec::new();
    let clock = StillClock::default();
    let mut log = store.open(session_id(1), None, &clock, &mut |it| found.push(it)).unwrap();
    let torn_name = format!("{}.jsonl.torn-{}", session_id(1), NOW + 1_000);
    if let Some(torn) = bytes_at(&log.path().with_file_name(&torn_name)) {
        let Body::LogRepaired(repaired) = found.pop().unwrap().body else {
            panic!("cut at {cut}: no `log_repaired`");
        };
        let torn_bytes = torn.len() as u64;
        assert_eq!(repaired, LogRepaired { torn_bytes, torn_file: torn_name });
        assert_eq!(torn, bytes[cut - torn.len()..cut], "cut at {cut}");
    }
    assert_eq!(found, whole[..found.len()], "cut at {cut}");
    assert!(found.len() >= 4, "cut at {cut} took an earlier batch");

    let next = log.next_seq();
    log.append(&[notice(next, "goes on")]).unwrap();
    let reading = store.read(session_id(1), log.head().as_ref(), &mut |_| ()).unwrap();
    assert_eq!((reading.tail, reading.events), (Tail::Clean, next));
}

#[test]
fn a_failing_repair_loses_nothing() {
    let (bytes, ends) = file_of(&small_session());
    for fault in [Fault::Fail, Fault::ShortWrite, Fault::Torn, Fault::Offline] {
        for n in 0..OPERATIONS_MAX {
            let (files, store) = memory_house();
            store.create(&header(2), &[]).unwrap();
            let path = store.path(session_id(1));
            files.write_raw(&path, &bytes[..bytes.len() - 20]);
            files.fail_at(n, fault);
            let open = |store: &SessionStore| {
                store.open(session_id(1), None, &StillClock::default(), &mut |_| ())
            };
            let opened = open(&store).is_ok();
            files.heal();
            for model in CrashModel::EACH {
                let files = files.after(model);
                let store = SessionStore::new(Arc::new(files.clone()), Path::new(DIR));
                let log = open(&store).unwrap();
                assert!(log.next_seq() >= 6, "{fault:?} at {n}, {model:?}");
                let torn = &bytes[ends[3]..bytes.len() - 20];
                let is_kept = files.paths().iter().any(|it| files.contents(it).unwrap() == torn);
                assert!(is_kept, "{fault:?} at {n}, {model:?}: the torn bytes are gone");
                assert!(!opened || log.next_seq() >= 7, "{fault:?} at {n}, {model:?}");
            }
        }
    }
}

#[test]
fn a_damaged_session_is_not_opened_and_not_touched() {
    let (files, store) = memory_house();
    let path = store.path(session_id(1));
    let (mut bytes, ends) = file_of(&small_session());
    bytes[ends[1] + 10] ^= 1;
    files.write_raw(&path, &bytes);
    let error = store.open(session_id(1), None, &StillClock::default(), &mut |_| ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "session file `{}` is damaged at line 3: bad_crc: its checksum does not match",
            path.display()
        )
    );
    let reading = store.read(session_id(1), None, &mut |_| ()).unwrap();
    assert_eq!(reading.events, 1);
    assert_eq!(files.paths(), std::slice::from_ref(&path));
    assert_eq!(files.contents(&path).unwrap(), bytes);
}

#[test]
fn reading_never_writes() {
    let (files, store) = memory_house();
    let path = store.path(session_id(1));
    let (bytes, _) = file_of(&small_session());
    files.write_raw(&path, &bytes[..bytes.len() - 20]);
    let reading = store.read(session_id(1), None, &mut |_| ()).unwrap();
    assert!(matches!(reading.tail, Tail::Torn { .. }));
    assert_eq!(files.paths(), std::slice::from_ref(&path));
    assert_eq!(files.contents(&path).unwrap(), &bytes[..bytes.len() - 20]);
}

#[test]
fn what_the_desk_has_seen_is_not_repaired_away() {
    let (files, store) = memory_house();
    let (bytes, _) = file_of(&small_session());
    let path = store.path(session_id(1));
    files.write_raw(&path, &bytes);
    let head = store.read(session_id(1), None, &mut |_| ()).unwrap().head;
    files.write_raw(&path, &bytes[..bytes.len() - 20]);
    let clock = StillClock::default();
    let error = store.open(session_id(1), head.as_ref(), &clock, &mut |_| ()).unwrap_err();
    assert!(
        matches!(&error, LogError::Damaged { damage, .. } if damage.code == DamageCode::LostTail),
        "{error}"
    );
    assert_eq!(files.paths(), [path]);
}

#[test]
fn two_torn_tails_of_one_moment_have_two_names() {
    let (files, store) = memory_house();
    store.create(&header(1), &[notice(1, "a")]).unwrap();
    let path = store.path(session_id(1));
    let torn_names = |files: &MemoryFiles| {
        let is_torn = |path: &PathBuf| path.to_string_lossy().contains(".torn-");
        files.paths().into_iter().filter(is_torn).count()
    };
    for n in 1..=3 {
        let mut bytes = files.contents(&path).unwrap();
        bytes.extend_from_slice(b"half a line");
        files.write_raw(&path, &bytes);
        let clock = StillClock::default();
        // Ids must differ between openings, as they would.
        for _ in 0..n {
            assert!(!clock.new_id().is_nil());
        }
        store.open(session_id(1), None, &clock, &mut |_| ()).unwrap();
        assert_eq!(torn_names(&files), n);
    }
}

#[test]
fn sessions_are_listed_by_name_only() {
    let (files, store) = memory_house();
    assert_eq!(store.list().unwrap(), []);
    assert!(!store.exists(session_id(1)).unwrap());
    store.create(&header(2), &[]).unwrap();
    store.create(&header(1), &[]).unwrap();
    let sessions = Path::new(DIR).join("sessions");
    files.write_raw(sessions.join(format!("{}.jsonl.torn-1", session_id(3))), b"");
    files.write_raw(sessions.join(format!("{}.jsonl.tmp-new", session_id(4))), b"");
    files.write_raw(sessions.join("notes.txt"), b"");
    files.write_raw(sessions.join("x.jsonl"), b"");
    assert_eq!(store.list().unwrap(), [session_id(1), session_id(2)]);
    assert!(store.exists(session_id(1)).unwrap());
}

#[test]
fn a_file_under_another_name_is_not_that_session() {
    let (files, store) = memory_house();
    let error = store.read(session_id(7), None, &mut |_| ()).unwrap_err();
    assert!(matches!(error, LogError::NotFound { .. }), "{error}");
    files.write_raw(store.path(session_id(7)), &file_of(&[]).0);
    let error = store.read(session_id(7), None, &mut |_| ()).unwrap_err();
    assert!(error.to_string().contains("line 1: invalid_header"), "{error}");
}

#[test]
fn what_opening_found_is_durable_before_it_counts() {
    let (files, store) = memory_house();
    let mut log = store.create(&header(1), &[notice(1, "a")]).unwrap();
    log.append(&[notice(2, "b")]).unwrap();
    drop(log);
    // Written by a process that died before its sync.
    let EncodedBatch { bytes, hash, .. } = encode_batch(
        &[notice(3, "c")],
        store.read(session_id(1), None, &mut |_| ()).unwrap().head.unwrap().hash,
    )
    .unwrap();
    let mut file = files.open_append(&store.path(session_id(1))).unwrap();
    assert_eq!(file.write(&bytes).unwrap(), bytes.len());
    let log = store.open(session_id(1), None, &StillClock::default(), &mut |_| ()).unwrap();
    assert_eq!(log.head(), Some(LogHead { seq: 3, hash }));
    let cut = files.after(CrashModel::PowerCut);
    let store = SessionStore::new(Arc::new(cut), Path::new(DIR));
    assert_eq!(store.read(session_id(1), None, &mut |_| ()).unwrap().events, 3);
    assert_eq!(event_id(3), notice(3, "c").id);
}

fn memory_house() -> (MemoryFiles, SessionStore) {
    let files = MemoryFiles::default();
    let store = SessionStore::new(Arc::new(files.clone()), Path::new(DIR));
    (files, store)
}

#[test]
fn what_is_written_while_a_session_is_read_is_not_read() {
    let (bytes, ends) = file_of(&small_session());
    for cut in ends[0]..bytes.len() {
        let hooked = MemoryFiles::default();
        let store = SessionStore::new(Arc::new(hooked.clone()), Path::new(DIR));
        let path = store.path(session_id(1));
        hooked.write_raw(&path, &bytes[..cut]);
        let expected = store.read(session_id(1), None, &mut |_| ()).unwrap();
        let (files, whole) = (hooked.clone(), bytes.clone());
        // The writer is quicker than the reader, but not than its first look.
        hooked.set_hook(move |operation, path| {
            if operation == "open_read" {
                files.write_raw(path, &whole);
            }
            Ok(())
        });
        let reading = store.read(session_id(1), None, &mut |_| ()).unwrap();
        assert_eq!(reading, expected, "cut at {cut}");
    }
}

#[test]
fn a_header_is_read_without_the_rest() {
    let files = MemoryFiles::default();
    let store = SessionStore::new(Arc::new(files.clone()), Path::new(DIR));
    store.create(&header(1), &[user(1, None, &"x".repeat(60_000))]).unwrap();
    let n_opened = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&n_opened);
    files.set_hook(move |operation, _| {
        counted.fetch_add(usize::from(operation.starts_with("open")), Ordering::Relaxed);
        Ok(())
    });
    assert_eq!(store.header(session_id(1)).unwrap(), header(1));
    assert_eq!(n_opened.load(Ordering::Relaxed), 1);
}
