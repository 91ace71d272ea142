use kith_testkit::events::{any_event_log, fixed_cases};
use kith_testkit::transcript::transcript;
use proptest::prelude::*;

use super::*;
use crate::state::State;

/// The changes of a transcript, one letter each; `-` for an event that changes nothing.
fn check(line: &str, expected: &str) {
    let mut turns = TurnTracker::default();
    let letter = |event: &Event| match turns.read(event) {
        None => '-',
        Some(TurnChange::Begun) => 'B',
        Some(TurnChange::Joined) => 'J',
        Some(TurnChange::Retried) => 'R',
        Some(TurnChange::Ended { .. }) => 'E',
        Some(TurnChange::LeftBehind) => 'L',
    };
    let found: String = transcript(line).events.iter().map(letter).collect();
    assert_eq!(found, expected, "{line}");
}

#[test]
fn a_turn_begins_with_a_message_and_ends_with_turn_ended() {
    check("user: a | model: b | ended done | user: c | model: d | ended done", "B-EB-E");
    check("user: a | user: b | model: c | ended done", "BJ-E");
}

#[test]
fn a_copied_turn_begins_with_a_message_that_follows_no_other() {
    check("cloned user: a | cloned user: b | cloned model: c | cloned user: d | user: e", "BJ-BB");
}

proptest! {
    #![proptest_config(fixed_cases(256))]

    #[test]
    fn a_turn_is_open_when_the_state_has_one(log in any_event_log(60)) {
        let (mut state, mut turns) = (State::default(), TurnTracker::default());
        for event in &log {
            let is_known = |id: Option<EventId>| id.is_none_or(|id| state.tree.get(id).is_some());
            // The state ignores these; the runtime writes none of them.
            let is_ignored = match &event.body {
                Body::TurnStarted(_) => state.turn.is_none() && !state.can_retry(),
                Body::LeafMoved(it) => !is_known(it.to),
                _ => !is_known(event.parent_id),
            };
            if !is_ignored {
                state.fold(event);
                turns.read(event);
                prop_assert_eq!(turns.is_open(), state.turn.is_some(), "event {}", event.seq);
            }
        }
    }
}
