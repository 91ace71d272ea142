use kith_vocab::event::models::ModelRef;
use kith_vocab::provider::Models as _;
use serde_json::json;

use super::*;
use crate::samples::sample_model_ref;

async fn ask(model: &ScriptedModel, sink: Arc<dyn DeltaSink>) -> Result<Answer, AnswerFailure> {
    let ctx = AskContext { sink, ..ask_context(&CancellationToken::new()) };
    model.ask(b"{}".to_vec(), ctx).await
}

#[tokio::test]
async fn the_script_is_answered_in_order_and_then_ends() {
    let model =
        ScriptedModel::default().says("one two").calls("", &[("write_file", json!({"a": 1}))]);
    let sink = Arc::new(RecordingTap::default());
    let said = ask(&model, sink.clone()).await.unwrap();
    assert_eq!(said.content, [AnswerBlock::Text("one two".to_owned())]);
    let called = ask(&model, sink.clone()).await.unwrap();
    let call = AnswerBlock::Call {
        provider_call_id: "call_0".to_owned(),
        tool: "write_file".to_owned(),
        arguments: r#"{"a":1}"#.to_owned(),
    };
    assert_eq!((called.content, called.stop_reason), (vec![call], StopReason::ToolCall));
    let end = ask(&model, sink.clone()).await.unwrap();
    assert_eq!(end.content, [AnswerBlock::Text(END_OF_SCRIPT.to_owned())]);
    let seen = ["0 text one ", "0 text two", "0 call 0 write_file", "0 input 0 {\"a\":1}"];
    assert_eq!(sink.seen()[..4], seen);
    assert_eq!(model.bodies().len(), 3);
    assert_eq!(model.bodies()[0].sha256, sha256_hex(b"{}"));
    assert_eq!(model.times_left(), [Duration::from_hours(1); 3]);
}

#[tokio::test]
async fn every_delta_says_which_block_and_call_it_belongs_to() {
    let thinking = Thinking { text: "hm".into(), signature: None, redacted: None };
    let call = |tool: &str| AnswerBlock::Call {
        provider_call_id: String::new(),
        tool: tool.to_owned(),
        arguments: "{}".to_owned(),
    };
    let text = AnswerBlock::Text("ok".to_owned());
    let content = vec![AnswerBlock::Thinking(thinking), text, call("a"), call("b")];
    let model = ScriptedModel::default().answers(content, StopReason::ToolCall);
    let sink = Arc::new(RecordingTap::default());
    ask(&model, sink.clone()).await.unwrap();
    let expected =
        ["0 thinking hm", "1 text ok", "2 call 0 a", "2 input 0 {}", "3 call 1 b", "3 input 1 {}"];
    assert_eq!(sink.seen(), expected);
}

#[tokio::test]
async fn failures_and_cuts_come_as_scripted() {
    let model = ScriptedModel::default().fails(FailureKind::Status, true).cut("half an").empty();
    let failed = ask(&model, Arc::new(SilentTap)).await.unwrap_err();
    assert!(matches!(
        failed.cause,
        FailureCause::Failed { kind: FailureKind::Status, retryable: true, .. }
    ));
    let cut = ask(&model, Arc::new(SilentTap)).await.unwrap_err();
    assert!(matches!(cut.cause, FailureCause::Failed { kind: FailureKind::Cut, .. }));
    assert_eq!(cut.partial_text, "half an");
    assert!(ask(&model, Arc::new(SilentTap)).await.unwrap().content.is_empty());
    assert_eq!(model.n_turns_left(), 0);
}

#[tokio::test]
async fn a_waiting_model_keeps_what_it_said_when_it_is_cancelled() {
    let cancel = CancellationToken::new();
    let in_hook = cancel.clone();
    let model = ScriptedModel::default().waits_after("well").says("never");
    let mut answer = model.ask(Vec::new(), ask_context(&cancel));
    tokio::select! {
        biased;
        _ = &mut answer => panic!("it answered by itself"),
        () = tokio::task::yield_now() => in_hook.cancel(),
    }
    let unfinished = answer.await.unwrap_err();
    assert_eq!(
        unfinished,
        AnswerFailure {
            cause: FailureCause::Cancelled,
            partial_text: "well".to_owned(),
            usage: None
        }
    );
    let again = model.ask(Vec::new(), ask_context(&cancel)).await.unwrap_err();
    assert_eq!(again.cause, FailureCause::Cancelled);
    assert_eq!(model.n_turns_left(), 1);
}

#[tokio::test]
async fn a_hanging_model_does_not_heed_a_cancel() {
    let cancel = CancellationToken::new();
    let model = ScriptedModel::default().hangs();
    let mut answer = model.ask(Vec::new(), ask_context(&cancel));
    tokio::select! {
        biased;
        _ = &mut answer => panic!("it answered by itself"),
        () = tokio::task::yield_now() => cancel.cancel(),
    }
    tokio::select! {
        biased;
        _ = &mut answer => panic!("it heeded the cancel"),
        () = tokio::task::yield_now() => (),
    }
}

#[tokio::test]
async fn a_turn_behind_a_gate_waits_for_the_test_or_a_cancel() {
    let gate = Gate::new();
    let model = Arc::new(ScriptedModel::default().says("one").behind(&gate).says("two"));
    let asking = tokio::spawn({
        let model = Arc::clone(&model);
        async move { ask(&model, Arc::new(SilentTap)).await }
    });
    gate.reached().await;
    assert!(!asking.is_finished());
    gate.open();
    let answer = asking.await.unwrap().unwrap();
    assert_eq!(answer.content, [AnswerBlock::Text("one".to_owned())]);
    assert!(answer.usage.is_some());

    let shut = Gate::new();
    let model = ScriptedModel::default().says("never").behind(&shut);
    let cancel = CancellationToken::new();
    let (outcome, ()) = tokio::join!(model.ask(Vec::new(), ask_context(&cancel)), async {
        shut.reached().await;
        cancel.cancel();
    });
    assert_eq!(outcome.unwrap_err().cause, FailureCause::Cancelled);
}

#[test]
fn one_model_is_found_by_any_name_until_it_is_taken_away() {
    let models = ScriptedModels::one(Arc::new(ScriptedModel::default()));
    let (fast, deep) = (sample_model_ref("fast"), sample_model_ref("deep"));
    assert!(models.find(&fast).is_ok() && models.find(&deep).is_ok());
    models.take_away("fast");
    let reason = models.find(&fast).err().unwrap().to_string();
    assert_eq!(reason, "model `fast` cannot be asked: the test took it away");
    assert!(models.find(&deep).is_ok());
    models.bring_back("fast");
    assert!(models.find(&fast).is_ok());
    assert_eq!(models.found(), [fast.clone(), deep.clone(), deep, fast]);
}

#[test]
fn a_model_of_the_same_name_elsewhere_is_another_model() {
    let here = sample_model_ref("fast");
    let elsewhere = ModelRef { endpoint: "0".repeat(16), ..here.clone() };
    let models = ScriptedModels::none().with(here.clone(), Arc::new(ScriptedModel::default()));
    assert!(models.find(&here).is_ok());
    let reason = models.find(&elsewhere).err().unwrap().to_string();
    assert_eq!(reason, "model `fast` cannot be asked: the test does not have it");
}
