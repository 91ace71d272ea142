use std::collections::BTreeMap;

use kith_providers::media::base64;
use kith_testkit::transcript::transcript;
use kith_vocab::block::{Block, Media, Thinking};
use kith_vocab::event::messages::{HarnessKind, Outcome, ToolResult};
use kith_vocab::event::models::Wire;
use kith_vocab::json::Json;
use kith_vocab::snapshot::ToolSpec;

use super::*;
use crate::context::context;

const WIRES: [Wire; 3] = [Wire::OpenaiChat, Wire::Anthropic, Wire::OpenaiResponses];

const LOG: &str = "snapshot be \"kind\"\\nand 你好 | tools look find | user: user\\tcontent \
                   | started | asked model | model: I look, look=c1, find(x)=c2 | free c1 | free c2 \
                   | start c1 | done c1 role | joined c1 a note | start c2 | done c2 {\"a\":1} \
                   | note told | asked model | model: text | ended done | user: text | started";

const COMPACTED: &str = "snapshot be kind | tools look | user: old | started | asked model \
                         | model: text | ended done | user#kept: next | started | asked compact \
                         | compact keep=kept in short | asked model | model: text, look=c1 | free c1 \
                         | start c1 | done c1 seen";

const REMINDERS: [HarnessKind; 8] = [
    HarnessKind::Attachment,
    HarnessKind::SkillListing,
    HarnessKind::SkillDelta,
    HarnessKind::Memory,
    HarnessKind::DateChange,
    HarnessKind::Steer,
    HarnessKind::RuntimeNotice,
    HarnessKind::ChannelContext,
];

const IMAGE: &[u8] = b"\x89PNG\r\n\x1a\nan image";
const OTHER_IMAGE: &[u8] = b"\x89PNG\r\n\x1a\nanother image";

fn images() -> MediaBytes {
    [IMAGE, OTHER_IMAGE].map(|it| (sha256_hex(it), it.to_vec())).into()
}

fn image(media_type: &str) -> Media {
    let (media_type, blob) = (media_type.to_owned(), sha256_hex(IMAGE));
    Media { media_type, blob, bytes: 16, name: None }
}

fn thought(text: &str, signature: Option<&str>, redacted: Option<&str>) -> Block {
    let (signature, redacted) = (signature.map(Into::into), redacted.map(Into::into));
    Block::Thinking(Thinking { text: text.into(), signature, redacted })
}

/// [`LOG`] with a reminder of every kind, images, a sound, and thoughts of every wire.
fn everything() -> Vec<Event> {
    let notes = REMINDERS.map(|kind| format!(" | note {}", kind.name())).concat();
    let mut events = transcript(&format!("{LOG}{notes}")).events;
    let mut kinds = REMINDERS.into_iter();
    for event in &mut events {
        match &mut event.body {
            Body::UserMessage(it) => {
                it.message.content.push(Block::Image(image("image/png")));
                let sound = Media { blob: "sound".to_owned(), ..image("audio/ogg") };
                it.message.content.push(Block::Audio(sound));
            }
            Body::AssistantMessage(it) => {
                let thoughts = [
                    thought("seen", Some("signed"), None),
                    thought("", None, Some("hidden")),
                    thought("in short", Some("rs_1"), Some("encrypted")),
                ];
                it.message.content.splice(..0, thoughts);
            }
            Body::ToolResult(it) => it.content.push(Block::Image(image("image/png"))),
            Body::HarnessItem(it) if it.merged_into.is_none() && &*it.item.content != "told" => {
                it.item.kind = kinds.next().unwrap();
            }
            _ => (),
        }
    }
    assert_eq!(kinds.next(), None);
    events
}

/// The parts of the request that follows these events, and which bytes are whose.
fn explained(wire: Wire, events: &[Event]) -> (Vec<u8>, Vec<RequestPart>, Vec<BodySpan>) {
    let state = State::of(events);
    let (context, parameters) = (context(&state), Json::empty_object());
    let request = context.request("scripted", "scripted", &parameters);
    let (media, parts) = (images(), parts::parts_of(&state, &request));
    let body = render::render(wire, &request, &media).unwrap();
    let spans = parts::spans(wire, &request, &media, &body, &parts).unwrap();
    (body, parts, spans)
}

