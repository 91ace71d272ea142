//! Whole turns against a scripted model; what is checked is the session file itself.

use std::sync::Mutex;

use kith_testkit::files::MemoryFiles;
use kith_testkit::policies::{AskAbout, DenyAll};
use kith_testkit::scripted::ScriptedModel;
use kith_testkit::tools::{CountingTool, ReadTool};
use kith_vocab::event::messages::StopReason;
use kith_vocab::event::models::FailureKind;
use kith_vocab::provider::AnswerBlock;
use serde_json::json;

use super::*;
use crate::fixture::Stage;

fn script() -> ScriptedModel {
    ScriptedModel::new([])
}

#[tokio::test]
async fn a_turn_is_written_effect_by_effect() {
    let (read, write) = (ReadTool::new("read_a", "seven"), CountingTool::new("write_b"));
    let model = script()
        .calls("Looking.", &[("read_a", json!({})), ("write_b", json!({"n": 1}))])
        .says("Done.");
    let mut stage = Stage::new(model, vec![Arc::new(read.clone()), Arc::new(write.clone())]);
    assert_eq!(stage.turn("go").await, Pause::Rest);
    assert_eq!((read.runs(), write.runs()), (1, 1));
    insta::assert_snapshot!(stage.outline(), @r"
    1/2 instruction_snapshot
    2/2 toolset_snapshot
    1/2 user_message [go]
    2/2 model_requested
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

#[tokio::test]
async fn a_step_costs_two_synced_appends() {
    let write = CountingTool::new("write_b");
    let mut model = script();
    for n in 0..10 {
        model = model.calls("", &[("write_b", json!({ "n": n }))]);
    }
    let mut stage = Stage::new(model.says("Done."), vec![Arc::new(write)]);
    let before = stage.files.count();
    stage.turn("go").await;
    let operations = stage.files.operations()[before..].to_vec();
    let n_syncs = operations.iter().filter(|it| it.starts_with("sync ")).count();
    let n_writes = operations.iter().filter(|it| it.starts_with("write ")).count();
    // The request, then two for each of ten steps, then the last answer.
    assert_eq!((n_writes, n_syncs), (22, 22), "{operations:#?}");
}

#[tokio::test]
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
    let mut stage = Stage::on(files, model, vec![Arc::new(write)]);
    stage.turn("go").await;
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

#[tokio::test]
async fn a_refused_call_is_told_to_the_model() {
    let write = CountingTool::new("write_b");
    let model = script().calls("", &[("write_b", json!({}))]).says("I see.");
    let mut stage = Stage::new(model, vec![Arc::new(write.clone())]);
    stage.policy = Box::new(DenyAll);
    assert_eq!(stage.turn("go").await, Pause::Rest);
    assert_eq!(write.runs(), 0);
    insta::assert_snapshot!(ending(&stage, 6), @r"
    1/4 assistant_message stopReason=tool_call [write_b]
    2/4 call_judged verdict=deny reason=the test denies it
    3/4 tool_result outcome=refused [Refused: the test denies it.]
    4/4 model_requested
    1/2 assistant_message stopReason=end_turn [I see.]
    2/2 turn_ended reason=done
    ");
}

#[tokio::test]
async fn what_cannot_be_asked_yet_says_so_and_runs_nothing() {
    let write = CountingTool::new("write_b");
    let model = script().calls("", &[("write_b", json!({}))]);
    let mut stage = Stage::new(model, vec![Arc::new(write.clone())]);
    stage.policy = Box::new(AskAbout::new(["write_b"]));
    assert_eq!(stage.turn("go").await, Pause::NotBuilt("asking a person"));
    assert_eq!(write.runs(), 0);
}

#[tokio::test]
async fn a_call_of_no_tool_or_with_broken_arguments_fails_and_the_turn_goes_on() {
    let write = CountingTool::new("write_b");
    let model = script()
        .calls("", &[("no_such", json!({}))])
        .calls_raw("", &[("write_b", "{\"path\": \"a".to_owned())], StopReason::ToolCall)
        .calls_raw("", &[("write_b", "[1]".to_owned())], StopReason::ToolCall)
        .says("Sorry.");
    let mut stage = Stage::new(model, vec![Arc::new(write.clone())]);
    assert_eq!(stage.turn("go").await, Pause::Rest);
    assert_eq!(write.runs(), 0);
    insta::assert_snapshot!(ending(&stage, 11), @"
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

#[tokio::test]
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
    let mut stage = Stage::new(model, vec![Arc::new(write.clone())]);
    assert_eq!(stage.turn("go").await, Pause::Rest);
    assert_eq!(write.runs(), 0);
    insta::assert_snapshot!(ending(&stage, 4), @r"
    1/4 assistant_message stopReason=max_tokens [write_b]
    2/4 tool_result outcome=cancelled [Cancelled: the turn ended before it ran.]
    3/4 notice
    4/4 turn_ended reason=failed
    ");
}

#[tokio::test]
async fn what_was_judged_is_what_runs() {
    let write = CountingTool::new("write_b");
    let changing = write.clone();
    let first = CountingTool::new("write_a").with_hook(move |_| changing.change_world());
    let model = script().calls("", &[("write_a", json!({})), ("write_b", json!({}))]).says("Done.");
    let mut stage = Stage::new(model, vec![Arc::new(first), Arc::new(write.clone())]);
    stage.turn("go").await;
    // Judged again after the world changed, so it runs with the digest of the world as it is.
    assert_eq!(write.runs(), 1);
    let judged = stage.outline().matches("call_judged").count();
    assert_eq!(judged, 3, "{}", stage.outline());
}

#[tokio::test]
async fn what_changed_after_it_was_allowed_is_refused() {
    let write = CountingTool::new("write_b");
    let model = script().calls("", &[("write_b", json!({}))]).says("I see.");
    let mut stage = Stage::new(model, vec![Arc::new(write.clone())]);
    stage.policy = Box::new(AllowsAndThenItChanges(write.clone()));
    assert_eq!(stage.turn("go").await, Pause::Rest);
    assert_eq!(write.runs(), 0);
    insta::assert_snapshot!(ending(&stage, 5), @r"
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
    fn judge(&self, call: &kith_vocab::policy::CallToJudge<'_>) -> kith_vocab::policy::Judgement {
        self.0.change_world();
        kith_testkit::policies::AllowAll.judge(call)
    }
}

#[tokio::test]
async fn failures_are_retried_with_patience_and_then_told() {
    let network = |model: ScriptedModel| model.fails(FailureKind::Network, true);
    let mut stage = Stage::new(network(network(script())).says("Here."), Vec::new());
    assert_eq!(stage.turn("go").await, Pause::Rest);
    insta::assert_snapshot!(ending(&stage, 7), @r"
    2/2 model_requested
    1/1 model_failed kind=network attempt=1
    1/1 model_requested
    1/1 model_failed kind=network attempt=2
    1/1 model_requested
    1/2 assistant_message stopReason=end_turn [Here.]
    2/2 turn_ended reason=done
    ");
    let slept = stage.clock.slept();
    assert_eq!(slept.len(), 2, "{slept:?}");

    let mut stage = Stage::new((0..9).fold(script(), |model, _| network(model)), Vec::new());
    assert_eq!(stage.turn("go").await, Pause::Rest);
    assert_eq!(stage.model.bodies().len(), 4);
    insta::assert_snapshot!(ending(&stage, 3), @r"
    1/3 model_failed kind=network attempt=4
    2/3 notice
    3/3 turn_ended reason=failed
    ");
}

#[tokio::test]
async fn a_failure_that_cannot_pass_is_not_retried() {
    let mut stage = Stage::new(script().fails(FailureKind::Auth, false), Vec::new());
    stage.turn("go").await;
    assert_eq!(stage.model.bodies().len(), 1);
    insta::assert_snapshot!(ending(&stage, 3), @r"
    1/3 model_failed kind=auth attempt=1
    2/3 notice
    3/3 turn_ended reason=failed
    ");
}

#[tokio::test]
async fn an_empty_answer_is_a_failure() {
    let mut stage = Stage::new(script().empty().says("Here."), Vec::new());
    stage.turn("go").await;
    insta::assert_snapshot!(ending(&stage, 4), @r"
    1/2 model_failed kind=empty attempt=1
    2/2 model_requested
    1/2 assistant_message stopReason=end_turn [Here.]
    2/2 turn_ended reason=done
    ");
}

#[tokio::test]
async fn a_cut_answer_leaves_its_text_only_if_the_turn_ends_there() {
    let mut stage = Stage::new(script().cut("Once upon").says("Here."), Vec::new());
    stage.turn("go").await;
    assert!(!stage.outline().contains("Once upon"), "{}", stage.outline());

    let cuts = (0..4).fold(script(), |model, _| model.cut("Once upon"));
    let mut stage = Stage::new(cuts, Vec::new());
    stage.turn("go").await;
    insta::assert_snapshot!(ending(&stage, 4), @r"
    1/4 assistant_message stopReason=error [Once upon]
    2/4 model_failed kind=cut attempt=4
    3/4 notice
    4/4 turn_ended reason=failed
    ");
}

#[tokio::test]
async fn stopping_keeps_what_was_said_and_cancels_what_did_not_run() {
    let mut stage = Stage::new(script().waits_after("I was about to"), Vec::new());
    stage.watcher = Box::new(StopsAtTheFirstWord(stage.cancel.clone()));
    assert_eq!(stage.turn("go").await, Pause::Rest);
    insta::assert_snapshot!(ending(&stage, 3), @r"
    1/3 cancel_requested
    2/3 assistant_message stopReason=cancelled [I was about to]
    3/3 turn_ended reason=cancelled
    ");

    let cancel = CancellationToken::new();
    let hand = cancel.clone();
    let waiting = CountingTool::new("write_a").waiting();
    let waiting = waiting.with_hook(move |_| hand.cancel());
    let never = CountingTool::new("write_b");
    let model = script().calls("", &[("write_a", json!({})), ("write_b", json!({}))]);
    let mut stage = Stage::new(model, vec![Arc::new(waiting), Arc::new(never.clone())]);
    stage.cancel = cancel;
    assert_eq!(stage.turn("go").await, Pause::Rest);
    assert_eq!(never.runs(), 0);
    insta::assert_snapshot!(ending(&stage, 4), @r"
    1/4 tool_result outcome=cancelled [stopped]
    2/4 cancel_requested
    3/4 tool_result outcome=cancelled [Cancelled by the user before it ran.]
    4/4 turn_ended reason=cancelled
    ");
}

#[tokio::test]
async fn a_started_call_is_reported_as_unknown_after_a_restart_and_not_run_again() {
    let write = CountingTool::new("write_b");
    let model = script().calls("", &[("write_b", json!({}))]).says("I will look.");
    let mut stage = Stage::new(model, vec![Arc::new(write.clone())]);
    let files = stage.files.clone();
    let dying = write.clone().with_hook(move |_| files.kill());
    stage.tools = vec![Arc::new(dying)];
    stage.say("go");
    stage.drive().await.unwrap_err();
    assert_eq!(write.runs(), 1);

    stage.files = stage.files.reboot(kith_testkit::files::CrashModel::PowerCut);
    stage.store = kith_sessions::store::SessionStore::new(
        Arc::new(stage.files.clone()),
        "/house/.kith".as_ref(),
    );
    stage.tools = vec![Arc::new(write.clone())];
    stage.reopen();
    assert_eq!(stage.drive().await.unwrap(), Pause::Rest);
    assert_eq!(write.runs(), 1);
    insta::assert_snapshot!(ending(&stage, 6), @r"
    3/3 tool_started
    1/3 resumed
    2/3 tool_result outcome=interrupted [Interrupted: the program ended while this ran. It may or may not have taken effect; look before you try again.]
    3/3 model_requested
    1/2 assistant_message stopReason=end_turn [I will look.]
    2/2 turn_ended reason=done
    ");
}

#[tokio::test]
async fn a_long_output_is_cut_for_the_model_and_kept_whole() {
    let whole = "line\n".repeat(20_000);
    let model = script().calls("", &[("read_a", json!({}))]).says("Long.");
    let mut stage = Stage::new(model, vec![Arc::new(ReadTool::new("read_a", &whole))]);
    assert_eq!(stage.turn("go").await, Pause::Rest);
    let result = stage.session.state().tree.from_leaf().find_map(|event| match &event.body {
        Body::ToolResult(result) => Some(result.clone()),
        _ => None,
    });
    let result = result.unwrap();
    let shown = kith_vocab::block::plain_text(&result.content);
    assert!(shown.len() < 20_000 && shown.contains("bytes left out"), "{}", shown.len());
    let kept = stage.store.read_blob(&result.full_output.unwrap()).unwrap();
    assert_eq!(kept, whole.as_bytes());
}

#[tokio::test]
async fn an_endless_loop_of_calls_is_stopped_and_told() {
    let write = CountingTool::new("write_b");
    let model = (0..60).fold(script(), |model, _| model.calls("", &[("write_b", json!({}))]));
    let mut stage = Stage::new(model, vec![Arc::new(write.clone())]);
    assert_eq!(stage.turn("go").await, Pause::Rest);
    assert_eq!(write.runs(), 5);
    insta::assert_snapshot!(ending(&stage, 3), @r"
    3/5 tool_result outcome=cancelled [Cancelled: the turn ended before it ran.]
    4/5 notice
    5/5 turn_ended reason=bound bound=repeats
    ");

    let write = CountingTool::new("write_b");
    let model =
        (0..60).fold(script(), |model, n| model.calls("", &[("write_b", json!({ "n": n }))]));
    let mut stage = Stage::new(model, vec![Arc::new(write.clone())]);
    assert_eq!(stage.turn("go").await, Pause::Rest);
    assert_eq!(stage.model.bodies().len(), 50);
    assert!(stage.outline().ends_with("turn_ended reason=bound bound=steps\n"));
}

#[tokio::test]
async fn a_failed_write_stops_the_turn_and_the_session() {
    let write = CountingTool::new("write_b");
    let model = script().calls("", &[("write_b", json!({}))]).says("Done.");
    let mut stage = Stage::new(model, vec![Arc::new(write.clone())]);
    let next = stage.files.count() + 3;
    stage.files.plan(next, kith_testkit::files::Fault::Full);
    stage.say("go");
    let error = stage.drive().await.unwrap_err();
    assert!(error.to_string().starts_with("no room on the disk"), "{error}");
    assert_eq!(write.runs(), 0);
    let error = stage.drive().await.unwrap_err();
    assert!(error.to_string().ends_with("must be opened again after a failed write"), "{error}");

    stage.files.lift();
    stage.reopen();
    assert_eq!(stage.drive().await.unwrap(), Pause::Rest);
    assert_eq!(write.runs(), 0, "the request was made again and the script had gone on");
}

struct StopsAtTheFirstWord(CancellationToken);

impl kith_vocab::provider::Tap for StopsAtTheFirstWord {
    fn delta(&self, _: kith_vocab::provider::Delta<'_>) {
        self.0.cancel();
    }
}

impl Watcher for StopsAtTheFirstWord {
    fn written(&self, _: &[kith_vocab::event::Event]) {}
}

/// The last lines of the outline.
fn ending(stage: &Stage, n_lines: usize) -> String {
    let outline = stage.outline();
    let lines: Vec<&str> = outline.lines().collect();
    lines[lines.len().saturating_sub(n_lines)..].join("\n")
}
