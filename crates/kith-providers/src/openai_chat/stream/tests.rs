//! A test is the data of a stream's events and the answer in words.

use kith_vocab::event::models::Wire;
use kith_vocab::provider::AnswerBlock;

use crate::answer::words::{Seen, in_words};
use crate::answer::{Accumulator, CALLS_MAX};

const STOP: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;

#[test]
fn text_and_thinking_grow() {
    check(
        &[
            &delta(r#"{"role":"assistant","content":""}"#),
            &delta(r#"{"content":"你"}"#),
            &delta(r#"{"content":"好"}"#),
            STOP,
            "[DONE]",
        ],
        "text: 你好 | EndTurn",
    );
    check(
        &[
            &delta(r#"{"reasoning_content":"hm","content":null}"#),
            &delta(r#"{"content":"a"}"#),
            STOP,
        ],
        "thinking: hm | text: a | EndTurn",
    );
    check(&[&delta(r#"{"reasoning":"hm"}"#), STOP], "thinking: hm | EndTurn");
    check(
        &[&delta(r#"{"reasoning":"hm","reasoning_content":"hm"}"#), STOP],
        "thinking: hm | EndTurn",
    );
    check(
        &[&delta(r#"{"content":[{"type":"text","text":"a"},{"type":"image"}]}"#), STOP],
        "text: a | EndTurn",
    );
}

#[test]
fn calls_are_gathered_by_index() {
    check(
        &[
            &call(r#""index":0,"id":"x","function":{"name":"read_file","arguments":""}"#),
            &call(r#""index":1,"id":"y","function":{"name":"esc-a-2eb","arguments":"{"}"#),
            &call(r#""index":0,"function":{"arguments":"{\"path\":"}"#),
            &call(r#""index":1,"function":{"arguments":"}"}"#),
            &call(r#""index":0,"function":{"arguments":"\"a\"}"}"#),
            &finish("tool_calls"),
        ],
        r#"call x: read_file {"path":"a"} | call y: a.b {} | ToolCall"#,
    );
}

#[test]
fn whole_calls_without_an_index_are_several() {
    let one = call(r#""id":"x","function":{"name":"a","arguments":"{}"}"#);
    let two = call(r#""id":"y","function":{"name":"a","arguments":"{}"}"#);
    check(&[&one, &two, STOP], "call x: a {} | call y: a {} | ToolCall");
    let one = call(r#""function":{"name":"a","arguments":{"k": 1}}"#);
    let two = call(r#""function":{"name":"b","arguments":null}"#);
    check(&[&one, &two, STOP], r#"call : a {"k": 1} | call : b  | ToolCall"#);
    let same_index = call(r#""index":0,"id":"z","function":{"name":"a","arguments":"{}"}"#);
    let one = call(r#""index":0,"id":"x","function":{"name":"a","arguments":"{}"}"#);
    check(&[&one, &same_index, STOP], "call x: a {} | call z: a {} | ToolCall");
}

#[test]
fn repeated_ids_and_names_are_one_call() {
    let begin = call(r#""index":0,"id":"x","function":{"name":"a","arguments":"{"}"#);
    let end = call(r#""index":0,"id":"x","function":{"name":"a","arguments":"}"}"#);
    check(&[&begin, &end, STOP], "call x: a {} | ToolCall");
    let rest = call(r#""id":"","function":{"name":null,"arguments":"}"}"#);
    check(&[&begin, &rest, STOP], "call x: a {} | ToolCall");
    // Ids of ours are given later, so vendors may repeat theirs.
    let twin = call(r#""index":1,"id":"x","function":{"name":"b","arguments":"{}"}"#);
    check(&[&begin, &end, &twin, STOP], "call x: a {} | call x: b {} | ToolCall");
}

#[test]
fn the_old_form_of_a_call_is_read() {
    let begin = delta(r#"{"function_call":{"name":"a","arguments":"{"}}"#);
    let end = delta(r#"{"function_call":{"arguments":"}"}}"#);
    check(&[&begin, &end, &finish("function_call")], "call : a {} | ToolCall");
}

#[test]
fn a_call_cut_off_by_the_limit_is_marked() {
    let half = call(r#""index":0,"id":"x","function":{"name":"a","arguments":"{\"p"}"#);
    check(&[&half, &finish("length")], r#"call x: a {"p | MaxTokens"#);
    check(&[&delta(r#"{"content":"a"}"#), &finish("length")], "text: a | MaxTokens");
}

#[test]
fn a_refusal_has_no_calls() {
    let half = call(r#""index":0,"id":"x","function":{"name":"a","arguments":"{\"p"}"#);
    check(&[&half, &finish("content_filter")], "Refusal");
    check(&[&delta(r#"{"refusal":"I will not."}"#), STOP], "text: I will not. | Refusal");
}

#[test]
fn usage_counts_cached_tokens_apart() {
    let usage = r#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":60}}}"#;
    check(&[STOP, usage, "[DONE]"], "EndTurn | 40+60 in, 7 out");
    let usage =
        r#"{"usage":{"prompt_tokens":5,"completion_tokens":null,"prompt_tokens_details":null}}"#;
    check(&[STOP, usage], "EndTurn | 5+0 in, 0 out");
    check(&[STOP, r#"{"usage":{"prompt_tokens":-1.5}}"#], "EndTurn");
    let usage = r#"{"usage":{"prompt_tokens":5,"prompt_cache_hit_tokens":9}}"#;
    check(&[STOP, usage], "EndTurn | 0+9 in, 0 out");
}

#[test]
fn nulls_unknown_keys_and_other_choices_are_passed_over() {
    check(
        &[
            r#"{"id":null,"choices":null,"usage":null,"error":null}"#,
            r#"{"ping":1}"#,
            "",
            r#"{"choices":[{"delta":null,"finish_reason":null}]}"#,
            r#"{"choices":[{"delta":{"content":null,"refusal":null,"tool_calls":null,"function_call":null,"x":[1]}}]}"#,
            r#"{"choices":[{"index":1,"delta":{"content":"other"},"finish_reason":"stop"}]}"#,
            STOP,
        ],
        "EndTurn",
    );
}

#[test]
fn without_an_end_the_answer_was_cut() {
    check(&[], "Cut after ``, retryable: closed the connection before the answer was complete");
    let whole = call(r#""index":0,"id":"x","function":{"name":"a","arguments":"{}"}"#);
    check(
        &[&delta(r#"{"content":"a"}"#), &whole],
        "Cut after `a`, retryable: closed the connection before the answer was complete",
    );
}

#[test]
fn a_stream_that_is_done_without_an_end_was_cut() {
    let cut = "Cut after `a`, retryable: closed the connection before the answer was complete";
    check(&[&delta(r#"{"content":"a"}"#), "[DONE]"], cut);
    let half = call(r#""index":0,"id":"x","function":{"name":"rm","arguments":"{\"path\":\"/"}"#);
    check(&[&delta(r#"{"content":"a"}"#), &half, "[DONE]"], cut);
}

#[test]
fn a_character_cut_in_two_is_joined_and_half_of_one_costs_no_answer() {
    let content = |text: &str| delta(&format!(r#"{{"content":"{text}"}}"#));
    check(&[&content(r"a\ud83d"), &content(r"\ude00b"), STOP], "text: a😀b | EndTurn");
    check(&[&content(r"a\ud83d"), &content("b"), STOP], "text: a\u{fffd}b | EndTurn");
    check(&[&content(r"a\ud83d"), STOP], "text: a\u{fffd} | EndTurn");
    check(&[&content(r"\ude00"), STOP], "text: \u{fffd} | EndTurn");
    check(
        &[
            &delta(r#"{"reasoning":"\ud83d"}"#),
            &content(r"\ud83d"),
            &delta(r#"{"reasoning":"\ude00"}"#),
            &content(r"\ude01"),
            STOP,
        ],
        "thinking: 😀 | text: 😁 | EndTurn",
    );
    check(
        &[
            &call(r#""index":0,"id":"x","function":{"name":"f","arguments":"{\"a\":\"\ud83d"}"#),
            &call(r#""index":0,"function":{"arguments":"\ude00\"}"}"#),
            &finish("tool_calls"),
        ],
        r#"call x: f {"a":"😀"} | ToolCall"#,
    );
    let whole = r#"{"choices":[{"message":{"content":"a\ud83d"},"finish_reason":"stop"}]}"#;
    let mut answer = Accumulator::of(Wire::OpenaiChat);
    assert!(answer.feed_whole(whole, &Seen::default()).unwrap());
    let content = answer.finish().unwrap().content;
    assert_eq!(content, [AnswerBlock::Text("a\u{fffd}".to_owned())]);
}

#[test]
fn a_half_is_told_when_it_is_whole() {
    let seen = Seen::default();
    let mut answer = Accumulator::of(Wire::OpenaiChat);
    for text in [r"a\ud83d", r"\ude00", r"\ud83d", "b"] {
        answer.feed(&delta(&format!(r#"{{"content":"{text}"}}"#)), &seen).unwrap();
    }
    assert_eq!(seen.lines(), [r#"0 Text("a")"#, r#"0 Text("😀")"#, "0 Text(\"\u{fffd}b\")"]);
}

#[test]
fn what_is_not_the_protocol_is_a_fault() {
    let text = &delta(r#"{"content":"a"}"#);
    for wrong in
        ["{", "<html>", "[]", r#"{"choices":[{"delta":{"content":7}}]}"#, r#"{"choices":7}"#]
    {
        check(
            &[text, wrong],
            "Malformed after `a`, retryable: sent an event that is not valid JSON for this API",
        );
    }
    check(
        &[&call(r#""index":0,"id":"x""#), STOP],
        "Malformed after ``, retryable: called a tool without naming it",
    );
}

#[test]
fn an_error_in_the_stream_is_told() {
    let text = &delta(r#"{"content":"a"}"#);
    check(
        &[text, r#"{"error":{"message":"busy","code":503}}"#],
        "Status after `a`, retryable: reported an error instead of an answer; it said: busy",
    );
    check(
        &[r#"{"error":"no"}"#],
        "Status after ``: reported an error instead of an answer; it said: no",
    );
    check(
        &[r#"{"error":{"message":"x","type":"context_length_exceeded"}}"#],
        "ContextLength after ``: rejected the conversation as too long; it said: x",
    );
    check(
        &[r#"{"error":{"message":"pay","code":429,"type":"insufficient_quota"}}"#],
        "Status after ``: has no quota left for this key: check its plan and billing; it said: pay",
    );
}

#[test]
fn calls_have_a_limit() {
    let calls: Vec<String> = (0..=CALLS_MAX)
        .map(|n| call(&format!(r#""index":{n},"id":"x","function":{{"name":"a","arguments":""}}"#)))
        .collect();
    let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
    check(&calls, "Malformed after ``: made more than 128 calls in one answer: use another model");
}

#[test]
fn the_tap_sees_the_answer_grow() {
    let seen = Seen::default();
    let mut answer = Accumulator::of(Wire::OpenaiChat);
    answer.feed(&delta(r#"{"reasoning":"hm","content":"a"}"#), &seen).unwrap();
    let begin = call(r#""index":0,"id":"x","function":{"name":"esc-a-2eb","arguments":"{"}"#);
    answer.feed(&begin, &seen).unwrap();
    answer.feed(&call(r#""index":0,"function":{"arguments":"}"}"#), &seen).unwrap();
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

#[test]
fn blocks_stand_in_the_order_in_which_they_began() {
    let seen = Seen::default();
    let mut answer = Accumulator::of(Wire::OpenaiChat);
    for event in [
        &call(r#""index":0,"id":"x","function":{"arguments":"{"}"#),
        &delta(r#"{"content":"a"}"#),
        &delta(r#"{"reasoning":"hm"}"#),
        &call(r#""index":0,"function":{"name":"f","arguments":"}"}"#),
        &delta(r#"{"content":"b"}"#),
        STOP,
    ] {
        answer.feed(event, &seen).unwrap();
    }
    let content = answer.finish().unwrap().content;
    let kinds: Vec<&str> = content
        .iter()
        .map(|block| match block {
            AnswerBlock::Text(_) => "text",
            AnswerBlock::Thinking(_) => "thinking",
            AnswerBlock::Call { .. } => "call",
        })
        .collect();
    assert_eq!(kinds, ["call", "text", "thinking"]);
    assert_eq!(
        seen.lines(),
        [
            r#"1 Text("a")"#,
            r#"2 Thinking("hm")"#,
            r#"0 CallBegun { call: 0, tool: "f" }"#,
            r#"0 CallInput { call: 0, json: "{}" }"#,
            r#"1 Text("b")"#,
        ]
    );
}

fn delta(delta: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"delta":{delta},"finish_reason":null}}]}}"#)
}

fn call(fields: &str) -> String {
    delta(&format!(r#"{{"tool_calls":[{{{fields}}}]}}"#))
}

fn finish(reason: &str) -> String {
    format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":"{reason}"}}]}}"#)
}

#[track_caller]
fn check(events: &[&str], expected: &str) {
    assert_eq!(in_words(Wire::OpenaiChat, events), expected, "{events:#?}");
}
