//! Whatever a log holds, it folds, yields a step, and gives a request that vendors accept.

mod shared_texts;

use kith_providers::media::{MediaBytes, media_of};
use kith_providers::render::{RenderError, render};
use kith_testkit::events::{any_event_log, fixed_cases};
use kith_testkit::transcript::transcript;
use kith_testkit::validators::{Outline, assert_stable, validate};
use kith_vocab::conversation::{Element, Role};
use kith_vocab::event::Event;
use kith_vocab::event::models::Wire;
use kith_vocab::json::Json;
use proptest::proptest;

use super::*;
use crate::context::context;
use crate::ledger::LEDGER_BYTES_MAX;
use crate::step::decide;
use crate::turn::ledger_of;

proptest! {
    #![proptest_config(fixed_cases(400))]

    #[test]
    fn any_log_folds_yields_a_step_and_a_context_every_wire_accepts(log in any_event_log(60)) {
        let mut state = State::default();
        for event in &log {
            state.fold(event);
            for now in [0, event.ts, u64::MAX] {
                decide(&state, now);
            }
        }
        outlines(&state);
    }

    #[test]
    fn a_state_that_is_written_and_read_at_every_event_goes_on_the_same(log in any_event_log(40)) {
        let (mut kept, mut read_back) = (State::default(), State::default());
        for event in &log {
            kept.fold(event);
            read_back.fold(event);
            let bytes = serde_json::to_vec(&read_back).unwrap();
            read_back = serde_json::from_slice(&bytes).unwrap();
            assert!(kept == read_back, "after event {}", event.seq);
        }
        assert_eq!(ledger_of(&kept, None, "", LEDGER_BYTES_MAX), ledger_of(&read_back, None, "", LEDGER_BYTES_MAX));
    }

    #[test]
    fn the_conversation_grown_event_by_event_is_the_one_along_the_path(log in any_event_log(60)) {
        let mut state = State::default();
        for event in &log {
            state.fold(event);
            let along = Conversation::along(&state.tree);
            assert!(said(&state.conversation) == said(&along), "after event {}", event.seq);
        }
    }

    #[test]
    fn a_state_that_was_stored_and_loaded_goes_on_the_same(
        log in any_event_log(80),
        cut in 0..80_usize,
    ) {
        let (before, after) = log.split_at(cut.min(log.len()));
        let mut stored = State::of(before);
        stored.trim();
        let bytes = serde_json::to_vec(&stored).unwrap();
        let mut loaded: State = serde_json::from_slice(&bytes).unwrap();
        assert!(loaded == stored);
        let mut whole = State::of(before);
        for event in after {
            whole.fold(event);
            loaded.fold(event);
            if loaded.needs_full_read {
                break;
            }
            assert_eq!(loaded.leaf(), whole.leaf());
            assert_eq!(decide(&loaded, event.ts), decide(&whole, event.ts));
            assert!(loaded.conversation == whole.conversation);
        }
    }

    #[test]
    fn what_a_request_carried_stands_in_the_next_one(log in any_event_log(80)) {
        let mut state = State::default();
        let mut earlier: Option<[Outline; 3]> = None;
        for event in &log {
            match &event.body {
                Body::ModelRequested(it) if it.purpose == Purpose::Turn => {
                    let now = outlines(&state);
                    for (earlier, now) in earlier.iter().flatten().zip(&now) {
                        assert_stable(earlier, now);
                    }
                    earlier = Some(now);
                }
                Body::Compact(_) | Body::LeafMoved(_) => earlier = None,
                _ if goes_elsewhere(&state, event) => earlier = None,
                // A snapshot that comes after a request is refused by the log, not by the fold.
                Body::InstructionSnapshot(_) | Body::ToolsetSnapshot(_) => earlier = None,
                _ => (),
            }
            state.fold(event);
        }
    }
}

/// What a conversation holds of the log, and who says it. What a request had to say besides, where
/// the log had nothing, is known only to who has seen the request.
fn said(conversation: &Conversation) -> Vec<(Role, Element)> {
    let messages = conversation.finished().iter().cloned().chain([conversation.tail_message()]);
    let elements = messages.flat_map(|message| {
        message.elements.into_iter().map(move |element| (message.role, element))
    });
    elements.filter(|(_, element)| element.from.is_some()).collect()
}

fn goes_elsewhere(state: &State, event: &Event) -> bool {
    event.is_tree() && event.parent_id != state.leaf()
}

#[track_caller]
fn outlines(state: &State) -> [Outline; 3] {
    [Wire::OpenaiChat, Wire::Anthropic, Wire::OpenaiResponses].map(|wire| outline(wire, state))
}

