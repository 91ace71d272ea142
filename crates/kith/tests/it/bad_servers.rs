//! What a model or its server gets wrong, on every wire: the person sees what failed and what to do, and
//! the next message is answered in the same session.

use kith_testkit::gate::Gate;
use kith_testkit::server::ServerReply;
use serde_json::{Value, json};

use crate::house::{House, Vendor, of_type};
use crate::queue::until_waiting;

pub(crate) const WIRES: [&str; 3] = ["openai_chat", "anthropic", "openai_responses"];
const PNG: &[u8] = b"\x89PNG\r\n\x1a\nnot much of an image";
/// How the bytes of that image begin in a request.
const PNG_BASE64: &str = "iVBORw0KGgpub3Q";
const TOO_LONG: &str = r#"{"error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"prompt is too long: 300000 tokens > 200000 maximum"}}"#;

fn stream(events: &[Value]) -> ServerReply {
    let body = events.iter().map(|event| format!("data: {event}\n\n")).collect::<Vec<_>>().concat();
    let content_type = "text/event-stream".to_owned();
    ServerReply::Raw { status: 200, content_type, body: body.into_bytes() }
}

fn refused(status: u16, body: &str) -> ServerReply {
    let content_type = "application/json".to_owned();
    ServerReply::Raw { status, content_type, body: body.as_bytes().to_vec() }
}

/// An answer in one piece.
pub(crate) fn said(wire: &str, text: &str) -> ServerReply {
    said_in_pieces(wire, &[text])
}

fn said_in_pieces(wire: &str, texts: &[&str]) -> ServerReply {
    let delta = |text: &&str| match wire {
        "anthropic" => {
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}})
        }
        "openai_responses" => {
            json!({"type": "response.output_text.delta", "output_index": 0, "delta": text})
        }
        _ => json!({"choices": [{"delta": {"content": text}}]}),
    };
    let mut events = Vec::new();
    if wire == "anthropic" {
        let block = json!({"type": "text", "text": ""});
        events.push(json!({"type": "content_block_start", "index": 0, "content_block": block}));
    }
    events.extend(texts.iter().map(delta));
    events.extend(end_of(wire, "end_turn", "stop"));
    stream(&events)
}

/// A call of `read_file` with these arguments.
fn called(wire: &str, arguments: &str) -> ServerReply {
    let mut events = match wire {
        "anthropic" => vec![
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t1", "name": "read_file", "input": {}}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": arguments}}),
            json!({"type": "content_block_stop", "index": 0}),
        ],
        "openai_responses" => {
            let call = |arguments: &str| json!({"type": "function_call", "id": "f1", "call_id": "c1", "name": "read_file", "arguments": arguments});
            vec![
                json!({"type": "response.output_item.added", "output_index": 0, "item": call("")}),
                json!({"type": "response.output_item.done", "output_index": 0, "item": call(arguments)}),
            ]
        }
        _ => {
            let call = json!({"index": 0, "id": "c1", "function": {"name": "read_file", "arguments": arguments}});
            vec![json!({"choices": [{"delta": {"tool_calls": [call]}}]})]
        }
    };
    events.extend(end_of(wire, "tool_use", "tool_calls"));
    stream(&events)
}

fn end_of(wire: &str, stop_reason: &str, finish_reason: &str) -> Vec<Value> {
    match wire {
        "anthropic" => vec![
            json!({"type": "message_delta", "delta": {"stop_reason": stop_reason}, "usage": {"input_tokens": 7, "output_tokens": 3}}),
            json!({"type": "message_stop"}),
        ],
        "openai_responses" => {
            vec![json!({"type": "response.completed", "response": {"status": "completed"}})]
        }
        _ => vec![json!({"choices": [{"delta": {}, "finish_reason": finish_reason}]})],
    }
}

