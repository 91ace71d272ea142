use std::path::Path;
use std::sync::Arc;

use kith_vocab::event::{Body, SourceTag};
use kith_vocab::header::{Audience, CloneOrigin};
use kith_vocab::ids::EventId;

use super::*;
use crate::samples::{
    StillClock, event, event_id, every_type, file_of, header, long, session_id, small_session, user,
};
use kith_testkit::files::{CrashModel, Fault, MemoryFiles};

const DIR: &str = "/house/.kith";
const OPERATIONS_MAX: usize = 40;

#[test]
fn every_intact_line_is_told_in_a_new_session_and_the_model_learns_where_something_is_missing() {
    let (files, store) = house();
    let said: Vec<Vec<Event>> =
        (1..=6).map(|n| vec![user(n, (n > 1).then(|| n - 1), &format!("text {n}"))]).collect();
    let (mut bytes, ends) = file_of(&said);
    // The third and the fourth.
    bytes[ends[2] + 20] ^= 1;
    bytes[ends[3] + 20] ^= 1;
    files.write_raw(store.path(session_id(1)), &bytes);
    let repaired = repair(&store).unwrap();
    let expected = RepairedSession {
        session_id: session_id(2),
        n_events: 5,
        lost_from_line: 4,
        code: DamageCode::BadCrc,
        head: repaired.head,
        keys: Vec::new(),
    };
    assert_eq!(repaired, expected);

    let (events, header) = read(&store, session_id(2));
    let shown: Vec<(u64, String, Option<EventId>)> =
        events.iter().map(|it| (it.seq, words(it), it.parent_id)).collect();
    let notice = events[2].id;
    let expected = [
        (1, "text 1".to_owned(), None),
        (2, "text 2".to_owned(), Some(event_id(1))),
        (3, copy::MISSING.to_owned(), Some(event_id(2))),
        (4, "text 5".to_owned(), Some(notice)),
        (5, "text 6".to_owned(), Some(event_id(5))),
    ];
    assert_eq!(shown, expected);
    assert!(events.iter().all(|it| it.source_tag == Some(SourceTag::Clone)));
    let origin = CloneOrigin { session_id: session_id(1), event_id: event_id(6) };
    assert_eq!(header.cloned_from, Some(origin));
    assert_eq!(files.contents(store.path(session_id(1))).unwrap(), bytes, "it stays as it is");

    let mut log = store.open(session_id(2), None, &StillClock::default(), &mut |_| ()).unwrap();
    let next = Event { parent_id: Some(event_id(6)), ..user(6, None, "goes on") };
    log.append(&[Event { id: event_id(99), ..next }]).unwrap();
}

#[test]
fn a_batch_that_was_torn_behind_the_damage_is_not_told() {
    let said = [
        vec![user(1, None, "text 1")],
        vec![user(2, Some(1), "text 2")],
        vec![user(3, Some(2), "text 3"), user(4, Some(3), "text 4")],
    ];
    let (whole, ends) = file_of(&said);
    let told = |len: usize, head: Option<u64>| -> Vec<String> {
        let (files, store) = house();
        let mut bytes = whole[..len].to_vec();
        bytes[ends[0] + 20] ^= 1;
        files.write_raw(store.path(session_id(1)), &bytes);
        let head = head.map(|seq| LogHead { seq, hash: crate::line::LineHash::of(b"") });
        let clock = StillClock::default();
        store.repair(session_id(1), head.as_ref(), header(2), &clock).unwrap();
        read(&store, session_id(2)).0.iter().map(words).collect()
    };
    let [missing, second, third, fourth] = [copy::MISSING, "text 2", "text 3", "text 4"];
    assert_eq!(told(whole.len(), None), [missing, second, third, fourth]);
    let line = 1 + whole[ends[2]..].iter().position(|&byte| byte == b'\n').unwrap();
    for len in [ends[2] + line, whole.len() - 9, ends[2] + 9] {
        // Nobody was told of the last batch.
        assert_eq!(told(len, None), [missing, second]);
        assert_eq!(told(len, Some(2)), [missing, second]);
    }
    // The desk knows that it was whole.
    assert_eq!(told(ends[2] + line, Some(4)), [missing, second, third, missing]);
    assert_eq!(told(ends[2] + 9, Some(4)), [missing, second, missing]);
    // The last event that the desk knows of is the damaged one.
    let (whole, ends) = file_of(&said[1..]);
    let (files, store) = house();
    let mut bytes = whole[..whole.len() - 9].to_vec();
    bytes[ends[0] + 20] ^= 1;
    files.write_raw(store.path(session_id(1)), &bytes);
    let head = LogHead { seq: 2, hash: crate::line::LineHash::of(b"") };
    let repaired = store.repair(session_id(1), Some(&head), header(2), &StillClock::default());
    assert_eq!(repaired.unwrap().n_events, 0, "nothing of the torn batch is told");
}

