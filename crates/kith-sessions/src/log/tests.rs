use super::*;
use crate::read::Tail;
use crate::samples::{StillClock, event_id, file_of, header, long, notice, session_id, user};
use crate::store::SessionStore;
use kith_testkit::files::{CrashModel, Fault, MemoryFiles};
use kith_vocab::event::Body;

const DIR: &str = "/house/.kith";
/// More operations than any script below performs.
const OPERATIONS_MAX: usize = 60;
const BLOB_OPERATIONS_MAX: usize = 24;

#[test]
fn what_was_appended_is_read_again() {
    let (files, store) = house();
    let mut log = store.create(&header(1), &[notice(1, "begins")]).unwrap();
    log.append(&[user(2, None, "hi"), user(3, Some(2), "there")]).unwrap();
    log.append(&[]).unwrap();
    log.append(&[notice(4, "ends")]).unwrap();
    assert_eq!(log.next_seq(), 5);
    assert_eq!(log.byte_len(), files.contents(log.path()).unwrap().len() as u64);

    let batches = [
        vec![notice(1, "begins")],
        vec![user(2, None, "hi"), user(3, Some(2), "there")],
        vec![notice(4, "ends")],
    ];
    assert_eq!(files.contents(log.path()).unwrap(), file_of(&batches).0);
    let mut events = Vec::new();
    let reading = store.read(session_id(1), None, &mut |event| events.push(event)).unwrap();
    assert_eq!(events, batches.concat());
    assert_eq!(reading.head, log.head());
    assert_eq!(reading.header, *log.header());
}

#[test]
fn a_bad_event_is_refused_by_name_and_nothing_is_written() {
    check_refused(&[notice(3, "a gap")], "non_monotonic_seq");
    check_refused(&[notice(2, "good"), notice(2, "again")], "non_monotonic_seq");
    let mut twin = notice(2, "twin");
    twin.id = event_id(1);
    check_refused(&[twin.clone()], "duplicate_event_id");
    let mut twin_in_batch = notice(3, "twin");
    twin_in_batch.id = event_id(2);
    check_refused(&[notice(2, "good"), twin_in_batch], "duplicate_event_id");
    check_refused(&[user(2, Some(1), "of a notice")], "invalid_parent");
    check_refused(&[user(2, Some(3), "of nothing")], "invalid_parent");
    let mut tagged = notice(2, "cloned");
    tagged.source_tag = Some(kith_vocab::event::SourceTag::Clone);
    check_refused(&[tagged], "invalid_event");
    let mut not_version_7 = notice(2, "hi");
    not_version_7.id = kith_vocab::ids::EventId::from_uuid(uuid::Uuid::nil());
    check_refused(&[not_version_7], "invalid_event");
}

#[test]
fn an_old_event_is_known_however_far_back() {
    let (_, store) = house();
    let mut log = store.create(&header(1), &[notice(1, "begins"), user(2, None, "hi")]).unwrap();
    for seq in 3..600 {
        log.append(&[user(seq, Some(seq - 1), "on and on")]).unwrap();
    }
    for mut log in [log, open(&store)] {
        let twin = Event { id: event_id(1), ..notice(600, "twin") };
        check_code(&mut log, &[twin], "duplicate_event_id");
        check_code(&mut log, &[user(600, Some(1), "of a notice")], "invalid_parent");
        let before: kith_vocab::ids::EventId =
            "019a8a00-0000-7000-7000-000000000001".parse().unwrap();
        let stray = Event { parent_id: Some(before), ..user(600, None, "of nothing") };
        check_code(&mut log, &[stray], "invalid_parent");
    }
    let mut log = open(&store);
    // The clock was set back, and someone went back to the first message.
    let earlier = "019a8a00-0000-7000-7000-000000000001".parse().unwrap();
    let branch = Event { id: earlier, ..user(600, Some(2), "another way") };
    log.append(&[branch, Event { parent_id: Some(earlier), ..user(601, None, "") }]).unwrap();
    assert_eq!(open(&store).next_seq(), 602);
}

#[test]
fn an_open_session_costs_little_however_long_it_is() {
    let (_, store) = house();
    let mut log = store.create(&header(1), &[]).unwrap();
    let many: Vec<Event> = (1..=5_000).map(|seq| notice(seq, "x")).collect();
    log.append(&many).unwrap();
    assert!(log.checkpoint_place().unwrap().validator.len() < 10_000);
    assert!(open(&store).checkpoint_place().unwrap().validator.len() < 10_000);
}

