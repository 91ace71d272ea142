use serde_json::json;

use super::*;

fn openai(messages: &Value) -> Value {
    json!({
        "model": "m",
        "stream": true,
        "tools": [tool("read_file")],
        "messages": messages,
    })
}

fn tool(name: &str) -> Value {
    let parameters = json!({"type": "object", "properties": {}});
    json!({"type": "function", "function": {"name": name, "description": "d", "parameters": parameters}})
}

fn call(id: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "read_file", "arguments": "{}"}})
}

fn system() -> Value {
    json!({"role": "system", "content": "s"})
}

fn user(content: impl Into<Value>) -> Value {
    json!({"role": "user", "content": content.into()})
}

fn calling(ids: &[&str]) -> Value {
    let calls: Vec<Value> = ids.iter().map(|id| call(id)).collect();
    json!({"role": "assistant", "tool_calls": calls})
}

fn result(id: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": "r"})
}

#[track_caller]
fn accepts_openai(messages: &Value) -> Outline {
    validate_openai_chat(openai(messages).to_string().as_bytes()).unwrap()
}

#[track_caller]
fn refuses_openai(messages: &Value, because: &str) {
    let error = validate_openai_chat(openai(messages).to_string().as_bytes()).unwrap_err();
    assert!(error.contains(because), "{error}");
}

#[test]
fn good_chat_bodies_pass() {
    accepts_openai(&json!([system(), user("hi")]));
    accepts_openai(&json!([
        system(),
        user(json!([
            {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},
        ])),
        calling(&["c1", "c2"]),
        result("c1"),
        result("c2"),
        {"role": "assistant", "content": "done", "tool_calls": [call("c3")]},
        result("c3"),
        user("and now"),
        {"role": "assistant", "content": "ok"},
        user("thanks"),
    ]));
}

#[test]
fn chat_messages_take_turns() {
    refuses_openai(&json!([user("hi")]), "the first message");
    refuses_openai(&json!([system(), user("hi"), system()]), "and no other");
    refuses_openai(&json!([system()]), "last message");
    refuses_openai(&json!([system(), user("a"), user("b")]), "two user messages");
    refuses_openai(&json!([system(), {"role": "assistant", "content": "a"}]), "follows the system");
    let says = json!({"role": "assistant", "content": "a"});
    refuses_openai(&json!([system(), user("a"), says]), "last message");
    refuses_openai(&json!([system(), user("a"), says, says, user("b")]), "or another");
    refuses_openai(&json!([system(), {"role": "developer", "content": "a"}]), "unknown role");
}

#[test]
fn every_chat_call_has_its_result_right_after_it() {
    let before = |rest: &[Value]| {
        let mut messages = vec![system(), user("a"), calling(&["c1", "c2"])];
        messages.extend_from_slice(rest);
        Value::Array(messages)
    };
    refuses_openai(&before(&[]), "has no result");
    refuses_openai(&before(&[result("c1"), user("b")]), "`c2` has no result");
    refuses_openai(&before(&[result("c2"), result("c1")]), "where `c1` is due");
    refuses_openai(&before(&[result("c1"), result("c2"), result("c2")]), "not called");
    refuses_openai(&json!([system(), user("a"), result("c1")]), "not called");
    refuses_openai(&before(&[result("c1"), result("c2"), calling(&["c1"]), result("c1")]), "twice");
}

