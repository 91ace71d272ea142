//! What the simulation found, each as small as it can be told.

use kith_sessions::desk::{MemoryDesk, RowTarget};
use kith_sessions::journal::{FilesJournal, Journal};
use kith_testkit::files::{CrashModel, Fault, Written};
use kith_testkit::gate::Gate;
use kith_testkit::tools::CountingTool;
use kith_vocab::event::control::EndReason;
use kith_vocab::event::models::FailureKind;
use serde_json::json;

use super::*;
use crate::command::CommandAction;
use crate::feed::Feed;
use crate::fixture::{ask_in, within};
use crate::state::State;

const ROOM: &str = "cli:room:a";

#[tokio::test(start_paused = true)]
async fn taking_back_a_message_that_waits_is_written_under_the_commands_id() {
    let gate = Gate::new();
    let model = Arc::new(script().says("One.").behind(&gate));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    engine.send(&message("m1", ROOM, "one"), RowTarget::Current).await.unwrap();
    within(gate.reached()).await;
    // It waits for the thread, so it is a row and stands in no queue.
    let event = message("m2", ROOM, "two");
    let second = engine.send(&event, RowTarget::New).await.unwrap().session_id();
    let cancel = CommandAction::Cancel { key: Some(event.key) };
    let answer = within(house.command(&engine, second, cancel)).await.unwrap();
    let written = house.events(second).iter().any(|it| Some(it.id) == answer.event_id);
    assert!(written, "{answer:?}");
}

#[tokio::test(start_paused = true)]
async fn a_retried_turn_whose_driver_failed_goes_on() {
    let gate = Gate::new();
    let model = script().fails(FailureKind::Auth, false).says("Lost.").behind(&gate).says("Done.");
    let model = Arc::new(model);
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let failed = ask(&engine, &message("m1", ROOM, "go")).await.unwrap();
    within(house.command(
        &engine,
        failed.session_id,
        CommandAction::Retry { key: None, attended: true },
    ))
    .await
    .unwrap();
    within(gate.reached()).await;
    house.files.plan(house.files.count() + 1, Fault::ShortWrite);
    gate.open();
    // The turn has no row: its message's was closed when it failed.
    house.clock.sleep(60_000).await;
    let ended = State::of(&house.events(failed.session_id)).last_end;
    assert_eq!((ended, model.bodies().len()), (Some(EndReason::Done), 3));
}

#[tokio::test(start_paused = true)]
async fn a_command_is_told_why_its_session_could_not_be_opened() {
    let house = TestHouse::new(&Arc::new(script()));
    let engine = house.engine();
    let nowhere = house.new_session_id();
    let refused =
        within(house.command(&engine, nowhere, CommandAction::Retry { key: None, attended: true }))
            .await
            .unwrap_err();
    assert_eq!(refused.to_string(), format!("there is no session `{nowhere}`"));
}

#[tokio::test(start_paused = true)]
async fn a_message_that_began_before_the_head_of_the_desk_is_not_said_again() {
    let gate = Gate::new();
    let model = Arc::new(script().says("One.").behind(&gate).says("Two."));
    let mut house = TestHouse::new(&model);
    let engine = house.engine();
    let first = engine.send(&message("m1", ROOM, "one"), RowTarget::Current).await.unwrap();
    within(gate.reached()).await;
    let second = engine.send(&message("m2", ROOM, "two"), RowTarget::Current).await.unwrap();
    let id = first.session_id();
    while State::of(&house.events(id)).follow_ups.is_empty() {
        tokio::task::yield_now().await;
    }
    gate.open();
    within(first.end()).await.unwrap();
    within(second.end()).await.unwrap();
    within(engine.until_rest()).await;
    engine.kill();
    // The end of the first turn and the beginning of the second are one batch, so the desk knows a
    // head in the middle of the second; what it was told at the end is lost.
    assert_eq!(house.desk.n_unsynced(), 2);
    house.desk = house.desk.crash(1);
    let before = house.file(id);
    let engine = house.engine();
    engine.resume_all().await.unwrap();
    within(engine.until_rest()).await;
    assert_eq!((house.file(id) == before, model.bodies().len()), (true, 2));
    assert!(house.desk_is_clear(id).await);
}

#[tokio::test(start_paused = true)]
async fn an_old_desk_forgets_the_sessions_that_were_removed_since() {
    let model = Arc::new(script().says("One.").says("Two."));
    let mut house = TestHouse::new(&model);
    let engine = house.engine();
    let removed = ask(&engine, &message("m1", ROOM, "one")).await.unwrap().session_id;
    within(engine.until_rest()).await;
    let old = house.desk.copy();
    engine.remove(removed).await.unwrap();
    engine.kill();
    house.desk = old;
    let engine = house.engine();
    engine.recover_desk().await.unwrap();
    let second = ask(&engine, &message("m2", ROOM, "two")).await.unwrap();
    assert_eq!(second.text, "Two.");
    assert_ne!(second.session_id, removed);
}

