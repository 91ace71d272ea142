//! Where one may go on from, for every event of a transcript.

use kith_testkit::events::{any_event_log, fixed_cases};
use kith_testkit::transcript::transcript;
use proptest::prelude::*;

use super::*;

/// The boundary of each labelled event: `from>to`, `.` before the first message.
fn check(line: &str, expected: &str) {
    let log = transcript(line);
    let mut survey = Survey::default();
    log.events.iter().for_each(|event| survey.read(event));
    let label = |place: LeafId| match place.event() {
        None => ".".to_owned(),
        Some(id) => log.labels.iter().find(|(_, known)| **known == id).unwrap().0.clone(),
    };
    let mut found = Vec::new();
    for (from, id) in &log.labels {
        found.push(format!("{from}>{}", label(survey.boundary(LeafId::Event(*id)))));
    }
    found.push(format!("now>{}", label(survey.resting_leaf())));
    assert_eq!(found.join(" "), expected, "{line}");
}

#[test]
fn a_message_leads_to_before_it_and_the_end_of_a_turn_to_itself() {
    check("user#u1: a | model#m1: b | ended done", "m1>m1 u1>. now>m1");
    check(
        "user#u1: a | model#m1: b | ended done | user#u2: c | model#m2: d | ended done",
        "m1>m1 m2>m2 u1>. u2>m1 now>m2",
    );
}

#[test]
fn the_middle_of_a_turn_leads_to_before_it() {
    check(
        "user#u1: a | model#m1: ok, read=c1 | free c1 | done c1 | model#m2: b | ended done",
        "c1>. m1>. m2>m2 u1>. now>m2",
    );
}

#[test]
fn an_open_turn_is_no_place_to_go_on_from() {
    check(
        "user#u1: a | model#m1: b | ended done | user#u2: c | model#m2: ok, read=c1",
        "m1>m1 m2>m1 u1>. u2>m1 now>m1",
    );
    check("user#u1: a", "u1>. now>.");
}

#[test]
fn a_message_without_an_answer_leads_to_before_it() {
    check("user#u1: a | failed network | ended failed", "u1>. now>u1");
}

#[test]
fn messages_of_one_burst_are_one_turn() {
    check("user#u1: a | user#u2: b | model#m1: c | ended done", "m1>m1 u1>. u2>. now>m1");
    check("cloned user#u1: a | cloned user#u2: b | cloned model#m1: c", "m1>m1 u1>. u2>. now>m1");
}

#[test]
fn what_was_inherited_has_its_boundaries_where_someone_speaks() {
    check(
        "cloned user#u1: a | cloned model#m1: b | cloned user#u2: c | cloned model#m2: d",
        "m1>m1 m2>m2 u1>. u2>m1 now>m2",
    );
    check(
        "primed user#u1: a | primed model#m1: b | user#u2: c | model#m2: d, read=c1",
        "m1>m1 m2>m1 u1>. u2>m1 now>m1",
    );
}

#[test]
fn each_way_keeps_its_boundaries() {
    check(
        "user#u1: a | model#m1: b | ended done | user#u2: c | model#m2: d | ended done | leaf m1 \
         | user#u3: e | model#m3: f | ended done",
        "m1>m1 m2>m2 m3>m3 u1>. u2>m1 u3>m1 now>m3",
    );
    check("user#u1: a | model#m1: b | ended done | leaf root", "m1>m1 u1>. now>.");
}

#[test]
fn an_event_is_found_by_its_beginning_or_end() {
    let log = transcript("user#u1: a | model#m1: b | ended done");
    let mut survey = Survey::default();
    log.events.iter().for_each(|event| survey.read(event));
    let (u1, m1) = (log.event("u1").to_string(), log.event("m1").to_string());
    assert_eq!(survey.find("start"), Ok(LeafId::Start));
    assert_eq!(survey.find(&m1), Ok(LeafId::Event(log.event("m1"))));
    assert_eq!(survey.find(&m1[m1.len() - 8..]), Ok(LeafId::Event(log.event("m1"))));
    let several = |text: &str| PlaceError::SeveralEvents { text: text.to_owned() };
    assert_eq!(survey.find(&u1[..8]), Err(several(&u1[..8])));
    for wrong in ["", "nobody", "START"] {
        let text = wrong.to_owned();
        assert_eq!(survey.find(wrong), Err(PlaceError::NoEvent { text }));
    }
    let ended = log.events.last().unwrap().id;
    let control = PlaceError::NotInTheTree { id: ended, type_name: "turn_ended" };
    assert_eq!(survey.find(&ended.to_string()), Err(control.clone()));
    assert_eq!(survey.find(&ended.to_string()[28..]), Err(control));
}

proptest! {
    #![proptest_config(fixed_cases(256))]

    #[test]
    fn a_boundary_is_at_or_before_the_place_and_its_own_boundary(log in any_event_log(40)) {
        let mut survey = Survey::default();
        for event in &log {
            survey.read(event);
        }
        for event in log.iter().filter(|event| event.is_tree()) {
            let place = LeafId::Event(event.id);
            let boundary = survey.boundary(place);
            let mut before = survey.up_from(place).map(|event| LeafId::Event(event.id));
            prop_assert!(boundary == LeafId::Start || before.any(|it| it == boundary));
            // A message that nobody answered may be where a turn ended, and then leads further back.
            let is_message = survey.up_from(boundary).next().is_some_and(
                |it| matches!(it.body, Body::UserMessage(_)));
            prop_assert!(is_message || survey.boundary(boundary) == boundary);
        }
    }
}
