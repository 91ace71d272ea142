//! The model belongs to the message: no other gets to see it.

use std::time::Duration;

use kith_sessions::desk::{Inbox, RowTarget};
use kith_testkit::gate::Gate;
use kith_testkit::samples::sample_model_ref;
use kith_testkit::scripted::ScriptedModels;
use kith_testkit::transcript::transcript;
use kith_vocab::event::models::{FailureKind, ModelRef};
use kith_vocab::ingress::{IngressEvent, RunningBehavior};

use super::*;
use crate::command::CommandAction;
use crate::feed::{FeedItem, Subscription};
use crate::step::RETRY_AHEAD_MS_MAX;

/// A message to a model, with those that may be asked in its place.
fn to(models: &[&str], key: &str, text: &str) -> IngressEvent {
    let models: Vec<ModelRef> = models.iter().map(|name| sample_model_ref(name)).collect();
    IngressEvent { models, ..message(key, ROOM, text) }
}

/// A host that has these models and no others.
fn host_with(house: &mut TestHouse, models: &[(&str, &Arc<ScriptedModel>)]) -> Engine {
    let mut known = ScriptedModels::none();
    for (name, model) in models {
        known = known.with(sample_model_ref(name), (*model).clone());
    }
    house.models = Arc::new(known);
    house.engine()
}

/// A house whose host was lost while model A was being asked.
async fn left_by_a(model_a: &Arc<ScriptedModel>) -> (TestHouse, SessionId) {
    let mut house = TestHouse::new(model_a);
    let engine = host_with(&mut house, &[("a", model_a)]);
    let follower = engine.send(&to(&["a"], "m1", "for A only"), RowTarget::Current).await.unwrap();
    let id = follower.session_id();
    until(|| !model_a.bodies().is_empty()).await;
    engine.kill();
    (house, id)
}