#[test]
fn a_last_batch_with_a_line_twice_is_whole() {
    let said = [
        vec![user(1, None, "text 1")],
        vec![user(2, Some(1), "text 2"), user(3, Some(2), "text 3")],
    ];
    let (mut bytes, ends) = file_of(&said);
    bytes[ends[0] + 20] ^= 1;
    let line = 1 + bytes[ends[1]..].iter().position(|&byte| byte == b'\n').unwrap();
    let twice = bytes[ends[1]..ends[1] + line].to_vec();
    bytes.splice(ends[1] + line..ends[1] + line, twice);
    let (files, store) = house();
    files.write_raw(store.path(session_id(1)), &bytes);
    repair(&store).unwrap();
    let told: Vec<String> = read(&store, session_id(2)).0.iter().map(words).collect();
    assert_eq!(told, [copy::MISSING, "text 2", "text 3"]);
}

/// What is said in an event.
fn words(event: &Event) -> String {
    match &event.body {
        Body::UserMessage(it) => match &it.message.content[..] {
            [kith_vocab::block::Block::Text(text)] => text.text.to_string(),
            other => format!("{other:?}"),
        },
        Body::HarnessItem(it) => it.item.content.to_string(),
        other => other.type_name().to_owned(),
    }
}

#[test]
fn whichever_lines_are_lost_every_other_one_is_told_once() {
    let said: Vec<Vec<Event>> =
        (1..=6).map(|n| vec![user(n, (n > 1).then(|| n - 1), &format!("text {n}"))]).collect();
    let (bytes, ends) = file_of(&said);
    for lost in 1..(1_u32 << 6) {
        let (files, store) = house();
        let mut bytes = bytes.clone();
        let is_lost = |n: usize| lost & (1 << (n - 1)) != 0;
        for n in (1..=6).filter(|&n| is_lost(n)) {
            bytes[ends[n - 1] + 20] ^= 1;
        }
        // Somebody has put the last line there twice.
        let last = bytes[ends[5]..].to_vec();
        bytes.extend_from_slice(&last);
        files.write_raw(store.path(session_id(1)), &bytes);
        let head = LogHead { seq: 6, hash: crate::line::LineHash::of(b"") };
        store.repair(session_id(1), Some(&head), header(2), &StillClock::default()).unwrap();
        let told: Vec<String> = read(&store, session_id(2)).0.iter().map(words).collect();
        let own: Vec<&String> = told.iter().filter(|it| it.starts_with("text")).collect();
        let expected: Vec<String> =
            (1..=6).filter(|&n| !is_lost(n)).map(|n| format!("text {n}")).collect();
        assert_eq!(own, expected.iter().collect::<Vec<_>>(), "{lost:b}");
        let n_gaps = (1..=6).filter(|&n| is_lost(n) && (n == 6 || !is_lost(n + 1))).count();
        let n_told = told.iter().filter(|it| *it == copy::MISSING).count();
        assert_eq!(n_told, if own.is_empty() { 0 } else { n_gaps }, "{lost:b}: {told:?}");
    }
}

#[test]
fn without_its_first_line_the_rest_is_told_in_the_thread_that_the_caller_knows() {
    let (files, store) = house();
    let (mut bytes, _) = file_of(&[vec![user(1, None, "text")]]);
    bytes[20] ^= 1;
    files.write_raw(store.path(session_id(1)), &bytes);
    let repaired = repair(&store).unwrap();
    assert_eq!((repaired.n_events, repaired.lost_from_line), (1, 1));
    let (events, header) = read(&store, session_id(2));
    assert_eq!(words(&events[0]), "text");
    assert_eq!(header.cloned_from.map(|it| it.session_id), Some(session_id(1)));
}

#[test]
fn what_was_primed_stays_known_as_primed() {
    let (files, store) = house();
    let tagged = |event: Event, tag| Event { source_tag: Some(tag), ..event };
    let events = vec![
        tagged(user(1, None, "primed"), SourceTag::PrimingScript),
        tagged(user(2, Some(1), "cloned"), SourceTag::Clone),
        user(3, Some(2), "lived"),
    ];
    damage_after(&files, &store, &[events]);
    repair(&store).unwrap();
    let tags: Vec<_> =
        read(&store, session_id(2)).0.iter().filter_map(|it| it.source_tag).collect();
    assert_eq!(tags[..3], [SourceTag::PrimingScript, SourceTag::Clone, SourceTag::Clone]);
}

