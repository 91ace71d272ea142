//! What the model is sent from turn to turn: stable, proven, with the news that it needs.

#![allow(clippy::print_stdout, reason = "the counts are what these tests are run for")]

use kith_sessions::desk::RowTarget;
use kith_testkit::clock::FakeClock;
use kith_testkit::transcript::transcript;
use kith_testkit::validators::{Outline, assert_stable, validate, validate_openai_chat};
use kith_vocab::block::Block;
use kith_vocab::event::control::{Level, Notice};
use kith_vocab::event::messages::HarnessKind;
use kith_vocab::event::models::Wire;
use serde_json::json;

use super::*;
use crate::fixture::{DAY_MS, ask_in, header, reminder, steer};
use crate::session::EventSource;
use crate::state::State;
use crate::verify::Verifier;

fn house_telling_news(model: &Arc<ScriptedModel>) -> TestHouse {
    let mut house = TestHouse::new(model);
    Arc::get_mut(&mut house.setup).unwrap().tells_news = true;
    house
}

fn edit_prompt(house: &TestHouse, text: &str) {
    text.clone_into(&mut house.setup.prompt.lock().unwrap());
}

/// The model's own hashes, the log's, and those of the bodies built again are the same.
pub(super) fn prove(house: &TestHouse, session_id: SessionId, model: &ScriptedModel) {
    let mut verifier = Verifier::default();
    let mut logged = Vec::new();
    for event in house.events(session_id) {
        if let Body::ModelRequested(requested) = &event.body {
            logged.push(requested.body_sha256.clone());
        }
        verifier.read(&event);
    }
    let received: Vec<String> = model.bodies().into_iter().map(|body| body.sha256).collect();
    assert_eq!(logged, received);
    assert_eq!(verifier.mismatches, []);
    assert_eq!(verifier.n_requests, received.len() as u64);
}

#[tokio::test(start_paused = true)]
async fn over_200_turns_with_edits_and_restarts_every_request_begins_with_the_one_before() {
    let mut model = script();
    for n in 0..200 {
        if n % 3 == 0 {
            model = model.calls("Doing.", &[("write_file", json!({ "n": n }))]);
        }
        model = model.says(&format!("Answer {n}."));
    }
    let model = Arc::new(model);
    let house = house_telling_news(&model);
    let mut engine = house.engine();
    let mut session_id = None;
    for n in 0..200 {
        // Three turns in a row see the same file, and ten the same day.
        edit_prompt(&house, &format!("Edited {} times.", n / 3));
        if n % 10 == 9 {
            house.clock.advance(DAY_MS);
            engine.kill();
            engine = house.engine();
        }
        let event = message(&format!("m{n}"), ROOM, &format!("question {n}"));
        let report = ask(&engine, &event).await.unwrap();
        assert_eq!(*session_id.get_or_insert(report.session_id), report.session_id);
    }
    let bodies = model.bodies();
    let outlines: Vec<Outline> =
        bodies.iter().map(|body| validate_openai_chat(&body.bytes).unwrap()).collect();
    for pair in outlines.windows(2) {
        assert_stable(&pair[0], &pair[1]);
    }
    println!("{} requests, {} stable", bodies.len(), outlines.len());
    assert_eq!(bodies.len(), 267);
    let events = house.events(session_id.unwrap());
    let n_told = |wanted| {
        let kind = |event: &Event| match &event.body {
            Body::HarnessItem(it) => Some(it.item.kind),
            _ => None,
        };
        events.iter().filter(|event| kind(event) == Some(wanted)).count()
    };
    // Each is told once: the first edit and the first day stand in the snapshot.
    assert_eq!(n_told(HarnessKind::RuntimeNotice), 66);
    assert_eq!(n_told(HarnessKind::DateChange), 20);
    prove(&house, session_id.unwrap(), &model);
}

/// Turns in which something is called, steered and queued; `cargo xtask torture` has a thousand.
const BUSY_TURNS: usize = 40;