#[test]
fn chat_contents_are_filled() {
    for (content, because) in [
        (json!(""), "missing or empty"),
        (json!([]), "not a filled list"),
        (json!(null), "not a filled list"),
        (json!([{"type": "text", "text": " \n"}]), "blank"),
        (json!([{"type": "text"}]), "missing or empty"),
        (json!([{"type": "video", "video": {}}]), "does not belong"),
        (json!([{"type": "text", "text": "a", "more": 1}]), "unknown key"),
        (json!([{"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}]), "neither"),
    ] {
        refuses_openai(&json!([system(), user(content)]), because);
    }
    refuses_openai(&json!([{"role": "system", "content": ""}, user("a")]), "missing or empty");
    refuses_openai(
        &json!([system(), user("a"), {"role": "assistant"}]),
        "neither content nor calls",
    );
    let empty_result = json!({"role": "tool", "tool_call_id": "c", "content": ""});
    refuses_openai(
        &json!([system(), user("a"), calling(&["c"]), empty_result]),
        "missing or empty",
    );
}

#[test]
fn chat_calls_are_well_formed() {
    for (name, arguments, because) in [
        ("read file", "{}", "tool name"),
        (&"x".repeat(65), "{}", "tool name"),
        ("", "{}", "missing or empty"),
        ("read_file", "{", "not a JSON object"),
        ("read_file", "[]", "not a JSON object"),
        ("read_file", "", "missing or empty"),
    ] {
        let function = json!({"name": name, "arguments": arguments});
        let calls = json!([{"id": "c", "type": "function", "function": function}]);
        let answer = json!({"role": "assistant", "content": "a", "tool_calls": calls});
        refuses_openai(&json!([system(), user("a"), answer, result("c")]), because);
    }
}

#[test]
fn a_chat_body_names_its_model_and_its_tools_once() {
    let good = openai(&json!([system(), user("a")]));
    for (key, value) in [
        ("model", json!("")),
        ("messages", json!([])),
        ("tools", json!([])),
        ("tools", json!([tool("a"), tool("a")])),
        ("tools", json!([tool("a b")])),
        ("tools", json!([{"type": "function", "function": {"name": "a", "parameters": {}}}])),
    ] {
        let mut bad = good.clone();
        bad[key] = value;
        assert!(validate_openai_chat(bad.to_string().as_bytes()).is_err(), "{bad}");
    }
    assert!(validate_openai_chat(b"[]").is_err());
    assert!(validate_openai_chat(b"{").is_err());
}

fn anthropic(messages: &Value) -> Value {
    json!({
        "model": "m",
        "max_tokens": 100,
        "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
        "tools": [{"name": "t", "description": "d", "input_schema": {"type": "object"}}],
        "messages": messages,
    })
}

fn says(content: impl Into<Value>) -> Value {
    json!({"role": "assistant", "content": content.into()})
}

fn used(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "t", "input": {}})
}

fn resulted(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": [{"type": "text", "text": "r"}]})
}

fn words(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

#[track_caller]
fn accepts_anthropic(messages: &Value) -> Outline {
    validate_anthropic(anthropic(messages).to_string().as_bytes()).unwrap()
}

#[track_caller]
fn refuses_anthropic(messages: &Value, because: &str) {
    let error = validate_anthropic(anthropic(messages).to_string().as_bytes()).unwrap_err();
    assert!(error.contains(because), "{error}");
}

#[test]
fn good_messages_bodies_pass() {
    accepts_anthropic(&json!([user("hi")]));
    let thinking = json!({"type": "thinking", "thinking": "t", "signature": "s"});
    let redacted = json!({"type": "redacted_thinking", "data": "d"});
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}});
    accepts_anthropic(&json!([
        user(json!([words("a"), image])),
        says(json!([thinking, redacted, words("b"), used("c1"), used("c2")])),
        user(json!([resulted("c1"), resulted("c2"), words("c")])),
        says(json!([used("c3")])),
        user(json!([resulted("c3")])),
    ]));
}

#[test]
fn messages_take_turns() {
    refuses_anthropic(&json!([says("a"), user("b")]), "not `user`");
    refuses_anthropic(&json!([user("a"), user("b")]), "not `assistant`");
    refuses_anthropic(&json!([user("a"), says("b")]), "last message");
    refuses_anthropic(&json!([{"role": "system", "content": "a"}]), "not `user`");
}