/// Why the session was left alone.
async fn left_alone(following: &mut Subscription) -> String {
    loop {
        if let FeedItem::Failed(failure) = within(following.next()).await.unwrap() {
            return failure.to_string();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_begun_with_one_model_is_not_taken_up_by_another() {
    let (a, b) = (Arc::new(script().waits().says("From A.")), Arc::new(script()));
    let (mut house, id) = left_by_a(&a).await;
    let file = house.file(id);
    let engine = host_with(&mut house, &[("b", &b)]);
    let mut following = engine.follow(id, 0).expecting_a_driver();
    assert_eq!(resume(&engine).await, [id]);
    assert_eq!((b.bodies().len(), house.file(id) == file), (0, true));
    // Who follows is told why, and so is who sends the message again.
    let reason = left_alone(&mut following).await;
    assert!(reason.contains("model `a` cannot be asked"), "{reason}");
    let error = ask(&engine, &to(&["a"], "m1", "for A only")).await.unwrap_err();
    assert_eq!(error.to_string(), reason);
    engine.kill();

    // With A back it goes on by itself.
    let engine = host_with(&mut house, &[("a", &a)]);
    resume(&engine).await;
    let report = ask(&engine, &to(&["a"], "m1", "for A only")).await.unwrap();
    assert_eq!((report.text.as_str(), report.end), ("From A.", MessageEnd::Done));
    assert!(b.bodies().is_empty());
}

#[tokio::test(start_paused = true)]
async fn spoken_to_with_another_model_the_old_turn_ends_and_the_message_is_answered() {
    let (a, b) = (Arc::new(script().waits().says("From A.")), Arc::new(script().says("From B.")));
    let (mut house, id) = left_by_a(&a).await;
    let engine = host_with(&mut house, &[("b", &b)]);
    resume(&engine).await;
    let report = ask(&engine, &to(&["b"], "m2", "and you?")).await.unwrap();
    assert_eq!((report.text.as_str(), report.session_id), ("From B.", id));
    insta::assert_snapshot!(house.outline(id), @r"
    1/5 instruction_snapshot
    2/5 toolset_snapshot
    3/5 user_message [for A only]
    4/5 turn_started
    5/5 model_requested
    1/4 resumed
    2/4 model_failed kind=network attempt=1
    3/4 notice
    4/4 turn_ended reason=failed
    1/3 user_message [and you?]
    2/3 turn_started
    3/3 model_requested
    1/2 assistant_message stopReason=end_turn [From B.]
    2/2 turn_ended reason=done
    ");
    let notice = house.events(id).into_iter().find_map(|event| match event.body {
        Body::Notice(it) => Some(it.text),
        _ => None,
    });
    assert!(notice.as_ref().is_some_and(|it| it.contains("model `a` cannot be asked")));
    let old = ask(&engine, &to(&["a"], "m1", "for A only")).await.unwrap();
    assert_eq!(old.end, MessageEnd::Failed);
    // A later message to another model shows that model the conversation, as its author asked.
    assert_eq!(b.bodies().len(), 1);
    let body = String::from_utf8(b.bodies().remove(0).bytes).unwrap();
    assert!(body.contains("for A only") && body.contains("and you?"), "{body}");
}

#[tokio::test(start_paused = true)]
async fn retried_without_its_model_a_turn_fails_and_with_it_it_is_finished() {
    let (a, b) = (Arc::new(script().waits().says("From A.")), Arc::new(script()));
    let (mut house, id) = left_by_a(&a).await;
    let engine = host_with(&mut house, &[("b", &b)]);
    for _ in 0..2 {
        let error = house
            .command(&engine, id, CommandAction::Retry { key: None, attended: true })
            .await
            .unwrap_err();
        assert!(matches!(error, EngineError::ModelUnavailable { .. }), "{error}");
        within(engine.until_rest()).await;
        assert_eq!(house.outline(id).matches("turn_ended reason=failed").count(), 1);
    }
    assert!(b.bodies().is_empty());
    engine.kill();

    let engine = host_with(&mut house, &[("a", &a)]);
    house.command(&engine, id, CommandAction::Retry { key: None, attended: true }).await.unwrap();
    within(engine.until_rest()).await;
    let report = ask(&engine, &to(&["a"], "m1", "for A only")).await.unwrap();
    assert_eq!((report.text.as_str(), report.end), ("From A.", MessageEnd::Done));
    insta::assert_snapshot!(house.ending(id, 8), @r"
    1/4 resumed
    2/4 model_failed kind=network attempt=1
    3/4 notice
    4/4 turn_ended reason=failed
    1/2 turn_started
    2/2 model_requested
    1/2 assistant_message stopReason=end_turn [From A.]
    2/2 turn_ended reason=done
    ");
}

#[tokio::test(start_paused = true)]
async fn a_retried_turn_that_was_left_alone_goes_on_with_the_next_host_that_has_its_model() {
    let a = script().fails(FailureKind::Auth, false).waits().says("From A.");
    let (a, b) = (Arc::new(a), Arc::new(script()));
    let mut house = TestHouse::new(&a);
    let engine = host_with(&mut house, &[("a", &a)]);
    let id = ask(&engine, &to(&["a"], "m1", "for A only")).await.unwrap().session_id;
    house.command(&engine, id, CommandAction::Retry { key: None, attended: true }).await.unwrap();
    until(|| a.bodies().len() == 2).await;
    engine.kill();
    let engine = host_with(&mut house, &[("b", &b)]);
    engine.run_wakeups();
    assert_eq!(resume(&engine).await, [id]);
    tokio::time::sleep(Duration::from_millis(RETRY_AHEAD_MS_MAX)).await;
    engine.kill();

    let engine = host_with(&mut house, &[("a", &a)]);
    resume(&engine).await;
    let report = ask(&engine, &to(&["a"], "m1", "for A only")).await.unwrap();
    assert_eq!((report.text.as_str(), report.end), ("From A.", MessageEnd::Done));
    assert!(b.bodies().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_waits_for_a_model_can_be_cancelled() {
    let (a, b) = (Arc::new(script().waits()), Arc::new(script()));
    let (mut house, id) = left_by_a(&a).await;
    let engine = host_with(&mut house, &[("b", &b)]);
    resume(&engine).await;
    house.command(&engine, id, CommandAction::Cancel { key: None }).await.unwrap();
    within(engine.until_rest()).await;
    assert!(house.outline(id).ends_with("turn_ended reason=cancelled\n"), "{}", house.outline(id));
    assert!(house.desk_is_clear(id).await && b.bodies().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_message_that_waits_for_one_model_is_not_asked_of_another() {
    let (a, b) = (Arc::new(script().says("From A.")), Arc::new(script().says("From B.")));
    let mut house = TestHouse::new(&a);
    let engine = host_with(&mut house, &[("b", &b)]);
    // A row that was accepted and not written.
    let event = to(&["a"], "m1", "for A only");
    let id = engine.accept(&event, RowTarget::Current).await.unwrap().session_id;
    resume(&engine).await;
    assert_eq!((b.bodies().len(), house.desk.open_rows(id).await.unwrap().len()), (0, 1));
    engine.kill();
    let engine = host_with(&mut house, &[("a", &a)]);
    assert_eq!(ask(&engine, &event).await.unwrap().text, "From A.");
    assert!(b.bodies().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_item_queued_for_one_model_is_not_asked_of_another() {
    let (gate, b) = (Gate::new(), Arc::new(script()));
    let a = Arc::new(script().says("One.").behind(&gate).says("Two."));
    let mut house = TestHouse::new(&a);
    let engine = host_with(&mut house, &[("a", &a)]);
    let first = engine.send(&to(&["a"], "m1", "one"), RowTarget::Current).await.unwrap();
    within(gate.reached()).await;
    let second = to(&["a"], "m2", "for A only");
    engine.send(&second, RowTarget::Current).await.unwrap();
    pass_a_while().await;
    let id = first.session_id();
    assert!(house.outline(id).contains("queue_update follow_up <for A only>"));
    engine.kill();
    let engine = host_with(&mut house, &[("b", &b)]);
    resume(&engine).await;
    let spoken = ask(&engine, &to(&["b"], "m3", "and you?")).await.unwrap();
    within(engine.until_rest()).await;
    assert_eq!(spoken.session_id, id);
    let bodies = b.bodies();
    let shown = |text: &str| bodies.iter().any(|it| contains(&it.bytes, text));
    assert!(!shown("for A only"), "{}", house.outline(id));
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|it| it == text.as_bytes())
}

#[tokio::test(start_paused = true)]
async fn the_first_model_that_can_be_asked_answers() {
    let (a, b) = (Arc::new(script()), Arc::new(script().says("From B.")));
    let mut house = TestHouse::new(&a);
    let engine = host_with(&mut house, &[("b", &b)]);
    let report = ask(&engine, &to(&["a", "b"], "m1", "hi")).await.unwrap();
    assert_eq!((report.text.as_str(), report.end), ("From B.", MessageEnd::Done));
    let started = house.events(report.session_id).into_iter().find_map(|event| match event.body {
        Body::TurnStarted(it) => Some(it.models),
        _ => None,
    });
    assert_eq!(started.unwrap(), [sample_model_ref("a"), sample_model_ref("b")]);
}

#[tokio::test(start_paused = true)]
async fn a_model_of_the_same_name_elsewhere_is_another_model() {
    let a = Arc::new(script().waits());
    let (mut house, id) = left_by_a(&a).await;
    let elsewhere = ModelRef { endpoint: "0".repeat(16), ..sample_model_ref("a") };
    let other = Arc::new(script());
    house.models = Arc::new(ScriptedModels::none().with(elsewhere, other.clone()));
    let engine = house.engine();
    let mut following = engine.follow(id, 0).expecting_a_driver();
    resume(&engine).await;
    assert!(other.bodies().is_empty());
    left_alone(&mut following).await;
}

#[tokio::test(start_paused = true)]
async fn a_turn_of_an_earlier_version_waits_for_a_model() {
    let b = Arc::new(script());
    let mut house = TestHouse::new(&b);
    let engine = host_with(&mut house, &[("b", &b)]);
    let log = transcript("snapshot be kind | tools write_file | user: a | asked model");
    let id = house.adopt(&engine, ROOM, &log.events).await.session_id;
    let mut following = engine.follow(id, 0).expecting_a_driver();
    engine.wake(id);
    within(engine.until_rest()).await;
    assert!(b.bodies().is_empty());
    let reason = left_alone(&mut following).await;
    assert!(reason.contains("an earlier version"), "{reason}");
}

#[tokio::test(start_paused = true)]
async fn a_message_that_ends_an_old_turn_is_answered_also_if_it_has_to_wait_for_its_thread() {
    let gate = Gate::new();
    let (a, b) = (Arc::new(script().waits()), script().says("Elsewhere.").behind(&gate));
    let b = Arc::new(b.says("From B."));
    let (mut house, id) = left_by_a(&a).await;
    let engine = host_with(&mut house, &[("b", &b)]);
    let other = engine.send(&to(&["b"], "m2", "a new one"), RowTarget::New).await.unwrap();
    within(gate.reached()).await;
    let spoken = to(&["b"], "m3", "and you?");
    let spoken = engine.send(&spoken, RowTarget::Session(id)).await.unwrap();
    pass_a_while().await;
    gate.open();
    assert_eq!(within(other.end()).await.unwrap().text, "Elsewhere.");
    let report = within(spoken.end()).await.unwrap();
    assert_eq!((report.text.as_str(), report.end), ("From B.", MessageEnd::Done));
}

#[tokio::test(start_paused = true)]
async fn a_steer_for_one_model_is_not_read_by_a_turn_of_another() {
    let (gate, b) = (Gate::new(), Arc::new(script().says("From B.")));
    let a = Arc::new(script().says("One.").behind(&gate));
    let mut house = TestHouse::new(&a);
    let engine = host_with(&mut house, &[("a", &a), ("b", &b)]);
    let first = engine.send(&to(&["a"], "m1", "one"), RowTarget::Current).await.unwrap();
    within(gate.reached()).await;
    let steer =
        IngressEvent { running_behavior: RunningBehavior::Steer, ..to(&["b"], "m2", "for B only") };
    let second = engine.send(&steer, RowTarget::Current).await.unwrap();
    pass_a_while().await;
    gate.open();
    assert_eq!(within(first.end()).await.unwrap().text, "One.");
    // It has a turn of its own, and is said once.
    assert_eq!(within(second.end()).await.unwrap().text, "From B.");
    within(engine.until_rest()).await;
    assert_eq!((a.bodies().len(), b.bodies().len()), (1, 1));
    assert!(!contains(&a.bodies()[0].bytes, "for B only"));
}

#[tokio::test(start_paused = true)]
async fn a_model_that_fails_for_good_gives_way_to_the_next_until_the_turn_ends() {
    let call = ("write_file", serde_json::json!({}));
    let a = Arc::new(script().fails(FailureKind::Auth, false).says("From A."));
    let b = Arc::new(script().calls("", &[call]).says("From B."));
    let mut house = TestHouse::new(&a);
    let engine = host_with(&mut house, &[("a", &a), ("b", &b)]);
    let report = ask(&engine, &to(&["a", "b"], "m1", "hello")).await.unwrap();
    assert_eq!((report.text.as_str(), report.end), ("From B.", MessageEnd::Done));
    // The one that was given up is not asked again in the turn, and is again in the next.
    assert_eq!((a.bodies().len(), b.bodies().len()), (1, 2));
    within(engine.until_rest()).await;
    let events = house.events(report.session_id);
    let told = events.iter().find_map(|event| match &event.body {
        Body::Notice(it) => Some(it.text.to_string()),
        _ => None,
    });
    assert!(told.unwrap().ends_with("`b` is asked instead."));
    let next = ask(&engine, &to(&["a", "b"], "m2", "again")).await.unwrap();
    assert_eq!(next.text, "From A.");
}

#[tokio::test(start_paused = true)]
async fn a_given_up_model_stays_so_after_a_restart_and_the_last_one_ends_the_turn() {
    let a = Arc::new(script().fails(FailureKind::Auth, false));
    let b = Arc::new(
        script().waits().fails(FailureKind::Status, true).cut("Half").cut("Half").cut("Half of it"),
    );
    let mut house = TestHouse::new(&a);
    let engine = host_with(&mut house, &[("a", &a), ("b", &b)]);
    let row = engine.send(&to(&["a", "b"], "m1", "hello"), RowTarget::Current).await.unwrap();
    until(|| b.bodies().len() == 1).await;
    engine.kill();
    drop(row);
    let engine = host_with(&mut house, &[("a", &a), ("b", &b)]);
    resume(&engine).await;
    let report = ask(&engine, &to(&["a", "b"], "m1", "hello")).await.unwrap();
    // Its attempts are its own, and what it said last is kept.
    assert_eq!((a.bodies().len(), report.end), (1, MessageEnd::Failed));
    assert_eq!(b.bodies().len(), 5);
    assert_eq!(report.text, "Half of it");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_cut_off_says_so_with_what_to_do() {
    use kith_vocab::event::messages::StopReason;
    use kith_vocab::provider::AnswerBlock;

    let cut = vec![AnswerBlock::Text("And then".to_owned())];
    let model = Arc::new(script().answers(cut, StopReason::MaxTokens));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let report = ask(&engine, &message("m1", ROOM, "tell me")).await.unwrap();
    assert_eq!((report.text.as_str(), report.end), ("And then", MessageEnd::Done));
    within(engine.until_rest()).await;
    let told = house.events(report.session_id).into_iter().find_map(|event| match event.body {
        Body::Notice(it) => Some(it.text.to_string()),
        _ => None,
    });
    assert!(told.is_some_and(|told| told.starts_with("The answer was cut off")));
}
