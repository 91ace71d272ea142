use kith_vocab::block::{Thinking, ToolCall};
use kith_vocab::event::messages::{
    AnswerContent, Author, HarnessItem, Ledger, MessageContent, Outcome, PrimedRecord, StopReason,
    Usage,
};
use kith_vocab::event::{SourceTag, control::Level, control::Notice};

use super::*;
use crate::priming::export::export;
use crate::priming::parse::parse;
use crate::priming::parse::tests::{EVERY_TYPE, SEED_EXAMPLE, in_words};
use crate::priming::replay::tests::{event_id, events_of};

#[test]
fn a_primed_session_gives_back_its_records() {
    for text in [SEED_EXAMPLE, EVERY_TYPE] {
        let script = parse(text).unwrap().script;
        let again = from_events(&events_of(std::slice::from_ref(&script), Trust::Owner), &source())
            .unwrap();
        assert_eq!(in_words(&again), without_lines(&script));
    }
}

#[test]
fn a_clone_of_a_primed_session_gives_back_its_records_too() {
    let script = parse(EVERY_TYPE).unwrap().script;
    let mut events = events_of(std::slice::from_ref(&script), Trust::Owner);
    for event in &mut events {
        event.source_tag = Some(SourceTag::Clone);
    }
    assert_eq!(in_words(&from_events(&events, &source()).unwrap()), without_lines(&script));
}

#[test]
fn a_lived_session_is_told_with_our_ids() {
    let script = from_events(&lived(1), &source()).unwrap();
    assert_eq!(export(&script), include_str!("../../../testdata/priming/lived.md"));
}

#[test]
fn what_was_lived_after_a_script_is_numbered_after_it() {
    let mut events = events_of(&[parse(SEED_EXAMPLE).unwrap().script], Trust::Owner);
    events.extend(lived(100));
    let script = from_events(&events, &source()).unwrap();
    let genseqs: Vec<u64> = script.records.iter().filter_map(PrimingRecord::genseq).collect();
    assert_eq!(genseqs, [1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 4]);
    assert_eq!(parse(&export(&script)).unwrap().script.records.len(), script.records.len());
}

#[test]
fn two_scripts_with_one_call_id_are_told_apart() {
    let script = parse(SEED_EXAMPLE).unwrap().script;
    let events = events_of(&[script.clone(), script], Trust::Owner);
    let both = from_events(&events, &source()).unwrap();
    let read = parse(&export(&both)).unwrap().script;
    let ids: Vec<String> = read.records.iter().filter_map(|it| it.get_text("id")).collect();
    assert_eq!(ids[0..2], ["call_probe_1", "call_probe_1"]);
    assert_eq!(ids[2], ids[3]);
    assert_eq!(ids[2], event_id(5).call(0).to_string());
}

#[test]
fn a_tainted_session_states_its_trust() {
    for (trust, stated) in [
        (Trust::Owner, None),
        (Trust::Paired, None),
        (Trust::Shared, Some(Trust::Shared)),
        (Trust::Untrusted, Some(Trust::Untrusted)),
    ] {
        let events = events_of(&[parse(SEED_EXAMPLE).unwrap().script], trust);
        assert_eq!(from_events(&events, &source()).unwrap().trust(), stated);
    }
}

#[test]
fn the_same_history_has_the_same_bytes() {
    let text = || export(&from_events(&lived(1), &source()).unwrap());
    assert_eq!(text(), text());
}

#[test]
fn an_empty_history_is_refused() {
    assert_eq!(from_events(&[], &source()).unwrap_err(), HistoryError::Empty);
    let notice = Notice { text: "hello".into(), level: Level::Info, about: None };
    let events = [event(1, Body::Notice(notice))];
    assert_eq!(from_events(&events, &source()).unwrap_err(), HistoryError::Empty);
}