#[tokio::test(start_paused = true)]
async fn a_message_of_an_open_turn_is_not_said_again_after_the_desk_was_lost() {
    let gate = Gate::new();
    let model = Arc::new(script().says("Lost.").behind(&gate).says("One."));
    let mut house = TestHouse::new(&model);
    let engine = house.engine();
    let event = message("m1", ROOM, "one");
    let first = engine.send(&event, RowTarget::Current).await.unwrap().session_id();
    within(gate.reached()).await;
    engine.kill();
    house.desk = MemoryDesk::new("device");
    let engine = house.engine();
    engine.recover_desk().await.unwrap();
    let again = ask_in(&engine, &event, RowTarget::New).await.unwrap();
    assert_eq!((again.session_id, only_session(&house)), (first, first));
}

#[tokio::test(start_paused = true)]
async fn a_log_that_a_lost_desk_is_recovered_from_is_on_the_disk() {
    let mut house = TestHouse::new(&Arc::new(script()));
    // Making a session is six operations; the last makes its name durable.
    house.files.plan(6, Fault::Kill { written: Written::Nothing });
    let engine = house.engine();
    engine.send(&message("m1", ROOM, "one"), RowTarget::Current).await.unwrap();
    while !house.files.is_killed() {
        tokio::task::yield_now().await;
    }
    engine.kill();
    house.files = house.files.reboot(CrashModel::ProcessKilled);
    house.desk = MemoryDesk::new("device");
    let (engine, id) = (house.engine(), only_session(&house));
    engine.recover_desk().await.unwrap();
    assert!(house.files.durable(house.store().path(id)).is_some());
}

#[tokio::test(start_paused = true)]
async fn a_follower_that_has_read_what_is_not_yet_published_goes_on() {
    let house = TestHouse::new(&Arc::new(script()));
    let engine = house.engine();
    let id = ask(&engine, &message("m1", ROOM, "one")).await.unwrap().session_id;
    let n_events = house.events(id).len() as u64;
    let journal: Arc<dyn Journal> = Arc::new(FilesJournal::new(house.store()));
    let feed = Feed::new("epoch".to_owned());
    // The last event is durable, and its publication is about to come.
    let published = feed.session(id);
    published.begin_at(n_events);
    let point = ResumePoint { persistent_last_seq: n_events, ..ResumePoint::default() };
    let (mode, _) = feed.resume(&journal, id, &point).await.unwrap();
    assert_eq!(mode, ResumeMode::PersistentFallback);
}

#[tokio::test(start_paused = true)]
async fn an_author_who_follows_when_all_is_done_is_told_what_came_of_the_message() {
    let house = TestHouse::new(&Arc::new(script().says("One.")));
    let engine = house.engine();
    let accepted = engine.accept(&message("m1", ROOM, "one"), RowTarget::Current).await.unwrap();
    engine.wake(accepted.session_id);
    within(engine.until_rest()).await;
    let follower = engine.follow_row(&accepted).await.unwrap();
    assert_eq!(within(follower.end()).await.unwrap().text, "One.");
}

#[tokio::test(start_paused = true)]
async fn a_command_behind_a_branch_does_not_keep_an_effect_from_being_given_up() {
    let tool = CountingTool::new("write_file").hanging();
    let model = Arc::new(script().calls("Doing.", &[("write_file", json!({}))]));
    let house = TestHouse::with_tools(&model, vec![Arc::new(tool.clone())]);
    let engine = house.engine();
    let sent = engine.send(&message("m1", ROOM, "go"), RowTarget::Current).await.unwrap();
    let id = sent.session_id();
    while tool.runs() == 0 {
        tokio::task::yield_now().await;
    }
    let branch = CommandAction::Branch { to: LeafId::Start, expected_leaf: None };
    let moved = house.command(&engine, id, branch);
    let next = house.command(&engine, id, CommandAction::TakeNext);
    let (moved, next) = within(async { tokio::join!(moved, next) }).await;
    assert_eq!((moved.unwrap().leaf, next.unwrap().event_id), (LeafId::Start, None));
}

#[tokio::test(start_paused = true)]
async fn a_message_whose_end_the_desk_has_lost_is_not_said_again() {
    let model = Arc::new(script().says("One.").says("Two."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    // The first commit accepts the message, the second closes its row, and nobody waits for that.
    house.desk.fail_change_at(1);
    let id = ask(&engine, &message("m1", ROOM, "one")).await.unwrap().session_id;
    within(engine.until_rest()).await;
    assert!(!house.desk_is_clear(id).await);
    ask(&engine, &message("m2", ROOM, "two")).await.unwrap();
    within(engine.until_rest()).await;
    assert!(house.desk_is_clear(id).await);
    engine.kill();
    let engine = house.engine();
    engine.resume_all().await.unwrap();
    within(engine.until_rest()).await;
    assert_eq!(model.bodies().len(), 2);
}

/// The only session there is.
fn only_session(house: &TestHouse) -> SessionId {
    let sessions = house.store().list().unwrap();
    assert_eq!(sessions.len(), 1);
    sessions[0]
}
