use kith_testkit::transcript::transcript;
use kith_vocab::block::Block;
use kith_vocab::event::models::Wire;
use kith_vocab::json::Json;
use kith_vocab::snapshot::SectionKind;

use super::*;
use crate::context::context;

const WIRES: [Wire; 3] = [Wire::OpenaiChat, Wire::Anthropic, Wire::OpenaiResponses];

const LOG: &str = "snapshot be \"kind\"\\nand 你好 | tools look find | user: user\\tcontent \
                   | started | asked model | model: I look, look=c1, find(x)=c2 | free c1 | free c2 \
                   | start c1 | done c1 role | joined c1 a note | start c2 | done c2 {\"a\":1} \
                   | note told | asked model | model: text | ended done | user: text | started";

/// The parts of the request that follows these events, and which bytes are whose.
fn explained(wire: Wire, events: &[Event]) -> (Vec<u8>, Vec<RequestPart>, Vec<BodySpan>) {
    let state = State::of(events);
    let (context, parameters) = (context(&state), Json::empty_object());
    let request = context.request("vendor", "model", &parameters);
    let (media, parts) = (MediaBytes::new(), parts::parts_of(&state, &request));
    let body = render::render(wire, &request, &media).unwrap();
    let spans = parts::spans(wire, &request, &media, &body, &parts).unwrap();
    (body, parts, spans)
}

#[test]
fn every_part_of_a_request_is_found_in_its_bytes_on_every_wire() {
    let events = transcript(LOG).events;
    for wire in WIRES {
        let (body, parts, spans) = explained(wire, &events);
        assert_eq!(spans.len(), parts.len(), "{wire:?}: {parts:?}");
        assert!(parts.len() > 10, "{}", parts.len());
        let mut end = 0;
        for span in &spans {
            assert!(span.start >= end && span.end > span.start, "{wire:?}: {span:?}");
            end = span.end;
            let bytes = &body[span.start..span.end];
            let written = String::from_utf8_lossy(bytes);
            let text = &parts[span.part].text;
            let unescaped = serde_json::from_str::<String>(&format!("\"{written}\""));
            assert!(*text == written || unescaped.is_ok_and(|it| it == *text), "{written}");
        }
        // What is left is the vendor's form.
        let mut form = body.clone();
        for span in spans.iter().rev() {
            form.drain(span.start..span.end);
        }
        let form = String::from_utf8(form).unwrap();
        assert!(!form.contains("kind") && !form.contains("told"), "{wire:?}: {form}");
    }
}

/// The same event with other words.
fn altered(event: &Event) -> Option<Event> {
    let mut event = event.clone();
    match &mut event.body {
        Body::UserMessage(it) => it.message.content = vec![Block::text("other".to_owned())],
        Body::AssistantMessage(it) => it.message.content[0] = Block::text("other".to_owned()),
        Body::ToolResult(it) => it.content = vec![Block::text("other".to_owned())],
        Body::HarnessItem(it) => it.item.content = "other".into(),
        _ => return None,
    }
    Some(event)
}

#[test]
fn whatever_changes_is_named_on_every_wire() {
    let events = transcript(LOG).events;
    let mut n_changes = 0;
    for wire in WIRES {
        let (_, before, _) = explained(wire, &events);
        let named = |events: &[Event]| match first_change(&before, &explained(wire, events).1) {
            Some(PartChange::Replaced { now, .. } | PartChange::Added(now)) => now,
            other => panic!("{wire:?}: {other:?}"),
        };
        for (place, event) in events.iter().enumerate() {
            let Some(other) = altered(event) else { continue };
            let mut changed = events.clone();
            changed[place] = other;
            let event_type = event.body.type_name();
            assert_eq!(named(&changed), PartSource::Event { id: event.id, event_type }, "{wire:?}");
            n_changes += 1;
        }
        for (place, event) in events.iter().enumerate() {
            let mut changed = events.clone();
            match &event.body {
                Body::InstructionSnapshot(it) => {
                    for n in 0..it.snapshot.sections.len() {
                        let mut changed = events.clone();
                        let Body::InstructionSnapshot(it) = &mut changed[place].body else {
                            panic!()
                        };
                        let section = &mut it.snapshot.sections[n];
                        section.rendered_block.push_str("other");
                        let wanted = section.kind;
                        let PartSource::Section { kind, .. } = named(&changed) else { panic!() };
                        assert_eq!(kind, wanted);
                        n_changes += 1;
                    }
                }
                Body::ToolsetSnapshot(it) => {
                    for (n, tool) in it.tools.iter().enumerate() {
                        let Body::ToolsetSnapshot(it) = &mut changed[place].body else { panic!() };
                        it.tools.clone_from(&{
                            let mut tools = it.tools.clone();
                            tools[n].description.push_str("other");
                            tools
                        });
                        let name = tool.name.clone();
                        assert_eq!(named(&changed), PartSource::Tool { name });
                        changed.clone_from(&events);
                        n_changes += 1;
                    }
                }
                _ => (),
            }
        }
    }
    assert!(n_changes >= 3 * (8 + SectionKind::ORDER.len() + 2), "{n_changes}");
}

#[test]
fn a_request_says_how_it_differs_from_the_one_before() {
    let events = transcript(LOG).events;
    let mut finder = RequestFinder::new(None);
    for event in &events {
        finder.read(event);
    }
    let mut explainer = RequestExplainer::new(finder.found().unwrap(), Box::new(|_| None));
    for mut event in events {
        if let Body::ModelRequested(it) = &mut event.body {
            it.wire = Wire::OpenaiChat;
        }
        explainer.read(&event).unwrap();
    }
    let found = explainer.finish().unwrap();
    assert_eq!(found.turn, 1);
    let change = found.change.unwrap();
    assert_eq!(change.cause, ChangeCause::Continued);
    assert!(
        matches!(change.first, Some(PartChange::Added(PartSource::Event { .. }))),
        "{change:?}"
    );
    assert!(change.stable_bytes > 100, "{change:?}");
}

#[test]
fn the_request_of_a_turn_and_the_one_before_it_are_found() {
    let line = "user: one | asked model | model: a | ended done | user: two | asked model \
                | model: b | ended done | user: three | asked model | model: c | ended done";
    let events = transcript(line).events;
    let request_id = |event: &Event| match &event.body {
        Body::ModelRequested(it) => Some(it.request_id),
        _ => None,
    };
    let ids: Vec<EventId> = events.iter().filter_map(request_id).collect();
    for (turn, before, asked) in
        [(None, Some(ids[1]), ids[2]), (Some(2), Some(ids[0]), ids[1]), (Some(1), None, ids[0])]
    {
        let mut finder = RequestFinder::new(turn);
        for event in &events {
            finder.read(event);
        }
        let found = finder.found().unwrap();
        assert_eq!((found.before, found.asked), (before, asked));
        assert_eq!((finder.n_turns(), found.turn), (3, turn.unwrap_or(3)));
    }
}