#[test]
fn a_long_text_stands_in_a_blob() {
    let (files, store) = house();
    let mut log = store.create(&header(1), &[user(1, None, &long('a'))]).unwrap();
    log.append(&[user(2, Some(1), &long('b')), user(3, Some(2), &long('a'))]).unwrap();
    let bytes = files.contents(log.path()).unwrap();
    assert!(bytes.len() < 4_000, "{}", String::from_utf8_lossy(&bytes));
    let blobs = Path::new(DIR).join("blobs");
    assert_eq!(files.paths().iter().filter(|it| it.starts_with(&blobs)).count(), 2);
    let mut found = Vec::new();
    store.read(session_id(1), None, &mut |event| found.push(event)).unwrap();
    let expected =
        [user(1, None, &long('a')), user(2, Some(1), &long('b')), user(3, Some(2), &long('a'))];
    assert_eq!(found, expected);
}

#[test]
fn a_missing_or_wrong_blob_is_damage_at_its_line() {
    for wrong in [None, Some(long('b')), Some("a".to_owned())] {
        let (files, store) = house();
        let mut log = store.create(&header(1), &[notice(1, "good")]).unwrap();
        log.append(&[notice(2, &long('a'))]).unwrap();
        log.append(&[notice(3, "behind")]).unwrap();
        let name = kith_vocab::digest::sha256_hex(long('a').as_bytes());
        let path = Path::new(DIR).join("blobs").join(&name);
        match &wrong {
            Some(text) => files.write_raw(&path, text.as_bytes()),
            None => files.remove(&path).unwrap(),
        }
        let reading = store.read(session_id(1), None, &mut |_| ()).unwrap();
        let Tail::Damaged(damage) = reading.tail else { panic!("{:?}", reading.tail) };
        assert_eq!((reading.events, damage.line, damage.code.as_str()), (1, 3, "bad_blob"));
        assert!(damage.detail.contains(&name), "{damage}");
        // The bytes come back, and with them the session.
        store.create(&header(2), &[user(1, None, &long('a'))]).unwrap();
        assert_eq!(open(&store).next_seq(), 4);
    }
}

#[test]
fn a_blob_that_cannot_be_read_just_now_is_not_damage() {
    let (files, store) = house();
    drop(store.create(&header(1), &[notice(1, &long('a'))]).unwrap());
    files.fail_at(1, Fault::Fail);
    let error = store.read(session_id(1), None, &mut |_| ()).unwrap_err();
    assert!(matches!(error, LogError::Read { .. }), "{error}");
}

#[test]
fn a_blob_that_cannot_be_written_leaves_the_session_as_it_was() {
    let (files, store) = house();
    let mut log = store.create(&header(1), &[notice(1, "begins")]).unwrap();
    let before = files.contents(log.path()).unwrap();
    files.fail_at(3, Fault::Torn);
    let error = log.append(&[notice(2, &long('a'))]).unwrap_err();
    assert!(StorageError::from(error).is_full());
    assert_eq!(files.contents(log.path()).unwrap(), before);
    log.append(&[notice(2, &long('a'))]).unwrap();
}

#[test]
fn a_full_disk_leaves_the_session_as_it_was() {
    for fault in [Fault::ShortWrite, Fault::Torn, Fault::Fail] {
        let (files, store) = house();
        let mut log = store.create(&header(1), &[notice(1, "begins")]).unwrap();
        log.append(&[notice(2, "opens the file")]).unwrap();
        let before = files.contents(log.path()).unwrap();
        files.fail_at(0, fault);
        let error = log.append(&[notice(3, "lost"), notice(4, "lost")]).unwrap_err();
        assert!(StorageError::from(error).is_full(), "{fault:?}");
        assert_eq!(files.contents(log.path()).unwrap(), before, "{fault:?}");
        log.append(&[notice(3, "kept")]).unwrap();
        assert_eq!(texts(&files).0, ["begins", "opens the file", "kept"], "{fault:?}");
    }
}