#[track_caller]
fn outline(wire: Wire, state: &State) -> Outline {
    let mut context = context(state);
    let parameters = Json::empty_object();
    if context.system.trim().is_empty() {
        // Only a log without a snapshot has no prompt, and then nothing may be sent.
        assert_eq!(state.snapshot, None);
        let request = context.request("scripted", "scripted", &parameters);
        let refused = render(wire, &request, &MediaBytes::new());
        assert!(matches!(refused, Err(RenderError::NoSystemPrompt)));
        "(the log has no snapshot)".clone_into(&mut context.system);
    }
    let request = context.request("scripted", "scripted", &parameters);
    let media = media_of(wire, &request).unwrap().into_iter();
    let media = media.map(|it| (it.blob.clone(), b"\x89PNG\r\n\x1a\n".to_vec())).collect();
    let body = render(wire, &request, &media).unwrap();
    validate(wire, &body)
        .unwrap_or_else(|error| panic!("{error}\n{}", String::from_utf8_lossy(&body)))
}

#[test]
fn a_title_given_by_hand_is_not_replaced_by_a_generated_one() {
    use kith_vocab::event::control::SessionTitleUpdated;
    let mut state = State::default();
    let log = transcript("user: hi | title first");
    let titled = |source, title: &str| {
        let mut event = log.events[1].clone();
        let title = title.to_owned();
        event.body = Body::SessionTitleUpdated(SessionTitleUpdated { title, source });
        event
    };
    state.fold(&titled(TitleSource::Generated, "a"));
    state.fold(&titled(TitleSource::User, "mine"));
    state.fold(&titled(TitleSource::Generated, "b"));
    assert_eq!(state.title.unwrap().0, "mine");
}

#[test]
fn a_trimmed_state_says_when_it_cannot_follow() {
    let line = "user#u1: one | model: a | ended done | user#u2: two | model: b | ended done \
                | compact keep=u2 Short. | user#u3: three | model: c | ended done";
    let mut state = State::of(&transcript(line).events);
    state.trim();
    for (last, needs_full_read) in [
        ("leaf u1", true),
        // Before the compaction the model saw the whole of it.
        ("leaf u2", true),
        ("leaf u3", false),
        ("leaf root", false),
    ] {
        let log = transcript(&format!("{line} | {last}"));
        let mut state = state.clone();
        state.fold(log.events.last().unwrap());
        assert_eq!(state.needs_full_read, needs_full_read, "{last}");
        assert!(!State::of(&log.events).needs_full_read);
    }
}

#[test]
fn only_the_first_snapshot_counts() {
    let log = transcript("snapshot first | snapshot second | user: hi");
    assert!(State::of(&log.events).snapshot.unwrap().system_prompt().contains("first"));
}

#[test]
fn a_session_is_tainted_while_anything_below_paired_is_on_its_path() {
    for (line, lowest) in [
        ("user: hi", Trust::Owner),
        ("user@paired: hi", Trust::Paired),
        ("user@shared: hi | user: mine", Trust::Shared),
        ("user@untrusted: hi | model: ok", Trust::Untrusted),
        ("primed user@peer: hi | user: mine", Trust::Peer),
        // Another path is another matter.
        ("user#u1: hi | user@peer: x | leaf u1 | user: mine", Trust::Owner),
        ("user#p@peer: x | user: mine | leaf root | user: anew", Trust::Owner),
        ("user#u1: hi | user#p@peer: x | leaf u1 | user: mine | leaf p", Trust::Peer),
    ] {
        let state = State::of(&transcript(line).events);
        assert_eq!(state.lowest_trust(), lowest, "{line}");
        assert_eq!(state.is_tainted(), lowest > Trust::Paired, "{line}");
    }
}

#[test]
fn results_and_reminders_taint_too() {
    let log = transcript("user: go | model: ok, fetch=c1 | done c1 page | note news");
    for (place, event) in log.events.iter().enumerate().skip(2) {
        let mut events = log.events.clone();
        match &mut events[place].body {
            Body::ToolResult(it) => it.trust = Trust::Untrusted,
            Body::HarnessItem(it) => it.trust = Trust::Untrusted,
            _ => panic!("{event:?}"),
        }
        assert!(State::of(&events).is_tainted());
    }
    assert!(!State::of(&log.events).is_tainted());
}

#[test]
fn a_summary_of_tainted_words_taints() {
    let line = "user@untrusted: page | model: ok | ended done | user#u2: mine | model: b \
                | ended done | compact keep=u2 It was about a page. | user: three";
    let mut state = State::of(&transcript(line).events);
    assert!(state.is_tainted());
    // Also when what it was made from was let go and the state was put away.
    state.trim();
    assert_eq!(state.tree.path().len(), 4);
    let bytes = serde_json::to_vec(&state).unwrap();
    let loaded: State = serde_json::from_slice(&bytes).unwrap();
    assert!(loaded.is_tainted());
}

#[test]
fn the_frame_of_a_text_is_not_taken_for_its_words_after_the_state_was_stored() {
    let events =
        transcript("snapshot x | user: go | started | asked model | steer see /etc/hosts").events;
    let kept = State::of(&events);
    let stored = serde_json::to_vec(&kept).unwrap();
    let loaded: State = serde_json::from_slice(&stored).unwrap();
    for state in [&kept, &loaded] {
        assert_eq!(ledger_of(state, None, "", LEDGER_BYTES_MAX).paths, ["/etc/hosts"]);
    }
}
