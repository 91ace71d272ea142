//! A session that is opened from a place is the session that is opened from its start.

use std::path::Path;
use std::sync::Arc;

use kith_vocab::event::Event;

use super::*;
use crate::line::LineHash;
use crate::log::{LogError, SessionLog};
use crate::samples::{
    StillClock, event_id, file_of, header, long, notice, session_id, small_session, user,
};
use crate::store::SessionStore;
use kith_testkit::files::{Fault, MemoryFiles};

const DIR: &str = "/house/.kith";

#[test]
fn only_what_follows_the_place_is_given() {
    let (_, store) = house();
    let (places, whole) = live(&store, &small_session());
    for (n_before, place) in &places {
        let (events, log) = open_from(&store, place, None).unwrap().unwrap();
        assert_eq!(events, whole[*n_before..]);
        assert_eq!(state_of(&log), state_of(&open(&store).unwrap().1));
    }
}

#[test]
fn a_session_goes_on_from_a_place() {
    let (_, store) = house();
    let (places, _) = live(&store, &small_session());
    let (_, mut log) = open_from(&store, &places[1].1, None).unwrap().unwrap();
    log.append(&[user(8, Some(2), "a branch"), user(9, Some(8), "and on")]).unwrap();
    let place = log.checkpoint_place().unwrap();
    let (events, again) = open_from(&store, &place, None).unwrap().unwrap();
    assert_eq!((events.len(), state_of(&again)), (0, state_of(&log)));
    assert_eq!(state_of(&again), state_of(&open(&store).unwrap().1));
    // Rules that look far back hold as well.
    let (_, mut log) = open_from(&store, &place, None).unwrap().unwrap();
    let twin = Event { id: event_id(1), ..notice(10, "twin") };
    assert!(matches!(log.append(&[twin]), Err(LogError::Refused { .. })));
}

#[test]
fn whatever_is_cut_off_behind_a_place_the_outcome_is_the_same() {
    let (bytes, ends) = file_of(&small_session());
    let (_, store) = house();
    let (places, _) = live(&store, &small_session());
    for (_, place) in &places[..3] {
        let from = usize::try_from(place.offset).unwrap();
        assert!(ends.contains(&from));
        for cut in from..=bytes.len() {
            check_same(&bytes[..cut], place, &format!("cut at {cut}"));
        }
        // And one byte before: the line is whole, its newline is gone.
        check_same(&bytes[..from - 1], place, "without its newline");
    }
}

#[test]
fn no_flipped_bit_behind_a_place_is_read_as_another_history() {
    let (bytes, _) = file_of(&small_session());
    let (_, store) = house();
    let (places, _) = live(&store, &small_session());
    let place = &places[1].1;
    for at in usize::try_from(place.line_start).unwrap()..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1;
        check_same(&flipped, place, &format!("byte {at}"));
    }
}

/// Opens a file both ways. If the place is used at all, both agree.
#[track_caller]
fn check_same(bytes: &[u8], place: &CheckpointPlace, what: &str) {
    let (files, store) = house();
    files.write_raw(store.path(session_id(1)), bytes);
    let from_place = match open_from(&store, place, None) {
        Ok(None) => return,
        Ok(Some((events, log))) => Ok((events, state_of(&log))),
        Err(error) => Err(error.to_string()),
    };
    let (files, store) = house();
    files.write_raw(store.path(session_id(1)), bytes);
    let n_before = usize::try_from(place.head.seq).unwrap();
    let from_start = match open(&store) {
        Ok((events, log)) => Ok((events[n_before..].to_vec(), state_of(&log))),
        Err(error) => Err(error.to_string()),
    };
    assert_eq!(from_place, from_start, "{what}");
}

#[test]
fn a_place_that_does_not_fit_is_passed_over() {
    let (files, store) = house();
    let (places, _) = live(&store, &small_session());
    let place = places[1].1.clone();
    let check = |place: &CheckpointPlace| {
        assert!(open_from(&store, place, None).unwrap().is_none(), "{place:?}");
    };
    check(&CheckpointPlace { offset: place.offset + 2, ..place.clone() });
    check(&CheckpointPlace { offset: place.offset - 2, ..place.clone() });
    check(&CheckpointPlace { line_start: place.line_start + 1, ..place.clone() });
    check(&CheckpointPlace { line_start: u64::from(u32::MAX), ..place.clone() });
    check(&CheckpointPlace { validator: b"{}".to_vec(), ..place.clone() });
    check(&CheckpointPlace { validator: places[2].1.validator.clone(), ..place.clone() });
    let other_hash = LogHead { hash: LineHash::of(b"another"), ..place.head };
    check(&CheckpointPlace { head: other_hash, ..place.clone() });
    check(&CheckpointPlace { head: LogHead { seq: 3, ..place.head }, ..place.clone() });

    let path = store.path(session_id(1));
    let bytes = files.contents(&path).unwrap();
    files.write_raw(&path, &bytes[..usize::try_from(place.line_start).unwrap() + 5]);
    check(&place);
    files.write_raw(&path, b"");
    check(&place);
    // A header that is good, but another.
    let (other, _) = crate::line::encode_header(&kith_vocab::header::SessionHeader {
        cwd: "/home/ada/other".to_owned(),
        ..header(1)
    })
    .unwrap();
    let rest = bytes.iter().position(|&byte| byte == b'\n').unwrap() + 1;
    let shift = other.len() as u64;
    files.write_raw(&path, &[&other[..], &bytes[rest..]].concat());
    let moved = |at: u64| at + shift - rest as u64;
    let line_start = moved(place.line_start);
    check(&CheckpointPlace { offset: moved(place.offset), line_start, ..place });
}