#[test]
fn only_what_may_be_inherited_is_copied() {
    let (files, store) = house();
    let events = every_type();
    damage_after(&files, &store, &[events]);
    repair(&store).unwrap();
    let (events, header) = read(&store, session_id(2));
    let types: Vec<&str> = events.iter().map(|it| it.body.type_name()).collect();
    let expected = [
        "instruction_snapshot",
        "toolset_snapshot",
        "user_message",
        "assistant_message",
        "tool_result",
        "harness_item",
        "compact",
        "primed_record",
        "skill_index_snapshot",
        "skill_index_delta",
        // Our own words: something stood behind it that cannot be read.
        "harness_item",
    ];
    assert_eq!(types, expected);
    for event in &events[..10] {
        let is_record = event.body.type_name() == "primed_record";
        let tag = if is_record { SourceTag::PrimingScript } else { SourceTag::Clone };
        assert_eq!(event.source_tag, Some(tag), "{}", event.body.type_name());
    }
    assert_eq!(header.meta.title.as_deref(), Some("Tidy notes"));
}

#[test]
fn the_conversation_goes_on_where_it_was() {
    let moved = |seq, to: &str| {
        event(seq, None, &format!(r#"{{"type":"leaf_moved","to":{to},"reason":"branch"}}"#))
    };
    let first = format!("\"{}\"", event_id(1));
    let lost = format!("\"{}\"", event_id(99));
    let said = [user(1, None, "a"), user(2, Some(1), "b")];
    check_leaf(&said, Some(event_id(2)));
    check_leaf(&[said.to_vec(), vec![moved(3, &first)]].concat(), Some(event_id(1)));
    check_leaf(&[said.to_vec(), vec![moved(3, "null")]].concat(), None);
    check_leaf(&[said.to_vec(), vec![moved(3, &lost)]].concat(), Some(event_id(2)));
    let elsewhere = [said.to_vec(), vec![moved(3, &first), user(4, Some(1), "c")]].concat();
    check_leaf(&elsewhere, Some(event_id(4)));
}

/// Says where the repaired session goes on, with something missing at its end and without.
#[track_caller]
fn check_leaf(events: &[Event], expected: Option<EventId>) {
    let (files, store) = house();
    damage_after(&files, &store, &[events.to_vec()]);
    repair(&store).unwrap();
    let (copied, _) = read(&store, session_id(2));
    assert_eq!(copied.last().unwrap().parent_id, expected, "something is missing at the end");

    let (files, store) = house();
    let (mut bytes, _) = file_of(&[events.to_vec()]);
    // A notice is lost, and nothing of the conversation.
    let notice = b"{\"seq\":9}\n".to_vec();
    let header_end = bytes.iter().position(|&byte| byte == b'\n').unwrap() + 1;
    bytes.splice(header_end..header_end, notice);
    files.write_raw(store.path(session_id(1)), &bytes);
    repair(&store).unwrap();
    let (copied, _) = read(&store, session_id(2));
    let leaf = copied.iter().fold(None, |leaf, event| match &event.body {
        Body::LeafMoved(moved) => moved.to,
        _ if event.is_tree() => Some(event.id),
        _ => leaf,
    });
    assert_eq!(leaf, expected, "nothing is missing at the end");
}

#[test]
fn blobs_are_shared_and_a_line_without_its_blob_is_lost() {
    let (files, store) = house();
    let first = [user(1, None, &long('a')), user(2, Some(1), "short")];
    let mut log = store.create(&header(1), &first).unwrap();
    log.append(&[user(3, Some(2), &long('b'))]).unwrap();
    let n_files = files.paths().len();
    files.write_raw(blob(&long('b')), b"");
    let repaired = repair(&store).unwrap();
    assert_eq!((repaired.n_events, repaired.code), (3, DamageCode::BadBlob));
    assert_eq!(files.paths().len(), n_files + 1);
    let (events, _) = read(&store, session_id(2));
    assert_eq!(events[0].body, user(1, None, &long('a')).body);
}

fn blob(text: &str) -> std::path::PathBuf {
    Path::new(DIR).join("blobs").join(kith_vocab::digest::sha256_hex(text.as_bytes()))
}

#[test]
fn a_lost_tail_is_damage_that_the_desk_knows() {
    let (files, store) = house();
    let (bytes, ends) = file_of(&small_session());
    files.write_raw(store.path(session_id(1)), &bytes);
    let head = store.read(session_id(1), None, &mut |_| ()).unwrap().head;
    files.write_raw(store.path(session_id(1)), &bytes[..ends[3]]);
    let error = repair(&store).unwrap_err();
    assert!(matches!(error, LogError::NotDamaged { .. }), "{error}");
    let clock = StillClock::default();
    let repaired = store.repair(session_id(1), head.as_ref(), header(2), &clock).unwrap();
    assert_eq!((repaired.lost_from_line, repaired.code), (7, DamageCode::LostTail));
}

#[test]
fn what_cannot_be_repaired_is_said() {
    let (files, store) = house();
    assert!(matches!(repair(&store).unwrap_err(), LogError::NotFound { .. }));
    files.write_raw(store.path(session_id(1)), b"no header");
    assert!(matches!(repair(&store).unwrap_err(), LogError::Damaged { .. }));
    damage_after(&files, &store, &small_session());
    let clock = StillClock::default();
    let wider = SessionHeader { audience: Audience::Shared, ..header(2) };
    let elsewhere = SessionHeader { thread_id: "cli:room:other".parse().unwrap(), ..header(2) };
    for other in [wider, elsewhere] {
        let error = store.repair(session_id(1), None, other, &clock).unwrap_err();
        assert!(matches!(error, LogError::RefusedHeader { .. }), "{error}");
    }
    let error = store.repair(session_id(1), None, header(1), &clock).unwrap_err();
    assert!(matches!(error, LogError::Exists { .. }), "{error}");
    assert_eq!(files.paths(), [store.path(session_id(1))]);
}

#[test]
fn nothing_readable_is_an_empty_session() {
    let (files, store) = house();
    damage_after(&files, &store, &[]);
    assert_eq!(repair(&store).unwrap().n_events, 0);
    let (events, header) = read(&store, session_id(2));
    assert_eq!((events, header.cloned_from), (Vec::new(), None));
}

#[test]
fn a_long_session_is_copied_in_pieces() {
    let (files, store) = house();
    let text = "x".repeat(60_000);
    let mut batches: Vec<Vec<Event>> = vec![vec![user(1, None, &text)]];
    for seq in 2..=40 {
        batches.push(vec![user(seq, Some(1), &text)]);
    }
    damage_after(&files, &store, &batches);
    assert_eq!(repair(&store).unwrap().n_events, 41);
    assert_eq!(read(&store, session_id(2)).0.len(), 41, "and a word on what is missing");
}

#[test]
fn a_repair_is_whole_or_absent() {
    for fault in [Fault::Fail, Fault::ShortWrite, Fault::Torn, Fault::Offline] {
        for n in 0..OPERATIONS_MAX {
            let (files, store) = house();
            damage_after(&files, &store, &small_session());
            let before = files.contents(store.path(session_id(1)));
            files.fail_at(n, fault);
            let done = repair(&store).is_ok();
            files.heal();
            for model in CrashModel::EACH {
                let files = files.after(model);
                let store = SessionStore::new(Arc::new(files.clone()), Path::new(DIR));
                assert_eq!(files.contents(store.path(session_id(1))), before);
                match store.read(session_id(2), None, &mut |_| ()) {
                    Ok(reading) => assert_eq!((reading.events, reading.tail), (4, Tail::Clean)),
                    Err(LogError::NotFound { .. }) => assert!(!done, "{fault:?} at {n}"),
                    Err(error) => panic!("{fault:?} at {n}: {error}"),
                }
            }
            assert!(done || fault == Fault::Offline || repair(&store).is_ok(), "{fault:?} at {n}");
        }
    }
}

/// Session 1 of these batches, with a line behind them that is none and one that is.
fn damage_after(files: &MemoryFiles, store: &SessionStore, batches: &[Vec<Event>]) {
    let (mut bytes, _) = file_of(batches);
    bytes.extend_from_slice(b"no line\n{\"v\":9}\n");
    files.write_raw(store.path(session_id(1)), &bytes);
}

fn repair(store: &SessionStore) -> Result<RepairedSession, LogError> {
    store.repair(session_id(1), None, header(2), &StillClock::default())
}

#[track_caller]
fn read(store: &SessionStore, id: SessionId) -> (Vec<Event>, SessionHeader) {
    let mut events = Vec::new();
    let reading = store.read(id, None, &mut |event| events.push(event)).unwrap();
    assert_eq!(reading.tail, Tail::Clean);
    (events, reading.header)
}

fn house() -> (MemoryFiles, SessionStore) {
    let files = MemoryFiles::default();
    let store = SessionStore::new(Arc::new(files.clone()), Path::new(DIR));
    (files, store)
}
