use std::fmt::Write as _;

use kith_vocab::event::Event;
use kith_vocab::validate::validate;

use super::*;
use crate::priming::parse::parse;
use crate::priming::parse::tests::{EVERY_TYPE, SEED_EXAMPLE};

#[test]
fn a_script_becomes_events_in_its_order() {
    insta::assert_snapshot!(outline(&[SEED_EXAMPLE], Trust::Owner), @r#"
    {"type":"user_message","message":{"content":[{"type":"text","text":"先做环境探针。"}]},"author":{"userId":"owner","displayName":"Owner"},"trust":"owner","primed":{"generation":1,"type":"human_text_record","genseq":1,"msgId":"priming-1","grammar":"markdown"}}
    {"type":"assistant_message","message":{"content":[{"type":"tool_call","callId":"01936e5a000070008000000000000002_0","providerCallId":"call_probe_1","tool":"exec_command","input":{"cmd":"uname -a"}}]},"stopReason":"tool_call","primed":{"generation":1,"type":"func_call_record","genseq":1,"id":"call_probe_1","name":"exec_command","arguments":{"cmd":"uname -a"}}}
    {"type":"tool_result","callId":"01936e5a000070008000000000000002_0","tool":"exec_command","content":[{"type":"text","text":"Darwin ..."}],"outcome":"done","trust":"owner","primed":{"generation":1,"type":"func_result_record","genseq":1,"id":"call_probe_1","name":"exec_command"}}
    "#);
}

#[test]
fn every_type_becomes_one_valid_event() {
    let script = parse(EVERY_TYPE).unwrap().script;
    let events = events_of(std::slice::from_ref(&script), Trust::Owner);
    assert_eq!(events.len(), script.records.len());
    for event in &events {
        validate(event).unwrap();
        // What is written to a log is read back as it was.
        let line = serde_json::to_string(event).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&line).unwrap(), *event);
    }
    let types: Vec<&str> = events.iter().map(|event| event.body.type_name()).collect();
    assert_eq!(
        types,
        [
            "user_message",
            "primed_record",
            "assistant_message",
            "assistant_message",
            "assistant_message",
            "tool_result",
            "primed_record",
            "primed_record",
            "primed_record",
            "primed_record",
            "primed_record",
            "primed_record",
            "harness_item",
            "primed_record",
        ]
    );
}