#[test]
fn after_a_failed_sync_nothing_is_acknowledged() {
    let (files, store) = house();
    let mut log = store.create(&header(1), &[notice(1, "begins")]).unwrap();
    log.append(&[notice(2, "opens the file")]).unwrap();
    files.fail_at(1, Fault::Fail);
    let error = log.append(&[notice(3, "unsure")]).unwrap_err();
    assert!(matches!(error, LogError::Sync { .. }), "{error}");
    files.heal();
    let error = log.append(&[notice(3, "later")]).unwrap_err();
    assert!(matches!(error, LogError::Poisoned { .. }), "{error}");

    let mut log = store.open(session_id(1), None, &StillClock::default(), &mut |_| ()).unwrap();
    log.append(&[notice(3, "after opening again")]).unwrap();
    assert_eq!(texts(&files).0, ["begins", "opens the file", "after opening again"]);
}

#[test]
fn after_a_failed_cut_nothing_is_acknowledged() {
    let (files, store) = house();
    let mut log = store.create(&header(1), &[notice(1, "begins")]).unwrap();
    log.append(&[notice(2, "opens the file")]).unwrap();
    files.fail_at(0, Fault::Offline);
    let error = log.append(&[notice(3, "lost")]).unwrap_err();
    assert!(StorageError::from(error).is_full());
    files.heal();
    assert!(matches!(log.append(&[notice(3, "x")]).unwrap_err(), LogError::Poisoned { .. }));
}

#[test]
fn a_missing_newline_is_put_before_the_next_batch() {
    let (files, store) = house();
    let (bytes, _) = file_of(&[vec![notice(1, "whole")]]);
    files.write_raw(store.path(session_id(1)), bytes.trim_ascii_end());
    let mut log = store.open(session_id(1), None, &StillClock::default(), &mut |_| ()).unwrap();
    assert_eq!(log.next_seq(), 2);
    files.fail_at(0, Fault::ShortWrite);
    log.append(&[notice(2, "lost")]).unwrap_err();
    files.heal();
    log.append(&[notice(2, "next")]).unwrap();
    assert_eq!(
        files.contents(log.path()).unwrap(),
        file_of(&[vec![notice(1, "whole")], vec![notice(2, "next")]]).0
    );
}

#[test]
fn whatever_fails_whenever_nothing_acknowledged_is_lost() {
    for fault in [Fault::Fail, Fault::ShortWrite, Fault::Torn, Fault::Offline] {
        for n in 0..OPERATIONS_MAX {
            let (files, store) = house();
            store.create(&header(1), &[notice(1, "begins")]).unwrap();
            files.fail_at(n, fault);
            let mut acknowledged = vec!["begins".to_owned()];
            for _ in 0..3 {
                run_script(&store, &mut acknowledged);
                if fault == Fault::Offline {
                    check_after_power_cut(&files, &acknowledged);
                    files.heal();
                }
            }
            check_after_power_cut(&files, &acknowledged);
            assert!(acknowledged.len() >= 7, "{fault:?} at {n}: {acknowledged:?}");
        }
    }
}

#[test]
fn whatever_fails_whenever_no_line_is_without_its_blob() {
    for fault in [Fault::Fail, Fault::Torn, Fault::Offline] {
        for n in 0..BLOB_OPERATIONS_MAX {
            let (files, store) = house();
            store.create(&header(1), &[notice(1, "begins")]).unwrap();
            files.fail_at(n, fault);
            let mut acknowledged = vec!["begins".to_owned()];
            for _ in 0..2 {
                append_long(&store, &mut acknowledged);
                check_after_power_cut(&files, &acknowledged);
                if fault == Fault::Offline {
                    files.heal();
                }
            }
            assert!(acknowledged.len() >= 3, "{fault:?} at {n}: {}", acknowledged.len());
        }
    }
}

#[test]
fn the_torture_of_blobs_reaches_every_operation() {
    let (files, store) = house();
    store.create(&header(1), &[notice(1, "begins")]).unwrap();
    files.fail_at(BLOB_OPERATIONS_MAX, Fault::Fail);
    let mut acknowledged = vec!["begins".to_owned()];
    append_long(&store, &mut acknowledged);
    append_long(&store, &mut acknowledged);
    assert!(!files.has_failed(), "raise BLOB_OPERATIONS_MAX");
    assert_eq!(acknowledged.len(), 5);
}

