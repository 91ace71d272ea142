//! A call that waits for a person: answered by a command, or by nobody.

use kith_sessions::desk::WakeupRecords as _;
use kith_testkit::policies::AskAbout;
use kith_testkit::tools::CountingTool;
use kith_testkit::transcript::transcript;
use kith_vocab::event::calls::{Decision, Via};

use super::*;
use crate::command::CommandAction;
use crate::fixture::DAY_MS;

/// A session that was left while it waits for a person, the tool it wants to run, and the
/// approval's id.
async fn asked() -> (TestHouse, Engine, SessionId, CountingTool, String) {
    let tool = CountingTool::new("write_file");
    let model = Arc::new(script().says("I see."));
    let house = TestHouse::with_tools(&model, vec![Arc::new(tool.clone())]);
    *house.setup.policy.lock().unwrap() = Arc::new(AskAbout::new(["write_file"]));
    let engine = house.engine();
    let log = transcript(
        "snapshot be kind | tools write_file | user: a | started models=scripted | asked model \
         | model: ok, write_file=c1 | hold c1 | asked c1",
    );
    let id = house.adopt(&engine, ROOM, &log.events).await.session_id;
    let approval_id = log.events.iter().find_map(|event| match &event.body {
        Body::ApprovalRequested(it) => Some(it.approval_id.clone()),
        _ => None,
    });
    (house, engine, id, tool, approval_id.unwrap())
}

fn decide(approval_id: &str, decision: Decision) -> CommandAction {
    CommandAction::Decide { approval_id: approval_id.to_owned(), decision, via: Via::Command }
}

#[tokio::test(start_paused = true)]
async fn a_denied_call_does_not_run_and_the_turn_goes_on() {
    let (house, engine, id, tool, approval_id) = asked().await;
    let denied = house.command(&engine, id, decide(&approval_id, Decision::Deny)).await.unwrap();
    assert!(denied.event_id.is_some());
    within(engine.until_rest()).await;
    assert_eq!(tool.runs(), 0);
    insta::assert_snapshot!(house.ending(id, 5), @r"
    1/3 approval_decided
    2/3 tool_result outcome=refused [Refused: it was not allowed.]
    3/3 model_requested
    1/2 assistant_message stopReason=end_turn [I see.]
    2/2 turn_ended reason=done
    ");
    // Who presses the button twice changes nothing.
    let late = house.command(&engine, id, decide(&approval_id, Decision::Allow)).await.unwrap();
    assert_eq!((late.event_id, tool.runs()), (None, 0));
}

#[tokio::test(start_paused = true)]
async fn an_allowed_call_runs_once_if_it_is_still_what_was_asked() {
    let (house, engine, id, tool, approval_id) = asked().await;
    let allowed = house.command(&engine, id, decide(&approval_id, Decision::Allow)).await.unwrap();
    assert!(allowed.event_id.is_some());
    within(engine.until_rest()).await;
    assert_eq!(tool.runs(), 1);
    insta::assert_snapshot!(house.ending(id, 6), @r"
    1/2 approval_decided
    2/2 tool_started
    1/2 tool_result outcome=done [write_file ran, run 1]
    2/2 model_requested
    1/2 assistant_message stopReason=end_turn [I see.]
    2/2 turn_ended reason=done
    ");
    let again = house.command(&engine, id, decide(&approval_id, Decision::Allow)).await.unwrap();
    assert_eq!((again.event_id, tool.runs()), (None, 1));

    let (house, engine, id, tool, approval_id) = asked().await;
    tool.change_world();
    house.command(&engine, id, decide(&approval_id, Decision::Allow)).await.unwrap();
    within(engine.until_rest()).await;
    assert_eq!(tool.runs(), 0);
    insta::assert_snapshot!(house.ending(id, 5), @r"
    1/3 approval_decided
    2/3 tool_result outcome=refused [Refused: what it would act on has changed since it was allowed.]
    3/3 model_requested
    1/2 assistant_message stopReason=end_turn [I see.]
    2/2 turn_ended reason=done
    ");
}

#[tokio::test(start_paused = true)]
async fn a_question_that_nobody_answers_expires_by_itself() {
    for jump in [0, DAY_MS / 2] {
        let (house, engine, id, tool, _) = asked().await;
        engine.run_wakeups();
        engine.wake(id);
        within(engine.until_rest()).await;
        assert_eq!(house.desk.wakeups().await.unwrap().len(), 1);
        house.clock.jump_to(house.clock.now() + jump);
        let mut followed = engine.subscribe(id, &ResumePoint::default()).await.unwrap().1;
        let decided =
            |body: &Body| matches!(body, Body::ApprovalDecided(it) if it.via == Via::Expiry);
        event_of(&mut followed, decided).await;
        event_of(&mut followed, |body| matches!(body, Body::TurnEnded(_))).await;
        assert_eq!(tool.runs(), 0);
    }
}
