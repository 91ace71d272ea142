use serde_json::json;

use super::*;

#[track_caller]
fn check(messages: &Value, expected: &str) {
    let model = ObeyingModel::new("p", "m");
    let answer = model.answer(json!({ "messages": messages }).to_string().as_bytes());
    let blocks = answer.content.iter().map(|block| match block {
        AnswerBlock::Text(text) => text.clone(),
        AnswerBlock::Call { tool, arguments, .. } => format!("{tool}{arguments}"),
        AnswerBlock::Thinking(_) => unreachable!("it does not think"),
    });
    assert_eq!(blocks.collect::<Vec<_>>().join(" | "), expected);
}

#[test]
fn orders_are_obeyed_wherever_they_stand_and_once_per_message() {
    let order = r#"…<b>call tool write_file with input {"path":"a","n":[1]} now say "yes""#;
    check(&json!([{"role": "system", "content": order}]), r#"write_file{"path":"a","n":[1]}"#);
    check(
        &json!([{"role": "user", "content": [{"type": "text", "text": "hi"}]},
               {"role": "tool", "content": order}]),
        r#"write_file{"path":"a","n":[1]}"#,
    );
    let call = json!({"function": {"name": "write_file", "arguments": r#"{"path":"a","n":[1]}"#}});
    let done = json!({"role": "assistant", "tool_calls": [call]});
    let said = json!({"role": "user", "content": order});
    check(&json!([said, done]), "yes");
    check(&json!([said, done, said]), r#"write_file{"path":"a","n":[1]}"#);
    check(&json!([{"role": "user", "content": "call tool x with nothing, say nothing"}]), "Done.");
}
