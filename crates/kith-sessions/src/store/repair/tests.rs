use std::path::Path;
use std::sync::Arc;

use kith_vocab::header::Audience;

use super::*;
use crate::faults::{Fault, FaultyFiles, Leaves};
use crate::samples::{
    StillClock, event, event_id, every_type, file_of, header, long, session_id, small_session, user,
};

const DIR: &str = "/house/.kith";
const OPERATIONS_MAX: usize = 40;

#[test]
fn the_readable_part_is_told_in_a_new_session() {
    let (files, store) = house();
    let (mut bytes, ends) = file_of(&small_session());
    bytes[ends[3] - 10] ^= 1;
    files.put(&store.path(session_id(1)), &bytes);
    let repaired = repair(&store).unwrap();
    let expected = RepairedSession {
        session_id: session_id(2),
        n_events: 2,
        lost_from_line: 6,
        code: DamageCode::BadCrc,
        head: repaired.head,
    };
    assert_eq!(repaired, expected);

    let (events, header) = read(&store, session_id(2));
    let cloned = |seq, event: Event| Event { seq, source_tag: Some(SourceTag::Clone), ..event };
    assert_eq!(
        events,
        [cloned(1, user(2, None, "你好")), cloned(2, user(4, Some(2), "again"))],
        "notices are left out"
    );
    let origin = CloneOrigin { session_id: session_id(1), event_id: event_id(4) };
    assert_eq!(header.cloned_from, Some(origin));
    assert_eq!(files.bytes(&store.path(session_id(1))).unwrap(), bytes, "it stays as it is");

    let mut log = store.open(session_id(2), None, &StillClock::default(), &mut |_| ()).unwrap();
    let next = Event { parent_id: Some(event_id(4)), ..user(3, None, "goes on") };
    log.append(&[Event { id: event_id(99), ..next }]).unwrap();
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
    assert_eq!(tags, [SourceTag::PrimingScript, SourceTag::Clone, SourceTag::Clone]);
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
        "harness_item",
        "assistant_message",
        "tool_result",
        "compact",
        "primed_record",
        "skill_index_snapshot",
        "skill_index_delta",
        // Our own word, because the last event is not where the conversation was.
        "leaf_moved",
    ];
    assert_eq!(types, expected);
    assert!(events.iter().take(10).all(|it| it.source_tag == Some(SourceTag::Clone)));
    assert_eq!(header.meta.title.as_deref(), Some("Notes"));
}

#[test]
fn the_conversation_goes_on_where_it_was() {
    let moved = |seq, to: &str| {
        event(seq, None, &format!(r#"{{"type":"leaf_moved","to":{to},"reason":"branch"}}"#))
    };
    let first = format!("\"{}\"", event_id(1));
    let said = [user(1, None, "a"), user(2, Some(1), "b")];
    check_leaf(&said, None);
    check_leaf(&[said.to_vec(), vec![moved(3, &first)]].concat(), Some(Some(event_id(1))));
    check_leaf(&[said.to_vec(), vec![moved(3, "null")]].concat(), Some(None));
    let elsewhere = [said.to_vec(), vec![moved(3, &first), user(4, Some(1), "c")]].concat();
    check_leaf(&elsewhere, None);
}

/// Says where the repaired session moves its leaf to.
#[track_caller]
#[expect(clippy::option_option, reason = "no move, a move to the front, a move to an event")]
fn check_leaf(events: &[Event], expected: Option<Option<EventId>>) {
    let (files, store) = house();
    damage_after(&files, &store, &[events.to_vec()]);
    repair(&store).unwrap();
    let mut moves = read(&store, session_id(2)).0.into_iter().filter_map(|it| match it.body {
        Body::LeafMoved(moved) => Some(moved.to),
        _ => None,
    });
    assert_eq!(moves.next_back(), expected);
}

#[test]
fn blobs_are_shared_and_a_bad_one_ends_the_readable_part() {
    let (files, store) = house();
    let first = [user(1, None, &long('a')), user(2, Some(1), "short")];
    let mut log = store.create(&header(1), &first).unwrap();
    log.append(&[user(3, Some(2), &long('b'))]).unwrap();
    let n_files = files.paths().len();
    files.put(&blob(&long('b')), b"");
    let repaired = repair(&store).unwrap();
    assert_eq!((repaired.n_events, repaired.code), (2, DamageCode::BadBlob));
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
    files.put(&store.path(session_id(1)), &bytes);
    let head = store.read(session_id(1), None, &mut |_| ()).unwrap().head;
    files.put(&store.path(session_id(1)), &bytes[..ends[3]]);
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
    files.put(&store.path(session_id(1)), b"no header");
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
    assert_eq!(repair(&store).unwrap().n_events, 40);
    assert_eq!(read(&store, session_id(2)).0.len(), 40);
}

#[test]
fn a_repair_is_whole_or_absent() {
    for fault in [Fault::Fail, Fault::Short, Fault::Torn, Fault::Dead] {
        for n in 0..OPERATIONS_MAX {
            let (files, store) = house();
            damage_after(&files, &store, &small_session());
            let before = files.bytes(&store.path(session_id(1)));
            files.fail_at(n, fault);
            let done = repair(&store).is_ok();
            files.heal();
            for leaves in [Leaves::Nothing, Leaves::Half, Leaves::All] {
                let files = files.after_power_cut(leaves);
                let store = SessionStore::new(Arc::new(files.clone()), Path::new(DIR));
                assert_eq!(files.bytes(&store.path(session_id(1))), before);
                match store.read(session_id(2), None, &mut |_| ()) {
                    Ok(reading) => assert_eq!((reading.events, reading.tail), (3, Tail::Clean)),
                    Err(LogError::NotFound { .. }) => assert!(!done, "{fault:?} at {n}"),
                    Err(error) => panic!("{fault:?} at {n}: {error}"),
                }
            }
            assert!(done || fault == Fault::Dead || repair(&store).is_ok(), "{fault:?} at {n}");
        }
    }
}

/// Session 1 of these batches, with a line behind them that is none and one that is.
fn damage_after(files: &FaultyFiles, store: &SessionStore, batches: &[Vec<Event>]) {
    let (mut bytes, _) = file_of(batches);
    bytes.extend_from_slice(b"no line\n{\"v\":9}\n");
    files.put(&store.path(session_id(1)), &bytes);
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

fn house() -> (FaultyFiles, SessionStore) {
    let files = FaultyFiles::default();
    let store = SessionStore::new(Arc::new(files.clone()), Path::new(DIR));
    (files, store)
}