#[test]
fn a_result_is_paired_with_its_call_in_each_script() {
    let script = parse(SEED_EXAMPLE).unwrap().script;
    let drafts = drafts_of(&[script.clone(), script], Trust::Owner);
    let calls: Vec<(CallId, &str, &str)> = drafts
        .iter()
        .filter_map(|draft| match &draft.body {
            Body::AssistantMessage(it) => match it.message.content.as_slice() {
                [Block::ToolCall(call)] => {
                    assert_eq!(call.call_id, draft.id.call(0));
                    Some((call.call_id, call.provider_call_id.as_str(), call.input.as_str()))
                }
                _ => None,
            },
            _ => None,
        })
        .collect();
    let results: Vec<CallId> = drafts
        .iter()
        .filter_map(|draft| match &draft.body {
            Body::ToolResult(it) => Some(it.call_id),
            _ => None,
        })
        .collect();
    assert_eq!(calls.iter().map(|call| call.0).collect::<Vec<_>>(), results);
    assert_ne!(results[0], results[1]);
    for call in &calls {
        assert_eq!((call.1, call.2), ("call_probe_1", r#"{"cmd":"uname -a"}"#));
    }
}

#[test]
fn generations_are_numbered_in_the_order_of_first_sight() {
    let text = |genseqs: &[u64]| -> String {
        let record = |genseq| {
            format!("### record agent_words_record\n```\n---\ngenseq: {genseq}\n---\nx\n```\n")
        };
        genseqs.iter().map(record).collect()
    };
    let scripts: Vec<Script> = [text(&[7, 7, 3, 7]), text(&[7, 9])]
        .iter()
        .map(|text| parse(text).unwrap().script)
        .collect();
    let drafts = drafts_of(&scripts, Trust::Owner);
    let kept = drafts.iter().map(|draft| match &draft.body {
        Body::AssistantMessage(it) => it.primed.clone().unwrap().as_str().to_owned(),
        other => panic!("{other:?}"),
    });
    // What the script says and what it is here, side by side.
    let expected = [(1, 7), (1, 7), (2, 3), (1, 7), (3, 7), (4, 9)].map(|(here, there)| {
        format!(r#"{{"generation":{here},"type":"agent_words_record","genseq":{there}}}"#)
    });
    assert_eq!(kept.collect::<Vec<_>>(), expected);
    let genseqs: Vec<u64> = drafts.iter().filter_map(|draft| draft.genseq).collect();
    assert_eq!(genseqs, [1, 1, 2, 1, 3, 4]);
}

#[test]
fn a_key_of_the_script_is_never_taken_for_ours() {
    let text =
        "### record agent_words_record\n```\n---\ngenseq: 7\ngeneration: mine\n---\nx\n```\n";
    let script = parse(text).unwrap().script;
    let events = events_of(std::slice::from_ref(&script), Trust::Owner);
    let Body::AssistantMessage(it) = &events[0].body else { panic!("{:?}", events[0]) };
    assert_eq!(
        it.primed.as_ref().unwrap().as_str(),
        r#"{"type":"agent_words_record","genseq":7,"generation":"mine"}"#
    );
    let again = crate::priming::form::from_json(it.primed.as_ref().unwrap()).unwrap().unwrap();
    assert_eq!(again.fields, script.records[0].fields);
}

#[test]
fn a_script_can_only_lower_its_trust() {
    for (stated, speaker, expected) in [
        ("", Trust::Owner, Trust::Owner),
        ("trust: untrusted\n", Trust::Owner, Trust::Untrusted),
        ("trust: owner\n", Trust::Peer, Trust::Peer),
    ] {
        let text = SEED_EXAMPLE.replacen("---\n", &format!("---\n{stated}"), 1);
        let script = parse(&text).unwrap().script;
        for draft in drafts_of(&[script], speaker) {
            match draft.body {
                Body::UserMessage(it) => assert_eq!(it.trust, expected),
                Body::ToolResult(it) => assert_eq!(it.trust, expected),
                _ => (),
            }
        }
    }
}

pub(crate) fn drafts_of(scripts: &[Script], trust: Trust) -> Vec<Draft> {
    let author = Author { user_id: "owner".to_owned(), display_name: "Owner".to_owned() };
    let mut n = 0;
    replay(scripts, &Speaker { author, trust }, &mut || {
        n += 1;
        event_id(n)
    })
}

pub(crate) fn event_id(n: u64) -> EventId {
    format!("01936e5a-0000-7000-8000-{n:012x}").parse().unwrap()
}

pub(crate) fn events_of(scripts: &[Script], trust: Trust) -> Vec<Event> {
    let mut parent_id = None;
    let event = |(index, draft): (usize, Draft)| Event {
        seq: index as u64 + 1,
        id: draft.id,
        ts: 0,
        client_id: "test".to_owned(),
        ingress_key: None,
        parent_id: parent_id.replace(draft.id),
        source_tag: Some(Draft::SOURCE_TAG),
        body: draft.body,
    };
    drafts_of(scripts, trust).into_iter().enumerate().map(event).collect()
}

fn outline(texts: &[&str], trust: Trust) -> String {
    let scripts: Vec<Script> = texts.iter().map(|text| parse(text).unwrap().script).collect();
    let mut outline = String::new();
    for draft in drafts_of(&scripts, trust) {
        writeln!(outline, "{}", serde_json::to_string(&draft.body).unwrap()).unwrap();
    }
    outline
}