#[test]
fn results_stand_first_in_the_next_message() {
    let after =
        |blocks: Value| json!([user("a"), says(json!([used("c1"), used("c2")])), user(blocks)]);
    refuses_anthropic(&after(json!([resulted("c1")])), "has no result");
    refuses_anthropic(
        &after(json!([words("a"), resulted("c1"), resulted("c2")])),
        "before the results",
    );
    refuses_anthropic(&after(json!([resulted("c1"), resulted("c1")])), "or has one");
    let foreign = json!([resulted("c1"), resulted("c2"), resulted("c3")]);
    refuses_anthropic(&after(foreign), "not called just before");
    refuses_anthropic(&json!([user(json!([resulted("c1")]))]), "not called just before");
    refuses_anthropic(&json!([user("a"), says(json!([used("c1")]))]), "last message");
    let twice = json!([
        user("a"),
        says(json!([used("c1")])),
        user(json!([resulted("c1")])),
        says(json!([used("c1")])),
        user(json!([resulted("c1")])),
    ]);
    refuses_anthropic(&twice, "stands twice");
}

#[test]
fn blocks_are_filled_and_known() {
    for (content, because) in [
        (json!(""), "missing or empty"),
        (json!([]), "not a filled list"),
        (json!([words(" ")]), "blank"),
        (json!([used("c")]), "holds `tool_use`"),
        (json!([{"type": "image", "source": {"type": "file"}}]), "unknown source"),
        (json!([{"type": "text", "text": "a", "cache_control": {"type": "x"}}]), "ephemeral"),
    ] {
        refuses_anthropic(&json!([user(content)]), because);
    }
    for (block, because) in [
        (json!({"type": "thinking", "thinking": "t"}), "`signature`"),
        (json!({"type": "thinking", "thinking": "t", "signature": "s"}), "last block"),
        (json!({"type": "redacted_thinking"}), "`data`"),
        (json!({"type": "tool_use", "id": "c 1", "name": "t", "input": {}}), "call id"),
        (json!({"type": "tool_use", "id": "c1", "name": "t t", "input": {}}), "tool name"),
        (json!({"type": "tool_use", "id": "c1", "name": "t", "input": "{}"}), "`input`"),
        (json!({"type": "image", "source": {}}), "holds `image`"),
    ] {
        refuses_anthropic(&json!([user("a"), says(json!([block])), user("b")]), because);
    }
    let empty = json!({"type": "tool_result", "tool_use_id": "c1", "content": []});
    refuses_anthropic(
        &json!([user("a"), says(json!([used("c1")])), user(json!([empty]))]),
        "not a filled list",
    );
}

