use serde_json::json;

use super::*;

async fn ask(model: &ScriptedModel, tap: &dyn Tap) -> Result<Answer, Unfinished> {
    model.ask(b"{}".to_vec(), tap, &CancellationToken::new()).await
}

#[tokio::test]
async fn the_script_is_answered_in_order_and_then_ends() {
    let model =
        ScriptedModel::default().says("one two").calls("", &[("write_file", json!({"a": 1}))]);
    let tap = RecordingTap::default();
    let said = ask(&model, &tap).await.unwrap();
    assert_eq!(said.content, [AnswerBlock::Text("one two".to_owned())]);
    let called = ask(&model, &tap).await.unwrap();
    let call = AnswerBlock::Call {
        provider_call_id: "call_0".to_owned(),
        tool: "write_file".to_owned(),
        arguments: r#"{"a":1}"#.to_owned(),
    };
    assert_eq!((called.content, called.stop_reason), (vec![call], StopReason::ToolCall));
    let end = ask(&model, &tap).await.unwrap();
    assert_eq!(end.content, [AnswerBlock::Text(END_OF_SCRIPT.to_owned())]);
    assert_eq!(tap.seen()[..3], ["text one ", "text two", "call write_file"]);
    assert_eq!(model.bodies().len(), 3);
    assert_eq!(model.bodies()[0].sha256, sha256_hex(b"{}"));
}

#[tokio::test]
async fn failures_and_cuts_come_as_scripted() {
    let model = ScriptedModel::default().fails(FailureKind::Status, true).cut("half an").empty();
    let failed = ask(&model, &SilentTap).await.unwrap_err();
    assert!(matches!(
        failed.cause,
        Cause::Failed { kind: FailureKind::Status, retryable: true, .. }
    ));
    let cut = ask(&model, &SilentTap).await.unwrap_err();
    assert!(matches!(cut.cause, Cause::Failed { kind: FailureKind::Cut, .. }));
    assert_eq!(cut.partial_text, "half an");
    assert!(ask(&model, &SilentTap).await.unwrap().content.is_empty());
    assert_eq!(model.n_turns_left(), 0);
}

#[tokio::test]
async fn a_waiting_model_keeps_what_it_said_when_it_is_cancelled() {
    let cancel = CancellationToken::new();
    let in_hook = cancel.clone();
    let model = ScriptedModel::default().waits_after("well").says("never");
    let mut answer = model.ask(Vec::new(), &SilentTap, &cancel);
    tokio::select! {
        biased;
        _ = &mut answer => panic!("it answered by itself"),
        () = tokio::task::yield_now() => in_hook.cancel(),
    }
    let unfinished = answer.await.unwrap_err();
    assert_eq!(unfinished, Unfinished { cause: Cause::Cancelled, partial_text: "well".to_owned() });
    let again = model.ask(Vec::new(), &SilentTap, &cancel).await.unwrap_err();
    assert_eq!(again.cause, Cause::Cancelled);
    assert_eq!(model.n_turns_left(), 1);
}