/// An agent that asks this server on this wire.
pub(crate) fn house_of(vendor: &Vendor, wire: &str, more: &str) -> House {
    let house = House::new().with("KEY", "sk-test-0123456789");
    let url = vendor.server.base_url();
    let settings = format!(
        "[models]\nuse = \"m\"\n[models.m]\nwire = \"{wire}\"\nbaseUrl = \"{url}\"\napiKey = \"${{KEY}}\"\n{more}"
    );
    house.write("kith.toml", settings);
    house.kith(&["trust", "."]).succeeded();
    house
}

/// The session is whole, and what happened in it can be proven.
#[track_caller]
fn assert_proven(house: &House, wire: &str) {
    for args in
        [["session", "verify", "latest", "--json"], ["session", "replay", "latest", "--json"]]
    {
        let found = house.json(&args);
        assert_eq!(found["ok"], true, "{wire}: {found}");
    }
}

/// The first message fails with these words, and the second is answered.
#[track_caller]
fn check_failure(bad: impl Fn(&str) -> ServerReply, words: &[&str]) {
    for wire in WIRES {
        let vendor = Vendor::new([bad(wire), said(wire, "fine now")]);
        let house = house_of(&vendor, wire, "");
        let ran = house.kith(&["ask", "hi"]);
        assert_eq!(ran.code, 3, "{wire}: {}", ran.shown());
        for told in words.iter().chain(&["your message is saved", "`kith retry --session "]) {
            assert!(ran.stderr.contains(told), "{wire}: `{told}` is missing in {}", ran.shown());
        }
        let next = house.json(&["ask", "and now?", "--json"]);
        assert_eq!(next["text"], "fine now", "{wire}: {next}");
        assert_eq!(vendor.requests().len(), 2, "{wire}");
        assert_proven(&house, wire);
    }
}

#[test]
fn after_a_wrong_key_the_next_message_is_answered() {
    let reply = r#"{"error":{"type":"authentication_error","message":"invalid x-api-key"}}"#;
    check_failure(
        |_| refused(401, reply),
        &["refused the API key from KEY", "check it", "it said: invalid x-api-key"],
    );
}

#[test]
fn after_an_unknown_model_the_next_message_is_answered() {
    let reply =
        r#"{"error":{"type":"not_found_error","code":"model_not_found","message":"no model m"}}"#;
    check_failure(|_| refused(404, reply), &["does not know model `m`", "check the model name"]);
}

#[test]
fn after_a_web_page_the_next_message_is_answered() {
    check_failure(|_| ServerReply::Html, &["answered with a web page", "check the base URL"]);
}

#[test]
fn after_a_context_that_the_vendor_finds_too_long_the_next_message_is_answered() {
    check_failure(
        |_| refused(400, TOO_LONG),
        &["rejected the conversation as too long", "choose a model with a larger context"],
    );
}

#[test]
fn what_was_saved_is_asked_again_by_the_command_that_is_named() {
    let vendor = Vendor::new([refused(401, ""), ServerReply::text("at last")]);
    let house = House::asking(&vendor);
    let ran = house.kith(&["ask", "hi", "--thread", "web:room:1"]);
    let place = ran.stderr.find("kith retry").unwrap();
    let command = ran.stderr[place..].split('`').next().unwrap();
    let args: Vec<&str> = command.split(' ').skip(1).collect();
    assert_eq!(house.kith(&args).succeeded().stdout, "at last\n");
}

#[test]
fn an_answer_that_never_ends_is_cut_and_the_next_message_is_answered() {
    let long = "word ".repeat(210_000);
    for wire in WIRES {
        let endless = said_in_pieces(wire, &[long.as_str(); 17]);
        let vendor =
            Vendor::new([endless, said(wire, "## Facts\n- it went on"), said(wire, "fine now")]);
        let house = house_of(&vendor, wire, "");
        let ran = house.kith(&["ask", "hi"]);
        let told =
            "sent more than 16 MiB in one answer: set `maxTokens` for the model, or use another";
        assert!(ran.code == 3 && ran.stderr.contains(told), "{wire}: {}", ran.stderr);
        // What came of it is too long to be sent again, so it is summarised first.
        let next = house.json(&["ask", "and now?", "--json"]);
        assert_eq!((&next["text"], vendor.requests().len()), (&json!("fine now"), 3), "{wire}");
        let last = String::from_utf8(vendor.requests()[2].body.clone()).unwrap();
        assert!(last.contains("it went on") && last.len() < 20_000, "{wire}: {}", last.len());
        assert_proven(&house, wire);
    }
}

