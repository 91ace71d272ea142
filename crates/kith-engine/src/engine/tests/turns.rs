//! Whole turns against a scripted model; what is checked is the session file itself.

use std::sync::Mutex;

use kith_testkit::files::{CrashModel, Fault, MemoryFiles};
use kith_testkit::policies::{AllowAll, DenyAll};
use kith_testkit::tools::{CountingTool, ReadTool};
use kith_vocab::event::messages::StopReason;
use kith_vocab::event::models::FailureKind;
use kith_vocab::policy::{Judgement, Policy, Question};
use kith_vocab::provider::AnswerBlock;
use kith_vocab::tool::Tool;
use serde_json::json;

use super::*;
use crate::command::CommandAction;
use crate::failure::SessionFailure;
use crate::report::TurnReport;

/// A house in which the model has these tools.
fn house_with(model: ScriptedModel, tools: Vec<Arc<dyn Tool>>) -> (TestHouse, Arc<ScriptedModel>) {
    let model = Arc::new(model);
    (TestHouse::with_tools(&model, tools), model)
}

async fn turn(house: &TestHouse) -> TurnReport {
    ask(&house.engine(), &message("m1", ROOM, "go")).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_turn_is_written_effect_by_effect() {
    let (read, write) = (ReadTool::new("read_a", "seven"), CountingTool::new("write_b"));
    let model = script()
        .calls("Looking.", &[("read_a", json!({})), ("write_b", json!({"n": 1}))])
        .says("Done.");
    let (house, _) = house_with(model, vec![Arc::new(read.clone()), Arc::new(write.clone())]);
    let report = turn(&house).await;
    assert_eq!((report.end, read.runs(), write.runs()), (MessageEnd::Done, 1, 1));
    insta::assert_snapshot!(house.outline(report.session_id), @r"
    1/5 instruction_snapshot
    2/5 toolset_snapshot
    3/5 user_message [go]
    4/5 turn_started
    5/5 model_requested
    1/3 assistant_message stopReason=tool_call [Looking.] [read_a] [write_b]
    2/3 call_judged verdict=allow reason=the test allows it
    3/3 call_judged verdict=allow reason=the test allows it
    1/2 tool_result outcome=done [seven]
    2/2 tool_started
    1/2 tool_result outcome=done [write_b ran, run 1]
    2/2 model_requested
    1/2 assistant_message stopReason=end_turn [Done.]
    2/2 turn_ended reason=done
    ");
}

#[tokio::test(start_paused = true)]
async fn a_step_costs_two_synced_appends() {
    let write = CountingTool::new("write_b");
    let mut model = script();
    for n in 0..10 {
        model = model.calls("", &[("write_b", json!({ "n": n }))]);
    }
    let (house, _) = house_with(model.says("Done."), vec![Arc::new(write)]);
    turn(&house).await;
    let operations = house.files.operations();
    let n_syncs = |what: &str| operations.iter().filter(|it| it.starts_with(what)).count();
    // The file with its first request, then two for each of ten steps, then the last answer. The
    // folder once, when it got the file.
    assert_eq!((n_syncs("sync "), n_syncs("sync_dir ")), (22, 1), "{operations:#?}");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_asked_or_run_before_its_event_is_on_disk() {
    let files = MemoryFiles::new();
    let at_effect: Arc<Mutex<Vec<String>>> = Arc::default();
    let note = |what: &'static str| {
        let (at_effect, files) = (Arc::clone(&at_effect), files.clone());
        move || {
            let last = last_durable_type(&files);
            at_effect.lock().unwrap().push(format!("{what} after {last}"));
        }
    };
    let (model_asked, tool_ran) = (note("model"), note("tool"));
    let write = CountingTool::new("write_b").with_hook(move |_| tool_ran());
    let model = script().calls("", &[("write_b", json!({}))]).says("Done.");
    let model = model.with_hook(move |_| model_asked());
    let (mut house, _) = house_with(model, vec![Arc::new(write)]);
    house.files = files;
    turn(&house).await;
    assert_eq!(
        *at_effect.lock().unwrap(),
        [
            "model after \"model_requested\"",
            "tool after \"tool_started\"",
            "model after \"model_requested\""
        ]
    );
}

/// As after a power cut: only what was synced counts.
fn last_durable_type(files: &MemoryFiles) -> String {
    let path = files.paths().into_iter().find(|it| it.extension().unwrap() == "jsonl").unwrap();
    let file = String::from_utf8(files.durable(path).unwrap()).unwrap();
    let last: serde_json::Value = serde_json::from_str(file.lines().last().unwrap()).unwrap();
    last["type"].to_string()
}

#[tokio::test(start_paused = true)]
async fn a_refused_call_is_told_to_the_model() {
    let write = CountingTool::new("write_b");
    let model = script().calls("", &[("write_b", json!({}))]).says("I see.");
    let (house, _) = house_with(model, vec![Arc::new(write.clone())]);
    *house.setup.policy.lock().unwrap() = Arc::new(DenyAll);
    let report = turn(&house).await;
    assert_eq!((report.end, write.runs()), (MessageEnd::Done, 0));
    insta::assert_snapshot!(house.ending(report.session_id, 6), @r"
    1/4 assistant_message stopReason=tool_call [write_b]
    2/4 call_judged verdict=deny reason=the test denies it
    3/4 tool_result outcome=refused [Refused: the test denies it.]
    4/4 model_requested
    1/2 assistant_message stopReason=end_turn [I see.]
    2/2 turn_ended reason=done
    ");
}

#[tokio::test(start_paused = true)]
async fn a_call_of_no_tool_or_with_broken_arguments_fails_and_the_turn_goes_on() {
    let write = CountingTool::new("write_b");
    let model = script()
        .calls("", &[("no_such", json!({}))])
        .calls_raw("", &[("write_b", "{\"path\": \"a".to_owned())], StopReason::ToolCall)
        .calls_raw("", &[("write_b", "[1]".to_owned())], StopReason::ToolCall)
        .says("Sorry.");
    let (house, _) = house_with(model, vec![Arc::new(write.clone())]);
    let report = turn(&house).await;
    assert_eq!((report.end, write.runs()), (MessageEnd::Done, 0));
    insta::assert_snapshot!(house.ending(report.session_id, 11), @r"
    1/3 assistant_message stopReason=tool_call [no_such]
    2/3 tool_result outcome=failed [There is no tool `no_such`. There are: write_b.]
    3/3 model_requested
    1/3 assistant_message stopReason=tool_call [write_b]
    2/3 tool_result outcome=failed [The arguments of this call are not one whole JSON object (11 bytes came), so it did not run. Send the call again, complete, and shorter if it was cut off.]
    3/3 model_requested
    1/3 assistant_message stopReason=tool_call [write_b]
    2/3 tool_result outcome=failed [The arguments of this call are not one whole JSON object (3 bytes came), so it did not run. Send the call again, complete, and shorter if it was cut off.]
    3/3 model_requested
    1/2 assistant_message stopReason=end_turn [Sorry.]
    2/2 turn_ended reason=done
    ");
}

#[tokio::test(start_paused = true)]
async fn no_tool_runs_on_a_call_that_ran_out_of_tokens() {
    let write = CountingTool::new("write_b");
    let cut = || {
        vec![AnswerBlock::Call {
            provider_call_id: "x".to_owned(),
            tool: "write_b".to_owned(),
            arguments: "{\"path\":\"a\"}".to_owned(),
        }]
    };
    let model =
        script().answers(cut(), StopReason::MaxTokens).answers(cut(), StopReason::MaxTokens);
    let (house, _) = house_with(model, vec![Arc::new(write.clone())]);
    let report = turn(&house).await;
    assert_eq!((report.end, write.runs()), (MessageEnd::Failed, 0));
    insta::assert_snapshot!(house.ending(report.session_id, 4), @r"
    1/4 assistant_message stopReason=max_tokens [write_b]
    2/4 tool_result outcome=cancelled [Cancelled: the turn ended before it ran.]
    3/4 notice
    4/4 turn_ended reason=failed
    ");
}

#[tokio::test(start_paused = true)]
async fn what_was_judged_is_what_runs() {
    let write = CountingTool::new("write_b");
    let changing = write.clone();
    let first = CountingTool::new("write_a").with_hook(move |_| changing.change_world());
    let model = script().calls("", &[("write_a", json!({})), ("write_b", json!({}))]).says("Done.");
    let (house, _) = house_with(model, vec![Arc::new(first), Arc::new(write.clone())]);
    let report = turn(&house).await;
    // Calls that were judged before the world changed are judged anew, and run as it is now.
    assert_eq!(write.runs(), 1);
    let outline = house.outline(report.session_id);
    assert_eq!(outline.matches("call_judged").count(), 3, "{outline}");
}

#[tokio::test(start_paused = true)]
async fn what_changed_after_it_was_allowed_is_refused() {
    let write = CountingTool::new("write_b");
    let model = script().calls("", &[("write_b", json!({}))]).says("I see.");
    let (house, _) = house_with(model, vec![Arc::new(write.clone())]);
    *house.setup.policy.lock().unwrap() = Arc::new(AllowsAndThenItChanges(write.clone()));
    let report = turn(&house).await;
    assert_eq!((report.end, write.runs()), (MessageEnd::Done, 0));
    insta::assert_snapshot!(house.ending(report.session_id, 5), @r"
    2/4 call_judged verdict=allow reason=the test allows it
    3/4 tool_result outcome=refused [Refused: what it would act on has changed since it was allowed.]
    4/4 model_requested
    1/2 assistant_message stopReason=end_turn [I see.]
    2/2 turn_ended reason=done
    ");
}

/// Someone changes a file in the moment between the verdict and the start.
struct AllowsAndThenItChanges(CountingTool);

impl Policy for AllowsAndThenItChanges {
    fn judge(&self, question: &Question<'_>) -> Judgement {
        self.0.change_world();
        AllowAll.judge(question)
    }
}

#[tokio::test(start_paused = true)]
async fn failures_are_retried_with_patience_and_then_told() {
    let network = |model: ScriptedModel| model.fails(FailureKind::Network, true);
    let (house, _) = house_with(network(network(script())).says("Here."), Vec::new());
    let report = turn(&house).await;
    assert_eq!((report.end, report.failure.as_deref()), (MessageEnd::Done, None));
    insta::assert_snapshot!(house.ending(report.session_id, 7), @r"
    5/5 model_requested
    1/1 model_failed kind=network attempt=1
    1/1 model_requested
    1/1 model_failed kind=network attempt=2
    1/1 model_requested
    1/2 assistant_message stopReason=end_turn [Here.]
    2/2 turn_ended reason=done
    ");

    let (house, model) = house_with((0..9).fold(script(), |model, _| network(model)), Vec::new());
    let report = turn(&house).await;
    assert_eq!(report.failure.as_deref(), Some("the script says so"));
    assert_eq!((report.end, model.bodies().len()), (MessageEnd::Failed, 4));
    insta::assert_snapshot!(house.ending(report.session_id, 3), @r"
    1/3 model_failed kind=network attempt=4
    2/3 notice
    3/3 turn_ended reason=failed
    ");
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_cannot_pass_is_not_retried() {
    let (house, model) = house_with(script().fails(FailureKind::Auth, false), Vec::new());
    let report = turn(&house).await;
    assert_eq!(model.bodies().len(), 1);
    insta::assert_snapshot!(house.ending(report.session_id, 3), @r"
    1/3 model_failed kind=auth attempt=1
    2/3 notice
    3/3 turn_ended reason=failed
    ");
}

#[tokio::test(start_paused = true)]
async fn an_empty_answer_is_a_failure() {
    let (house, _) = house_with(script().empty().says("Here."), Vec::new());
    let report = turn(&house).await;
    insta::assert_snapshot!(house.ending(report.session_id, 4), @r"
    1/2 model_failed kind=empty attempt=1
    2/2 model_requested
    1/2 assistant_message stopReason=end_turn [Here.]
    2/2 turn_ended reason=done
    ");
}

#[tokio::test(start_paused = true)]
async fn a_cut_answer_leaves_its_text_only_if_the_turn_ends_there() {
    let (house, _) = house_with(script().cut("Once upon").says("Here."), Vec::new());
    let report = turn(&house).await;
    let outline = house.outline(report.session_id);
    assert!(!outline.contains("Once upon"), "{outline}");

    let cuts = (0..4).fold(script(), |model, _| model.cut("Once upon"));
    let (house, _) = house_with(cuts, Vec::new());
    let report = turn(&house).await;
    insta::assert_snapshot!(house.ending(report.session_id, 4), @r"
    1/4 assistant_message stopReason=error [Once upon]
    2/4 model_failed kind=cut attempt=4
    3/4 notice
    4/4 turn_ended reason=failed
    ");
}

#[tokio::test(start_paused = true)]
async fn stopping_keeps_what_was_said_and_cancels_what_did_not_run() {
    let (first, second) = (CountingTool::new("write_a").waiting(), CountingTool::new("write_b"));
    let model = script().calls("", &[("write_a", json!({})), ("write_b", json!({}))]);
    let (house, _) = house_with(model, vec![Arc::new(first.clone()), Arc::new(second.clone())]);
    let engine = house.engine();
    let event = message("m1", ROOM, "go");
    let follower = engine.send(&event, kith_sessions::desk::RowTarget::Current).await.unwrap();
    let id = follower.session_id();
    until(|| first.runs() > 0).await;
    house.command(&engine, id, CommandAction::Cancel { key: None }).await.unwrap();
    assert_eq!(within(follower.end()).await.unwrap().end, MessageEnd::Cancelled);
    assert_eq!(second.runs(), 0);
    insta::assert_snapshot!(house.ending(id, 4), @r"
    1/1 cancel_requested
    1/3 tool_result outcome=cancelled [stopped]
    2/3 tool_result outcome=cancelled [Cancelled by the user before it ran.]
    3/3 turn_ended reason=cancelled
    ");
}

#[tokio::test(start_paused = true)]
async fn a_started_call_is_reported_as_unknown_after_a_restart_and_not_run_again() {
    let write = CountingTool::new("write_b");
    let model = script().calls("", &[("write_b", json!({}))]).says("I will look.");
    let files = MemoryFiles::new();
    let dying = files.clone();
    let killing = write.clone().with_hook(move |_| dying.kill());
    let (mut house, _) = house_with(model, vec![Arc::new(killing)]);
    house.files = files;
    let engine = house.engine();
    ask(&engine, &message("m1", ROOM, "go")).await.unwrap_err();
    assert_eq!(write.runs(), 1);
    engine.kill();

    house.files = house.files.reboot(CrashModel::PowerCut);
    *house.setup.tools.lock().unwrap() = vec![Arc::new(write.clone())];
    let sessions = resume(&house.engine()).await;
    assert_eq!((sessions.len(), write.runs()), (1, 1));
    insta::assert_snapshot!(house.ending(sessions[0], 6), @r"
    3/3 tool_started
    1/3 resumed
    2/3 tool_result outcome=interrupted [Interrupted: the program ended while this ran. It may or may not have taken effect; look before you try again.]
    3/3 model_requested
    1/2 assistant_message stopReason=end_turn [I will look.]
    2/2 turn_ended reason=done
    ");
}

#[tokio::test(start_paused = true)]
async fn a_long_output_is_cut_for_the_model_and_kept_whole() {
    let whole = "line\n".repeat(20_000);
    let model = script().calls("", &[("read_a", json!({}))]).says("Long.");
    let (house, _) = house_with(model, vec![Arc::new(ReadTool::new("read_a", &whole))]);
    let report = turn(&house).await;
    let result = house.events(report.session_id).into_iter().find_map(|event| match event.body {
        Body::ToolResult(result) => Some(result),
        _ => None,
    });
    let result = result.unwrap();
    let shown = kith_vocab::block::plain_text(&result.content);
    assert!(shown.len() < 20_000 && shown.contains("bytes left out"), "{}", shown.len());
    let kept = house.store().read_blob(&result.full_output.unwrap()).unwrap();
    assert_eq!(kept, whole.as_bytes());
}

#[tokio::test(start_paused = true)]
async fn an_endless_loop_of_calls_is_stopped_and_told() {
    let write = CountingTool::new("write_b");
    let model = (0..60).fold(script(), |model, _| model.calls("", &[("write_b", json!({}))]));
    let (house, _) = house_with(model, vec![Arc::new(write.clone())]);
    let report = turn(&house).await;
    assert_eq!(write.runs(), 5);
    insta::assert_snapshot!(house.ending(report.session_id, 3), @r"
    3/5 tool_result outcome=cancelled [Cancelled: the turn ended before it ran.]
    4/5 notice
    5/5 turn_ended reason=bound bound=repeats
    ");

    let write = CountingTool::new("write_b");
    let model =
        (0..60).fold(script(), |model, n| model.calls("", &[("write_b", json!({ "n": n }))]));
    let (house, model) = house_with(model, vec![Arc::new(write.clone())]);
    let report = turn(&house).await;
    assert_eq!(model.bodies().len(), 50);
    let outline = house.outline(report.session_id);
    assert!(outline.ends_with("turn_ended reason=bound bound=steps\n"), "{outline}");
}

#[tokio::test(start_paused = true)]
async fn a_failed_write_stops_the_turn_and_it_goes_on_by_itself_when_there_is_room() {
    let write = CountingTool::new("write_b");
    let model = script().calls("", &[("write_b", json!({}))]).says("Done.");
    let (house, model) = house_with(model, vec![Arc::new(write.clone())]);
    let engine = house.engine();
    let first = ask(&engine, &message("m0", ROOM, "hi")).await.unwrap();
    assert_eq!((first.text.as_str(), write.runs()), ("Done.", 1));

    // The write that would have said that the model is asked.
    house.files.plan(house.files.count() + 1, Fault::Full);
    let error = ask(&engine, &message("m1", ROOM, "go")).await.unwrap_err();
    let EngineError::Failed(SessionFailure::Storage(error)) = error else { panic!("{error}") };
    assert!(error.to_string().starts_with("no space left on the disk"), "{error}");
    assert_eq!(model.bodies().len(), 2);
    let (_, mut followed) =
        engine.subscribe(first.session_id, &ResumePoint::default()).await.unwrap();
    let is_end = |body: &Body| matches!(body, Body::TurnEnded(_));
    event_of(&mut followed, is_end).await;
    house.files.heal();
    event_of(&mut followed, is_end).await;
    assert_eq!(model.bodies().len(), 3);
    within(engine.until_rest()).await;
    assert!(house.desk_is_clear(first.session_id).await);
}

#[tokio::test(start_paused = true)]
async fn what_became_of_an_older_message_is_not_taken_from_the_newest() {
    let model = Arc::new(script().says("One.").fails(FailureKind::Auth, false));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let first = ask(&engine, &message("m1", ROOM, "hello")).await.unwrap();
    let second = ask(&engine, &message("m2", ROOM, "more")).await.unwrap();
    assert_eq!((second.end, second.failure.is_some()), (MessageEnd::Failed, true));
    let again = ask(&engine, &message("m1", ROOM, "hello")).await.unwrap();
    assert_eq!(again, first);
    assert_eq!((again.end, again.failure, again.text.as_str()), (MessageEnd::Done, None, "One."));
}