#[test]
fn a_messages_body_has_its_frame() {
    let good = anthropic(&json!([user("a")]));
    let tool = json!({"name": "t", "input_schema": {"type": "object"}});
    let marked = json!({"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}});
    for (key, value) in [
        ("model", json!("")),
        ("max_tokens", json!(0)),
        ("max_tokens", json!(null)),
        ("system", json!("")),
        ("system", json!([])),
        ("messages", json!([])),
        ("tools", json!([tool, tool])),
        ("tools", json!([{"name": "t"}])),
        ("system", json!([marked, marked, marked, marked, marked])),
    ] {
        let mut bad = good.clone();
        bad[key] = value;
        assert!(validate_anthropic(bad.to_string().as_bytes()).is_err(), "{bad}");
    }
}

#[test]
fn an_outline_holds_elements_and_no_cache_markers() {
    let outline = accepts_openai(&json!([system(), user("a")]));
    assert_eq!(
        outline.elements[1..],
        [r#"system {"type":"text","text":"s"}"#, r#"user {"type":"text","text":"a"}"#]
    );
    let marked = json!([{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}]);
    assert_eq!(accepts_openai(&json!([system(), user(marked.clone())])), outline);
    assert_eq!(accepts_anthropic(&json!([user(marked)])), accepts_anthropic(&json!([user("a")])));
}

#[test]
fn a_longer_request_is_stable() {
    let earlier = accepts_anthropic(&json!([user("a")]));
    assert_stable(&earlier, &accepts_anthropic(&json!([user(json!([words("a"), words("b")]))])));
    assert_stable(&earlier, &accepts_anthropic(&json!([user("a"), says("b"), user("c")])));
}

#[test]
#[should_panic(expected = "element 2 of 3 changed")]
fn a_changed_element_is_not_stable() {
    let earlier = accepts_anthropic(&json!([user("a")]));
    assert_stable(&earlier, &accepts_anthropic(&json!([user("a\n\nb")])));
}

#[test]
#[should_panic(expected = "changed")]
fn a_shorter_request_is_not_stable() {
    let later = accepts_openai(&json!([system(), user("b")]));
    assert_stable(&accepts_openai(&json!([system(), user("b"), says("c"), user("d")])), &later);
}

fn responses(input: &Value) -> Value {
    let parameters = json!({"type": "object", "properties": {}});
    let tool = json!({"type": "function", "name": "read_file", "description": "d", "parameters": parameters, "strict": false});
    json!({"model": "m", "instructions": "s", "tools": [tool], "input": input, "stream": true, "store": false})
}

fn said(role: &str, part: &str, text: &str) -> Value {
    json!({"type": "message", "role": role, "content": [{"type": part, "text": text}]})
}

fn asked() -> Value {
    said("user", "input_text", "hi")
}

fn function_call(id: &str) -> Value {
    json!({"type": "function_call", "call_id": id, "name": "read_file", "arguments": "{}"})
}

fn output(id: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": "r"})
}

fn reasoned() -> Value {
    json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"})
}

#[track_caller]
fn refuses_responses(input: &Value, because: &str) {
    let error = validate_openai_responses(responses(input).to_string().as_bytes()).unwrap_err();
    assert!(error.contains(because), "{error}");
}

#[test]
fn good_responses_bodies_pass() {
    let image = json!({"type": "input_image", "image_url": "data:image/png;base64,AA"});
    let shown = json!({"type": "function_call_output", "call_id": "c2", "output": [image]});
    let input = json!([
        asked(),
        reasoned(),
        said("assistant", "output_text", "ok"),
        function_call("c1"),
        function_call("c2"),
        output("c1"),
        shown,
        asked(),
    ]);
    let outline = validate_openai_responses(responses(&input).to_string().as_bytes()).unwrap();
    assert_eq!(outline.elements.len(), 10);
}

#[test]
fn what_the_responses_api_refuses_is_refused() {
    refuses_responses(&json!([]), "not a filled list");
    refuses_responses(&json!([asked(), said("assistant", "output_text", "ok")]), "the last item");
    refuses_responses(&json!([said("user", "output_text", "hi")]), "does not belong here");
    refuses_responses(&json!([said("user", "input_text", "")]), "missing or empty");
    refuses_responses(&json!([said("tool", "input_text", "hi")]), "unknown item");
    refuses_responses(&json!([asked(), reasoned(), asked()]), "without the item that it led to");
    refuses_responses(&json!([asked(), function_call("c1"), asked()]), "has no output");
    refuses_responses(&json!([asked(), function_call("c1")]), "has no output");
    refuses_responses(&json!([asked(), output("c1")]), "was not called just before");
    let (one, two) = (function_call("c1"), function_call("c2"));
    refuses_responses(&json!([asked(), one, two, output("c2"), output("c1")]), "is due");
    refuses_responses(&json!([asked(), one, output("c1"), one, output("c1")]), "stands twice");
    refuses_responses(&json!([asked(), function_call(&"c".repeat(65))]), "longer than 64");
    let broken = json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": "[]"});
    refuses_responses(&json!([asked(), broken, output("c")]), "not a JSON object");
}

#[test]
fn what_the_vendor_would_add_or_keep_is_refused() {
    let with = |key: &str, value: Value| {
        let mut body = responses(&json!([asked()]));
        body[key] = value;
        validate_openai_responses(body.to_string().as_bytes()).unwrap_err()
    };
    assert!(with("store", json!(true)).contains("`store` is not false"));
    assert!(with("previous_response_id", json!("resp_1")).contains("does not hold"));
    assert!(with("instructions", json!(" ")).contains("`instructions` is blank"));
    let mut strict = responses(&json!([asked()]));
    strict["tools"][0]["strict"] = json!(true);
    let error = validate_openai_responses(strict.to_string().as_bytes()).unwrap_err();
    assert!(error.contains("strict"), "{error}");
}