#[test]
fn a_stream_that_goes_on_for_ever_is_ended_by_the_time_of_a_turn() {
    let vendor =
        Vendor::new([ServerReply::Trickle { pause_ms: 20 }, ServerReply::text("fine now")]);
    let house = house_of(&vendor, "openai_chat", "[limits]\nwall = \"1s\"\n");
    let ran = house.kith_bounded(&["ask", "hi"]);
    assert_eq!(ran.code, 4, "{}", ran.shown());
    assert!(ran.stderr.contains("The turn stopped at its limit of 1"), "{}", ran.stderr);
    // What it said so far is kept.
    let shown = house.kith(&["session", "show", "latest"]).succeeded().stdout;
    assert!(shown.contains("drip drip"), "{shown}");
    assert_eq!(house.json(&["ask", "and now?", "--json"])["text"], "fine now");
    assert_proven(&house, "openai_chat");
}

#[test]
fn arguments_that_are_not_json_are_told_to_the_model_on_every_wire() {
    for wire in WIRES {
        let vendor =
            Vendor::new([called(wire, "{\"path\": "), said(wire, "I see"), said(wire, "fine now")]);
        let house = house_of(&vendor, wire, "");
        assert_eq!(house.json(&["ask", "hi", "--json"])["text"], "I see", "{wire}");
        let log = house.log();
        let result = of_type(&log, "tool_result")[0];
        assert_eq!(result["outcome"], "failed", "{wire}");
        assert_eq!(of_type(&log, "tool_started").len(), 0, "{wire}");
        let told = String::from_utf8(vendor.requests()[1].body.clone()).unwrap();
        assert!(told.contains("not one whole JSON object"), "{wire}: {told}");
        assert_eq!(house.json(&["ask", "and now?", "--json"])["text"], "fine now", "{wire}");
        assert_proven(&house, wire);
    }
}

#[test]
fn an_image_that_the_server_refuses_does_not_keep_the_next_message_from_being_answered() {
    let reply = r#"{"error":{"type":"invalid_request_error","message":"Could not process image"}}"#;
    for wire in WIRES {
        let vendor = Vendor::new([refused(400, reply), said(wire, "fine now"), said(wire, "seen")]);
        let house = house_of(&vendor, wire, "");
        house.write("a.png", PNG);
        let ran = house.kith(&["ask", "what is it?", "--attach", "a.png"]);
        let told = "send another or use another model; the next message is sent without it";
        assert!(ran.code == 3 && ran.stderr.contains(told), "{wire}: {}", ran.shown());
        assert_eq!(house.json(&["ask", "and now?", "--json"])["text"], "fine now", "{wire}");
        // Who shows it again wants it tried again.
        let again = house.json(&["ask", "look", "--attach", "a.png", "--json"]);
        assert_eq!(again["text"], "seen", "{wire}: {again}");
        let bodies = vendor.requests().into_iter().map(|it| String::from_utf8(it.body).unwrap());
        let carried: Vec<bool> = bodies.map(|body| body.contains(PNG_BASE64)).collect();
        assert_eq!(carried, [true, false, true], "{wire}");
        assert_proven(&house, wire);
        assert_eq!(house.json(&["why", "latest@2", "--json"])["proof"], "same", "{wire}");
    }
}

#[test]
fn what_cannot_be_attached_leaves_the_conversation_as_it_was() {
    for wire in WIRES {
        let vendor = Vendor::new([said(wire, "one"), said(wire, "two")]);
        let house = house_of(&vendor, wire, "");
        house.kith(&["ask", "first"]).succeeded();
        let before = house.log();
        house.write("notes.png", "just words");
        house.write("large.png", [PNG, &vec![0; 20 * 1024 * 1024]].concat());
        for (file, told) in [
            ("notes.png", "it is not a PNG, JPEG, GIF or WebP image or a PDF"),
            ("large.png", "attach fewer or smaller files"),
        ] {
            let ran = house.kith(&["ask", "hi", "--attach", file]);
            assert!(ran.code == 1 && ran.stderr.contains(told), "{wire}: {}", ran.shown());
        }
        assert_eq!(house.log(), before, "{wire}");
        assert_eq!(house.json(&["ask", "and now?", "--json"])["text"], "two", "{wire}");
    }
}