#[test]
fn what_the_desk_knows_is_not_read_past() {
    let (_, store) = house();
    let (places, _) = live(&store, &small_session());
    let (place, last) = (&places[1].1, places[3].1.head);
    assert!(open_from(&store, place, Some(&last)).unwrap().is_some());
    assert!(open_from(&store, place, Some(&place.head)).unwrap().is_some());
    let other = LogHead { hash: LineHash::of(b"another"), ..place.head };
    assert!(open_from(&store, place, Some(&other)).unwrap().is_none());
    let beyond = LogHead { seq: 9, ..last };
    let error = open_from(&store, place, Some(&beyond)).unwrap_err();
    assert!(error.to_string().contains("line 9: lost_tail"), "{error}");
}

#[test]
fn an_event_that_names_one_from_before_the_place_is_judged_by_the_file() {
    let (files, store) = house();
    let mut batches = vec![vec![user(1, None, "first")]];
    batches.extend((2..=300).map(|seq| vec![notice(seq, "")]));
    batches.push(vec![user(301, Some(1), "the leaf stays known"), user(302, Some(301), "")]);
    let (places, _) = live(&store, &batches);
    assert!(open_from(&store, &places[299].1, None).unwrap().is_some());
    let mut log = open(&store).unwrap().1;
    let place = log.checkpoint_place().unwrap();
    log.append(&[user(303, Some(1), "a branch to long ago")]).unwrap();
    let (events, mut log) = open_from(&store, &place, None).unwrap().unwrap();
    assert_eq!(events, [user(303, Some(1), "a branch to long ago")]);
    let twice = Event { id: event_id(2), ..notice(304, "") };
    assert!(log.append(&[twice]).unwrap_err().to_string().contains("the same id"));
    // If the file has no such event, reading it from its start says why.
    let text = String::from_utf8(files.contents(store.path(session_id(1))).unwrap()).unwrap();
    let first = text.lines().nth(1).unwrap();
    let spoilt = text.replacen(first, &"x".repeat(first.len()), 1);
    files.write_raw(store.path(session_id(1)), spoilt.as_bytes());
    assert!(open_from(&store, &place, None).unwrap().is_none());
    assert!(open(&store).unwrap_err().to_string().contains("line 2"));
}

#[test]
fn blobs_behind_a_place_are_read_and_those_before_it_are_not() {
    let (files, store) = house();
    let (places, whole) = live(&store, &[vec![notice(1, &long('a'))], vec![notice(2, &long('b'))]]);
    let name = kith_vocab::digest::sha256_hex(long('a').as_bytes());
    files.write_raw(Path::new(DIR).join("blobs").join(name), b"spoilt");
    let (events, _) = open_from(&store, &places[0].1, None).unwrap().unwrap();
    assert_eq!(events, whole[1..]);
    assert!(open(&store).is_err());
}

#[test]
fn there_is_no_place_without_an_event_or_after_a_failed_write() {
    let (files, store) = house();
    let mut log = store.create(&header(1), &[]).unwrap();
    assert_eq!(log.checkpoint_place(), None);
    log.append(&[notice(1, "")]).unwrap();
    assert!(log.checkpoint_place().is_some());
    files.fail_at(1, Fault::Fail);
    log.append(&[notice(2, "")]).unwrap_err();
    assert_eq!(log.checkpoint_place(), None);
}

#[test]
fn a_session_that_is_gone_is_not_found() {
    let (files, store) = house();
    let (places, _) = live(&store, &small_session());
    kith_vocab::files::FileSystem::remove(&files, &store.path(session_id(1))).unwrap();
    let error = open_from(&store, &places[0].1, None).unwrap_err();
    assert!(matches!(error, LogError::NotFound { .. }), "{error}");
}

/// Makes session 1 of these batches; the place after each, with the number of events before it.
fn live(
    store: &SessionStore,
    batches: &[Vec<Event>],
) -> (Vec<(usize, CheckpointPlace)>, Vec<Event>) {
    let mut log = store.create(&header(1), &batches[0]).unwrap();
    let mut n_before = batches[0].len();
    let mut places = vec![(n_before, log.checkpoint_place().unwrap())];
    for batch in &batches[1..] {
        log.append(batch).unwrap();
        n_before += batch.len();
        places.push((n_before, log.checkpoint_place().unwrap()));
    }
    (places, batches.concat())
}

type OpenedSession = (Vec<Event>, SessionLog);

fn open_from(
    store: &SessionStore,
    place: &CheckpointPlace,
    head: Option<&LogHead>,
) -> Result<Option<OpenedSession>, LogError> {
    let mut events = Vec::new();
    let clock = StillClock::default();
    let each = &mut |event: Event| events.push(event);
    let log = store.open_from(session_id(1), head, place, &clock, each)?;
    Ok(log.map(|log| (events, log)))
}

fn open(store: &SessionStore) -> Result<OpenedSession, LogError> {
    let mut events = Vec::new();
    let clock = StillClock::default();
    let log = store.open(session_id(1), None, &clock, &mut |it| events.push(it))?;
    Ok((events, log))
}

/// All that an open log is, but for its files.
fn state_of(log: &SessionLog) -> (Option<LogHead>, u64, Option<CheckpointPlace>) {
    (log.head(), log.byte_len(), log.checkpoint_place())
}

fn house() -> (MemoryFiles, SessionStore) {
    let files = MemoryFiles::default();
    let store = SessionStore::new(Arc::new(files.clone()), Path::new(DIR));
    // Torn tails need the folder.
    store.create(&header(9), &[]).unwrap();
    (files, store)
}
