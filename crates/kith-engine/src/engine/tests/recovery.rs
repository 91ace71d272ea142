//! A desk that was lost, or is older than the logs.

use kith_sessions::desk::{Inbox, MemoryDesk, RowOutcome, RowStatus, RowTarget, ThreadRecords};
use kith_testkit::scripted::ScriptedModels;

use super::*;
use crate::command::CommandAction;
use crate::fixture::{ask_in, steer};

#[tokio::test(start_paused = true)]
async fn what_the_logs_hold_is_known_again_and_not_said_twice() {
    let model = Arc::new(script().says("One.").waits());
    let mut house = TestHouse::new(&model);
    let engine = house.engine();
    let first = ask(&engine, &message("m1", ROOM, "one")).await.unwrap();
    let id = first.session_id;
    let waiting =
        [message("m2", ROOM, "two"), message("m3", ROOM, "three"), steer("s1", ROOM, "be brief")];
    for event in &waiting {
        engine.send(event, RowTarget::Current).await.unwrap();
        pass_a_while().await;
    }
    engine.kill();
    assert_eq!(house.outline(id).matches("queue_update").count(), 2, "{}", house.outline(id));

    house.desk = MemoryDesk::new("device");
    let answers = Arc::new(script().says("Two.").says("Three."));
    house.models = Arc::new(ScriptedModels::one(answers.clone()));
    let engine = house.engine();
    let recovered = engine.recover_desk().await.unwrap();
    let expected = RecoveredDesk { n_sessions: 1, n_threads: 1, n_messages: 4, n_damaged: 0 };
    assert_eq!(recovered, expected);
    assert_eq!(house.desk.current_session("main", &ROOM.parse().unwrap()).await.unwrap(), Some(id));
    let known = house.desk.row("cli:local:m1").await.unwrap();
    assert_eq!(known, Some(RowStatus::Closed { session_id: id, outcome: RowOutcome::Done }));

    // Delivered again, also as the beginning of a new session: it stays the message it was.
    let mut ends = Vec::new();
    for event in &waiting {
        let report = ask_in(&engine, event, RowTarget::New).await.unwrap();
        ends.push((report.session_id == id, report.text, report.end));
    }
    let said = |text: &str| (true, text.to_owned(), MessageEnd::Done);
    assert_eq!(ends, [said("Two."), said("Three."), said("Two.")]);
    assert_eq!(answers.bodies().len(), 2);
    within(engine.until_rest()).await;
    assert_eq!(house.store().list().unwrap(), [id]);
    assert!(house.desk_is_clear(id).await);
    // Under a known key nothing else can be said.
    let error = ask(&engine, &message("m2", ROOM, "something else")).await.unwrap_err();
    assert!(error.to_string().contains("already used for a different message"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn an_old_desk_does_not_lead_a_thread_back_into_an_earlier_session() {
    let house_model = Arc::new(script().says("One.").says("Two."));
    let mut house = TestHouse::new(&house_model);
    let engine = house.engine();
    let first = ask(&engine, &message("m1", ROOM, "one")).await.unwrap();
    within(engine.until_rest()).await;
    let old = house.desk.copy();
    let second = ask_in(&engine, &message("m2", ROOM, "two"), RowTarget::New).await.unwrap();
    assert_ne!(second.session_id, first.session_id);
    within(engine.until_rest()).await;
    engine.kill();
    house.desk = old;
    let engine = house.engine();
    engine.recover_desk().await.unwrap();
    let third = ask(&engine, &message("m3", ROOM, "three")).await.unwrap();
    assert_eq!(third.session_id, second.session_id);
    let again = ask(&engine, &message("m2", ROOM, "two")).await.unwrap();
    assert_eq!((again.session_id, again.text.as_str()), (second.session_id, "Two."));
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_nobody_delivers_again_goes_on_all_the_same() {
    let model = Arc::new(script().fails(kith_vocab::event::models::FailureKind::Auth, false));
    let mut house = TestHouse::new(&model);
    let engine = house.engine();
    let first = ask(&engine, &message("m1", ROOM, "one")).await.unwrap();
    house
        .command(&engine, first.session_id, CommandAction::Retry { key: None, attended: true })
        .await
        .unwrap();
    engine.kill();
    house.desk = MemoryDesk::new("device");
    let engine = house.engine();
    engine.recover_desk().await.unwrap();
    let mut followed = engine.subscribe(first.session_id, &ResumePoint::default()).await.unwrap().1;
    engine.run_wakeups();
    let is_done = |body: &Body| matches!(body, Body::TurnEnded(it) if it.reason == kith_vocab::event::control::EndReason::Done);
    event_of(&mut followed, is_done).await;
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_was_taken_up_again_outlives_its_host() {
    let model = script().fails(kith_vocab::event::models::FailureKind::Auth, false);
    let model = Arc::new(model.waits().waits().says("At last."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let event = message("m1", ROOM, "one");
    let id = ask(&engine, &event).await.unwrap().session_id;
    house.command(&engine, id, CommandAction::Retry { key: None, attended: true }).await.unwrap();
    until(|| model.bodies().len() == 2).await;
    engine.kill();
    // Its row was closed when it failed. Twice, because what wakes it is used up each time.
    for n_asked in [3, 4] {
        let engine = house.engine();
        assert_eq!(engine.unfinished().await.unwrap(), [id]);
        let mut followed = engine.subscribe(id, &ResumePoint::default()).await.unwrap().1;
        engine.run_wakeups();
        let is_request = |body: &Body| matches!(body, Body::ModelRequested(_));
        for _ in 0..n_asked {
            event_of(&mut followed, is_request).await;
        }
        pass_a_while().await;
        engine.kill();
    }
    let report = ask(&house.engine(), &event).await.unwrap();
    assert_eq!((report.text.as_str(), report.end), ("At last.", MessageEnd::Done));
}

#[tokio::test(start_paused = true)]
async fn messages_that_joined_a_queue_together_are_known_again_each_by_its_key() {
    let model = Arc::new(script().waits());
    let mut house = TestHouse::new(&model);
    let engine = house.engine();
    let waiting = ["m1", "m2", "m3"].map(|key| message(key, ROOM, key));
    let mut id = None;
    for event in &waiting {
        id = Some(engine.accept(event, RowTarget::Current).await.unwrap().session_id);
    }
    engine.wake(id.unwrap());
    until(|| !model.bodies().is_empty()).await;
    pass_a_while().await;
    engine.kill();
    let outline = house.outline(id.unwrap());
    assert_eq!(outline.matches("queue_update").count(), 1, "{outline}");

    house.desk = MemoryDesk::new("device");
    let answers = Arc::new(script().says("One.").says("Two.").says("Three."));
    house.models = Arc::new(ScriptedModels::one(answers.clone()));
    let engine = house.engine();
    assert_eq!(engine.recover_desk().await.unwrap().n_messages, 3);
    let mut texts = Vec::new();
    for event in &waiting {
        texts.push(ask_in(&engine, event, RowTarget::New).await.unwrap().text);
    }
    assert_eq!(texts, ["One.", "Two.", "Three."]);
    assert_eq!(answers.bodies().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_damaged_end_that_the_desk_knows_of_is_not_cut_off_as_torn() {
    let house = TestHouse::new(&Arc::new(script().says("One.")));
    let engine = house.engine();
    let id = ask(&engine, &message("m1", ROOM, "one")).await.unwrap().session_id;
    within(engine.until_rest()).await;
    engine.kill();
    let mut bytes = house.file(id);
    let at = bytes.len() - 2;
    bytes[at] ^= 1;
    house.files.write_raw(house.store().path(id), &bytes);
    let recovered = house.engine().recover_desk().await.unwrap();
    assert_eq!((recovered.n_damaged, house.file(id) == bytes), (1, true));
}
