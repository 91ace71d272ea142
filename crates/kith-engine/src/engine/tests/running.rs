//! What can be done to a session while its turn runs.

use kith_sessions::desk::{OPEN_ROW_BYTES_MAX, RowTarget};
use kith_testkit::gate::Gate;
use kith_testkit::tools::CountingTool;
use kith_vocab::block::Block;
use kith_vocab::event::Body;
use kith_vocab::event::control::{Level, Limits, Notice, Queue};
use kith_vocab::event::models::FailureKind;
use kith_vocab::ingress::IngressEvent;
use serde_json::json;

use super::*;
use crate::command::{CommandAction, DriverCommand, QueueEdit};
use crate::fixture::{ask_in, steer};

/// Sends a message into a turn that runs, and waits until it is in a queue.
async fn queue(engine: &Engine, event: &IngressEvent) -> RowFollower {
    let mut follower = engine.send(event, RowTarget::Current).await.unwrap();
    loop {
        let progress = within(follower.next()).await.unwrap();
        if let RowProgress::Item(FeedItem::Event(event)) = progress
            && matches!(event.body, Body::QueueUpdate(_))
        {
            return follower;
        }
    }
}

/// Waits until the model was asked so often.
async fn asked(model: &ScriptedModel, n: usize) {
    until(|| model.bodies().len() >= n).await;
}

