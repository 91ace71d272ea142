//! What a screen reads off a log, and what it never does.

use std::collections::BTreeSet;
use std::fmt::Write;

use kith_testkit::events::{any_event_log, fixed_cases};
use kith_testkit::samples::sample_events;
use kith_testkit::transcript::transcript;
use kith_vocab::block::{Block, Media, Thinking};
use kith_vocab::event::messages::{HarnessKind, Visibility};
use kith_vocab::event::{Body, Event, SourceTag};
use kith_vocab::header::{Priming, SessionHeader};
use proptest::proptest;
use serde_json::{Value, json};

use super::*;
use crate::fixture;

fn header() -> SessionHeader {
    fixture::header(SessionId::from_uuid(kith_testkit::clock::numbered_id(1, 1)))
}

fn shown(events: &[Event]) -> Vec<Value> {
    let messages = project(&header(), events.iter().cloned());
    messages.iter().map(|it| serde_json::to_value(it).unwrap()).collect()
}

/// One line per message: the role, and each part in a few words.
fn outline(events: &[Event]) -> String {
    let mut outline = String::new();
    for message in shown(events) {
        let parts: Vec<String> =
            message["parts"].as_array().unwrap().iter().map(in_words).collect();
        writeln!(outline, "{}: {}", message["role"].as_str().unwrap(), parts.join(" | ")).unwrap();
    }
    outline.trim_end().to_owned()
}

fn in_words(part: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match part["type"].as_str().unwrap() {
        "text" => text(&part["text"]),
        "reasoning" => format!("({})", text(&part["text"])),
        "step-start" => "-".to_owned(),
        "dynamic-tool" => {
            let mut words = format!("{} {}", text(&part["toolName"]), text(&part["state"]));
            for key in ["output", "errorText"] {
                if let Some(value) = part.get(key) {
                    write!(words, " {value}").unwrap();
                }
            }
            if let Some(approval) = part.get("approval") {
                write!(words, " approved={}", approval["approved"]).unwrap();
            }
            words
        }
        "data-approval" => format!("?{}", text(&part["data"]["code"])),
        other => {
            let text = text(part["data"].get("text").unwrap_or(&Value::Null));
            format!("{other} {text}").trim_end().to_owned()
        }
    }
}

#[track_caller]
fn check(line: &str, expected: &str) {
    assert_eq!(outline(&transcript(line).events), expected);
}

#[test]
fn a_turn_is_a_message_and_one_answer() {
    check("user: hi | model: hello | ended done", "user: hi\nassistant: - | hello");
    check(
        "user: 看看 | asked model | model: ok, read_file=c1 | free c1 | done c1 text | model: 好 | ended done \
         | user: more | model: yes | ended done",
        "user: 看看\nassistant: - | ok | read_file output-available \"text\" | - | 好\nuser: more\nassistant: - | yes",
    );
    // Those who speak before an answer share it.
    check("user: a | user: b | model: c | ended done", "user: a\nuser: b\nassistant: - | c");
}

#[test]
fn a_failed_turn_has_an_answer_too() {
    check(
        "user: hi | asked model | failed network retry | asked model | failed network | notice gone | ended failed",
        "user: hi\nassistant: data-error the model failed: network | data-error the model failed: network \
         | data-notice gone | data-turn-ended",
    );
    check("user: hi | cancel | ended cancelled", "user: hi\nassistant: data-turn-ended");
}

#[test]
fn an_approval_goes_through_its_states() {
    let asked = "user: go | model: ok, write_file=c1 | hold c1 | asked c1";
    let after = |more: &str| {
        let text = outline(&transcript(&format!("{asked}{more}")).events);
        text.lines().nth(1).unwrap().to_owned()
    };
    let part = |state: &str| format!("assistant: - | ok | write_file {state} | ?C1");
    assert_eq!(after(""), part("approval-requested approved=null"));
    assert_eq!(after(" | allow c1"), part("approval-responded approved=true"));
    assert_eq!(
        after(" | allow c1 | start c1 | done c1 x"),
        part("output-available \"x\" approved=true")
    );
    assert_eq!(
        after(" | allow c1 | start c1 | fail c1 x"),
        part("output-error \"x\" approved=true")
    );
    assert_eq!(after(" | deny c1 | refused c1 x"), part("output-denied approved=false"));
    assert_eq!(after(" | expired c1 | refused c1 x"), part("output-denied approved=false"));
    // Denied because the turn was stopped: nobody said no to it.
    assert_eq!(after(" | deny c1 | cancelled c1 x"), part("output-error \"x\""));
    // A call only moves forward.
    assert_eq!(
        after(" | deny c1 | allow c1 | refused c1 x | done c1 y"),
        part("output-denied approved=false")
    );
}