/// Opens the session and appends a batch with a long text, which is new the first time only.
fn append_long(store: &SessionStore, acknowledged: &mut Vec<String>) {
    let mut found = Vec::new();
    let clock = StillClock::default();
    let opened = store.open(session_id(1), None, &clock, &mut |event| found.extend(text(&event)));
    let Ok(mut log) = opened else { return };
    assert!(found.starts_with(acknowledged));
    *acknowledged = found;
    let seq = log.next_seq();
    let texts = [seq.to_string(), long('a')];
    if log.append(&[notice(seq, &texts[0]), notice(seq + 1, &texts[1])]).is_ok() {
        acknowledged.extend(texts);
    }
}

#[test]
fn the_torture_reaches_every_operation() {
    let (files, store) = house();
    store.create(&header(1), &[notice(1, "begins")]).unwrap();
    files.fail_at(OPERATIONS_MAX, Fault::Fail);
    let mut acknowledged = vec!["begins".to_owned()];
    for _ in 0..3 {
        run_script(&store, &mut acknowledged);
    }
    assert!(!files.has_failed(), "raise OPERATIONS_MAX");
    assert_eq!(acknowledged.len(), 1 + 3 * 6);
}

/// Opens the session and appends three batches of two; notes what is acknowledged.
fn run_script(store: &SessionStore, acknowledged: &mut Vec<String>) {
    let mut found = Vec::new();
    let clock = StillClock::default();
    let opened = store.open(session_id(1), None, &clock, &mut |event| found.extend(text(&event)));
    let Ok(mut log) = opened else { return };
    // Opening acknowledges what it found, if only because it will be acted upon.
    assert!(found.starts_with(acknowledged), "{found:?} after {acknowledged:?}");
    *acknowledged = found;
    for _ in 0..3 {
        let seq = log.next_seq();
        let texts = [format!("{seq} first"), format!("{seq} second")];
        let batch = [notice(seq, &texts[0]), notice(seq + 1, &texts[1])];
        if log.append(&batch).is_ok() {
            acknowledged.extend(texts);
        }
    }
}

#[track_caller]
fn check_after_power_cut(files: &MemoryFiles, acknowledged: &[String]) {
    for model in CrashModel::EACH {
        let (found, tail) = texts(&files.after(model));
        assert!(found.starts_with(acknowledged), "{model:?}: {found:?} after {acknowledged:?}");
        let n_more = found.len() - acknowledged.len();
        assert!(n_more == 0 || n_more == 2, "{model:?}: half a batch in {found:?}");
        assert!(!matches!(tail, Tail::Damaged(_)), "{model:?}: {tail:?}");
    }
}

fn open(store: &SessionStore) -> SessionLog {
    store.open(session_id(1), None, &StillClock::default(), &mut |_| ()).unwrap()
}

fn house() -> (MemoryFiles, SessionStore) {
    let files = MemoryFiles::default();
    let store = SessionStore::new(Arc::new(files.clone()), Path::new(DIR));
    (files, store)
}

fn texts(files: &MemoryFiles) -> (Vec<String>, Tail) {
    files.heal();
    let store = SessionStore::new(Arc::new(files.clone()), Path::new(DIR));
    let mut found = Vec::new();
    let reading = store.read(session_id(1), None, &mut |event| found.extend(text(&event))).unwrap();
    (found, reading.tail)
}

fn text(event: &Event) -> Option<String> {
    match &event.body {
        Body::Notice(notice) => Some(notice.text.to_string()),
        _ => None,
    }
}

#[track_caller]
fn check_refused(events: &[Event], code: &str) {
    let (files, store) = house();
    let mut log = store.create(&header(1), &[notice(1, "begins")]).unwrap();
    let before = files.contents(log.path()).unwrap();
    check_code(&mut log, events, code);
    assert_eq!(files.contents(log.path()).unwrap(), before);
    log.append(&[notice(2, "goes on")]).unwrap();
    log.append(&[notice(3, "and on")]).unwrap();
}

#[track_caller]
fn check_code(log: &mut SessionLog, events: &[Event], code: &str) {
    let error = log.append(events).unwrap_err();
    assert!(
        matches!(&error, LogError::Refused { flaw, .. } if flaw.code.as_str() == code),
        "{error}"
    );
}
