use super::*;
use crate::ids::EventId;

fn check(tool: &str, input: &str, meant: (&str, &str)) {
    let call = ToolCall {
        call_id: EventId::from_uuid(uuid::Uuid::nil()).call(0),
        provider_call_id: String::new(),
        tool: tool.to_owned(),
        input: Json::parse(input).unwrap(),
        raw_input: None,
    };
    let (tool, input) = call.meant();
    assert_eq!((tool.as_str(), input.as_str()), meant);
}

#[test]
fn a_call_through_use_tool_is_about_the_inner_tool() {
    check("read_file", r#"{"path":"a"}"#, ("read_file", r#"{"path":"a"}"#));
    check(
        "use_tool",
        r#"{"name":"fetch_url","input":{"url":"x"}}"#,
        ("fetch_url", r#"{"url":"x"}"#),
    );
    // Only described, or not the name of a tool.
    for input in [
        r#"{"name":"fetch_url"}"#,
        r#"{"name":"a b","input":{}}"#,
        r#"{"name":"","input":{}}"#,
        "{}",
    ] {
        check("use_tool", input, ("use_tool", input));
    }
}