#[test]
fn a_denial_of_the_policy_is_an_error() {
    check(
        "user: go | model: ok, write_file=c1 | forbid c1 | refused c1 no",
        "user: go\nassistant: - | ok | write_file output-error \"no\"",
    );
    check(
        "user: go | model: ok, write_file=c1 | free c1 | start c1 | interrupted c1",
        "user: go\nassistant: - | ok | write_file output-error \"c1 interrupted\"",
    );
}

#[test]
fn only_the_path_is_shown() {
    check(
        "user: a | model#m1: b | ended done | user: c | model: d | ended done | leaf m1 | user: e | model: f | ended done",
        "user: a\nassistant: - | b | data-branch\nuser: e\nassistant: - | f",
    );
    check("user: a | model: b | ended done | leaf root", "");
    // Words between the branches belong to the place they were said at.
    check(
        "user: a | model#m1: b | ended done | user: c | notice left | model: d | ended done | leaf m1 | notice kept",
        "user: a\nassistant: - | b | data-branch | data-notice kept",
    );
}

#[test]
fn a_notice_outside_a_turn_belongs_to_the_one_before_or_the_first() {
    check(
        "notice early | user: a | model: b | ended done | notice late",
        "user: a\nassistant: data-notice early | - | b | data-notice late",
    );
    check("notice early", "");
}

#[test]
fn reminders_are_shown_as_they_say() {
    let mut events = transcript(
        "user: a | note one\\nsecond | note two\\nsecond | note three | steer left | model: b | ended done",
    )
    .events;
    let visible = [Visibility::Compact, Visibility::Display, Visibility::Hidden];
    let mut visible = visible.into_iter();
    for event in &mut events {
        if let Body::HarnessItem(it) = &mut event.body
            && it.item.kind != HarnessKind::Steer
        {
            it.item.visibility = visible.next().unwrap();
        }
    }
    assert_eq!(
        outline(&events),
        "user: a\nassistant: data-reminder one | data-reminder two\nsecond | data-reminder left | - | b"
    );
}

#[test]
fn the_ids_are_known_before_there_is_an_answer() {
    let spoken =
        transcript("user#u1: a | user#u2: b | model: c | ended done | user#u3: d | failed network");
    let ids: Vec<String> =
        project(&header(), spoken.events.clone()).into_iter().map(|it| it.id).collect();
    let (u1, u2, u3) = (spoken.event("u1"), spoken.event("u2"), spoken.event("u3"));
    let expected = [
        u1.to_string(),
        u2.to_string(),
        format!("{u1}_reply"),
        u3.to_string(),
        format!("{u3}_reply"),
    ];
    assert_eq!(ids, expected);
}

#[test]
fn metadata_names_the_person_the_thread_and_the_turn() {
    let events = sample_events();
    let mut plain =
        events.iter().find(|it| matches!(it.body, Body::UserMessage(_))).unwrap().clone();
    plain.source_tag = None;
    plain.seq = 1;
    let Body::UserMessage(it) = &mut plain.body else { panic!() };
    it.message.meta = None;
    let messages = shown(&[plain.clone()]);
    assert_eq!(
        messages[0]["metadata"],
        json!({
            "timestamp": "2026-11-15T12:00:00.003Z",
            "platform": "cli",
            "threadId": "cli:room:test",
            "userId": "owner",
            "messageId": "1",
            "correlationId": "c-1",
            "sessionId": header().session_id.to_string(),
            "seq": 1,
        })
    );
    let spoken = transcript("user#u1: a | model: b | ended done");
    let messages = shown(&spoken.events);
    let u1 = spoken.event("u1").to_string();
    let of = |n: usize, key: &str| messages[n]["metadata"][key].clone();
    assert_eq!([of(0, "correlationId"), of(1, "correlationId")], [json!(u1), json!(u1)]);
    assert_eq!([of(0, "userId"), of(1, "userId")], [json!("owner"), json!("main")]);
    assert_eq!([of(0, "messageId"), of(1, "messageId")], [json!(u1), json!(format!("{u1}_reply"))]);
    assert_eq!([of(0, "seq"), of(1, "seq")], [json!(1), json!(3)]);
}