#[tokio::test(start_paused = true)]
async fn a_message_during_a_turn_waits_in_the_queue_and_is_answered_after_it() {
    let gate = Gate::new();
    let model = Arc::new(script().says("One.").behind(&gate).says("Two."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let first = engine.send(&message("m1", ROOM, "one"), RowTarget::Current).await.unwrap();
    within(gate.reached()).await;
    let second = queue(&engine, &message("m2", ROOM, "two")).await;
    gate.open();
    let (first, second) = (within(first.end()).await.unwrap(), within(second.end()).await.unwrap());
    assert_eq!((first.text.as_str(), second.text.as_str()), ("One.", "Two."));
    insta::assert_snapshot!(house.outline(first.session_id), @r"
    1/5 instruction_snapshot
    2/5 toolset_snapshot
    3/5 user_message [one]
    4/5 turn_started
    5/5 model_requested
    1/1 queue_update follow_up <two>
    1/6 assistant_message stopReason=end_turn [One.]
    2/6 turn_ended reason=done
    3/6 user_message [two]
    4/6 turn_started
    5/6 queue_update follow_up
    6/6 model_requested
    1/2 assistant_message stopReason=end_turn [Two.]
    2/2 turn_ended reason=done
    ");
}

#[tokio::test(start_paused = true)]
async fn a_queue_outlives_a_restart_and_its_first_item_follows_the_last_answer() {
    let gate = Gate::new();
    let model = Arc::new(script().says("Lost.").behind(&gate).says("One.").says("Two."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let first = engine.send(&message("m1", ROOM, "one"), RowTarget::Current).await.unwrap();
    within(gate.reached()).await;
    let later = message("m2", ROOM, "two");
    queue(&engine, &later).await;
    engine.kill();
    let engine = house.engine();
    resume(&engine).await;
    assert_eq!(ask(&engine, &later).await.unwrap().text, "Two.");
    let events = house.events(first.session_id());
    let is_taken =
        |body: &Body| matches!(body, Body::UserMessage(it) if it.queue_item_id.is_some());
    let taken = events.iter().find(|it| is_taken(&it.body)).unwrap();
    let answer = events.iter().find(|it| matches!(it.body, Body::AssistantMessage(_))).unwrap();
    assert_eq!(taken.parent_id, Some(answer.id));
}

#[tokio::test(start_paused = true)]
async fn a_steer_is_read_before_the_next_request_of_the_turn() {
    let gate = Gate::new();
    let tool = CountingTool::new("write_file");
    let model = script().calls("Doing.", &[("write_file", json!({}))]).behind(&gate).says("Done.");
    let model = Arc::new(model);
    let house = TestHouse::with_tools(&model, vec![Arc::new(tool.clone())]);
    let engine = house.engine();
    let first = engine.send(&message("m1", ROOM, "go"), RowTarget::Current).await.unwrap();
    within(gate.reached()).await;
    let steered = queue(&engine, &steer("s1", ROOM, "be brief")).await;
    gate.open();
    let report = within(first.end()).await.unwrap();
    assert_eq!(within(steered.end()).await.unwrap().text, "Done.");
    assert_eq!(tool.runs(), 1);
    insta::assert_snapshot!(house.ending(report.session_id, 9), @r"
    1/3 assistant_message stopReason=tool_call [Doing.] [write_file]
    2/3 call_judged verdict=allow reason=the test allows it
    3/3 tool_started
    1/4 tool_result outcome=done [write_file ran, run 1]
    2/4 harness_item [be brief]
    3/4 queue_update steer
    4/4 model_requested
    1/2 assistant_message stopReason=end_turn [Done.]
    2/2 turn_ended reason=done
    ");
    let sent = String::from_utf8(model.bodies()[1].bytes.clone()).unwrap();
    assert!(sent.contains("<system-reminder>\\nbe brief"), "{sent}");
    let events = house.events(report.session_id);
    let at = events.iter().position(|it| matches!(it.body, Body::HarnessItem(_))).unwrap();
    assert_eq!(events[at].parent_id, Some(events[at - 1].id), "it follows what was there then");
}

#[tokio::test(start_paused = true)]
async fn a_steer_after_the_last_answer_makes_the_model_speak_again() {
    let gate = Gate::new();
    let model = Arc::new(script().says("One.").behind(&gate).says("Shorter."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let first = engine.send(&message("m1", ROOM, "go"), RowTarget::Current).await.unwrap();
    within(gate.reached()).await;
    queue(&engine, &steer("s1", ROOM, "shorter")).await;
    gate.open();
    let report = within(first.end()).await.unwrap();
    assert_eq!((report.text.as_str(), report.end), ("Shorter.", MessageEnd::Done));
}

#[tokio::test(start_paused = true)]
async fn another_client_cancels_and_what_was_said_is_kept() {
    let model = Arc::new(script().waits_after("I was about to"));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let mut first = engine.send(&message("m1", ROOM, "go"), RowTarget::Current).await.unwrap();
    while !matches!(within(first.next()).await.unwrap(), RowProgress::Item(FeedItem::Delta(_))) {}
    let id = first.session_id();
    let cancelled = house.command(&engine, id, CommandAction::Cancel { key: None }).await.unwrap();
    assert!(cancelled.event_id.is_some());
    let report = within(first.end()).await.unwrap();
    assert_eq!((report.text.as_str(), report.end), ("I was about to", MessageEnd::Cancelled));
    insta::assert_snapshot!(house.ending(id, 3), @r"
    1/1 cancel_requested
    1/2 assistant_message stopReason=cancelled [I was about to]
    2/2 turn_ended reason=cancelled
    ");
    let nothing = house.command(&engine, id, CommandAction::Cancel { key: None }).await.unwrap();
    assert_eq!(nothing.event_id, None);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_does_not_stop_is_given_up() {
    let model = Arc::new(script().hangs().says("Next."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let first = engine.send(&message("m1", ROOM, "go"), RowTarget::Current).await.unwrap();
    let id = first.session_id();
    asked(&model, 1).await;
    house.command(&engine, id, CommandAction::Cancel { key: None }).await.unwrap();
    let report = within(first.end()).await.unwrap();
    assert_eq!(report.end, MessageEnd::Cancelled);
    assert_eq!(ask(&engine, &message("m2", ROOM, "on")).await.unwrap().text, "Next.");
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_does_not_stop_is_reported_as_unknown() {
    let tool = CountingTool::new("write_file").hanging();
    let model = Arc::new(script().calls("", &[("write_file", json!({}))]));
    let house = TestHouse::with_tools(&model, vec![Arc::new(tool.clone())]);
    let engine = house.engine();
    let first = engine.send(&message("m1", ROOM, "go"), RowTarget::Current).await.unwrap();
    let id = first.session_id();
    until(|| tool.runs() > 0).await;
    house.command(&engine, id, CommandAction::Cancel { key: None }).await.unwrap();
    assert_eq!(within(first.end()).await.unwrap().end, MessageEnd::Cancelled);
    insta::assert_snapshot!(house.ending(id, 3), @r"
    1/1 cancel_requested
    1/2 tool_result outcome=interrupted [Interrupted: this was told to stop and did not. It may still take effect; look before you try again.]
    2/2 turn_ended reason=cancelled
    ");
}

#[tokio::test(start_paused = true)]
async fn a_turn_ends_at_its_time_whatever_the_model_does() {
    for model in [script().waits(), script().hangs()] {
        let model = Arc::new(model);
        let house = TestHouse::new(&model);
        *house.setup.limits.lock().unwrap() = Limits { wall_ms: 5_000, ..Limits::default() };
        let engine = house.engine();
        let report = ask(&engine, &message("m1", ROOM, "go")).await.unwrap();
        let wall = kith_vocab::event::control::Bound::Wall;
        assert_eq!(report.end, MessageEnd::Bound(Some(wall)), "{report:?}");
        assert_eq!(model.bodies().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn somebodys_own_ctrl_c_stops_only_what_their_message_began() {
    let gate = Gate::new();
    let model = Arc::new(script().says("One.").behind(&gate).says("Three."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let first = engine.send(&message("m1", ROOM, "one"), RowTarget::Current).await.unwrap();
    within(gate.reached()).await;
    let second = queue(&engine, &message("m2", ROOM, "two")).await;
    let third = queue(&engine, &message("m3", ROOM, "three")).await;
    let key = Some(second.key().to_owned());
    house.command(&engine, first.session_id(), CommandAction::Cancel { key }).await.unwrap();
    assert_eq!(within(second.end()).await.unwrap().end, MessageEnd::Removed);
    gate.open();
    assert_eq!(within(first.end()).await.unwrap().text, "One.");
    assert_eq!(within(third.end()).await.unwrap().text, "Three.");
}

#[tokio::test(start_paused = true)]
async fn the_queue_is_edited_moved_and_held() {
    let gate = Gate::new();
    let model = Arc::new(
        script().fails(FailureKind::Auth, false).behind(&gate).says("Three.").says("Two."),
    );
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let first = engine.send(&message("m1", ROOM, "one"), RowTarget::Current).await.unwrap();
    within(gate.reached()).await;
    let second = queue(&engine, &message("m2", ROOM, "two")).await;
    let third = queue(&engine, &message("m3", ROOM, "three")).await;
    let id = first.session_id();
    let edit = |edit| CommandAction::EditQueue { queue: Queue::FollowUp, edit };
    // An item that is not there says so, and by now both are.
    let wrong = QueueEdit::Remove { item_id: "no".to_owned(), updated_at: None };
    let error = house.command(&engine, id, edit(wrong)).await.unwrap_err();
    assert!(matches!(error, EngineError::NoQueueItem { .. }), "{error}");
    let moved = house.command(
        &engine,
        id,
        edit(QueueEdit::Move { item_id: queued(&house, id)[1].clone(), updated_at: None, to: 0 }),
    );
    let answer = moved.await.unwrap();
    let item = answer.follow_ups[1].clone();
    let content = vec![Block::text("two, really")];
    let stale = QueueEdit::Replace { item_id: item.id.clone(), updated_at: 1, content };
    let error = house.command(&engine, id, edit(stale)).await.unwrap_err();
    assert!(matches!(error, EngineError::QueueItemChanged { .. }), "{error}");
    let content = vec![Block::text("two, really")];
    let (item_id, updated_at) = (item.id, item.updated_at);
    let replace = QueueEdit::Replace { item_id, updated_at, content };
    house.command(&engine, id, edit(replace)).await.unwrap();
    gate.open();
    assert_eq!(within(first.end()).await.unwrap().end, MessageEnd::Failed);
    // The turn before them failed, so a person looks before the queue goes on.
    assert_eq!(within(second.end()).await.unwrap().end, MessageEnd::Held);
    assert_eq!(within(third.end()).await.unwrap().end, MessageEnd::Held);
    assert_eq!(model.bodies().len(), 1);
    house.command(&engine, id, CommandAction::TakeNext).await.unwrap();
    within(engine.until_rest()).await;
    let said: Vec<String> = house
        .outline(id)
        .lines()
        .filter_map(|line| line.split_once("user_message ").map(|(_, said)| said.to_owned()))
        .collect();
    assert_eq!(said, ["[one]", "[three]", "[two, really]"]);
    assert!(house.desk_is_clear(id).await);
}

#[tokio::test(start_paused = true)]
async fn a_held_queue_goes_on_when_the_next_message_is_answered() {
    let gate = Gate::new();
    let model = script().fails(FailureKind::Auth, false).behind(&gate);
    let model = model.fails(FailureKind::Auth, false).says("Three.").says("Two.");
    let model = Arc::new(model);
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let first = engine.send(&message("m1", ROOM, "one"), RowTarget::Current).await.unwrap();
    within(gate.reached()).await;
    let second = queue(&engine, &message("m2", ROOM, "two")).await;
    let id = first.session_id();
    gate.open();
    assert_eq!(within(first.end()).await.unwrap().end, MessageEnd::Failed);
    assert_eq!(within(second.end()).await.unwrap().end, MessageEnd::Held);
    // A message that fails as well leaves the queue held.
    let failed = ask(&engine, &message("m3", ROOM, "again")).await.unwrap();
    assert_eq!(failed.end, MessageEnd::Failed);
    within(engine.until_rest()).await;
    assert_eq!((queued(&house, id).len(), model.bodies().len()), (1, 2));
    let answered = ask(&engine, &message("m4", ROOM, "three")).await.unwrap();
    assert_eq!(answered.text, "Three.");
    within(engine.until_rest()).await;
    assert_eq!((queued(&house, id).len(), model.bodies().len()), (0, 4));
    assert!(house.desk_is_clear(id).await);
}

#[tokio::test(start_paused = true)]
async fn a_held_queue_is_not_released_by_what_nobody_attends() {
    let (first_gate, second_gate) = (Gate::new(), Gate::new());
    let model = script().fails(FailureKind::Auth, false).behind(&first_gate).says("Beat.");
    let model = model.says("Beat again.").behind(&second_gate).says("Two.").says("Four.");
    let model = Arc::new(model);
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let unattended =
        |key: &str| IngressEvent { attended: false, ..message(key, ROOM, "heartbeat") };
    let first = engine.send(&message("m1", ROOM, "one"), RowTarget::Current).await.unwrap();
    within(first_gate.reached()).await;
    let second = queue(&engine, &message("m2", ROOM, "two")).await;
    let id = first.session_id();
    first_gate.open();
    assert_eq!(within(second.end()).await.unwrap().end, MessageEnd::Held);
    house.clock.advance(1_000);
    let beat = ask(&engine, &unattended("b1")).await.unwrap();
    assert_eq!((beat.text.as_str(), beat.end), ("Beat.", MessageEnd::Done));
    within(engine.until_rest()).await;
    assert_eq!((queued(&house, id).len(), model.bodies().len()), (1, 2));
    // A later host reads it in the log.
    engine.kill();
    let engine = house.engine();
    let beat = engine.send(&unattended("b2"), RowTarget::Current).await.unwrap();
    within(second_gate.reached()).await;
    // A person who speaks meanwhile has acted.
    let fourth = queue(&engine, &message("m4", ROOM, "four")).await;
    second_gate.open();
    assert_eq!(within(beat.end()).await.unwrap().text, "Beat again.");
    assert_eq!(within(fourth.end()).await.unwrap().text, "Four.");
    within(engine.until_rest()).await;
    assert_eq!((queued(&house, id).len(), model.bodies().len()), (0, 5));
    assert!(house.desk_is_clear(id).await);
}

#[tokio::test(start_paused = true)]
async fn a_held_message_of_a_schedule_goes_on_when_a_person_says_so() {
    let gate = Gate::new();
    let model = script().fails(FailureKind::Auth, false).behind(&gate).says("Beat.").says("Two.");
    let model = Arc::new(model);
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let first = engine.send(&message("m1", ROOM, "one"), RowTarget::Current).await.unwrap();
    within(gate.reached()).await;
    let beat = IngressEvent { attended: false, ..message("b1", ROOM, "heartbeat") };
    queue(&engine, &beat).await;
    queue(&engine, &message("m2", ROOM, "two")).await;
    let id = first.session_id();
    gate.open();
    within(first.end()).await.unwrap();
    within(engine.until_rest()).await;
    house.command(&engine, id, CommandAction::TakeNext).await.unwrap();
    within(engine.until_rest()).await;
    // What follows the first of them goes on too.
    assert_eq!((queued(&house, id).len(), model.bodies().len()), (0, 3));
}

#[tokio::test(start_paused = true)]
async fn messages_that_wait_are_not_edited_beyond_the_limit_of_what_waits() {
    let gate = Gate::new();
    let model = Arc::new(script().says("One.").behind(&gate));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let first = engine.send(&message("m1", ROOM, "one"), RowTarget::Current).await.unwrap();
    within(gate.reached()).await;
    queue(&engine, &message("m2", ROOM, "two")).await;
    queue(&engine, &message("m3", ROOM, "three")).await;
    let id = first.session_id();
    until(|| queued(&house, id).len() == 2).await;
    let items = crate::state::State::of(&house.events(id)).follow_ups;
    let half = usize::try_from(OPEN_ROW_BYTES_MAX / 2).unwrap();
    for (item, n_bytes, expected) in [
        (&items[0], half, "taken"),
        (&items[1], half + 1, "the waiting messages would have 16777217 bytes"),
        (&items[1], half, "taken"),
    ] {
        let (item_id, updated_at) = (item.id.clone(), item.updated_at);
        let content = vec![Block::text("m".repeat(n_bytes))];
        let edit = QueueEdit::Replace { item_id, updated_at, content };
        let action = CommandAction::EditQueue { queue: Queue::FollowUp, edit };
        let answer = house.command(&engine, id, action).await;
        let actual = answer.map_or_else(|error| error.to_string(), |_| "taken".to_owned());
        assert!(actual.starts_with(expected), "{actual}");
    }
}

fn queued(house: &TestHouse, id: SessionId) -> Vec<String> {
    let state = crate::state::State::of(&house.events(id));
    state.follow_ups.into_iter().map(|item| item.id).collect()
}

#[tokio::test(start_paused = true)]
async fn a_failed_turn_is_retried_in_place_and_nothing_runs_twice() {
    let tool = CountingTool::new("write_file");
    let model = script()
        .calls("Doing.", &[("write_file", json!({}))])
        .fails(FailureKind::Auth, false)
        .says("Done.");
    let model = Arc::new(model);
    let house = TestHouse::with_tools(&model, vec![Arc::new(tool.clone())]);
    let engine = house.engine();
    let event = message("m1", ROOM, "go");
    let report = ask(&engine, &event).await.unwrap();
    assert_eq!(report.end, MessageEnd::Failed);
    let id = report.session_id;
    house.command(&engine, id, CommandAction::Retry { key: None, attended: true }).await.unwrap();
    within(engine.until_rest()).await;
    let report = ask(&engine, &event).await.unwrap();
    assert_eq!((report.text.as_str(), report.end), ("Done.", MessageEnd::Done));
    assert_eq!((tool.runs(), model.bodies().len()), (1, 3));
    let error = house
        .command(&engine, id, CommandAction::Retry { key: None, attended: true })
        .await
        .unwrap_err();
    assert!(matches!(error, EngineError::NothingToRetry { .. }), "{error}");
    insta::assert_snapshot!(house.ending(id, 7), @r"
    1/3 model_failed kind=auth attempt=1
    2/3 notice
    3/3 turn_ended reason=failed
    1/2 turn_started
    2/2 model_requested
    1/2 assistant_message stopReason=end_turn [Done.]
    2/2 turn_ended reason=done
    ");
}

#[tokio::test(start_paused = true)]
async fn a_command_repeated_under_its_id_gets_the_first_answer() {
    let model = Arc::new(script().says("One.").says("Two."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let first = ask(&engine, &message("m1", ROOM, "one")).await.unwrap();
    ask(&engine, &message("m2", ROOM, "two")).await.unwrap();
    let id = first.session_id;
    let (command_id, leaf) = (house.new_event_id(), LeafId::from(first.leaf));
    let command = DriverCommand {
        id: command_id,
        client_id: "cli".to_owned(),
        user_id: "owner".to_owned(),
        action: CommandAction::Branch { to: leaf, expected_leaf: None },
    };
    let answer = engine.command(id, command.clone()).await.unwrap();
    let file = house.file(id);
    assert_eq!(engine.command(id, command.clone()).await.unwrap(), answer);
    engine.kill();
    let engine = house.engine();
    assert_eq!(engine.command(id, command).await.unwrap(), answer);
    assert_eq!((answer.leaf, house.file(id)), (leaf, file));
}

#[tokio::test(start_paused = true)]
async fn a_thread_has_one_open_turn_whatever_session_it_is_in() {
    let gate = Gate::new();
    let model = Arc::new(script().says("One.").behind(&gate).says("Two."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let first = engine.send(&message("m1", ROOM, "one"), RowTarget::Current).await.unwrap();
    within(gate.reached()).await;
    let second = engine.send(&message("m2", ROOM, "two"), RowTarget::New).await.unwrap();
    pass_a_while().await;
    assert_eq!(model.bodies().len(), 1);
    gate.open();
    assert_eq!(within(first.end()).await.unwrap().text, "One.");
    let second = within(second.end()).await.unwrap();
    assert_eq!(second.text, "Two.");
    assert_ne!(second.session_id, house.store().list().unwrap()[0]);
}

#[tokio::test(start_paused = true)]
async fn who_delivers_a_message_again_while_its_turn_is_retried_waits_for_that() {
    let gate = Gate::new();
    let model = script().fails(FailureKind::Auth, false).says("Done.").behind(&gate);
    let model = Arc::new(model);
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let event = message("m1", ROOM, "go");
    let report = ask(&engine, &event).await.unwrap();
    assert_eq!(report.end, MessageEnd::Failed);
    house
        .command(&engine, report.session_id, CommandAction::Retry { key: None, attended: true })
        .await
        .unwrap();
    within(gate.reached()).await;
    let again = engine.send(&event, RowTarget::Current).await.unwrap();
    gate.open();
    let report = within(again.end()).await.unwrap();
    assert_eq!((report.text.as_str(), report.end), ("Done.", MessageEnd::Done));
}

#[tokio::test(start_paused = true)]
async fn a_message_that_waits_for_its_thread_can_be_taken_back() {
    let gate = Gate::new();
    let model = Arc::new(script().says("One.").behind(&gate).says("Three.").says("Four."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let first = engine.send(&message("m1", ROOM, "one"), RowTarget::Current).await.unwrap();
    let id = first.session_id();
    within(gate.reached()).await;
    let second = engine.send(&message("m2", ROOM, "two"), RowTarget::New).await.unwrap();
    let other = second.session_id();
    pass_a_while().await;
    let key = Some(second.key().to_owned());
    let command = DriverCommand {
        id: house.new_event_id(),
        client_id: "cli".to_owned(),
        user_id: "owner".to_owned(),
        action: CommandAction::Cancel { key },
    };
    let answer = engine.command(other, command.clone()).await.unwrap();
    assert_eq!(answer.event_id, Some(command.id));
    assert_eq!(engine.command(other, command).await.unwrap(), answer);
    assert_eq!(within(second.end()).await.unwrap().end, MessageEnd::Removed);
    gate.open();
    assert_eq!(within(first.end()).await.unwrap().text, "One.");
    within(engine.until_rest()).await;
    assert!(house.desk_is_clear(other).await);
    // Neither session holds up the other.
    let third = ask_in(&engine, &message("m3", ROOM, "three"), RowTarget::Session(other)).await;
    assert_eq!(third.unwrap().text, "Three.");
    let fourth = ask_in(&engine, &message("m4", ROOM, "four"), RowTarget::Session(id)).await;
    assert_eq!(fourth.unwrap().text, "Four.");
}

#[tokio::test(start_paused = true)]
async fn a_message_that_comes_while_a_stopped_turn_winds_down_is_answered() {
    let model = Arc::new(script().hangs().says("Next."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let first = engine.send(&message("m1", ROOM, "go"), RowTarget::Current).await.unwrap();
    asked(&model, 1).await;
    let cancel = CommandAction::Cancel { key: None };
    house.command(&engine, first.session_id(), cancel).await.unwrap();
    let next = engine.send(&message("m2", ROOM, "on"), RowTarget::Current).await.unwrap();
    let report = within(next.end()).await.unwrap();
    assert_eq!((report.text.as_str(), report.end), ("Next.", MessageEnd::Done));
}

#[tokio::test(start_paused = true)]
async fn a_retry_by_message_takes_up_only_the_turn_of_that_message() {
    let model = Arc::new(script().fails(FailureKind::Auth, false).waits().says("Again."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let failed = ask(&engine, &message("m1", ROOM, "one")).await.unwrap();
    let second = engine.send(&message("m2", ROOM, "two"), RowTarget::Current).await.unwrap();
    asked(&model, 2).await;
    let (id, retry) = (failed.session_id, |key: &str| CommandAction::Retry {
        key: Some(key.to_owned()),
        attended: true,
    });
    house.command(&engine, id, CommandAction::Cancel { key: None }).await.unwrap();
    within(second.end()).await.unwrap();
    let refused = house.command(&engine, id, retry("cli:local:m1")).await.unwrap_err();
    assert!(matches!(refused, EngineError::NothingToRetry { .. }), "{refused}");
    let retried = house.command(&engine, id, retry("cli:local:m2")).await.unwrap();
    assert_eq!(retried.message_key.as_deref(), Some("cli:local:m2"));
    let report = within(engine.follow_key(id, "cli:local:m2").await.unwrap().end()).await.unwrap();
    assert_eq!((report.text.as_str(), model.bodies().len()), ("Again.", 3));
}

#[tokio::test(start_paused = true)]
async fn somebodys_own_ctrl_c_stops_a_turn_that_was_retried() {
    let model = Arc::new(script().fails(FailureKind::Auth, false).waits());
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let id = ask(&engine, &message("m1", ROOM, "one")).await.unwrap().session_id;
    let retry = CommandAction::Retry { key: None, attended: true };
    house.command(&engine, id, retry).await.unwrap();
    asked(&model, 2).await;
    let of_another = CommandAction::Cancel { key: Some("cli:local:m2".to_owned()) };
    assert_eq!(house.command(&engine, id, of_another).await.unwrap().event_id, None);
    let own = CommandAction::Cancel { key: Some("cli:local:m1".to_owned()) };
    assert!(house.command(&engine, id, own).await.unwrap().event_id.is_some());
    let report = within(engine.follow_key(id, "cli:local:m1").await.unwrap().end()).await.unwrap();
    assert_eq!(report.end, MessageEnd::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_cannot_be_looked_at_in_time_does_not_prolong_its_turn() {
    let tool = CountingTool::new("write_file").hanging_in_prepare();
    let model = Arc::new(script().calls("", &[("write_file", json!({}))]));
    let house = TestHouse::with_tools(&model, vec![Arc::new(tool.clone())]);
    *house.setup.limits.lock().unwrap() = Limits { wall_ms: 5_000, ..Limits::default() };
    let engine = house.engine();
    let report = ask(&engine, &message("m1", ROOM, "go")).await.unwrap();
    let wall = kith_vocab::event::control::Bound::Wall;
    assert_eq!((report.end, tool.runs()), (MessageEnd::Bound(Some(wall)), 0));
    insta::assert_snapshot!(house.ending(report.session_id, 3), @r"
    1/3 tool_result outcome=refused [Refused: looking at what it would do took longer than the turn may last.]
    2/3 notice
    3/3 turn_ended reason=bound bound=wall
    ");
}

#[tokio::test(start_paused = true)]
async fn a_command_under_the_id_of_an_event_breaks_nothing() {
    let gate = Gate::new();
    let model = Arc::new(script().says("One.").behind(&gate));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let first = engine.send(&message("m1", ROOM, "go"), RowTarget::Current).await.unwrap();
    within(gate.reached()).await;
    let id = first.session_id();
    let taken = house.events(id).pop().unwrap().id;
    let body = Body::Notice(Notice { text: String::new().into(), level: Level::Info, about: None });
    let action = CommandAction::Append(Box::new(body));
    let (client_id, user_id) = ("test".to_owned(), "owner".to_owned());
    let command = DriverCommand { id: taken, client_id, user_id, action };
    engine.command(id, command).await.unwrap();
    gate.open();
    assert_eq!(within(first.end()).await.unwrap().text, "One.");
}

#[tokio::test(start_paused = true)]
async fn a_turn_ends_at_its_time_whatever_a_tool_does() {
    let tool = CountingTool::new("write_file").hanging();
    let model = Arc::new(script().calls("", &[("write_file", json!({}))]));
    let house = TestHouse::with_tools(&model, vec![Arc::new(tool.clone())]);
    *house.setup.limits.lock().unwrap() = Limits { wall_ms: 5_000, ..Limits::default() };
    let engine = house.engine();
    let report = ask(&engine, &message("m1", ROOM, "go")).await.unwrap();
    let wall = kith_vocab::event::control::Bound::Wall;
    assert_eq!((report.end, tool.runs()), (MessageEnd::Bound(Some(wall)), 1), "{report:?}");
}