#[test]
fn what_nobody_was_shown_and_summaries_are_records_too() {
    let mut meta = said_by_user("Go on.");
    if let Body::UserMessage(it) = &mut meta {
        it.message.meta = Some(true);
    }
    let path = [event(1, reminder(Visibility::Hidden, "a listing")), event(2, meta), compact(3)];
    let script = from_events(&path, &source()).unwrap();
    insta::assert_snapshot!(in_words(&script), @r#"
    0 {"type":"harness_item_record","genseq":1,"kind":"date_change","origin":"system","visibility":"hidden","content":"a listing"}
    0 {"type":"harness_item_record","genseq":1,"kind":"runtime_notice","origin":"system","visibility":"compact","content":"Go on."}
    0 {"type":"harness_item_record","genseq":1,"kind":"runtime_notice","origin":"system","visibility":"compact","content":"Summary of the conversation so far:\n\nWe looked.\n\nIdentifiers:\n- K-9\n- K-10\n\nOpen tasks:\n- call Ann"}
    "#);
    let read = parse(&export(&script)).unwrap().script;
    assert_eq!(without_lines(&read), without_lines(&script));
}

fn compact(n: u64) -> Event {
    let ledger = Ledger {
        identifiers: vec!["K-9".to_owned(), "K-10".to_owned()],
        paths: Vec::new(),
        open_tasks: vec!["call Ann".to_owned()],
        done_tasks: Vec::new(),
    };
    let body = Body::Compact(Compact {
        request_id: event_id(n),
        model: "m".to_owned(),
        usage: Usage::default(),
        summary: "We looked.".into(),
        ledger,
        first_kept_event_id: event_id(n),
        tokens_before: 2,
        tokens_after: 1,
    });
    event(n, body)
}

#[test]
fn a_primed_record_that_is_none_is_refused_and_a_wrong_primed_is_ignored() {
    let record = Json::parse(r#"{"role":"narrator"}"#).unwrap();
    let events = [event(1, Body::PrimedRecord(PrimedRecord { record: record.clone() }))];
    let error = from_events(&events, &source()).unwrap_err();
    assert_eq!(error, HistoryError::NotARecord { event_id: event_id(1) });
    for primed in [
        record,
        Json::parse(r#"{"type":"func_call_record","genseq":0,"id":"x","name":"t","arguments":{}}"#)
            .unwrap(),
    ] {
        let body = answer(vec![Block::text("hi")], Some(primed));
        let script = from_events(&[event(1, body)], &source()).unwrap();
        assert_eq!(
            in_words(&script),
            r#"0 {"type":"agent_words_record","genseq":1,"content":"hi"}"#
        );
    }
}

fn lived(first: u64) -> Vec<Event> {
    let call = |id: EventId| {
        Block::ToolCall(ToolCall {
            call_id: id.call(0),
            provider_call_id: "call_0".to_owned(),
            tool: "read_file".to_owned(),
            input: Json::parse(r#"{"path":"a.md"}"#).unwrap(),
            raw_input: None,
        })
    };
    let thinking = Thinking { text: "Which?".into(), signature: Some("s".into()), redacted: None };
    let id = event_id(first + 1);
    let content =
        vec![Block::Thinking(thinking), Block::text("Let me "), Block::text("look."), call(id)];
    vec![
        event(first, said_by_user("看看 a.md\n```\nx\n```")),
        event(first + 1, answer(content, None)),
        event(first + 2, result(id.call(0), "``````\nthe text\n")),
        event(first + 3, reminder(Visibility::Hidden, "not told")),
        event(first + 4, reminder(Visibility::Compact, "The date changed.")),
        event(first + 5, answer(vec![Block::text("Done.")], None)),
        compact(first + 6),
    ]
}

fn event(n: u64, body: Body) -> Event {
    Event {
        seq: n,
        id: event_id(n),
        ts: 0,
        client_id: "test".to_owned(),
        ingress_key: None,
        parent_id: None,
        source_tag: None,
        body,
    }
}

fn said_by_user(text: &str) -> Body {
    Body::UserMessage(UserMessage {
        message: MessageContent { content: vec![Block::text(text)], meta: None },
        author: Author { user_id: "owner".to_owned(), display_name: "Owner".to_owned() },
        trust: Trust::Owner,
        ingress: None,
        queue_item_id: None,
        primed: None,
    })
}

fn answer(content: Vec<Block>, primed: Option<Json>) -> Body {
    Body::AssistantMessage(AssistantMessage {
        request_id: None,
        message: AnswerContent { content },
        provider: None,
        model: None,
        usage: None,
        stop_reason: StopReason::EndTurn,
        primed,
    })
}

fn result(call_id: CallId, text: &str) -> Body {
    Body::ToolResult(ToolResult {
        call_id,
        tool: "read_file".to_owned(),
        content: vec![Block::text(text)],
        outcome: Outcome::Done,
        trust: Trust::Owner,
        full_output: None,
        primed: None,
    })
}

fn reminder(visibility: Visibility, content: &str) -> Body {
    let kind = HarnessKind::DateChange;
    Body::HarnessItem(HarnessItemEvent {
        item: HarnessItem {
            kind,
            origin: Origin::System,
            content: content.into(),
            visibility,
            data: None,
        },
        trust: Trust::Owner,
        author: None,
        queue_item_id: None,
        merged_into: None,
        primed: None,
    })
}

pub(crate) fn source() -> ScriptSource {
    ScriptSource {
        title: None,
        owner_agent_id: "main".to_owned(),
        generated_at: "2026-11-15T22:00:00Z".to_owned(),
        session_id: "01936e5a-0000-7000-8000-00000000000a".to_owned(),
        thread_id: "cli:folder:luna".to_owned(),
        branch: "main".to_owned(),
        state: "idle".to_owned(),
    }
}

fn without_lines(script: &Script) -> String {
    let lines = script.records.iter().map(|it| format!("0 {}", it.to_json().as_str()));
    lines.collect::<Vec<_>>().join("\n")
}