#[test]
fn a_message_longer_than_the_window_is_told_and_the_next_one_is_answered() {
    for wire in WIRES {
        let summary = said(wire, "## Facts\n- a long text");
        let vendor = Vendor::new([refused(400, TOO_LONG), summary, said(wire, "fine now")]);
        let house = house_of(&vendor, wire, "contextWindow = 8000\n");
        let ran = house.kith_with_input(&["ask", "-"], "word ".repeat(20_000));
        assert!(ran.stderr.contains("choose a model with a larger context"), "{}", ran.shown());
        assert_eq!(house.json(&["ask", "and now?", "--json"])["text"], "fine now", "{wire}");
        // Both requests are explained.
        let why = house.json(&["why", "--json"]);
        assert_eq!((&why["proof"], &why["change"]["cause"]), (&json!("same"), &json!("compacted")));
        assert_proven(&house, wire);
    }
}

/// Several programs change the queue of one conversation at the same time.
#[test]
fn a_queue_that_programs_edit_at_once_stays_whole_and_goes_on() {
    let gate = Gate::default();
    let answers = (0..8).map(|n| ServerReply::text(&format!("answer {n}")));
    let vendor = Vendor::new([ServerReply::text("first").behind(&gate)].into_iter().chain(answers));
    let house = House::asking(&vendor);
    let mut host = house.start(&["ask", "work", "--stream-json"]);
    host.until("model_requested");
    vendor.until_asked(1);
    let added: Vec<_> = (0..4)
        .map(|n| {
            let text = format!("message {n}");
            let running = house.start(&["queue", "add", &text]);
            until_waiting(&house, n + 1);
            running
        })
        .collect();
    let edits: [&[&str]; 8] = [
        &["queue", "edit", "1", "one, by the first"],
        &["queue", "edit", "1", "one, by the second"],
        &["queue", "edit", "1", "one, by the third"],
        &["queue", "move", "3", "1"],
        &["queue", "move", "1", "4"],
        &["queue", "rm", "4"],
        &["queue", "rm", "4"],
        &["queue", "edit", "2", "two, changed"],
    ];
    let running: Vec<_> = edits.iter().map(|args| house.start(args)).collect();
    let ran: Vec<_> = running.into_iter().map(crate::house::Running::finish).collect();
    // Each is done, or is told that somebody was quicker.
    for (args, ran) in edits.iter().zip(&ran) {
        let told =
            ["has changed in the meantime", "there is no item", "there is no waiting message"];
        let is_told = told.iter().any(|it| ran.stderr.contains(it));
        let has_hint = ran.stderr.contains("kith queue ls");
        assert!(ran.code == 0 || ran.code == 1 && is_told && has_hint, "{args:?}: {}", ran.shown());
    }
    assert!(ran.iter().any(|it| it.code == 0));
    let waiting = house.json(&["queue", "ls", "--json"]);
    let n_waiting = waiting["followUps"].as_array().unwrap().len();
    let n_removed = ran[5..7].iter().filter(|it| it.code == 0).count();
    assert_eq!(n_waiting, 4 - n_removed, "{waiting}");
    gate.open();
    host.finish().succeeded();
    let codes: Vec<i32> = added.into_iter().map(|it| it.finish().code).collect();
    assert_eq!(codes.iter().filter(|code| **code == 0).count(), n_waiting, "{codes:?}");
    until_waiting(&house, 0);
    let next = house.json(&["ask", "and now?", "--json"]);
    assert_eq!(next["text"], format!("answer {n_waiting}"), "{next}");
    assert_proven(&house, "openai_chat");
}