async fn steer_and_follow_up(wire: Wire) {
    let n_turns = BUSY_TURNS;
    // Each turn is two requests, also one that a steer or a follow-up began.
    let model = (0..3 * n_turns).fold(script().with_wire(wire), |model, n| {
        let call = ("write_file", json!({ "n": n }));
        model.calls("Doing.", &[call]).says(&format!("Answer {n}."))
    });
    let model = Arc::new(model);
    let house = house_telling_news(&model);
    let mut engine = house.engine();
    let mut session_id = None;
    for n in 0..n_turns {
        edit_prompt(&house, &format!("Edited {} times.", n / 3));
        if n % 10 == 9 {
            engine.kill();
            engine = house.engine();
        }
        let said = message(&format!("m{n}"), ROOM, &format!("question {n}"));
        let added = steer(&format!("s{n}"), ROOM, &format!("and {n}"));
        let later = message(&format!("f{n}"), ROOM, &format!("later {n}"));
        let first = engine.send(&said, RowTarget::Current).await.unwrap();
        let mut others = Vec::new();
        for event in [&added, &later].into_iter().take(n % 3) {
            others.push(engine.send(event, RowTarget::Current).await.unwrap());
        }
        session_id = Some(within(first.end()).await.unwrap().session_id);
        for other in others {
            within(other.end()).await.unwrap();
        }
        within(engine.until_rest()).await;
    }
    let (bodies, events) = (model.bodies(), house.events(session_id.unwrap()));
    let outlines: Vec<Outline> =
        bodies.iter().map(|body| validate(wire, &body.bytes).unwrap()).collect();
    outlines.windows(2).for_each(|pair| assert_stable(&pair[0], &pair[1]));
    prove(&house, session_id.unwrap(), &model);
    let n_steers = events.iter().filter(|event| match &event.body {
        Body::HarnessItem(it) => it.item.kind == HarnessKind::Steer,
        _ => false,
    });
    let n_follow_ups = events.iter().filter(|event| match &event.body {
        Body::UserMessage(it) => it.queue_item_id.is_some(),
        _ => false,
    });
    let (n_steers, n_follow_ups) = (n_steers.count(), n_follow_ups.count());
    assert!(n_steers > n_turns / 4 && n_follow_ups > n_turns / 4, "{n_steers} {n_follow_ups}");
    println!(
        "{wire:?}: {n_turns} turns, {n_steers} steers, {n_follow_ups} follow-ups: all {} requests \
         begin with the one before and are rebuilt",
        bodies.len()
    );
}

#[tokio::test(start_paused = true)]
async fn on_every_wire_requests_stay_stable_through_steers_and_follow_ups() {
    for wire in [Wire::OpenaiChat, Wire::Anthropic, Wire::OpenaiResponses] {
        steer_and_follow_up(wire).await;
    }
}