#[test]
fn files_are_named_by_their_blob() {
    let mut events = transcript("user: see").events;
    let media = |name: Option<&str>| Media {
        media_type: "image/png".to_owned(),
        blob: "ab".repeat(32),
        bytes: 3,
        name: name.map(str::to_owned),
    };
    let Body::UserMessage(it) = &mut events[0].body else { panic!() };
    it.message.content = vec![Block::Image(media(None)), Block::File(media(Some("a.png")))];
    let url = format!("kith-blob:{}", "ab".repeat(32));
    assert_eq!(
        shown(&events)[0]["parts"],
        json!([
            {"type": "file", "mediaType": "image/png", "url": url},
            {"type": "file", "mediaType": "image/png", "url": url, "filename": "a.png"},
        ])
    );
}

#[test]
fn thinking_is_shown_without_what_is_the_vendors() {
    let mut events = transcript("user: a | model: b").events;
    let thought = |text: &str, redacted: Option<&str>| {
        Block::Thinking(Thinking {
            text: text.into(),
            signature: Some("CANARY".into()),
            redacted: redacted.map(Into::into),
        })
    };
    let Body::AssistantMessage(it) = &mut events[1].body else { panic!() };
    it.message.content.insert(0, thought("I see", None));
    it.message.content.insert(1, thought("CANARY", Some("CANARY")));
    let text = serde_json::to_string(&shown(&events)).unwrap();
    assert!(!text.contains("CANARY"), "{text}");
    assert_eq!(outline(&events), "user: a\nassistant: - | (I see) | b");
}

#[test]
fn hidden_priming_is_left_out_also_of_a_copy() {
    let line = "primed user: hi | primed model: there, read_file=c1 | primed done c1 x | primed note n \
                | user: a | model: b | ended done";
    let mut events = transcript(line).events;
    for event in &mut events {
        if event.is_lived() {
            continue;
        }
        match &mut event.body {
            Body::UserMessage(it) => it.primed = Some(Json::empty_object()),
            Body::AssistantMessage(it) => it.primed = Some(Json::empty_object()),
            Body::ToolResult(it) => it.primed = Some(Json::empty_object()),
            Body::HarnessItem(it) => it.primed = Some(Json::empty_object()),
            _ => (),
        }
    }
    let mut header = header();
    let priming = |show_in_ui| Some(Priming { script_refs: Vec::new(), show_in_ui });
    let n_messages =
        |header: &SessionHeader, events: &[Event]| project(header, events.iter().cloned()).len();
    header.meta.priming = priming(true);
    assert_eq!(n_messages(&header, &events), 4);
    header.meta.priming = priming(false);
    assert_eq!(n_messages(&header, &events), 2);
    for event in events.iter_mut().filter(|it| !it.is_lived()) {
        event.source_tag = Some(SourceTag::Clone);
    }
    assert_eq!(n_messages(&header, &events), 2);
    header.meta.priming = None;
    assert_eq!(n_messages(&header, &events), 4);
}

