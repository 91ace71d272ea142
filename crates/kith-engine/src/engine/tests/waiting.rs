//! Waits, wake-ups, and clocks that are put right while something waits.

use kith_sessions::desk::{RowTarget, WakeupRecords as _};
use kith_testkit::gate::Gate;
use kith_testkit::scripted::ScriptedTurn;
use kith_testkit::tools::CountingTool;
use kith_vocab::event::control::Limits;
use kith_vocab::event::models::FailureKind;
use kith_vocab::provider::FailureCause;
use serde_json::json;

use super::*;
use crate::fixture::{DAY_MS, steer};

const HOUR_MS: u64 = 60 * 60 * 1000;
const MINUTE_MS: u64 = 60 * 1000;

/// A model that wants to be asked again in so many milliseconds, and then answers.
fn busy_for(wait_ms: u64) -> ScriptedModel {
    let cause = FailureCause::Failed {
        kind: FailureKind::Status,
        message: "rate limit reached".to_owned(),
        retryable: true,
        retry_after_ms: Some(wait_ms),
    };
    script().then(ScriptedTurn::Breaks { partial: String::new(), cause }).says("Now.")
}

/// Sends a message and waits until its turn waits for the model.
async fn wait_for_model(house: &TestHouse, engine: &Engine) -> (RowFollower, SessionId) {
    let mut follower = engine.send(&message("m1", ROOM, "go"), RowTarget::Current).await.unwrap();
    let id = follower.session_id();
    loop {
        if let RowProgress::Item(FeedItem::Event(event)) = within(follower.next()).await.unwrap()
            && matches!(event.body, Body::ModelFailed(_))
        {
            assert_eq!(house.events(id).last().unwrap().id, event.id);
            return (follower, id);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_put_right_neither_ends_nor_prolongs_a_wait() {
    let start = TestHouse::new(&Arc::new(script())).clock.now();
    for wrong in [start + DAY_MS, start - DAY_MS] {
        let model = Arc::new(busy_for(50_000));
        let house = TestHouse::new(&model);
        *house.setup.limits.lock().unwrap() = Limits { wall_ms: HOUR_MS, ..Limits::default() };
        let engine = house.engine();
        let (follower, _) = wait_for_model(&house, &engine).await;
        let before = house.clock.monotonic();
        house.clock.jump_to(wrong);
        let report = within(follower.end()).await.unwrap();
        assert_eq!((report.text.as_str(), report.end), ("Now.", MessageEnd::Done));
        let waited = house.clock.monotonic() - before;
        assert!((50_000..60_000).contains(&waited), "{waited}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_put_right_does_not_end_a_turn() {
    let start = TestHouse::new(&Arc::new(script())).clock.now();
    for wrong in [start + DAY_MS, start - DAY_MS] {
        let gate = Gate::new();
        let model = script().calls("", &[("write_file", json!({}))]).behind(&gate).says("Done.");
        let model = Arc::new(model);
        let house = TestHouse::new(&model);
        *house.setup.limits.lock().unwrap() = Limits { wall_ms: HOUR_MS, ..Limits::default() };
        let engine = house.engine();
        let event = message("m1", ROOM, "go");
        let follower = engine.send(&event, RowTarget::Current).await.unwrap();
        within(gate.reached()).await;
        house.clock.jump_to(wrong);
        gate.open();
        assert_eq!(within(follower.end()).await.unwrap().end, MessageEnd::Done);
        // What it was given for its requests was measured by the same clock.
        let hour = std::time::Duration::from_hours(1);
        assert_eq!(model.times_left(), [hour, hour]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_day_without_a_host_does_not_count_against_a_turn() {
    let tool = CountingTool::new("write_file");
    let model = script().calls("", &[("write_file", json!({}))]).waits().says("Done.");
    let model = Arc::new(model);
    let house = TestHouse::with_tools(&model, vec![Arc::new(tool.clone())]);
    *house.setup.limits.lock().unwrap() = Limits { wall_ms: HOUR_MS, ..Limits::default() };
    let engine = house.engine();
    let event = message("m1", ROOM, "go");
    engine.send(&event, RowTarget::Current).await.unwrap();
    until(|| model.bodies().len() == 2).await;
    // Half of its time has passed when the host is lost.
    house.clock.advance(HOUR_MS / 2);
    engine.kill();
    house.clock.advance(DAY_MS);
    let engine = house.engine();
    resume(&engine).await;
    let report = ask(&engine, &event).await.unwrap();
    assert_eq!((report.text.as_str(), report.end), ("Done.", MessageEnd::Done));
    assert_eq!(tool.runs(), 1);
}

#[tokio::test(start_paused = true)]
async fn waiting_for_the_thread_does_not_count_against_a_turn_that_was_cut_short() {
    let gate = Gate::new();
    let model = script().waits().says("Elsewhere.").behind(&gate).says("Done.");
    let model = Arc::new(model);
    let house = TestHouse::new(&model);
    *house.setup.limits.lock().unwrap() = Limits { wall_ms: HOUR_MS, ..Limits::default() };
    let engine = house.engine();
    let cut_short = message("m1", ROOM, "go");
    let id = engine.send(&cut_short, RowTarget::Current).await.unwrap().session_id();
    until(|| model.bodies().len() == 1).await;
    engine.kill();
    let engine = house.engine();
    let other = engine.send(&message("m2", ROOM, "a new one"), RowTarget::New).await.unwrap();
    within(gate.reached()).await;
    engine.wake(id);
    pass_a_while().await;
    house.clock.advance(DAY_MS);
    let steer = engine.send(&steer("m3", ROOM, "soon"), RowTarget::Session(id)).await.unwrap();
    pass_a_while().await;
    gate.open();
    within(other.end()).await.unwrap();
    assert_eq!(within(steer.end()).await.unwrap().end, MessageEnd::Done);
    let report = ask(&engine, &cut_short).await.unwrap();
    assert_eq!((report.text.as_str(), report.end), ("Done.", MessageEnd::Done));
}

/// A turn that must wait for ten minutes and a bit, because the clock was put back while no host
/// ran.
async fn waits_for_ten_minutes(model: &Arc<ScriptedModel>) -> (TestHouse, Engine, SessionId) {
    let house = TestHouse::new(model);
    let engine = house.engine();
    let (_, id) = wait_for_model(&house, &engine).await;
    engine.kill();
    house.clock.jump_to(house.clock.now() - 10 * MINUTE_MS);
    let engine = house.engine();
    assert_eq!(resume(&engine).await, [id]);
    assert_eq!(model.bodies().len(), 1);
    (house, engine, id)
}

/// Waits for the end of the only turn, and says how long that took.
async fn until_ended(house: &TestHouse, engine: &Engine, id: SessionId) -> u64 {
    let before = house.clock.monotonic();
    let mut followed = engine.subscribe(id, &ResumePoint::default()).await.unwrap().1;
    event_of(&mut followed, |body| matches!(body, Body::TurnEnded(_))).await;
    house.clock.monotonic() - before
}

#[tokio::test(start_paused = true)]
async fn a_long_wait_is_a_row_of_the_desk_and_outlives_its_driver() {
    let model = Arc::new(busy_for(50_000));
    let (house, engine, id) = waits_for_ten_minutes(&model).await;
    // No driver, no timer: without somebody who looks at the desk nothing happens.
    assert_eq!(engine.n_sessions(), (0, 1));
    let wakeups = house.desk.wakeups().await.unwrap();
    assert_eq!(wakeups.len(), 1);
    assert_eq!(wakeups[0].at - house.clock.now(), 10 * MINUTE_MS + 50_000);
    engine.run_wakeups();
    let waited = until_ended(&house, &engine, id).await;
    assert!((10 * MINUTE_MS..12 * MINUTE_MS).contains(&waited), "{waited}");
    assert_eq!(model.bodies().len(), 2);
    assert!(house.desk.wakeups().await.unwrap().is_empty());
    within(engine.until_rest()).await;
    assert!(house.desk_is_clear(id).await);
}

#[tokio::test(start_paused = true)]
async fn a_wakeup_that_was_lost_is_set_again_when_its_session_is_opened() {
    let model = Arc::new(busy_for(50_000));
    let (mut house, engine, id) = waits_for_ten_minutes(&model).await;
    engine.kill();
    house.desk = house.desk.crash(0);
    assert!(house.desk.wakeups().await.unwrap().is_empty());
    let engine = house.engine();
    resume(&engine).await;
    assert_eq!(house.desk.wakeups().await.unwrap().len(), 1);
    engine.run_wakeups();
    until_ended(&house, &engine, id).await;
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_put_right_during_a_long_wait_ends_it_at_the_right_time() {
    // Forward: the row of the desk is due, and the wait is not over.
    let model = Arc::new(busy_for(50_000));
    let (house, engine, id) = waits_for_ten_minutes(&model).await;
    engine.run_wakeups();
    house.clock.jump_to(house.clock.now() + DAY_MS);
    let waited = until_ended(&house, &engine, id).await;
    assert!((10 * MINUTE_MS..13 * MINUTE_MS).contains(&waited), "{waited}");

    // Back: the row of the desk seems to be a day ahead.
    let model = Arc::new(busy_for(50_000));
    let (house, engine, id) = waits_for_ten_minutes(&model).await;
    engine.run_wakeups();
    house.clock.jump_to(house.clock.now() - DAY_MS);
    let waited = until_ended(&house, &engine, id).await;
    assert!((10 * MINUTE_MS..13 * MINUTE_MS).contains(&waited), "{waited}");
}

#[tokio::test(start_paused = true)]
async fn a_time_to_try_again_that_is_more_than_an_hour_ahead_counts_as_due() {
    let model = Arc::new(busy_for(50_000));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let (_, id) = wait_for_model(&house, &engine).await;
    engine.kill();
    house.clock.jump_to(house.clock.now() - 2 * HOUR_MS);
    let before = house.clock.monotonic();
    let engine = house.engine();
    resume(&engine).await;
    assert_eq!((model.bodies().len(), house.clock.monotonic()), (2, before));
    assert!(house.desk_is_clear(id).await);
}

#[tokio::test(start_paused = true)]
async fn a_server_on_this_machine_that_loads_its_model_is_waited_for_longer_than_a_vendor() {
    let loading = |n: usize| (0..n).fold(script(), |it, _| it.fails(FailureKind::Loading, true));
    let model = Arc::new(loading(20).says("Ready."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let began = house.clock.now();
    let report = ask(&engine, &message("m1", ROOM, "hello")).await.unwrap();
    assert_eq!((report.text.as_str(), report.end), ("Ready.", MessageEnd::Done));
    let waited = house.clock.now() - began;
    assert!((30_000..60_000).contains(&waited), "{waited}");
    // And not for ever.
    let model = Arc::new(loading(100));
    let house = TestHouse::new(&model);
    let report = ask(&house.engine(), &message("m1", ROOM, "hello")).await.unwrap();
    assert_eq!((report.end, model.bodies().len()), (MessageEnd::Failed, 30));
}

#[tokio::test(start_paused = true)]
async fn a_turn_whose_time_is_over_before_the_next_attempt_ends_at_its_limit() {
    let model = Arc::new(busy_for(50_000));
    let house = TestHouse::new(&model);
    house.setup.limits.lock().unwrap().wall_ms = 5_000;
    let before = house.clock.monotonic();
    let report = ask(&house.engine(), &message("m1", ROOM, "hello")).await.unwrap();
    assert!(matches!(report.end, MessageEnd::Bound(_)), "{report:?}");
    assert_eq!((model.bodies().len(), house.clock.monotonic() - before), (1, 5_000));
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_runs_out_of_time_in_mid_answer_ends_at_its_limit() {
    let model = Arc::new(script().waits_after("So far"));
    let house = TestHouse::new(&model);
    house.setup.limits.lock().unwrap().wall_ms = 5_000;
    let report = ask(&house.engine(), &message("m1", ROOM, "hello")).await.unwrap();
    assert!(matches!(report.end, MessageEnd::Bound(_)), "{report:?}");
    assert_eq!(report.text, "So far");
}
