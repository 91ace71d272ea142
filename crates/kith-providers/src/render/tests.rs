//! What the vendors are sent, as whole bodies.

use std::fs;
use std::path::Path;

use kith_vocab::block::{Thinking, ToolCall};
use kith_vocab::conversation::{CallResult, Element, Message, ResultPart, ResultPartKind};
use kith_vocab::ids::{CallId, EventId};
use kith_vocab::json::Json;
use kith_vocab::snapshot::ToolSpec;

use super::*;

const WIRES: [Wire; 3] = [Wire::OpenaiChat, Wire::Anthropic, Wire::OpenaiResponses];

const ANSWER: &str = "0198a0b1-c2d3-7e4f-8a5b-6c7d8e9fa0b1";

/// One of each kind of element, as a conversation could hold them.
fn scenario() -> Vec<Message> {
    vec![
        user(vec![
            ElementKind::Meta(reminder("skills: none").into()),
            ElementKind::Text("看看 \"notes\"\n".into()),
            ElementKind::Media(Media {
                media_type: "image/png".to_owned(),
                blob: "ab".repeat(32),
                bytes: 8,
                name: None,
            }),
        ]),
        assistant(vec![
            thinking("secret", Some("sig"), None, "claude"),
            thinking("", None, Some("b64"), "claude"),
            thinking("in short", Some("rs_1"), Some("gAAA"), "claude"),
            thinking("of another", Some("sig"), None, "gpt"),
            ElementKind::Text("好，".into()),
            ElementKind::Text("reading.".into()),
            call(0, "read_file", r#"{"path":"notes.md","n":1.0}"#),
            call(1, "mcp.files/look", "{}"),
        ]),
        user(vec![
            result(
                0,
                true,
                vec![
                    ResultPartKind::Text("no such file".into()),
                    ResultPartKind::Text(format!("\n\n{}", reminder("it is Wednesday")).into()),
                ],
            ),
            result(1, false, vec![ResultPartKind::Text(String::new().into())]),
            ElementKind::Text("hurry".into()),
        ]),
        assistant(vec![thinking("unsigned", None, None, "claude")]),
        user(vec![ElementKind::Text("thanks".into())]),
    ]
}

#[test]
fn openai_chat_body() {
    insta::assert_snapshot!(in_lines(Wire::OpenaiChat, &scenario()), @r#"
    {"model":"claude","messages":[
    {"role":"system","content":"Be kind.\n\nBe brief."},
    {"role":"user","content":[{"type":"text","text":"<system-reminder>\nskills: none\n</system-reminder>"},{"type":"text","text":"看看 \"notes\"\n"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]},
    {"role":"assistant","content":"好，reading.","tool_calls":[{"id":"0198a0b1c2d37e4f8a5b6c7d8e9fa0b1_0","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"notes.md\",\"n\":1.0}"}},{"id":"0198a0b1c2d37e4f8a5b6c7d8e9fa0b1_1","type":"function","function":{"name":"esc-mcp-2efiles-2flook","arguments":"{}"}}]},
    {"role":"tool","tool_call_id":"0198a0b1c2d37e4f8a5b6c7d8e9fa0b1_0","content":"no such file\n\n<system-reminder>\nit is Wednesday\n</system-reminder>"},
    {"role":"tool","tool_call_id":"0198a0b1c2d37e4f8a5b6c7d8e9fa0b1_1","content":"(no output)"},
    {"role":"user","content":"hurry"},
    {"role":"assistant","content":"(no text)"},
    {"role":"user","content":"thanks"}],
    "tools":[{"type":"function","function":{"name":"read_file","description":"Reads 文件.","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}},{"type":"function","function":{"name":"esc-mcp-2efiles-2flook","description":"Looks.","parameters":{"type":"object"}}}],
    "stream":true,"stream_options":{"include_usage":true}}
    "#);
}

#[test]
fn anthropic_body() {
    insta::assert_snapshot!(in_lines(Wire::Anthropic, &scenario()), @r#"
    {"model":"claude","max_tokens":8192,
    "system":[{"type":"text","text":"Be kind.\n\nBe brief.","cache_control":{"type":"ephemeral"}}],
    "tools":[{"name":"read_file","description":"Reads 文件.","input_schema":{"type":"object","properties":{"path":{"type":"string"}}}},{"name":"esc-mcp-2efiles-2flook","description":"Looks.","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}],"messages":[
    {"role":"user","content":[{"type":"text","text":"<system-reminder>\nskills: none\n</system-reminder>"},{"type":"text","text":"看看 \"notes\"\n"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]},
    {"role":"assistant","content":[{"type":"thinking","thinking":"secret","signature":"sig"},{"type":"redacted_thinking","data":"b64"},{"type":"text","text":"好，"},{"type":"text","text":"reading."},{"type":"tool_use","id":"0198a0b1c2d37e4f8a5b6c7d8e9fa0b1_0","name":"read_file","input":{"path":"notes.md","n":1.0}},{"type":"tool_use","id":"0198a0b1c2d37e4f8a5b6c7d8e9fa0b1_1","name":"esc-mcp-2efiles-2flook","input":{}}]},
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"0198a0b1c2d37e4f8a5b6c7d8e9fa0b1_0","content":[{"type":"text","text":"no such file"},{"type":"text","text":"\n\n<system-reminder>\nit is Wednesday\n</system-reminder>"}],"is_error":true},{"type":"tool_result","tool_use_id":"0198a0b1c2d37e4f8a5b6c7d8e9fa0b1_1","content":[{"type":"text","text":"(no output)"}]},{"type":"text","text":"hurry","cache_control":{"type":"ephemeral"}}]},
    {"role":"assistant","content":[{"type":"text","text":"(no text)"}]},
    {"role":"user","content":[{"type":"text","text":"thanks","cache_control":{"type":"ephemeral"}}]}],
    "stream":true}
    "#);
}

#[test]
fn openai_responses_body() {
    insta::assert_snapshot!(in_lines(Wire::OpenaiResponses, &scenario()), @r#"
    {"model":"claude","instructions":"Be kind.\n\nBe brief.",
    "tools":[{"type":"function","name":"read_file","description":"Reads 文件.","parameters":{"type":"object","properties":{"path":{"type":"string"}}},"strict":false},{"type":"function","name":"esc-mcp-2efiles-2flook","description":"Looks.","parameters":{"type":"object"},"strict":false}],"input":[
    {"type":"message","role":"user","content":[{"type":"input_text","text":"<system-reminder>\nskills: none\n</system-reminder>"},{"type":"input_text","text":"看看 \"notes\"\n"},{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo="}]},
    {"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"in short"}],"encrypted_content":"gAAA"},
    {"type":"message","role":"assistant","content":[{"type":"output_text","text":"好，"},{"type":"output_text","text":"reading."}]},
    {"type":"function_call","call_id":"0198a0b1c2d37e4f8a5b6c7d8e9fa0b1_0","name":"read_file","arguments":"{\"path\":\"notes.md\",\"n\":1.0}"},
    {"type":"function_call","call_id":"0198a0b1c2d37e4f8a5b6c7d8e9fa0b1_1","name":"esc-mcp-2efiles-2flook","arguments":"{}"},
    {"type":"function_call_output","call_id":"0198a0b1c2d37e4f8a5b6c7d8e9fa0b1_0","output":"no such file\n\n<system-reminder>\nit is Wednesday\n</system-reminder>"},
    {"type":"function_call_output","call_id":"0198a0b1c2d37e4f8a5b6c7d8e9fa0b1_1","output":"(no output)"},
    {"type":"message","role":"user","content":[{"type":"input_text","text":"hurry"}]},
    {"type":"message","role":"assistant","content":[{"type":"output_text","text":"(no text)"}]},
    {"type":"message","role":"user","content":[{"type":"input_text","text":"thanks"}]}],
    "stream":true,"store":false,"include":["reasoning.encrypted_content"]}
    "#);
}

/// Whoever changes these bytes raises the version of the wire and adds a file; the old ones stay.
#[test]
fn bodies_are_those_of_their_renderer_version() {
    let parameters = r#"{"temperature":0.10,"max_tokens":5}"#;
    for wire in WIRES {
        let name = format!("{}-v{}.json", wire_name(wire), renderer_version(wire));
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/bodies").join(&name);
        let body = body(wire, &scenario(), parameters).unwrap();
        let golden = fs::read_to_string(&path);
        let golden = golden.unwrap_or_else(|error| panic!("{name}: {error}; the body is\n{body}"));
        assert_eq!(golden, body, "{name}");
    }
}

#[test]
fn keys_stand_in_their_order_and_parameters_keep_their_text() {
    let parameters = r#"{"temperature":0.10,"max_tokens":5,"extra":{"b":1,"a":2}}"#;
    let talk = [user(vec![ElementKind::Text("hi".into())])];
    insta::assert_snapshot!(
        body(Wire::OpenaiChat, &talk, parameters).unwrap(),
        @r#"{"model":"claude","messages":[{"role":"system","content":"Be kind.\n\nBe brief."},{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"read_file","description":"Reads 文件.","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}},{"type":"function","function":{"name":"esc-mcp-2efiles-2flook","description":"Looks.","parameters":{"type":"object"}}}],"stream":true,"stream_options":{"include_usage":true},"temperature":0.10,"max_tokens":5,"extra":{"b":1,"a":2}}"#
    );
    insta::assert_snapshot!(
        body(Wire::Anthropic, &talk, parameters).unwrap(),
        @r#"{"model":"claude","max_tokens":5,"system":[{"type":"text","text":"Be kind.\n\nBe brief.","cache_control":{"type":"ephemeral"}}],"tools":[{"name":"read_file","description":"Reads 文件.","input_schema":{"type":"object","properties":{"path":{"type":"string"}}}},{"name":"esc-mcp-2efiles-2flook","description":"Looks.","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}],"stream":true,"temperature":0.10,"extra":{"b":1,"a":2}}"#
    );
}

#[test]
fn a_server_that_knows_no_stream_options_need_not_be_sent_any() {
    let talk = [user(vec![ElementKind::Text("hi".into())])];
    let end = |parameters: &str| {
        let body = body(Wire::OpenaiChat, &talk, parameters).unwrap();
        body[body.find("\"stream\"").unwrap()..].to_owned()
    };
    let ours = r#""stream":true,"stream_options":{"include_usage":true}"#;
    assert_eq!(end("{}"), format!("{ours}}}"));
    assert_eq!(end(r#"{"stream_options":false,"a":1}"#), r#""stream":true,"a":1}"#);
    assert_eq!(end(r#"{"a":1,"stream_options":null}"#), r#""stream":true,"a":1}"#);
    let others = r#"{"a":1,"stream_options":{"x":2}}"#;
    assert_eq!(end(others), r#""stream":true,"stream_options":{"x":2},"a":1}"#);
}

#[test]
fn a_model_that_does_not_reason_need_not_be_asked_for_it() {
    let talk = [user(vec![ElementKind::Text("hi".into())])];
    let end = |parameters: &str| {
        let body = body(Wire::OpenaiResponses, &talk, parameters).unwrap();
        body[body.find("\"stream\"").unwrap()..].to_owned()
    };
    let ours = r#""stream":true,"store":false,"include":["reasoning.encrypted_content"]"#;
    assert_eq!(end("{}"), format!("{ours}}}"));
    assert_eq!(end(r#"{"include":false,"a":1}"#), r#""stream":true,"store":false,"a":1}"#);
    let others = r#"{"a":1,"include":["x"]}"#;
    assert_eq!(end(others), r#""stream":true,"store":false,"include":["x"],"a":1}"#);
}

#[test]
fn at_most_four_cache_markers_stand_where_the_next_request_finds_them() {
    let messages = scenario();
    let marker = r#""cache_control":{"type":"ephemeral"}"#;
    for n in [1, 3, 5] {
        let body = body(Wire::Anthropic, &messages[..n], "{}").unwrap();
        assert_eq!(body.matches(marker).count(), if n == 1 { 3 } else { 4 }, "{body}");
    }
    // The end of a request is marked in the next one too.
    let body = body(Wire::Anthropic, &messages[..5], "{}").unwrap();
    assert!(body.contains(&format!(r#""text":"hurry",{marker}"#)), "{body}");
}

#[test]
fn empty_parts_of_a_request_are_left_out() {
    let talk = user(vec![ElementKind::Text("hi".into())]);
    let parameters = Json::empty_object();
    let request = ModelRequest {
        provider: "p",
        model: "m",
        parameters: &parameters,
        system: "Be kind.",
        tools: &[],
        messages: vec![&talk],
    };
    let text =
        |wire| String::from_utf8(render(wire, &request, &MediaBytes::new()).unwrap()).unwrap();
    assert_eq!(
        text(Wire::OpenaiChat),
        r#"{"model":"m","messages":[{"role":"system","content":"Be kind."},{"role":"user","content":"hi"}],"stream":true,"stream_options":{"include_usage":true}}"#
    );
    assert_eq!(
        text(Wire::OpenaiResponses),
        r#"{"model":"m","instructions":"Be kind.","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}],"stream":true,"store":false,"include":["reasoning.encrypted_content"]}"#
    );
    assert_eq!(
        text(Wire::Anthropic),
        r#"{"model":"m","max_tokens":8192,"system":[{"type":"text","text":"Be kind.","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}],"stream":true}"#
    );
}

#[test]
fn a_request_without_a_system_prompt_is_refused_on_every_wire() {
    let talk = user(vec![ElementKind::Text("hi".into())]);
    let parameters = Json::empty_object();
    for (wire, system) in [
        (Wire::OpenaiChat, ""),
        (Wire::OpenaiChat, " \n"),
        (Wire::Anthropic, ""),
        (Wire::Anthropic, "\t"),
        (Wire::OpenaiResponses, ""),
        (Wire::OpenaiResponses, "\n"),
    ] {
        let request = ModelRequest {
            provider: "p",
            model: "m",
            parameters: &parameters,
            system,
            tools: &[],
            messages: vec![&talk],
        };
        let refused = render(wire, &request, &MediaBytes::new()).unwrap_err().to_string();
        assert_eq!(refused, "refusing to send a request without a system prompt");
    }
}

#[test]
fn arguments_that_were_no_json_go_back_as_an_empty_object() {
    let mut broken = call(0, "read_file", "{}");
    if let ElementKind::Call(call) = &mut broken {
        call.raw_input = Some("{\"path\": oops".into());
    }
    let talk = [user(vec![]), assistant(vec![broken]), user(vec![result(0, true, vec![])])];
    let openai = body(Wire::OpenaiChat, &talk, "{}").unwrap();
    assert!(openai.contains(r#""function":{"name":"read_file","arguments":"{}"}"#), "{openai}");
    assert!(openai.contains(r#""content":null,"tool_calls""#), "{openai}");
    assert!(body(Wire::Anthropic, &talk, "{}").unwrap().contains(r#""input":{}"#));
}

// A vendor keeps what it has read by its bytes: one changed byte early on is paid for again.
#[test]
fn what_was_sent_once_never_changes() {
    let messages = scenario();
    for wire in WIRES {
        let bodies: Vec<String> =
            [1, 3, 5].map(|n| elements(&body(wire, &messages[..n], "{}").unwrap())).to_vec();
        for pair in bodies.windows(2) {
            assert!(pair[1].starts_with(&pair[0]), "{}\n{}", pair[0], pair[1]);
        }
    }
}

/// The body up to the end of its last message, without cache markers.
fn elements(body: &str) -> String {
    let markerless = body.replace(r#","cache_control":{"type":"ephemeral"}"#, "");
    let end = markerless
        .find(r#"],"tools":[{"type":"function""#)
        .or_else(|| markerless.find(r#"],"stream""#));
    markerless[..end.unwrap()].to_owned()
}

#[test]
fn wrong_requests_are_refused() {
    let talk = [user(vec![ElementKind::Text("hi".into())])];
    check_error(
        Wire::OpenaiResponses,
        &talk,
        r#"{"store":true}"#,
        "parameter `store` of model `claude` is set by Kith itself; remove it",
    );
    check_error(
        Wire::OpenaiChat,
        &talk,
        "[]",
        "the parameters of model `claude` are not a JSON object",
    );
    check_error(
        Wire::OpenaiChat,
        &talk,
        r#"{"stream":false}"#,
        "parameter `stream` of model `claude` is set by Kith itself; remove it",
    );
    check_error(
        Wire::Anthropic,
        &talk,
        r#"{"system":""}"#,
        "parameter `system` of model `claude` is set by Kith itself; remove it",
    );
    check_error(
        Wire::Anthropic,
        &talk,
        r#"{"a":1,"a":2}"#,
        "parameter `a` of model `claude` is given twice; remove one",
    );
    check_error(
        Wire::OpenaiChat,
        &[user(vec![call(0, "x", "{}")])],
        "{}",
        "a call is not allowed in a message of the user",
    );
    check_error(
        Wire::OpenaiChat,
        &[assistant(vec![result(0, true, vec![])])],
        "{}",
        "a tool result is not allowed in a message of the assistant",
    );
}

#[test]
fn a_made_up_call_name_never_stops_a_conversation() {
    let talk = [
        user(vec![]),
        assistant(vec![call(0, &"长".repeat(100), "{}")]),
        user(vec![result(0, true, vec![])]),
    ];
    for wire in WIRES {
        assert!(body(wire, &talk, "{}").is_ok());
    }
}

#[test]
fn a_listed_tool_with_a_long_name_is_refused() {
    let (talk, parameters) = (user(vec![]), Json::empty_object());
    let tool = ToolSpec {
        name: "长".repeat(30),
        description: String::new(),
        input_schema: Json::empty_object(),
    };
    let request = ModelRequest {
        provider: "p",
        model: "m",
        parameters: &parameters,
        system: "x",
        tools: &[tool],
        messages: vec![&talk],
    };
    for wire in WIRES {
        assert!(matches!(
            render(wire, &request, &MediaBytes::new()),
            Err(RenderError::ToolName { .. })
        ));
    }
}

#[track_caller]
fn check_error(wire: Wire, messages: &[Message], parameters: &str, expected: &str) {
    assert_eq!(body(wire, messages, parameters).unwrap_err().to_string(), expected);
}

/// The body's own bytes, with a line break before each message and each key after them.
fn in_lines(wire: Wire, messages: &[Message]) -> String {
    let mut body = body(wire, messages, "{}").unwrap();
    for begin in [
        "{\"role\":",
        "{\"type\":\"message\"",
        "{\"type\":\"function_call",
        "{\"type\":\"reasoning\"",
        "\"tools\":",
        "\"system\":",
        "\"stream\":",
    ] {
        body = body.replace(begin, &format!("\n{begin}"));
    }
    body
}

fn body(wire: Wire, messages: &[Message], parameters: &str) -> Result<String, RenderError> {
    let parameters = Json::parse(parameters).unwrap();
    let tool = |name: &str, description: &str, schema| ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: Json::parse(schema).unwrap(),
    };
    let tools = [
        tool(
            "read_file",
            "Reads 文件.",
            r#"{"type":"object","properties":{"path":{"type":"string"}}}"#,
        ),
        tool("mcp.files/look", "Looks.", r#"{"type":"object"}"#),
    ];
    let request = ModelRequest {
        provider: "anthropic",
        model: "claude",
        parameters: &parameters,
        system: "Be kind.\n\nBe brief.",
        tools: &tools,
        messages: messages.iter().collect(),
    };
    let media = MediaBytes::from([("ab".repeat(32), b"\x89PNG\r\n\x1a\n".to_vec())]);
    render(wire, &request, &media).map(|bytes| String::from_utf8(bytes).unwrap())
}

fn user(kinds: Vec<ElementKind>) -> Message {
    message(Role::User, kinds)
}

fn assistant(kinds: Vec<ElementKind>) -> Message {
    message(Role::Assistant, kinds)
}

fn message(role: Role, kinds: Vec<ElementKind>) -> Message {
    let elements = kinds.into_iter().map(|kind| Element { from: None, kind }).collect();
    Message { role, elements }
}

fn reminder(text: &str) -> String {
    format!("<system-reminder>\n{text}\n</system-reminder>")
}

fn thinking(
    text: &str,
    signature: Option<&str>,
    redacted: Option<&str>,
    model: &str,
) -> ElementKind {
    let (text, signature, redacted) =
        (text.to_owned(), signature.map(str::to_owned), redacted.map(str::to_owned));
    ElementKind::Thinking {
        thinking: Thinking {
            text: text.into(),
            signature: signature.map(Into::into),
            redacted: redacted.map(Into::into),
        },
        provider: "anthropic".to_owned(),
        model: model.to_owned(),
    }
}

fn call_id(index: u32) -> CallId {
    ANSWER.parse::<EventId>().unwrap().call(index)
}

fn call(index: u32, tool: &str, input: &str) -> ElementKind {
    ElementKind::Call(ToolCall {
        call_id: call_id(index),
        provider_call_id: "call_x".to_owned(),
        tool: tool.to_owned(),
        input: Json::parse(input).unwrap(),
        raw_input: None,
    })
}

fn result(index: u32, failed: bool, kinds: Vec<ResultPartKind>) -> ElementKind {
    let parts = kinds.into_iter().map(|kind| ResultPart { from: None, kind }).collect();
    ElementKind::Result(CallResult { call_id: call_id(index), tool: "t".to_owned(), failed, parts })
}
