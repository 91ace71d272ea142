//! A test is the data of a stream's events and the answer in words.

use kith_vocab::event::models::Wire;

use crate::answer::words::{Seen, in_words};
use crate::answer::{ANSWER_BLOCKS_MAX, Accumulator, CALLS_MAX};

const DONE: &str = r#"{"type":"response.completed","response":{"status":"completed"}}"#;

#[test]
fn texts_of_several_messages_are_blocks_of_their_own() {
    check(
        &[
            r#"{"type":"response.created","response":{}}"#,
            &added(0, r#"{"type":"message","id":"m0","content":[]}"#),
            &text(0, "你"),
            &text(0, "好"),
            &done(
                0,
                r#"{"type":"message","id":"m0","content":[{"type":"output_text","text":"你好"}]}"#,
            ),
            &added(1, r#"{"type":"message","id":"m1","content":[]}"#),
            &text(1, "!"),
            DONE,
        ],
        "text: 你好 | text: ! | EndTurn",
    );
}

#[test]
fn reasoning_keeps_its_id_and_what_is_encrypted() {
    let part =
        r#"{"type":"response.reasoning_summary_part.added","output_index":0,"item_id":"rs"}"#;
    let summary = |text: &str| {
        format!(
            r#"{{"type":"response.reasoning_summary_text.delta","output_index":0,"item_id":"rs","delta":"{text}"}}"#
        )
    };
    check(
        &[
            &added(0, r#"{"type":"reasoning","id":"rs","summary":[]}"#),
            part,
            &summary("h"),
            &summary("m"),
            part,
            &summary("so"),
            &done(
                0,
                r#"{"type":"reasoning","id":"rs","summary":[{"text":"x"}],"encrypted_content":"enc"}"#,
            ),
            &text(1, "a"),
            DONE,
        ],
        "thinking: hm\n\nso [rs] [enc] | text: a | EndTurn",
    );
    // Without a summary, and without encryption.
    let hidden = r#"{"type":"reasoning","id":"rs","summary":[],"encrypted_content":"enc"}"#;
    check(&[&added(0, hidden), &done(0, hidden), DONE], "thinking:  [rs] [enc] | EndTurn");
    let open = r#"{"type":"reasoning","id":"rs","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]}"#;
    check(&[&done(0, open), DONE], "thinking: hm | EndTurn");
    check(&[&done(0, r#"{"type":"reasoning","id":"rs","summary":[]}"#), DONE], "EndTurn");
}

#[test]
fn calls_grow_by_their_number_or_id() {
    let item = |id: &str, name: &str, arguments: &str| {
        format!(
            r#"{{"type":"function_call","id":"fc_{id}","call_id":"{id}","name":"{name}","arguments":"{arguments}"}}"#
        )
    };
    check(
        &[
            &added(0, &item("x", "read_file", "")),
            &added(1, &item("y", "esc-a-2eb", "")),
            &arguments(0, "fc_x", r#"{\"path\":"#),
            &arguments(1, "fc_y", "{}"),
            &arguments(0, "fc_x", r#"\"a\"}"#),
            &done(0, &item("x", "read_file", r#"{\"path\":\"a\"}"#)),
            &done(1, &item("y", "esc-a-2eb", "{}")),
            DONE,
        ],
        r#"call x: read_file {"path":"a"} | call y: a.b {} | ToolCall"#,
    );
}

#[test]
fn a_server_that_numbers_nothing_is_understood() {
    let event = |kind: &str, rest: &str| format!(r#"{{"type":"response.{kind}",{rest}}}"#);
    check(
        &[
            &event("output_item.added", r#""item":{"type":"message","id":"m","content":[]}"#),
            &event("output_text.delta", r#""item_id":"m","delta":"a""#),
            &event(
                "output_item.added",
                r#""item":{"type":"function_call","call_id":"fc_1","name":"f","arguments":""}"#,
            ),
            &event("function_call_arguments.delta", r#""item_id":"fc_1","delta":"{\"k\":""#),
            &event(
                "output_item.added",
                r#""item":{"type":"function_call","call_id":"fc_2","name":"g","arguments":""}"#,
            ),
            &event("function_call_arguments.delta", r#""item_id":"fc_1","delta":"1}""#),
            &event(
                "output_item.done",
                r#""item":{"type":"function_call","call_id":"fc_1","name":"f","arguments":"{\"k\":1}"}"#,
            ),
            &event(
                "output_item.done",
                r#""item":{"type":"function_call","call_id":"fc_2","name":"g","arguments":{"n": 2}}"#,
            ),
            DONE,
            "[DONE]",
        ],
        r#"text: a | call fc_1: f {"k":1} | call fc_2: g {"n": 2} | ToolCall"#,
    );
    // Only the ends, or only the whole answer.
    let call = r#"{"type":"function_call","id":"i","call_id":"c","name":"f","arguments":"{}"}"#;
    check(
        &[&event("output_item.done", &format!(r#""item":{call}"#)), DONE],
        "call c: f {} | ToolCall",
    );
    let whole =
        format!(r#"{{"type":"response.completed","response":{{"output":[{call},{call}]}}}}"#);
    check(&[&whole], "call c: f {} | call c: f {} | ToolCall");
}

#[test]
fn the_end_of_an_item_has_the_last_word_on_its_arguments() {
    let begun = added(0, r#"{"type":"function_call","id":"i","call_id":"c","name":"f"}"#);
    let ended =
        r#"{"type":"function_call","id":"i","call_id":"c","name":"f","arguments":"{\"k\":1}"}"#;
    let expected = r#"call c: f {"k":1} | ToolCall"#;
    check(&[&begun, &done(0, ended), DONE], expected);
    check(&[&begun, &arguments(0, "i", r#"{\"k"#), &done(0, ended), DONE], expected);
    check(&[&begun, &arguments(0, "i", "{}"), &done(0, ended), DONE], expected);
    let told = r#"{"type":"response.function_call_arguments.done","output_index":0,"item_id":"i","arguments":"{\"k\":1}"}"#;
    check(&[&begun, &arguments(0, "i", r#"{\"k"#), told, DONE], expected);
}

#[test]
fn a_call_that_no_event_closed_is_never_given_out() {
    let open = "Malformed after ``, retryable: ended its answer in the middle of a call";
    let begun = |n: usize| {
        added(n, &format!(r#"{{"type":"function_call","id":"i{n}","call_id":"c{n}","name":"rm"}}"#))
    };
    check(&[&begun(0), &arguments(0, "i0", "{}"), DONE], open);
    // Of an answer that ran out of tokens the last call is known to be cut.
    let cut = incomplete("max_output_tokens");
    check(&[&begun(0), &arguments(0, "i0", r#"{\"p"#), &cut], r#"call c0: rm {"p | MaxTokens"#);
    check(&[&begun(0), &begun(1), &cut], open);
    let ended = r#"{"type":"function_call","id":"i0","call_id":"c0","name":"rm","arguments":"{}","status":"incomplete"}"#;
    check(&[&begun(0), &arguments(0, "i0", "{}"), &done(0, ended), DONE], open);
    check(&[&begun(0), &arguments(0, "i0", "{}"), &done(0, ended), &begun(1), &cut], open);
}

#[test]
fn reasons_to_stop() {
    check(&[&text(0, "a"), &incomplete("max_output_tokens")], "text: a | MaxTokens");
    check(&[&text(0, "a"), &incomplete("content_filter")], "text: a | Refusal");
    check(
        &[&text(0, "a"), r#"{"type":"response.incomplete","response":{}}"#],
        "text: a | MaxTokens",
    );
    let refusal = r#"{"type":"response.refusal.delta","output_index":0,"delta":"I will not."}"#;
    check(&[refusal, DONE], "text: I will not. | Refusal");
    let whole = r#"{"type":"message","content":[{"type":"refusal","refusal":"I will not."}]}"#;
    check(&[&done(0, whole), DONE], "text: I will not. | Refusal");
}

#[test]
fn usage_counts_cached_tokens_apart() {
    let end =
        |usage: &str| format!(r#"{{"type":"response.completed","response":{{"usage":{usage}}}}}"#);
    let usage =
        r#"{"input_tokens":100,"input_tokens_details":{"cached_tokens":60},"output_tokens":7}"#;
    check(&[&end(usage)], "EndTurn | 40+60 in, 7 out");
    check(&[&end(r#"{"input_tokens":5}"#)], "EndTurn | 5+0 in, 0 out");
    check(&[&end(r#"{"input_tokens":-1}"#)], "EndTurn");
    check(&[&end("null")], "EndTurn");
}

#[test]
fn unknown_events_and_items_are_passed_over() {
    check(
        &[
            r#"{"type":"response.in_progress","response":{"output":7}}"#,
            r#"{"type":"keepalive"}"#,
            r#"{"no":"type"}"#,
            &added(0, r#"{"type":"web_search_call","id":"ws"}"#),
            r#"{"type":"response.web_search_call.searching","output_index":0,"delta":{}}"#,
            &done(0, r#"{"type":"web_search_call","id":"ws"}"#),
            r#"{"type":"response.function_call_arguments.delta","output_index":9,"delta":"x"}"#,
            &text(1, "a"),
            DONE,
        ],
        "text: a | EndTurn",
    );
}

#[test]
fn without_an_end_the_answer_was_cut() {
    let cut = "Cut after `a`, retryable: closed the connection before the answer was complete";
    let call = r#"{"type":"function_call","id":"i","call_id":"c","name":"rm","arguments":"{}"}"#;
    check(&[&text(0, "a"), &done(1, call)], cut);
    check(&[&text(0, "a"), "[DONE]"], cut);
}

#[test]
fn a_character_cut_in_two_is_joined_and_half_of_one_costs_no_answer() {
    check(&[&text(0, r"a\ud83d"), &text(0, r"\ude00b"), DONE], "text: a😀b | EndTurn");
    check(&[&text(0, r"a\ud83d"), &text(0, "b"), DONE], "text: a\u{fffd}b | EndTurn");
    check(&[&text(0, r"a\ud83d"), DONE], "text: a\u{fffd} | EndTurn");
    let item = r#"{"type":"message","id":"m","content":[{"text":"a\ud83d"}]}"#;
    check(&[&done(0, item), DONE], "text: a\u{fffd} | EndTurn");
    let call = r#"{"type":"function_call","id":"i","call_id":"x","name":"f"}"#;
    let whole = r#"{"type":"function_call","id":"i","call_id":"x","name":"f","arguments":"{\"a\":\"\ud83d\ude00\"}"}"#;
    check(
        &[
            &added(0, call),
            &arguments(0, "i", r#"{\"a\":\"\ud83d"#),
            &arguments(0, "i", r#"\ude00\"}"#),
            &done(0, whole),
            DONE,
        ],
        r#"call x: f {"a":"😀"} | ToolCall"#,
    );
}

#[test]
fn what_is_not_the_protocol_is_a_fault() {
    for wrong in [
        "{",
        "[]",
        r#"{"type":"response.output_item.added","output_index":0}"#,
        r#"{"type":"response.completed"}"#,
    ] {
        check(
            &[&text(0, "a"), wrong],
            "Malformed after `a`, retryable: sent an event that is not valid JSON for this API",
        );
    }
    let nameless = r#"{"type":"function_call","id":"i","call_id":"c","arguments":"{}"}"#;
    check(
        &[&done(0, nameless), DONE],
        "Malformed after ``, retryable: called a tool without naming it",
    );
}

#[test]
fn an_error_in_the_stream_is_told() {
    for (event, expected) in [
        (
            r#"{"type":"error","code":"server_error","message":"busy","param":null}"#,
            "Status after `a`, retryable: reported an error instead of an answer; it said: busy",
        ),
        (
            r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}"#,
            "Status after `a`, retryable: reported an error instead of an answer; it said: slow",
        ),
        (
            r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"oops"}}}"#,
            "Status after `a`, retryable: reported an error instead of an answer; it said: oops",
        ),
        (
            r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"context_length_exceeded","message":"x"}}}"#,
            "ContextLength after `a`: rejected the conversation as too long; it said: x",
        ),
        (
            r#"{"type":"response.failed","response":{"status":"failed"}}"#,
            "Status after `a`, retryable: reported that the answer failed, without saying why",
        ),
        (
            r#"{"type":"response.failed","response":{"error":{"code":"insufficient_quota","message":"pay"}}}"#,
            "Status after `a`: has no quota left for this key: check its plan and billing; it said: pay",
        ),
    ] {
        check(&[&text(0, "a"), event], expected);
    }
}

#[test]
fn calls_and_items_have_a_limit() {
    let item = r#"{"type":"function_call","call_id":"c","name":"f"}"#;
    let calls: Vec<String> = (0..=CALLS_MAX).map(|n| added(n, item)).collect();
    let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
    check(&calls, "Malformed after ``: made more than 128 calls in one answer: use another model");
    let items = (0..=ANSWER_BLOCKS_MAX).map(|n| added(n, r#"{"type":"new_kind"}"#));
    let items: Vec<String> = items.collect();
    let items: Vec<&str> = items.iter().map(String::as_str).collect();
    check(&items, "Malformed after ``: sent more than 1024 items in one answer: use another model");
}

#[test]
fn the_sink_sees_the_answer_grow() {
    let seen = Seen::default();
    let mut answer = Accumulator::of(Wire::OpenaiResponses);
    for event in [
        r#"{"type":"response.reasoning_text.delta","output_index":0,"delta":"hm"}"#,
        &text(1, "a"),
        &added(2, r#"{"type":"function_call","id":"i","call_id":"c","name":"esc-a-2eb"}"#),
        &arguments(2, "i", "{"),
        &done(
            2,
            r#"{"type":"function_call","id":"i","call_id":"c","name":"esc-a-2eb","arguments":"{}"}"#,
        ),
    ] {
        answer.feed(event, &seen).unwrap();
    }
    assert_eq!(
        seen.lines(),
        [
            r#"0 Thinking("hm")"#,
            r#"1 Text("a")"#,
            r#"2 CallBegun { call: 0, tool: "a.b" }"#,
            r#"2 CallInput { call: 0, json: "{" }"#,
            r#"2 CallInput { call: 0, json: "}" }"#,
        ]
    );
}

fn added(index: usize, item: &str) -> String {
    format!(r#"{{"type":"response.output_item.added","output_index":{index},"item":{item}}}"#)
}

fn done(index: usize, item: &str) -> String {
    format!(r#"{{"type":"response.output_item.done","output_index":{index},"item":{item}}}"#)
}

fn text(index: usize, text: &str) -> String {
    format!(r#"{{"type":"response.output_text.delta","output_index":{index},"delta":"{text}"}}"#)
}

/// `piece` is written as it stands in a JSON string.
fn arguments(index: usize, id: &str, piece: &str) -> String {
    format!(
        r#"{{"type":"response.function_call_arguments.delta","output_index":{index},"item_id":"{id}","delta":"{piece}"}}"#
    )
}

fn incomplete(reason: &str) -> String {
    format!(
        r#"{{"type":"response.incomplete","response":{{"status":"incomplete","incomplete_details":{{"reason":"{reason}"}}}}}}"#
    )
}

#[track_caller]
fn check(events: &[&str], expected: &str) {
    assert_eq!(in_words(Wire::OpenaiResponses, events), expected, "{events:#?}");
}
