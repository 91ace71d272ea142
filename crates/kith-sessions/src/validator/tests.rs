use super::*;
use crate::damage::DamageCode;
use crate::samples::{event_id, notice, user};

const HASH: &[u8] = b"a line";

#[test]
fn only_the_newest_ids_are_kept() {
    let (mut validator, older_ids) = validator_after(1000);
    assert_eq!(validator.order.len(), RECENT_IDS_MAX);
    assert_eq!(validator.kinds.len(), RECENT_IDS_MAX);
    assert_eq!(older_ids.len(), 1000 - RECENT_IDS_MAX);
    assert!(validator.to_bytes().len() < 10_000);
    // A batch of any size leaves no more behind.
    let many: Vec<Event> = (1001..=9000).map(|seq| notice(seq, "")).collect();
    validator.admit_all(&many, &OlderIds::new()).unwrap();
    validator.evict(&mut |_, _| ());
    assert_eq!(validator.order.len(), RECENT_IDS_MAX);
    assert!(validator.kinds.capacity() < 8 * RECENT_IDS_MAX);
}

#[test]
fn a_rising_id_needs_no_older_ids() {
    let (validator, _) = validator_after(1000);
    assert!(validator.unsure_of(&[user(1001, Some(999), "on the leaf")]).is_empty());
    assert!(validator.unsure_of(&[user(1001, Some(1000), "on a notice")]).is_empty());
    let out_of_order = Event { id: event_id(5000), ..notice(1001, "") };
    assert!(validator.unsure_of(&[out_of_order]).is_empty());
}

#[test]
fn the_last_event_of_the_tree_stays_known() {
    let mut validator = EventValidator::after_header(LineHash::of(HASH));
    admit(&mut validator, &user(1, None, "hi"), &mut OlderIds::new());
    for seq in 2..1000 {
        admit(&mut validator, &notice(seq, ""), &mut OlderIds::new());
    }
    assert!(validator.unsure_of(&[user(1000, Some(1), "again")]).is_empty());
    validator.admit(&user(1000, Some(1), "again"), &OlderIds::new()).unwrap();
}

#[test]
fn of_old_ids_the_table_of_older_ids_knows() {
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
    let (mut validator, older_ids) = validator_after(1000);
    assert_eq!(validator.unsure_of(std::slice::from_ref(event)).len(), 1);
    let actual = validator.admit(event, &older_ids).err().map(|flaw| flaw.code);
    assert_eq!(actual, expected);
}

#[test]
fn what_is_taken_back_leaves_no_trace() {
    let (mut validator, older_ids) = validator_after(300);
    let before = validator.to_bytes();
    let marks = validator.marks();
    validator.admit_all(&[notice(301, ""), user(302, None, "")], &older_ids).unwrap();
    validator.forget(marks, 2);
    assert_eq!(validator.to_bytes(), before);
    let (seq, flaw) =
        validator.admit_all(&[notice(301, ""), notice(301, "")], &older_ids).unwrap_err();
    assert_eq!(seq, 301);
    assert_eq!(flaw.code, DamageCode::NonMonotonicSeq);
    assert_eq!(validator.to_bytes(), before);
}

#[test]
fn a_validator_is_stored_and_loaded() {
    for n in [1, 100, 1000] {
        let (validator, _) = validator_after(n);
        let again = EventValidator::from_bytes(&validator.to_bytes()).unwrap();
        assert_eq!(
            (again.marks, &again.order, &again.kinds),
            (validator.marks, &validator.order, &validator.kinds)
        );
    }
}

#[test]
fn other_bytes_are_no_validator() {
    let (validator, _) = validator_after(3);
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
fn validator_after(n: u64) -> (EventValidator, OlderIds) {
    let mut validator = EventValidator::after_header(LineHash::of(HASH));
    let mut older_ids = OlderIds::new();
    for seq in 1..=n {
        let event = match seq % 2 {
            1 => user(seq, seq.checked_sub(2).filter(|it| *it > 0), ""),
            _ => notice(seq, ""),
        };
        admit(&mut validator, &event, &mut older_ids);
    }
    (validator, older_ids)
}

#[track_caller]
fn admit(validator: &mut EventValidator, event: &Event, older_ids: &mut OlderIds) {
    validator.admit(event, older_ids).unwrap();
    validator.evict(&mut |id, kind| {
        older_ids.insert(id, kind);
    });
}
