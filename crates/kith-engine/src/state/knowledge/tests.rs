//! What a model knows after a transcript, in words.

use kith_testkit::transcript::{Transcript, transcript};
use kith_vocab::event::control::SkillIndexSnapshot;
use kith_vocab::event::{Body, Event};
use serde_json::json;

use super::*;

/// A transcript in which `note date X`, `note file X Y`, `note skills X`, `note delta X`,
/// `note recalled X` and `note place X` are reminders with data; any other has none.
fn told_in(line: &str) -> Transcript {
    let mut log = transcript(line);
    for event in &mut log.events {
        let Body::HarnessItem(it) = &mut event.body else { continue };
        let words: Vec<&str> = it.item.content.split(' ').collect();
        let (kind, data) = match words[..] {
            ["date", date] => (HarnessKind::DateChange, json!({ "date": date })),
            ["file", path, hash] => {
                (HarnessKind::RuntimeNotice, json!({ "path": path, "sha256": hash }))
            }
            ["skills", names] => (HarnessKind::SkillListing, json!({ "names": names })),
            ["delta", name] => (HarnessKind::SkillDelta, json!({ "added": name })),
            ["recalled", what] => (HarnessKind::Memory, json!({ "source": what })),
            ["place", name] => (HarnessKind::ChannelContext, json!({ "room": name })),
            _ => continue,
        };
        it.item.kind = kind;
        it.item.data = Some(Json::of(&data));
    }
    log
}

const KINDS: [HarnessKind; 7] = [
    HarnessKind::DateChange,
    HarnessKind::RuntimeNotice,
    HarnessKind::SkillListing,
    HarnessKind::SkillDelta,
    HarnessKind::Memory,
    HarnessKind::ChannelContext,
    HarnessKind::Steer,
];

#[track_caller]
fn check(line: &str, expected: &str) {
    let state = State::of(&told_in(line).events);
    let knowledge = state.knowledge();
    let data: Vec<&str> =
        KINDS.iter().flat_map(|kind| knowledge.data(*kind)).map(Json::as_str).collect();
    assert_eq!(data.join(" "), expected, "after: {line}");
}

#[test]
fn of_reminders_about_one_thing_the_newest_counts() {
    check("user: hi | note plain", "");
    check("user: hi | note date 1 | user: a | note date 2", r#"{"date":"2"}"#);
    check(
        "user: hi | note file a 1 | note file b 2 | note file a 3",
        r#"{"path":"b","sha256":"2"} {"path":"a","sha256":"3"}"#,
    );
    check("note place here | note place there", r#"{"room":"there"}"#);
}

#[test]
fn what_is_not_replaced_adds_up() {
    check("note recalled a | note recalled b", r#"{"source":"a"} {"source":"b"}"#);
    check(
        "note skills a | note delta b | note delta c",
        r#"{"names":"a"} {"added":"b"} {"added":"c"}"#,
    );
    check("note skills a | note delta b | note skills ab", r#"{"names":"ab"}"#);
}

#[test]
fn what_left_the_context_is_not_known() {
    let line = "user#u1: one | note date 1 | model#m1: a | ended done | user#u2: two \
                | note date 2 | model: b | ended done";
    check(line, r#"{"date":"2"}"#);
    check(&format!("{line} | leaf m1"), r#"{"date":"1"}"#);
    check(&format!("{line} | leaf root"), "");
    check(&format!("{line} | compact keep=u2 Short."), r#"{"date":"2"}"#);
    check(&format!("{line} | user#u3: three | compact keep=u3 Short."), "");
}

#[test]
fn a_reminder_that_joined_a_result_is_told_too() {
    let line = "user: go | model: ok, read_a=c1 | done c1 x | joined c1 date 2";
    check(line, r#"{"date":"2"}"#);
    check(&format!("{line} | model#m: on | ended done | user: more | leaf m"), r#"{"date":"2"}"#);
}

#[test]
fn a_compaction_repeats_what_holds_and_what_it_would_lose() {
    let line = "user: one | note place here | note date 1 | note file a 1 | note recalled x \
                | note plain | model: ok, read_a=c1 | done c1 x | joined c1 file b 1 | model: a \
                | ended done | user#u2: two | note file a 2 | model: b | ended done | user#u3: three";
    check_in_force(line, "u2", "place here, date 1, file b 1");
    check_in_force(line, "u3", "place here, date 1, file b 1, file a 2");
    let log = told_in(line);
    let again = State::of(&log.events).reminders_to_repeat(log.labels["u2"]);
    assert!(again.iter().all(|it| it.merged_into.is_none()));
}

#[track_caller]
fn check_in_force(line: &str, first_kept: &str, expected: &str) {
    let log = told_in(line);
    let in_force = State::of(&log.events).reminders_to_repeat(log.labels[first_kept]);
    let said: Vec<&str> = in_force.iter().map(|it| it.item.content.as_str()).collect();
    assert_eq!(said.join(", "), expected);
}

#[test]
fn the_list_does_not_grow_with_the_session() {
    let many: Vec<String> =
        (0..2 * REMINDERS_KNOWN_MAX).map(|n| format!("note recalled {n}")).collect();
    let state = State::of(&told_in(&many.join(" | ")).events);
    let knowledge: Vec<&str> =
        state.knowledge().data(HarnessKind::Memory).map(Json::as_str).collect();
    assert_eq!(knowledge.len(), REMINDERS_KNOWN_MAX);
    assert_eq!(knowledge.last(), Some(&r#"{"source":"511"}"#));
}

#[test]
fn the_skill_index_is_the_last_one_with_its_deltas() {
    let entry = |name: &str, sha256: &str| SkillEntry {
        name: name.to_owned(),
        display_name: name.to_owned(),
        description: String::new(),
        path: String::new(),
        scope: "home".to_owned(),
        sha256: sha256.to_owned(),
    };
    let log = transcript("title one | title two | title three");
    let mut state = State::default();
    assert!(state.knowledge().skills.is_none());
    let bodies = [
        Body::SkillIndexSnapshot(SkillIndexSnapshot {
            entries: vec![entry("a", "1"), entry("b", "1")],
        }),
        Body::SkillIndexDelta(SkillIndexDelta {
            added: vec![entry("c", "1")],
            changed: vec![entry("b", "2")],
            removed: vec!["a".to_owned()],
        }),
    ];
    for (event, body) in log.events.iter().zip(bodies) {
        state.fold(&Event { body, ..event.clone() });
    }
    assert_eq!(state.knowledge().skills, Some(&[entry("b", "2"), entry("c", "1")][..]));
}