/// What clients demand of each part, from their table and not from our types.
fn check_form(message: &Value) {
    let keys = |value: &Value| -> BTreeSet<String> {
        value.as_object().unwrap().keys().cloned().collect()
    };
    assert_no_null(message);
    let (role, parts) = (message["role"].as_str().unwrap(), message["parts"].as_array().unwrap());
    assert!(role == "assistant" || !parts.is_empty(), "{message}");
    for part in parts {
        let part_type = part["type"].as_str().unwrap();
        if part_type.starts_with("data-") {
            assert!(part.get("data").is_some(), "{part}");
        }
        if part_type != "dynamic-tool" {
            continue;
        }
        let (must, must_not): (&[&str], &[&str]) = match part["state"].as_str().unwrap() {
            "input-available" => (&["input"], &["output", "errorText", "approval"]),
            "approval-requested" | "approval-responded" | "output-denied" => {
                (&["input", "approval"], &["output", "errorText"])
            }
            "output-available" => (&["input", "output"], &["errorText"]),
            "output-error" => (&["errorText"], &["output"]),
            other => panic!("{other}"),
        };
        let held = keys(part);
        assert!(must.iter().all(|key| held.contains(*key)), "{part}");
        assert!(!must_not.iter().any(|key| held.contains(*key)), "{part}");
        let Some(approval) = part.get("approval") else { continue };
        let approved = match part["state"].as_str().unwrap() {
            "approval-requested" => None,
            "approval-responded" => Some(approval["approved"].as_bool().unwrap()),
            "output-denied" => Some(false),
            _ => Some(true),
        };
        assert_eq!(approval.get("approved").and_then(Value::as_bool), approved, "{part}");
        assert!(approved.is_some() || keys(approval) == BTreeSet::from(["id".to_owned()]));
    }
}

fn assert_no_null(value: &Value) {
    match value {
        Value::Null => panic!("a null"),
        Value::Array(items) => items.iter().for_each(assert_no_null),
        Value::Object(map) => map.values().for_each(assert_no_null),
        _ => (),
    }
}

proptest! {
    #![proptest_config(fixed_cases(400))]

    #[test]
    fn any_log_gives_messages_that_clients_accept(log in any_event_log(60)) {
        let messages = shown(&log);
        let mut ids = BTreeSet::new();
        for message in &messages {
            check_form(message);
            assert!(ids.insert(message["id"].to_string()), "the same id twice");
        }
    }

    #[test]
    fn event_by_event_gives_the_same_unless_it_says_so(log in any_event_log(60)) {
        let mut growing = Projection::new(&header());
        for event in &log {
            growing.take(event);
        }
        if !growing.needs_full_read() {
            assert_eq!(growing.messages(), project(&header(), log));
        }
    }

    #[test]
    fn nothing_private_is_ever_shown(log in any_event_log(60)) {
        let mut log = log;
        for event in &mut log {
            mark(event);
        }
        let text = serde_json::to_string(&shown(&log)).unwrap();
        assert!(!text.contains("CANARY"), "{text}");
    }
}

/// Writes a word that must not be seen wherever something private may stand.
fn mark(event: &mut Event) {
    let canary = || "CANARY".to_owned();
    event.client_id = canary();
    match &mut event.body {
        Body::InstructionSnapshot(it) => {
            it.snapshot.sections.iter_mut().for_each(|it| it.rendered_block = canary());
        }
        Body::ToolsetSnapshot(it) => it.tools.iter_mut().for_each(|it| it.description = canary()),
        Body::AssistantMessage(it) => {
            it.provider = Some(canary());
            it.model = Some(canary());
            for block in &mut it.message.content {
                match block {
                    Block::Thinking(it) => {
                        it.signature = Some(canary().into());
                        if let Some(redacted) = &mut it.redacted {
                            *redacted = canary().into();
                            it.text = canary().into();
                        }
                    }
                    Block::ToolCall(it) => {
                        it.provider_call_id = canary();
                        it.raw_input = it.raw_input.as_ref().map(|_| canary().into());
                    }
                    _ => (),
                }
            }
        }
        Body::HarnessItem(it) => {
            it.item.data = Some(Json::of(&json!({"told": canary()})));
            if it.item.visibility == Visibility::Hidden {
                it.item.content = canary().into();
            }
        }
        Body::UserMessage(it) if it.message.meta == Some(true) => {
            it.message.content = vec![Block::text("CANARY")];
        }
        Body::ModelRequested(it) => it.parameters = Json::of(&json!({"key": canary()})),
        Body::CallJudged(it) => {
            it.reason = canary().into();
            it.facts = Json::of(&json!({"fact": canary()}));
        }
        Body::QueueUpdate(it) => {
            it.items.iter_mut().for_each(|it| it.content = vec![Block::text("CANARY")]);
        }
        Body::Compact(it) => it.ledger.identifiers = vec![canary()],
        _ => (),
    }
}