#[test]
fn every_part_of_a_request_is_found_in_its_bytes_on_every_wire() {
    for (wire, not_sent) in WIRES.into_iter().zip([
        vec!["seen", "signed", "hidden", "in short", "rs_1", "encrypted", "sound"],
        vec!["in short", "rs_1", "encrypted", "sound"],
        vec!["seen", "signed", "hidden", "sound"],
    ]) {
        let (body, parts, spans) = explained(wire, &everything());
        let is_sent = |part: &&RequestPart| !not_sent.contains(&part.text.as_str());
        assert_eq!(spans.len(), parts.iter().filter(is_sent).count(), "{wire:?}: {parts:?}");
        assert!(parts.len() > 10, "{}", parts.len());
        let mut end = 0;
        for span in &spans {
            assert!(span.start >= end && span.end > span.start, "{wire:?}: {span:?}");
            end = span.end;
            let bytes = &body[span.start..span.end];
            let written = String::from_utf8_lossy(bytes);
            let text = &parts[span.part].text;
            let unescaped = serde_json::from_str::<String>(&format!("\"{written}\""));
            let is_media = images().get(text).is_some_and(|it| base64(it) == written);
            let is_text = *text == written || unescaped.is_ok_and(|it| it == *text);
            assert!(is_text || is_media, "{written}");
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

/// The same block with something else in each of its members.
fn altered_blocks(block: &Block) -> Vec<(&'static str, Block)> {
    let other = || Some("other".into());
    match block {
        Block::Text(_) => vec![("text", Block::text("other"))],
        Block::Thinking(it) => {
            let text = Thinking { text: "other".into(), ..it.clone() };
            let signature = Thinking { signature: other(), ..it.clone() };
            let redacted = Thinking { redacted: other(), ..it.clone() };
            let altered = [("thinking", text), ("signature", signature), ("redacted", redacted)];
            altered.map(|(name, it)| (name, Block::Thinking(it))).into()
        }
        Block::Image(it) => {
            let blob = sha256_hex(OTHER_IMAGE);
            vec![
                ("image", Block::Image(Media { blob, ..it.clone() })),
                ("type", Block::Image(image("image/jpeg"))),
                ("lost image", Block::Image(Media { blob: sha256_hex(b""), ..it.clone() })),
            ]
        }
        Block::Audio(it) => vec![("sound", Block::Audio(Media { bytes: 17, ..it.clone() }))],
        Block::File(_) => vec![],
        Block::ToolCall(it) => {
            let (mut arguments, mut tool) = (it.clone(), it.clone());
            arguments.input = Json::of(&serde_json::json!({"other": 1}));
            tool.tool = "other".to_owned();
            vec![("arguments", Block::ToolCall(arguments)), ("tool", Block::ToolCall(tool))]
        }
    }
}

fn content_of(body: &mut Body) -> Option<&mut Vec<Block>> {
    match body {
        Body::UserMessage(it) => Some(&mut it.message.content),
        Body::AssistantMessage(it) => Some(&mut it.message.content),
        Body::ToolResult(it) => Some(&mut it.content),
        _ => None,
    }
}

/// The same body with one thing changed, in every way that a request could show.
fn altered(body: &Body) -> Vec<(&'static str, Body)> {
    let mut found = Vec::new();
    for (place, block) in content_of(&mut body.clone()).into_iter().flatten().enumerate() {
        for (name, other) in altered_blocks(block) {
            let mut body = body.clone();
            content_of(&mut body).unwrap()[place] = other;
            found.push((name, body));
        }
    }
    match body {
        Body::ToolResult(it) => {
            let failed = ToolResult { outcome: Outcome::Failed, ..it.clone() };
            found.push(("outcome", Body::ToolResult(failed)));
        }
        Body::HarnessItem(it) => {
            let mut other = it.clone();
            other.item.content = "other".into();
            found.push((it.item.kind.name(), Body::HarnessItem(other)));
        }
        Body::Compact(it) => {
            let [mut summary, mut names, mut paths, mut tasks] = [(); 4].map(|()| it.clone());
            summary.summary = "other".into();
            names.ledger.identifiers.push("other".to_owned());
            paths.ledger.paths.push("other".to_owned());
            tasks.ledger.open_tasks.push("other".to_owned());
            let others = [("summary", summary), ("identifiers", names), ("paths", paths)];
            found.extend(others.map(|(name, it)| (name, Body::Compact(it))));
            found.push(("open tasks", Body::Compact(tasks)));
        }
        _ => (),
    }
    found
}

/// The same body with one section or tool changed, and what must be named then.
fn altered_beginning(body: &Body) -> Vec<(PartSource, Body)> {
    let mut found = Vec::new();
    match body {
        Body::InstructionSnapshot(it) => {
            for (n, section) in it.snapshot.sections.iter().enumerate() {
                let mut other = it.clone();
                other.snapshot.sections[n].rendered_block.push_str("other");
                let files = section.sources.iter().flatten().filter_map(|it| it.path.clone());
                let source = PartSource::Section { kind: section.kind, files: files.collect() };
                found.push((source, Body::InstructionSnapshot(other)));
            }
        }
        Body::ToolsetSnapshot(it) => {
            for (n, tool) in it.tools.iter().enumerate() {
                let input_schema = Json::of(&serde_json::json!({"other": 1}));
                for tool in [
                    ToolSpec { name: "other".to_owned(), ..tool.clone() },
                    ToolSpec { description: "other".to_owned(), ..tool.clone() },
                    ToolSpec { input_schema, ..tool.clone() },
                ] {
                    let source = PartSource::Tool { name: tool.name.clone() };
                    let mut other = it.clone();
                    other.tools[n] = tool;
                    found.push((source, Body::ToolsetSnapshot(other)));
                }
            }
        }
        _ => (),
    }
    found
}

#[test]
#[expect(clippy::print_stdout, reason = "the counts are what this shows")]
fn whatever_changes_is_named_on_every_wire() {
    let (mut lines, mut n_changes) = (Vec::new(), 0);
    for wire in WIRES {
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        for events in [everything(), transcript(COMPACTED).events] {
            let (body_before, before, _) = explained(wire, &events);
            for (place, event) in events.iter().enumerate() {
                let (id, event_type) = (event.id, event.body.type_name());
                let of_event = altered(&event.body)
                    .into_iter()
                    .map(|(name, it)| (name.to_owned(), PartSource::Event { id, event_type }, it));
                let of_beginning = altered_beginning(&event.body)
                    .into_iter()
                    .map(|(source, it)| (event_type.to_owned(), source, it));
                for (name, source, other) in of_event.chain(of_beginning) {
                    let mut changed = events.clone();
                    changed[place].body = other;
                    let (body, now, _) = explained(wire, &changed);
                    if body == body_before {
                        continue; // The wire does not send it.
                    }
                    let named = match first_change(&before, &now) {
                        Some(PartChange::Replaced { now, .. } | PartChange::Added(now)) => now,
                        other => panic!("{wire:?}, {name} of {event_type}: {other:?}"),
                    };
                    assert_eq!(named, source, "{wire:?}, {name} of {event_type}");
                    *counts.entry(name).or_default() += 1;
                }
            }
        }
        let listed: Vec<String> = counts.iter().map(|(name, n)| format!("{name} {n}")).collect();
        lines.push(format!("{wire:?}: {}", listed.join(", ")));
        n_changes += counts.values().sum::<u32>();
    }
    lines.push(format!("{n_changes} changes, each named"));
    println!("{}", lines.join("\n"));
    insta::assert_snapshot!(lines.join("\n"), @r"
    OpenaiChat: arguments 3, attachment 1, channel_context 1, date_change 1, identifiers 1, image 4, instruction_snapshot 12, lost image 4, memory 1, open tasks 1, paths 1, runtime_notice 3, skill_delta 1, skill_listing 1, sound 2, steer 1, summary 1, text 9, tool 3, toolset_snapshot 9, type 4
    Anthropic: arguments 3, attachment 1, channel_context 1, date_change 1, identifiers 1, image 4, instruction_snapshot 12, lost image 4, memory 1, open tasks 1, outcome 3, paths 1, redacted 4, runtime_notice 3, signature 4, skill_delta 1, skill_listing 1, sound 2, steer 1, summary 1, text 9, thinking 2, tool 3, toolset_snapshot 9, type 4
    OpenaiResponses: arguments 3, attachment 1, channel_context 1, date_change 1, identifiers 1, image 4, instruction_snapshot 12, lost image 4, memory 1, open tasks 1, paths 1, redacted 4, runtime_notice 3, signature 4, skill_delta 1, skill_listing 1, sound 2, steer 1, summary 1, text 9, thinking 2, tool 3, toolset_snapshot 9, type 4
    215 changes, each named
    ");
}

#[test]
fn a_request_says_how_it_differs_from_the_one_before() {
    let events = transcript(LOG).events;
    let mut finder = RequestFinder::new(WantedRequest::Last);
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

/// The last request of these events, which says that it was sent so.
fn last_request(body_sha256: &str, renderer_version: u32, blobs: BlobReader) -> ExplainedRequest {
    let mut events = everything();
    let mut finder = RequestFinder::new(WantedRequest::Last);
    for event in &mut events {
        if let Body::ModelRequested(it) = &mut event.body {
            body_sha256.clone_into(&mut it.body_sha256);
            it.renderer_version = renderer_version;
        }
        finder.read(event);
    }
    let mut explainer = RequestExplainer::new(finder.found().unwrap(), blobs);
    for event in &events {
        explainer.read(event).unwrap();
    }
    explainer.finish().unwrap()
}

#[test]
fn other_bytes_than_those_that_were_sent_are_not_called_the_same() {
    let version = render::renderer_version(Wire::OpenaiChat);
    let blobs = || -> BlobReader { Box::new(|hash| images().remove(hash)) };
    let sent = sha256_hex(&last_request("", version, blobs()).body);
    for (hash, version, blobs, expected) in [
        (sent.as_str(), version, blobs(), Proof::Same),
        (&sha256_hex(b"other"), version, blobs(), Proof::Different),
        (&sent, version + 1, blobs(), Proof::OtherRenderer),
        (&sent, version, Box::new(|_: &str| None), Proof::BlobLost),
    ] {
        assert_eq!(last_request(hash, version, blobs).proof, expected);
    }
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
    for (wanted, before, asked, turn) in [
        (WantedRequest::Last, Some(ids[1]), ids[2], 3),
        (WantedRequest::OfTurn(2), Some(ids[0]), ids[1], 2),
        (WantedRequest::OfTurn(1), None, ids[0], 1),
        (WantedRequest::Id(ids[1]), Some(ids[0]), ids[1], 2),
    ] {
        let mut finder = RequestFinder::new(wanted);
        for event in &events {
            finder.read(event);
        }
        let found = finder.found().unwrap();
        assert_eq!((found.before, found.asked), (before, asked));
        assert_eq!((finder.n_turns(), found.turn), (3, turn));
    }
}
