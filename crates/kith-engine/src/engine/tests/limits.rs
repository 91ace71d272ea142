//! What happens at the limits of the engine, and when a part of it breaks.

use futures_util::FutureExt;
use futures_util::future::join_all;
use kith_sessions::desk::{OPEN_ROWS_MAX, RowTarget};
use kith_sessions::storage::StorageErrorKind;
use kith_testkit::gate::Gate;
use kith_testkit::tools::CountingTool;
use kith_testkit::transcript::transcript;
use kith_vocab::budget::{
    Budget, CapAmount, CapPeriod, CapReached, NoBudget, Settlement, SpendRefusal, SpendRequest,
};
use kith_vocab::event::control::SessionTitleUpdated;
use kith_vocab::event::control::TitleSource;
use kith_vocab::event::models::FailureKind;
use kith_vocab::ids::EventId;
use serde_json::json;

use super::branching::mover;
use super::compaction::with_window;
use super::*;
use crate::command::CommandAction;
use crate::failure::SessionFailure;
use crate::fixture::ask_in;
use crate::mailbox::MAILBOX_MAX;
use crate::permits::RUNNING_TURNS_MAX;
use crate::spending::SpendingReader;

#[tokio::test(start_paused = true)]
async fn a_driver_that_panics_is_reported_and_its_session_opens_again() {
    let tool = CountingTool::new("write_file").with_hook(|_| panic!("the test says so"));
    let model = Arc::new(script().calls("", &[("write_file", json!({}))]).says("I see."));
    let house = TestHouse::with_tools(&model, vec![Arc::new(tool.clone())]);
    let engine = house.engine();
    let row = engine.send(&message("m1", ROOM, "go"), RowTarget::Current).await.unwrap();
    let id = row.session_id();
    let mut followed = engine.subscribe(id, &ResumePoint::default()).await.unwrap().1;
    let error = within(row.end()).await.unwrap_err();
    assert!(matches!(error, EngineError::Failed(SessionFailure::Panicked)), "{error}");
    // Nobody asks again, and it goes on all the same.
    event_of(&mut followed, |body| matches!(body, Body::TurnEnded(_))).await;
    assert_eq!((tool.runs(), house.clock.slept().contains(&1_000)), (1, true));
    insta::assert_snapshot!(house.ending(id, 6), @r"
    3/3 tool_started
    1/3 resumed
    2/3 tool_result outcome=interrupted [Interrupted: the program ended while this ran. It may or may not have taken effect; look before you try again.]
    3/3 model_requested
    1/2 assistant_message stopReason=end_turn [I see.]
    2/2 turn_ended reason=done
    ");
    within(engine.until_rest()).await;
    assert_eq!(engine.n_sessions(), (0, 1));
    // The thread was given back.
    assert_eq!(ask(&engine, &message("m2", ROOM, "on")).await.unwrap().end, MessageEnd::Done);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_too_large_is_not_sent_and_the_conversation_can_go_back() {
    // It could be shortened, but nobody makes the summary.
    let broken = FailureKind::Status;
    let model = script().says("One.").says("Two.").fails(broken, false).fails(broken, false);
    let model = Arc::new(with_window(model.says("Three."), 0));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let long = "x".repeat(6 * 1024 * 1024);
    let first = ask(&engine, &message("m1", ROOM, &long)).await.unwrap();
    ask(&engine, &message("m2", ROOM, &long)).await.unwrap();
    let third = ask(&engine, &message("m3", ROOM, &long)).await.unwrap();
    assert_eq!((third.end, model.bodies().len()), (MessageEnd::Failed, 3));
    let failure = third.failure.unwrap();
    assert!(failure.contains("would have 19 MiB, and the maximum is 16"), "{failure}");
    // The same message again is answered from the log, and asks nobody.
    let again = ask(&engine, &message("m3", ROOM, &long)).await.unwrap();
    assert_eq!((again.end, again.failure), (MessageEnd::Failed, Some(failure.clone())));
    assert_eq!(model.bodies().len(), 3);
    // Another message tries the summary once more.
    let fourth = ask(&engine, &message("m4", ROOM, "and now?")).await.unwrap();
    assert_eq!((fourth.end, model.bodies().len()), (MessageEnd::Failed, 4));
    assert!(fourth.failure.unwrap().contains("the conversation is too long to send"));
    let to = LeafId::Event(first.leaf.unwrap());
    engine.branch(first.session_id, to, mover(&house)).await.unwrap();
    let after = ask(&engine, &message("m5", ROOM, "short")).await.unwrap();
    assert_eq!((after.end, after.text.as_str()), (MessageEnd::Done, "Three."));
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_always_breaks_its_driver_is_given_up() {
    let model = Arc::new(script().with_hook(|_| panic!("the test says so")));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let event = message("m1", ROOM, "go");
    let id = engine.accept(&event, RowTarget::Current).await.unwrap().session_id;
    let mut followed = engine.subscribe(id, &ResumePoint::default()).await.unwrap().1;
    engine.wake(id);
    event_of(&mut followed, |body| matches!(body, Body::TurnEnded(_))).await;
    assert_eq!(model.bodies().len(), 3);
    assert_eq!(ask(&engine, &event).await.unwrap().end, MessageEnd::Failed);
}

#[tokio::test(start_paused = true)]
async fn too_many_commands_are_refused_and_no_row_is_lost() {
    let gate = Gate::new();
    let model = Arc::new(script().says("One.").behind(&gate).says("Two."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let first = engine.send(&message("m1", ROOM, "one"), RowTarget::Current).await.unwrap();
    let id = first.session_id();
    within(gate.reached()).await;
    let title = |n: usize| {
        let title = SessionTitleUpdated { title: format!("{n}"), source: TitleSource::User };
        CommandAction::Append(Box::new(Body::SessionTitleUpdated(title)))
    };
    // The driver does not get to run while these come.
    let commands = (0..MAILBOX_MAX + 3).map(|n| house.command(&engine, id, title(n)));
    let mut commands: Vec<_> = commands.map(Box::pin).collect();
    let refused: Vec<_> = commands.iter_mut().map(FutureExt::now_or_never).collect();
    let accepted = engine.accept(&message("m2", ROOM, "two"), RowTarget::Current).now_or_never();
    let second = engine.follow_row(&accepted.unwrap().unwrap()).await.unwrap();
    engine.wake(id);
    let n_refused = refused.iter().flatten().inspect(|it| {
        assert!(matches!(it, Err(EngineError::Busy { .. })), "{it:?}");
    });
    assert_eq!(n_refused.count(), 3);
    let waiting = commands.into_iter().zip(refused).filter(|(_, it)| it.is_none());
    let answers = within(join_all(waiting.map(|(command, _)| command))).await;
    assert_eq!(answers.into_iter().flatten().count(), MAILBOX_MAX);
    let n_titles = house.outline(id).matches("session_title_updated").count();
    assert_eq!(n_titles, MAILBOX_MAX);
    gate.open();
    assert_eq!(within(first.end()).await.unwrap().text, "One.");
    assert_eq!(within(second.end()).await.unwrap().text, "Two.");
}

#[tokio::test(start_paused = true)]
async fn messages_beyond_the_limit_are_refused_before_they_are_accepted() {
    let gate = Gate::new();
    let model = Arc::new(script().says("One.").behind(&gate));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let mut followers = Vec::new();
    for n in 0..OPEN_ROWS_MAX {
        let event = message(&format!("m{n}"), ROOM, "hi");
        followers.push(engine.send(&event, RowTarget::Current).await.unwrap());
    }
    let error = ask(&engine, &message("more", ROOM, "hi")).await.unwrap_err();
    let EngineError::Storage(error) = error else { panic!("{error}") };
    assert_eq!(error.kind, StorageErrorKind::LimitReached);
    gate.open();
    let ends = within(join_all(followers.into_iter().map(RowFollower::end))).await;
    assert!(ends.into_iter().all(|it| it.unwrap().end == MessageEnd::Done));
    assert_eq!(ask(&engine, &message("more", ROOM, "hi")).await.unwrap().end, MessageEnd::Done);
}

#[tokio::test(start_paused = true)]
async fn so_many_turns_run_at_once_and_the_others_wait_as_rows() {
    let gate = Gate::new();
    let n_threads = RUNNING_TURNS_MAX + 2;
    let model = (0..n_threads).fold(script(), |model, _| model.says("Done.").behind(&gate));
    let model = Arc::new(model);
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let mut followers = Vec::new();
    for n in 0..n_threads {
        let event = message(&format!("m{n}"), &format!("cli:room:{n}"), "hi");
        followers.push(engine.send(&event, RowTarget::Current).await.unwrap());
    }
    until(|| model.bodies().len() >= RUNNING_TURNS_MAX).await;
    pass_a_while().await;
    assert_eq!(model.bodies().len(), RUNNING_TURNS_MAX);
    assert_eq!(house.store().list().unwrap().len(), RUNNING_TURNS_MAX);
    gate.open();
    let ends = within(join_all(followers.into_iter().map(RowFollower::end))).await;
    assert!(ends.into_iter().all(|it| it.unwrap().end == MessageEnd::Done));
    assert_eq!(model.bodies().len(), n_threads);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_waits_for_a_person_is_stopped_when_they_move_on() {
    let tool = CountingTool::new("write_file");
    let model = Arc::new(script().says("Anew."));
    let house = TestHouse::with_tools(&model, vec![Arc::new(tool.clone())]);
    let engine = house.engine();
    let log = transcript(
        "snapshot be kind | tools write_file | user: a | started models=scripted | asked model \
         | model: ok, write_file=c1 | hold c1 | asked c1",
    );
    let id = house.adopt(&engine, ROOM, &log.events).await.session_id;
    engine.wake(id);
    within(engine.until_rest()).await;
    assert_eq!(house.events(id).len(), log.events.len(), "{}", house.outline(id));
    let report = ask_in(&engine, &message("m1", ROOM, "b"), RowTarget::New).await.unwrap();
    assert_eq!((report.text.as_str(), report.session_id == id), ("Anew.", false));
    within(engine.until_rest()).await;
    assert_eq!(tool.runs(), 0);
    insta::assert_snapshot!(house.ending(id, 5), @r"
    1/5 notice
    2/5 cancel_requested
    3/5 approval_decided reason=the turn ended before anyone answered
    4/5 tool_result outcome=cancelled [Cancelled by the user before it ran.]
    5/5 turn_ended reason=cancelled
    ");
}

#[tokio::test(start_paused = true)]
async fn many_long_messages_join_the_queue_in_one_update() {
    let model = Arc::new(script().waits());
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let long = "x".repeat(500_000);
    let mut id = None;
    for n in 0..13 {
        let event = message(&format!("m{n}"), ROOM, &format!("{n} {long}"));
        id = Some(engine.accept(&event, RowTarget::Current).await.unwrap().session_id);
    }
    engine.resume_all().await.unwrap();
    until(|| !model.bodies().is_empty()).await;
    pass_a_while().await;
    let outline = house.outline(id.unwrap());
    let batches: Vec<&str> = outline.lines().skip(5).map(|it| &it[..3]).collect();
    // One update holds them all: one for each would repeat all before it.
    let expected = ["6/6"];
    assert_eq!(batches, expected, "{outline}");
}

/// Lets so many requests pass, and counts what is settled.
#[derive(Default)]
struct CountedBudget {
    n_left: std::sync::atomic::AtomicU64,
    settled: std::sync::Mutex<Vec<EventId>>,
}

impl Budget for CountedBudget {
    fn reserve(&self, request: &SpendRequest<'_>) -> Result<(), SpendRefusal> {
        use std::sync::atomic::Ordering::Relaxed;
        assert!(
            request.most.tokens >= 8_192,
            "without a limit the longest answer is reckoned with"
        );
        let left = self.n_left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
        let cap = CapAmount::CostMicros(1_500_000);
        let reached = CapReached { period: CapPeriod::Day, cap, used: 1_451_000, most: 90_000 };
        left.map(drop).map_err(|_| SpendRefusal::CapReached(reached))
    }

    fn settle(&self, request_id: EventId, settlement: Settlement) {
        let mut settled = self.settled.lock().unwrap();
        if !settled.contains(&request_id) {
            assert!(matches!(settlement, Settlement::Used(usage) if usage.input > 0));
            settled.push(request_id);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_spent_budget_stops_the_turn_with_one_notice_and_the_next_message_works() {
    let call = ("write_file", json!({}));
    let model = script().calls("", std::slice::from_ref(&call)).calls("", &[call]).says("Done.");
    let model = Arc::new(model);
    let house = TestHouse::new(&model);
    let budget = Arc::new(CountedBudget { n_left: 2.into(), ..CountedBudget::default() });
    *house.setup.budget.lock().unwrap() = budget.clone();
    let engine = house.engine();
    let report = ask(&engine, &message("m1", ROOM, "loop")).await.unwrap();
    assert_eq!((report.end, model.bodies().len()), (MessageEnd::Failed, 2));
    within(engine.until_rest()).await;
    let events = house.events(report.session_id);
    let notices: Vec<&str> = events
        .iter()
        .filter_map(|event| match &event.body {
            Body::Notice(it) => Some(it.text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(
        notices,
        ["The model was not asked: 1.451 of 1.5 USD used today, and this request may cost up to \
             0.09 USD. Raise `costPerDay` in `[budget]` of kith.toml, lower `maxTokens`, or \
             continue tomorrow."]
    );
    let is_refusal = |event: &Event| match &event.body {
        Body::ModelFailed(it) => it.kind == FailureKind::Budget && it.retry_at.is_none(),
        _ => false,
    };
    assert!(events.iter().any(is_refusal));
    assert_eq!(budget.settled.lock().unwrap().len(), 2);
    *house.setup.budget.lock().unwrap() = Arc::new(NoBudget);
    let report = ask(&engine, &message("m2", ROOM, "go on")).await.unwrap();
    assert_eq!((report.text.as_str(), report.end), ("Done.", MessageEnd::Done));
}

#[tokio::test(start_paused = true)]
async fn an_empty_answer_counts_with_its_usage() {
    let model = Arc::new(script().empty().says("Done."));
    let house = TestHouse::new(&model);
    let budget = Arc::new(CountedBudget { n_left: 2.into(), ..CountedBudget::default() });
    *house.setup.budget.lock().unwrap() = budget.clone();
    let engine = house.engine();
    let report = ask(&engine, &message("m1", ROOM, "hi")).await.unwrap();
    assert_eq!(report.text, "Done.");
    within(engine.until_rest()).await;
    let events = house.events(report.session_id);
    let (mut reader, mut used) = (SpendingReader::default(), 0);
    for event in &events {
        reader.read(event);
        if let Body::ModelFailed(it) = &event.body {
            used += it.usage.unwrap().input;
        }
        if let Body::AssistantMessage(it) = &event.body {
            used += it.usage.unwrap().input;
        }
    }
    let spent = reader.finish();
    assert_eq!(spent.iter().map(|it| it.usage.input).sum::<u64>(), used);
    assert!(spent.iter().all(|it| it.usage.input > 0 && !it.is_estimate), "{spent:?}");
    assert_eq!(budget.settled.lock().unwrap().len(), 2);
}

/// Lets one request through at a time, whatever it may use.
#[derive(Default)]
struct OneAtATime {
    open: std::sync::Mutex<Option<EventId>>,
    settled: Arc<tokio::sync::Notify>,
    n_waited: std::sync::atomic::AtomicU64,
}

impl Budget for OneAtATime {
    fn reserve(&self, request: &SpendRequest<'_>) -> Result<(), SpendRefusal> {
        let mut open = self.open.lock().unwrap();
        if open.is_some() {
            self.n_waited.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let settled = Arc::clone(&self.settled).notified_owned();
            return Err(SpendRefusal::Wait(Box::pin(settled)));
        }
        *open = Some(request.request_id);
        Ok(())
    }

    fn settle(&self, request_id: EventId, _: Settlement) {
        let mut open = self.open.lock().unwrap();
        if *open == Some(request_id) {
            *open = None;
            self.settled.notify_waiters();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_waits_for_the_budget_can_be_cancelled_and_is_made_when_it_may() {
    let gate = Gate::new();
    let model = script().says("One.").behind(&gate).says("Two.").says("Three.");
    let model = Arc::new(model);
    let house = TestHouse::new(&model);
    let budget = Arc::new(OneAtATime::default());
    *house.setup.budget.lock().unwrap() = budget.clone();
    let engine = house.engine();
    let send = async |key: &str, room: &str| {
        engine.send(&message(key, room, "hi"), RowTarget::Current).await.unwrap()
    };
    let first = send("m1", ROOM).await;
    within(gate.reached()).await;
    let waited = || budget.n_waited.load(std::sync::atomic::Ordering::Relaxed);
    let second = send("m2", "cli:room:b").await;
    until(|| waited() == 1).await;
    let third = send("m3", "cli:room:c").await;
    until(|| waited() == 2).await;
    // Nothing is written while it waits, and it listens.
    let stopped = second.session_id();
    house.command(&engine, stopped, CommandAction::Cancel { key: None }).await.unwrap();
    assert_eq!(within(second.end()).await.unwrap().end, MessageEnd::Cancelled);
    assert_eq!(model.bodies().len(), 1);
    gate.open();
    assert_eq!(within(first.end()).await.unwrap().text, "One.");
    assert_eq!(within(third.end()).await.unwrap().text, "Two.");
    let next = ask(&engine, &message("m4", "cli:room:b", "again")).await.unwrap();
    assert_eq!(next.text, "Three.");
    within(engine.until_rest()).await;
    let asked = house
        .events(stopped)
        .iter()
        .filter(|it| matches!(it.body, Body::ModelRequested(_)))
        .count();
    assert_eq!(asked, 1);
}