#[tokio::test(start_paused = true)]
async fn news_stand_after_the_message_in_its_batch_and_are_told_once() {
    let model = Arc::new(script().says("One.").says("Two.").says("Three."));
    let house = house_telling_news(&model);
    let engine = house.engine();
    let first = ask(&engine, &message("m1", ROOM, "one")).await.unwrap();
    edit_prompt(&house, "Be stern.");
    ask(&engine, &message("m2", ROOM, "two")).await.unwrap();
    engine.kill();
    let engine = house.engine();
    ask(&engine, &message("m3", ROOM, "three")).await.unwrap();

    insta::assert_snapshot!(house.outline(first.session_id), @r#"
    1/5 instruction_snapshot
    2/5 toolset_snapshot
    3/5 user_message [one]
    4/5 turn_started
    5/5 model_requested
    1/2 assistant_message stopReason=end_turn [One.]
    2/2 turn_ended reason=done
    1/4 user_message [two]
    2/4 harness_item [Now it is {"path":"Agent.md","is":"Be stern."}.]
    3/4 turn_started
    4/4 model_requested
    1/2 assistant_message stopReason=end_turn [Two.]
    2/2 turn_ended reason=done
    1/3 user_message [three]
    2/3 turn_started
    3/3 model_requested
    1/2 assistant_message stopReason=end_turn [Three.]
    2/2 turn_ended reason=done
    "#);
    let sent = String::from_utf8(model.bodies()[1].bytes.clone()).unwrap();
    let reminder = sent.find("<system-reminder>\\nNow it is").unwrap();
    assert!(sent.find("\"two\"").unwrap() < reminder, "{sent}");
}

#[tokio::test(start_paused = true)]
async fn news_join_the_last_result_unless_something_was_said_since() {
    for (line, joins) in [
        ("user: go | model: ok, read_a=c1 | done c1 x", true),
        ("user: go | model: ok, read_a=c1 | done c1 x | user: \\n", true),
        ("user: go | model: ok, read_a=c1 | done c1 x | user: more", false),
        ("user: go", false),
    ] {
        let house = TestHouse::new(&Arc::new(script()));
        let engine = house.engine();
        let header = header(house.new_session_id());
        let mut parts = engine.shared.parts_of(header.session_id);
        // The transcript has taken the first ids.
        parts.clock = Arc::new(FakeClock::starting_at_id(1_000));
        let mut session = Session::new(parts, header);
        let log = transcript(line);
        for event in &log.events {
            let source = EventSource { id: Some(event.id), ..EventSource::RUNTIME };
            session.stage_from(source, event.body.clone());
        }
        session.stage_news(reminder(HarnessKind::DateChange, &json!({})));
        session.commit().await.unwrap();
        let events = house.events(session.id());
        let Body::HarnessItem(told) = &events.last().unwrap().body else { panic!("{line}") };
        assert_eq!(told.merged_into, joins.then(|| log.labels["c1"]), "{line}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_branch_took_back_is_told_again() {
    let model = Arc::new(script().says("One.").says("Two.").says("Three."));
    let house = house_telling_news(&model);
    let engine = house.engine();
    let first = ask(&engine, &message("m1", ROOM, "one")).await.unwrap();
    edit_prompt(&house, "Be stern.");
    ask(&engine, &message("m2", ROOM, "two")).await.unwrap();
    let (to, id) = (LeafId::from(first.leaf), first.session_id);
    let action = crate::command::CommandAction::Branch { to, expected_leaf: None };
    house.command(&engine, id, action).await.unwrap();
    ask(&engine, &message("m3", ROOM, "three")).await.unwrap();
    let bodies = model.bodies();
    let told = |place: usize| {
        let sent = String::from_utf8_lossy(&bodies[place].bytes).into_owned();
        sent.matches("Now it is").count()
    };
    assert_eq!([told(0), told(1), told(2)], [0, 1, 1]);
    prove(&house, id, &model);
}

#[tokio::test(start_paused = true)]
async fn a_changed_byte_in_a_logged_message_shows_in_the_proof() {
    let model = Arc::new(script().says("One.").says("Two."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    ask(&engine, &message("m1", ROOM, "hello")).await.unwrap();
    let report = ask(&engine, &message("m2", ROOM, "more")).await.unwrap();
    let mut verifier = Verifier::default();
    for mut event in house.events(report.session_id) {
        if let Body::UserMessage(said) = &mut event.body
            && said.message.content[0].as_text() == Some("hello")
        {
            said.message.content[0] = Block::text("hallo");
        }
        verifier.read(&event);
    }
    assert_eq!((verifier.n_requests, verifier.mismatches.len()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn each_session_has_one_snapshot_on_disk_before_its_first_message() {
    let model = Arc::new(script().says("One.").says("Two.").says("Three."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let first = ask(&engine, &message("m1", ROOM, "hello")).await.unwrap();
    edit_prompt(&house, "Be stern.");
    ask(&engine, &message("m2", ROOM, "more")).await.unwrap();
    let anew = ask_in(&engine, &message("m3", ROOM, "anew"), RowTarget::New).await.unwrap();
    assert_ne!(anew.session_id, first.session_id);
    for (id, prompt) in [(first.session_id, "Be kind."), (anew.session_id, "Be stern.")] {
        let events = house.events(id);
        let place = |kind: &str| events.iter().position(|it| it.body.type_name() == kind).unwrap();
        assert_eq!(place("instruction_snapshot"), 0);
        assert!(place("toolset_snapshot") < place("user_message"));
        let snapshots = events.iter().filter(|it| matches!(it.body, Body::InstructionSnapshot(_)));
        assert_eq!(snapshots.count(), 1);
        assert_eq!(State::of(&events).snapshot.unwrap().system_prompt(), prompt);
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_without_a_snapshot_gets_one_before_its_next_request() {
    let model = Arc::new(script().says("Here."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let imported = transcript("notice imported");
    let Body::Notice(Notice { level: Level::Info, .. }) = &imported.events[0].body else {
        panic!("{imported:?}")
    };
    let id = house.adopt(&engine, ROOM, &imported.events).await.session_id;
    let event = message("m1", ROOM, "hello");
    assert_eq!(ask_in(&engine, &event, RowTarget::Session(id)).await.unwrap().text, "Here.");
    let kinds: Vec<_> = house.events(id).iter().map(|it| it.body.type_name()).collect();
    let place = |kind: &str| kinds.iter().position(|it| *it == kind).unwrap();
    assert!(place("instruction_snapshot") < place("user_message"));
    assert!(String::from_utf8_lossy(&model.bodies()[0].bytes).contains("Be kind."));
}
