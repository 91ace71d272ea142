use std::slice;

use super::*;
use crate::damage::DamageCode;
use crate::samples::{event_id, notice, user};

const HASH: &[u8] = b"a line";

#[test]
fn only_the_newest_ids_are_kept() {
    let mut validator = validator_after(1000);
    assert_eq!(validator.order.len(), RECENT_IDS_MAX);
    assert_eq!(validator.kinds.len(), RECENT_IDS_MAX);
    assert_eq!(validator.older.as_ref().unwrap().len(), 1000 - RECENT_IDS_MAX);
    assert!(validator.to_bytes().len() < 10_000);
    // A batch of any size leaves no more behind.
    let many: Vec<Event> = (1001..=9000).map(|seq| notice(seq, "")).collect();
    validator.admit_all(&many).unwrap();
    validator.evict();
    assert_eq!(validator.order.len(), RECENT_IDS_MAX);
    assert!(validator.kinds.capacity() < 8 * RECENT_IDS_MAX);
}

#[test]
fn a_rising_id_needs_no_older_ids() {
    let out_of_order = Event { id: event_id(5000), ..notice(1001, "") };
    for event in
        [user(1001, Some(999), "on the leaf"), user(1001, Some(1000), "on a notice"), out_of_order]
    {
        let mut validator = loaded(&validator_after(1000));
        validator.find_older(&[event], || panic!("the file is read")).unwrap();
    }
}

#[test]
fn the_last_event_of_the_tree_stays_known() {
    let mut validator = EventValidator::after_header(LineHash::of(HASH));
    admit(&mut validator, &user(1, None, "hi"));
    for seq in 2..1000 {
        admit(&mut validator, &notice(seq, ""));
    }
    let (mut validator, again) = (loaded(&validator), user(1000, Some(1), "again"));
    validator.find_older(slice::from_ref(&again), || panic!("the file is read")).unwrap();
    validator.admit(&again).unwrap();
}

#[test]
fn older_ids_are_read_once_when_one_is_named() {
    // Odd numbers are of the tree.
    check_old(&Event { id: event_id(3), ..notice(1001, "") }, Some(DamageCode::DuplicateEventId));
    check_old(&user(1001, Some(3), "a branch"), None);
    check_old(&user(1001, Some(4), "on a notice"), Some(DamageCode::InvalidParent));
    let absent: EventId = "019a8a00-0000-7000-7000-000000000001".parse().unwrap();
    check_old(
        &Event { parent_id: Some(absent), ..user(1001, None, "") },
        Some(DamageCode::InvalidParent),
    );
    check_old(&Event { id: absent, ..notice(1001, "") }, None);
}

#[track_caller]
fn check_old(event: &Event, expected: Option<DamageCode>) {
    let whole = validator_after(1000);
    let (mut validator, mut n_read) = (loaded(&whole), 0);
    for _ in 0..2 {
        let read = || {
            n_read += 1;
            Ok(whole.older.clone().unwrap())
        };
        validator.find_older(slice::from_ref(event), read).unwrap();
    }
    assert_eq!(n_read, 1);
    let actual = validator.admit(event).err().map(|flaw| flaw.code);
    assert_eq!(actual, expected);
}

#[test]
fn what_is_taken_back_leaves_no_trace() {
    let mut validator = validator_after(300);
    let before = validator.to_bytes();
    let marks = validator.marks();
    validator.admit_all(&[notice(301, ""), user(302, None, "")]).unwrap();
    validator.forget(marks, 2);
    assert_eq!(validator.to_bytes(), before);
    let (seq, flaw) = validator.admit_all(&[notice(301, ""), notice(301, "")]).unwrap_err();
    assert_eq!(seq, 301);
    assert_eq!(flaw.code, DamageCode::NonMonotonicSeq);
    assert_eq!(validator.to_bytes(), before);
}

#[test]
fn a_validator_is_stored_and_loaded() {
    for n in [1, 100, 1000] {
        let validator = validator_after(n);
        let again = EventValidator::from_bytes(&validator.to_bytes()).unwrap();
        assert_eq!(
            (again.marks, &again.order, &again.kinds),
            (validator.marks, &validator.order, &validator.kinds)
        );
    }
}

#[test]
fn other_bytes_are_no_validator() {
    let validator = validator_after(3);
    let bytes = validator.to_bytes();
    for cut in 0..bytes.len() {
        assert!(EventValidator::from_bytes(&bytes[..cut]).is_none());
    }
    assert!(EventValidator::from_bytes(b"{}").is_none());
    let text = String::from_utf8(bytes).unwrap();
    assert!(
        EventValidator::from_bytes(text.replace("\"nextSeq\":4", "\"nextSeq\":0").as_bytes())
            .is_none()
    );
}

/// A validator after this many events, each its own batch, every other one of the tree.
fn validator_after(n: u64) -> EventValidator {
    let mut validator = EventValidator::after_header(LineHash::of(HASH));
    for seq in 1..=n {
        let event = match seq % 2 {
            1 => user(seq, seq.checked_sub(2).filter(|it| *it > 0), ""),
            _ => notice(seq, ""),
        };
        admit(&mut validator, &event);
    }
    validator
}

/// The validator as a checkpoint gives it: without the older ids.
fn loaded(validator: &EventValidator) -> EventValidator {
    EventValidator::from_bytes(&validator.to_bytes()).unwrap()
}

#[track_caller]
fn admit(validator: &mut EventValidator, event: &Event) {
    validator.admit(event).unwrap();
    validator.evict();
}
