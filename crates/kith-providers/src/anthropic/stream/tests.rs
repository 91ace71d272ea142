//! A test is the data of a stream's events and the answer in words.

use kith_vocab::event::models::Wire;

use crate::answer::words::{Seen, in_words};
use crate::answer::{ANSWER_BLOCKS_MAX, Accumulator, CALLS_MAX};

const STOP: &str = r#"{"type":"message_stop"}"#;

#[test]
fn texts_and_thoughts_are_blocks_of_their_own() {
    check(
        &[
            &start(0, r#"{"type":"thinking","thinking":"","signature":""}"#),
            &delta(0, r#"{"type":"thinking_delta","thinking":"h"}"#),
            &delta(0, r#"{"type":"thinking_delta","thinking":"m"}"#),
            &delta(0, r#"{"type":"signature_delta","signature":"si"}"#),
            &delta(0, r#"{"type":"signature_delta","signature":"g"}"#),
            &stop(0),
            &start(1, r#"{"type":"redacted_thinking","data":"b64"}"#),
            &stop(1),
            &start(2, r#"{"type":"text","text":""}"#),
            &delta(2, r#"{"type":"text_delta","text":"你"}"#),
            &delta(2, r#"{"type":"text_delta","text":"好"}"#),
            &stop(2),
            &start(3, r#"{"type":"text","text":"!"}"#),
            &stop(3),
            &end("end_turn"),
            STOP,
        ],
        "thinking: hm [sig] | thinking:  [b64] | text: 你好 | text: ! | EndTurn",
    );
}

#[test]
fn thinking_without_its_text_keeps_its_signature() {
    check(
        &[
            &start(0, r#"{"type":"thinking","thinking":"","signature":""}"#),
            &delta(0, r#"{"type":"signature_delta","signature":"sig"}"#),
            &stop(0),
            &start(1, r#"{"type":"text","text":"a"}"#),
            &end("end_turn"),
        ],
        "thinking:  [sig] | text: a | EndTurn",
    );
}

#[test]
fn calls_grow_by_their_number() {
    check(
        &[
            &start(0, &call("x", "read_file")),
            &start(1, &call("y", "esc-a-2eb")),
            &json(0, r#"{\"path\":"#),
            &json(1, "{}"),
            &json(0, r#"\"a\"}"#),
            &stop(1),
            &stop(0),
            &end("tool_use"),
        ],
        r#"call x: read_file {"path":"a"} | call y: a.b {} | ToolCall"#,
    );
    // Ids of ours are given later, so vendors may repeat theirs.
    check(
        &[
            &start(0, &call("x", "a")),
            &stop(0),
            &start(1, &call("x", "b")),
            &stop(1),
            &end("tool_use"),
        ],
        "call x: a {} | call x: b {} | ToolCall",
    );
}

#[test]
fn the_input_of_a_beginning_counts_only_if_nothing_follows() {
    let whole = r#"{"type":"tool_use","id":"x","name":"a","input":{"k": 1}}"#;
    check(&[&start(0, whole), &stop(0), &end("tool_use")], r#"call x: a {"k": 1} | ToolCall"#);
    check(
        &[&start(0, whole), &json(0, r#"{\"k\":2}"#), &stop(0), &end("tool_use")],
        r#"call x: a {"k":2} | ToolCall"#,
    );
}

#[test]
fn a_call_that_no_event_closed_is_never_given_out() {
    let open = "Malformed after `a`, retryable: ended its answer in the middle of a call";
    let text = &start(0, r#"{"type":"text","text":"a"}"#);
    check(&[text, &start(1, &call("x", "rm")), &json(1, "{}"), &end("tool_use")], open);
    check(&[text, &start(1, &call("x", "rm")), &json(1, "{}"), &end("end_turn"), STOP], open);
    // Of an answer that ran out of tokens the last call is known to be cut.
    let (first, second) = (start(1, &call("x", "rm")), start(2, &call("y", "ls")));
    let cut = r#"text: a | call x: rm {} | call y: ls {"p | MaxTokens"#;
    check(&[text, &first, &stop(1), &second, &json(2, r#"{\"p"#), &end("max_tokens")], cut);
    check(&[text, &first, &second, &end("max_tokens")], open);
}

#[test]
fn reasons_to_stop() {
    let text = &start(0, r#"{"type":"text","text":"a"}"#);
    for (reason, expected) in [
        ("end_turn", "EndTurn"),
        ("stop_sequence", "EndTurn"),
        ("pause_turn", "EndTurn"),
        ("max_tokens", "MaxTokens"),
        ("model_context_window_exceeded", "MaxTokens"),
        ("refusal", "Refusal"),
        ("new_reason", "EndTurn"),
    ] {
        check(&[text, &stop(0), &end(reason)], &format!("text: a | {expected}"));
    }
    let half = &start(1, &call("x", "rm"));
    check(&[text, half, &json(1, r#"{\"p"#), &end("refusal")], "text: a | Refusal");
}

#[test]
fn usage_is_cumulative_and_counts_the_cache_apart() {
    let begin = r#"{"type":"message_start","message":{"content":[],"usage":{"input_tokens":25,"cache_read_input_tokens":60,"cache_creation_input_tokens":7,"output_tokens":1}}}"#;
    let last = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":15}}"#;
    check(&[begin, last], "EndTurn | 25+60+7 in, 15 out");
    let odd = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":-1}}"#;
    check(&[begin, odd], "EndTurn | 25+60+7 in, 1 out");
}

#[test]
fn pings_unknown_events_and_blocks_are_passed_over() {
    check(
        &[
            r#"{"type":"ping"}"#,
            r#"{"type":"new_event","index":null,"delta":7}"#,
            &start(0, r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{}}"#),
            &json(0, "{}"),
            &stop(0),
            &start(1, r#"{"type":"text","text":null,"citations":null}"#),
            &delta(1, r#"{"type":"citations_delta","citation":{}}"#),
            &delta(1, r#"{"type":"text_delta","text":"a"}"#),
            &stop(7),
            r#"{"type":"message_delta","delta":{"stop_reason":null}}"#,
            &end("end_turn"),
        ],
        "text: a | EndTurn",
    );
}

#[test]
fn without_an_end_the_answer_was_cut() {
    let cut = "Cut after `a`, retryable: closed the connection before the answer was complete";
    let text = &start(0, r#"{"type":"text","text":"a"}"#);
    check(&[text, &stop(0), &start(1, &call("x", "rm")), &stop(1)], cut);
    check(&[text, &stop(0), STOP], cut);
}

#[test]
fn a_character_cut_in_two_is_joined_and_half_of_one_costs_no_answer() {
    let text = |text: &str| delta(0, &format!(r#"{{"type":"text_delta","text":"{text}"}}"#));
    let begin = start(0, r#"{"type":"text","text":""}"#);
    let end = end("end_turn");
    check(&[&begin, &text(r"a\ud83d"), &text(r"\ude00b"), &stop(0), &end], "text: a😀b | EndTurn");
    check(&[&begin, &text(r"a\ud83d"), &text("b"), &end], "text: a\u{fffd}b | EndTurn");
    check(&[&begin, &text(r"a\ud83d"), &stop(0), &end], "text: a\u{fffd} | EndTurn");
    check(
        &[
            &start(0, &call("x", "f")),
            &json(0, r#"{\"a\":\"\ud83d"#),
            &json(0, r#"\ude00\"}"#),
            &stop(0),
            &end,
        ],
        r#"call x: f {"a":"😀"} | ToolCall"#,
    );
    check(
        &[
            &start(0, r#"{"type":"thinking","thinking":""}"#),
            &delta(0, r#"{"type":"thinking_delta","thinking":"\ud83d"}"#),
            &delta(0, r#"{"type":"thinking_delta","thinking":"\ude00"}"#),
            &end,
        ],
        "thinking: 😀 | EndTurn",
    );
}

#[test]
fn what_is_not_the_protocol_is_a_fault() {
    let text = &start(0, r#"{"type":"text","text":"a"}"#);
    for wrong in [
        "{",
        "[]",
        r#"{"type":"content_block_start","index":1}"#,
        r#"{"type":"content_block_delta","index":5,"delta":{"text":"b"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"text":7}}"#,
        r#"{"type":7}"#,
    ] {
        check(
            &[text, wrong],
            "Malformed after `a`, retryable: sent an event that is not valid JSON for this API",
        );
    }
    check(
        &[&start(0, r#"{"type":"tool_use","id":"x"}"#), &stop(0), &end("tool_use")],
        "Malformed after ``, retryable: called a tool without naming it",
    );
}

#[test]
fn an_error_in_the_stream_is_told() {
    let text = &start(0, r#"{"type":"text","text":"a"}"#);
    let error = |kind: &str, message: &str| {
        format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}}}}"#)
    };
    for (kind, message, expected) in [
        (
            "overloaded_error",
            "Overloaded",
            "Status after `a`, retryable: reported an error instead of an answer; it said: Overloaded",
        ),
        (
            "api_error",
            "Internal",
            "Status after `a`, retryable: reported an error instead of an answer; it said: Internal",
        ),
        (
            "invalid_request_error",
            "odd",
            "Status after `a`: reported an error instead of an answer; it said: odd",
        ),
        (
            "invalid_request_error",
            "prompt is too long",
            "ContextLength after `a`: rejected the conversation as too long; it said: prompt is too long",
        ),
    ] {
        check(&[text, &error(kind, message)], expected);
    }
}

#[test]
fn calls_and_blocks_have_a_limit() {
    let calls: Vec<String> = (0..=CALLS_MAX).map(|n| start(n, &call("x", "a"))).collect();
    let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
    check(&calls, "Malformed after ``: made more than 128 calls in one answer: use another model");
    let texts = (0..=ANSWER_BLOCKS_MAX).map(|n| start(n, r#"{"type":"thinking","thinking":"a"}"#));
    let texts: Vec<String> = texts.collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    check(
        &texts,
        "Malformed after ``: sent more than 1024 blocks in one answer: use another model",
    );
}

#[test]
fn the_sink_sees_the_answer_grow() {
    let seen = Seen::default();
    let mut answer = Accumulator::of(Wire::Anthropic);
    for event in [
        start(0, r#"{"type":"thinking","thinking":""}"#),
        delta(0, r#"{"thinking":"hm"}"#),
        start(1, r#"{"type":"text","text":""}"#),
        start(2, &call("x", "esc-a-2eb")),
        json(2, "{"),
        json(2, "}"),
        delta(1, r#"{"text":"a"}"#),
    ] {
        answer.feed(&event, &seen).unwrap();
    }
    assert_eq!(
        seen.lines(),
        [
            r#"0 Thinking("hm")"#,
            r#"1 CallBegun { call: 0, tool: "a.b" }"#,
            r#"1 CallInput { call: 0, json: "{" }"#,
            r#"1 CallInput { call: 0, json: "}" }"#,
            r#"2 Text("a")"#,
        ]
    );
}

#[test]
fn more_blocks_than_any_answer_has_are_refused_also_of_kinds_that_are_passed_over() {
    for block in [r#"{"type":"of_later_days"}"#, r#"{"type":"text","text":""}"#] {
        let mut answer = Accumulator::of(Wire::Anthropic);
        let sink = Seen::default();
        // The same number again and again is one block.
        for index in (0..ANSWER_BLOCKS_MAX).chain([7; 10]) {
            answer.feed(&start(index, block), &sink).unwrap();
        }
        assert!(answer.feed(&start(ANSWER_BLOCKS_MAX, block), &sink).is_err(), "{block}");
    }
}

fn start(index: usize, block: &str) -> String {
    format!(r#"{{"type":"content_block_start","index":{index},"content_block":{block}}}"#)
}

fn call(id: &str, name: &str) -> String {
    format!(r#"{{"type":"tool_use","id":"{id}","name":"{name}","input":{{}}}}"#)
}

fn delta(index: usize, delta: &str) -> String {
    format!(r#"{{"type":"content_block_delta","index":{index},"delta":{delta}}}"#)
}

/// `piece` is written as it stands in a JSON string.
fn json(index: usize, piece: &str) -> String {
    delta(index, &format!(r#"{{"type":"input_json_delta","partial_json":"{piece}"}}"#))
}

fn stop(index: usize) -> String {
    format!(r#"{{"type":"content_block_stop","index":{index}}}"#)
}

fn end(reason: &str) -> String {
    format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}}}}"#)
}

#[track_caller]
fn check(events: &[&str], expected: &str) {
    assert_eq!(in_words(Wire::Anthropic, events), expected, "{events:#?}");
}

#[test]
fn an_answer_that_is_cut_off_has_used_what_was_counted_and_what_came() {
    let begin = r#"{"type":"message_start","message":{"content":[],"usage":{"input_tokens":25,"output_tokens":1}}}"#;
    let block =
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
    let text = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"twelve bytes"}}"#;
    let cut = in_words(Wire::Anthropic, &[begin, block, text]);
    assert!(cut.starts_with("Cut after `twelve bytes`"), "{cut}");
    assert!(cut.ends_with(" | 25+0 in, 4 out"), "{cut}");
}
