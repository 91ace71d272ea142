//! A conversation that grows beyond the window is summarised, and nothing that counts is lost.

use kith_providers::media::MediaBytes;
use kith_providers::render;
use kith_sessions::desk::RowTarget;
use kith_testkit::gate::Gate;
use kith_testkit::samples::sample_model_ref;
use kith_testkit::scripted::ScriptedModels;
use kith_vocab::event::messages::{Compact, StopReason};
use kith_vocab::event::models::{FailureKind, ModelRequested, Purpose, Wire};
use kith_vocab::ids::LeafId;
use kith_vocab::ingress::IngressEvent;
use kith_vocab::json::Json;
use kith_vocab::provider::{AnswerBlock, ModelChoice, Provider};

use super::branching::mover;
use super::*;
use crate::command::CommandAction;
use crate::context::context;
use crate::state::State;
use crate::verify::Verifier;

pub(super) const SUMMARY: &str = "## Facts\n- the owner likes tea\n\n## Open tasks\n- call Ann\n";

pub(super) fn with_window(model: ScriptedModel, context_window: u64) -> ScriptedModel {
    let (provider, name) = ("scripted".to_owned(), "scripted".to_owned());
    let parameters = Json::empty_object();
    model.with_choice(ModelChoice {
        provider,
        wire: Wire::OpenaiChat,
        model: name,
        parameters,
        context_window,
    })
}

/// About so many tokens, as the scripted model counts them.
pub(super) fn words_of(n_tokens: usize) -> String {
    "word ".repeat(n_tokens * 4 / 5)
}

pub(super) fn compactions(events: &[Event]) -> Vec<&Compact> {
    let compaction = |event: &'_ Event| matches!(event.body, Body::Compact(_));
    let events = events.iter().filter(|event| compaction(event));
    events.filter_map(|it| if let Body::Compact(it) = &it.body { Some(it) } else { None }).collect()
}

pub(super) fn requests(events: &[Event]) -> Vec<&ModelRequested> {
    let requested = |event: &'_ Event| matches!(event.body, Body::ModelRequested(_));
    let events = events.iter().filter(|event| requested(event));
    events
        .filter_map(|it| if let Body::ModelRequested(it) = &it.body { Some(it) } else { None })
        .collect()
}

pub(super) fn assert_verified(events: &[Event]) {
    let mut verifier = Verifier::default();
    for event in events {
        verifier.read(event);
    }
    assert_eq!(verifier.mismatches, []);
    assert!(verifier.n_requests > 0);
}

pub(super) fn text_of(body: &kith_testkit::scripted::ReceivedBody) -> String {
    String::from_utf8_lossy(&body.bytes).into_owned()
}

async fn compact(house: &TestHouse, engine: &Engine, id: SessionId) {
    let action = CommandAction::Compact { models: Vec::new() };
    house.command(engine, id, action).await.unwrap();
    within(engine.until_rest()).await;
}

#[tokio::test(start_paused = true)]
async fn a_conversation_near_the_window_is_summarised_before_the_next_request() {
    let model = script().says("One.").says("Two.").says(SUMMARY).says("Three.");
    let model = Arc::new(with_window(model, 4_000));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let long = words_of(1_100);
    let id = ask(&engine, &message("m1", ROOM, &format!("It is ORD-77. {long}"))).await;
    let id = id.unwrap().session_id;
    ask(&engine, &message("m2", ROOM, &long)).await.unwrap();
    let question = format!("Where were we? {}", words_of(700));
    let third = ask(&engine, &message("m3", ROOM, &question)).await.unwrap();
    assert_eq!((third.text.as_str(), third.end), ("Three.", MessageEnd::Done));
    within(engine.until_rest()).await;
    let events = house.events(id);
    let made = compactions(&events);
    assert_eq!(made.len(), 1);
    assert!(made[0].tokens_after < made[0].tokens_before, "{made:?}");
    assert_eq!(made[0].ledger.identifiers, ["ORD-77"]);
    assert_eq!(made[0].ledger.open_tasks, ["call Ann"]);
    let purposes: Vec<Purpose> = requests(&events).iter().map(|it| it.purpose).collect();
    let (turn, summary) = (Purpose::Turn, Purpose::Compact);
    assert_eq!(purposes, [turn, turn, summary, turn]);
    // The request for the summary continues the conversation; the next one begins with the summary.
    let bodies = model.bodies();
    assert!(text_of(&bodies[2]).contains("under exactly these headings"));
    assert!(text_of(&bodies[2]).contains(&long));
    let last = text_of(&bodies[3]);
    assert!(last.contains("likes tea") && last.contains("ORD-77"), "{last}");
    assert!(last.contains(&question), "the message to be answered is kept as it is");
    assert!(!last.contains(&long), "the summary stands for what was said before");
    assert_verified(&events);
    // A host that comes later goes on from the same context.
    engine.kill();
    let engine = house.engine();
    ask(&engine, &message("m4", ROOM, "and now?")).await.unwrap();
    let next = text_of(model.bodies().last().unwrap());
    assert!(next.contains("likes tea") && next.contains("Three."), "{next}");
    assert_verified(&house.events(id));
}

#[tokio::test(start_paused = true)]
async fn a_failed_empty_cut_refused_or_overlong_summary_leaves_the_context_as_it_was() {
    for failing in [
        script().says("One.").says("Two.").fails(FailureKind::Status, true),
        script().says("One.").says("Two.").empty(),
        script()
            .says("One.")
            .says("Two.")
            .answers(vec![AnswerBlock::Text("## Fac".to_owned())], StopReason::MaxTokens),
        script()
            .says("One.")
            .says("Two.")
            .answers(vec![AnswerBlock::Text("I will not.".to_owned())], StopReason::Refusal),
        script().says("One.").says("Two.").says(&words_of(9_000)),
    ] {
        let model =
            Arc::new(with_window(failing.says("Three.").says(SUMMARY).says("Four."), 4_000));
        let house = TestHouse::new(&model);
        let engine = house.engine();
        let id = ask(&engine, &message("m1", ROOM, &words_of(1_100))).await.unwrap().session_id;
        ask(&engine, &message("m2", ROOM, &words_of(1_100))).await.unwrap();
        let third = ask(&engine, &message("m3", ROOM, &words_of(700))).await.unwrap();
        assert_eq!(third.text, "Three.");
        // Once in that turn, and with the whole conversation after it.
        let bodies = model.bodies();
        assert_eq!(bodies.len(), 4);
        assert!(text_of(&bodies[3]).contains(&words_of(1_100)));
        // The next turn tries again.
        let fourth = ask(&engine, &message("m4", ROOM, &words_of(300))).await.unwrap();
        assert_eq!(fourth.text, "Four.");
        within(engine.until_rest()).await;
        let events = house.events(id);
        assert_eq!(compactions(&events).len(), 1);
        assert_verified(&events);
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_the_vendor_finds_too_long_is_compacted_once() {
    let long = FailureKind::ContextLength;
    let model = script().says("One.").says("Two.").fails(long, false).says(SUMMARY).says("Three.");
    let model = Arc::new(model.fails(long, false).says(SUMMARY).fails(long, false));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let id = ask(&engine, &message("m1", ROOM, &words_of(900))).await.unwrap().session_id;
    ask(&engine, &message("m2", ROOM, &words_of(900))).await.unwrap();
    let third = ask(&engine, &message("m3", ROOM, &words_of(900))).await.unwrap();
    assert_eq!((third.text.as_str(), third.end), ("Three.", MessageEnd::Done));
    // A vendor that refuses again is believed.
    let fourth = ask(&engine, &message("m4", ROOM, &words_of(900))).await.unwrap();
    assert_eq!(fourth.end, MessageEnd::Failed);
    within(engine.until_rest()).await;
    assert_eq!(model.bodies().len(), 8, "{}", house.outline(id));
    let last = house.events(id).into_iter().rev().find_map(|event| match event.body {
        Body::ModelFailed(it) => Some(it.message.to_string()),
        _ => None,
    });
    assert!(last.is_some_and(|it| it.contains("start over with `kith ask --new`")));
    assert_verified(&house.events(id));
}

#[tokio::test(start_paused = true)]
async fn a_conversation_beyond_the_window_is_summarised_by_its_first_turns() {
    // It was held with a larger model.
    let mut model = script();
    for n in 0..6 {
        model = model.says(&format!("Answer {n}."));
    }
    let large = Arc::new(with_window(model, 128_000));
    let mut house = TestHouse::new(&large);
    let engine = house.engine();
    let mut id = None;
    for n in 0..6 {
        let text = format!("ID-{n}{n}{n} {}", words_of(1_000));
        let key = format!("m{n}");
        id = Some(ask(&engine, &message(&key, ROOM, &text)).await.unwrap().session_id);
    }
    let id = id.unwrap();
    within(engine.until_rest()).await;
    engine.kill();
    let mut small = script();
    for n in 0..8 {
        small = small.says(&format!("{SUMMARY}- part {n}\n"));
    }
    let small = Arc::new(with_window(small, 4_000));
    let provider: Arc<dyn Provider> = small.clone();
    house.models = Arc::new(ScriptedModels::one(provider));
    let engine = house.engine();
    let report = ask(&engine, &message("last", ROOM, "what now?")).await.unwrap();
    assert_eq!(report.end, MessageEnd::Done);
    within(engine.until_rest()).await;
    let events = house.events(id);
    let made = compactions(&events);
    assert!(made.len() >= 2, "{}", made.len());
    for body in small.bodies() {
        assert!(body.bytes.len() < 4_000 * 5, "{}", body.bytes.len());
    }
    let last = text_of(small.bodies().last().unwrap());
    for n in 0..6 {
        assert!(last.contains(&format!("ID-{n}{n}{n}")), "{last}");
    }
    assert_verified(&events);
}

#[tokio::test(start_paused = true)]
async fn a_first_turn_that_does_not_fit_is_summarised_with_its_results_cut() {
    let long: String = words_of(6_000);
    let tool = kith_testkit::tools::CountingTool::new("look").failing(&long);
    let model = script().calls("", &[("look", serde_json::json!({}))]).says(SUMMARY).says("Done.");
    let model = Arc::new(with_window(model, 4_000));
    let house = TestHouse::with_tools(&model, vec![Arc::new(tool)]);
    let engine = house.engine();
    let report = ask(&engine, &message("m1", ROOM, "look at it")).await.unwrap();
    assert_eq!((report.text.as_str(), report.end), ("Done.", MessageEnd::Done));
    within(engine.until_rest()).await;
    let bodies = model.bodies();
    assert_eq!(bodies.len(), 3);
    assert!(bodies[1].bytes.len() < 8_000, "{}", bodies[1].bytes.len());
    assert!(text_of(&bodies[1]).contains("[…]"));
    assert_verified(&house.events(report.session_id));
}

#[tokio::test(start_paused = true)]
async fn a_compaction_by_hand_runs_between_turns_and_a_branch_undoes_it() {
    let model = script().says("One.").says("Two.").says(SUMMARY).says("Three.").says("Instead.");
    let model = Arc::new(model);
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let id = ask(&engine, &message("m1", ROOM, &words_of(300))).await.unwrap().session_id;
    ask(&engine, &message("m2", ROOM, "- [x] paid bill B-1")).await.unwrap();
    within(engine.until_rest()).await;
    let last = house.events(id).iter().rfind(|it| it.is_tree()).map(|it| it.id);
    let before = LeafId::from(last);
    compact(&house, &engine, id).await;
    let events = house.events(id);
    assert_eq!(compactions(&events).len(), 1);
    assert_eq!(compactions(&events)[0].ledger.done_tasks, ["paid bill B-1"]);
    ask(&engine, &message("m3", ROOM, "go on")).await.unwrap();
    assert!(text_of(model.bodies().last().unwrap()).contains("likes tea"));
    // Back to before it: the model is shown what it was shown then.
    engine.branch(id, before, mover(&house)).await.unwrap();
    ask(&engine, &message("m4", ROOM, "go on")).await.unwrap();
    let bodies = model.bodies();
    let last = text_of(bodies.last().unwrap());
    assert!(last.contains(&words_of(300)) && !last.contains("likes tea"), "{last}");
    within(engine.until_rest()).await;
    assert_verified(&house.events(id));
}

#[tokio::test(start_paused = true)]
async fn a_message_that_comes_during_a_compaction_is_answered_after_it() {
    let gate = Gate::new();
    let model = Arc::new(script().says("One.").says(SUMMARY).behind(&gate).says("Two."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let id = ask(&engine, &message("m1", ROOM, &words_of(300))).await.unwrap().session_id;
    within(engine.until_rest()).await;
    let action = CommandAction::Compact { models: Vec::new() };
    house.command(&engine, id, action).await.unwrap();
    until(|| model.bodies().len() == 2).await;
    let second = engine.send(&message("m2", ROOM, "go on"), RowTarget::Current).await.unwrap();
    pass_a_while().await;
    assert_eq!(model.bodies().len(), 2);
    gate.open();
    let second = within(second.end()).await.unwrap();
    assert_eq!((second.text.as_str(), second.end), ("Two.", MessageEnd::Done));
    assert!(text_of(model.bodies().last().unwrap()).contains("likes tea"));
    within(engine.until_rest()).await;
    assert_verified(&house.events(id));
}

#[tokio::test(start_paused = true)]
async fn a_compaction_is_cancelled_and_one_that_was_cut_short_is_made_again() {
    let model = Arc::new(script().says("One.").waits().says("Two.").waits().says(SUMMARY));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let id = ask(&engine, &message("m1", ROOM, &words_of(300))).await.unwrap().session_id;
    within(engine.until_rest()).await;
    let action = CommandAction::Compact { models: Vec::new() };
    house.command(&engine, id, action.clone()).await.unwrap();
    until(|| model.bodies().len() == 2).await;
    let answer = house.command(&engine, id, CommandAction::Cancel { key: None }).await.unwrap();
    assert!(answer.event_id.is_some());
    within(engine.until_rest()).await;
    assert_eq!(compactions(&house.events(id)).len(), 0);
    let second = ask(&engine, &message("m2", ROOM, "go on")).await.unwrap();
    assert_eq!(second.text, "Two.");
    within(engine.until_rest()).await;
    house.command(&engine, id, action).await.unwrap();
    until(|| model.bodies().len() == 4).await;
    engine.kill();
    let engine = house.engine();
    engine.wake(id);
    within(engine.until_rest()).await;
    assert_eq!(compactions(&house.events(id)).len(), 1, "{}", house.outline(id));
    assert_verified(&house.events(id));
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_never_comes_fails_for_good() {
    // One stops when its time is over, the other does not.
    for model in [script().says("One.").waits(), script().says("One.").hangs()] {
        let model = Arc::new(model.says("Two."));
        let house = TestHouse::new(&model);
        let engine = house.engine();
        let id = ask(&engine, &message("m1", ROOM, &words_of(300))).await.unwrap().session_id;
        let action = CommandAction::Compact { models: Vec::new() };
        house.command(&engine, id, action).await.unwrap();
        within(engine.until_rest()).await;
        let events = house.events(id);
        let failed: Vec<_> = events
            .iter()
            .filter_map(|event| match &event.body {
                Body::ModelFailed(it) => Some((it.kind, it.retry_at)),
                _ => None,
            })
            .collect();
        assert_eq!(failed, [(FailureKind::Timeout, None)]);
        assert_eq!(ask(&engine, &message("m2", ROOM, "on")).await.unwrap().text, "Two.");
    }
}

#[tokio::test(start_paused = true)]
async fn who_stops_a_summary_stops_no_turn() {
    let gate = Gate::new();
    let model = script().says("One.").says("Two.").behind(&gate).waits().says("Three.");
    let model = Arc::new(model);
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let id = ask(&engine, &message("m1", ROOM, &words_of(300))).await.unwrap().session_id;
    let second = engine.send(&message("m2", ROOM, "go on"), RowTarget::Current).await.unwrap();
    until(|| model.bodies().len() == 2).await;
    let action = CommandAction::Compact { models: Vec::new() };
    house.command(&engine, id, action).await.unwrap();
    let refused = house.command(&engine, id, CommandAction::CancelCompaction).await;
    assert!(matches!(refused, Err(EngineError::TurnRunning { .. })), "{refused:?}");
    gate.open();
    let second = within(second.end()).await.unwrap();
    assert_eq!((second.text.as_str(), second.end), ("Two.", MessageEnd::Done));
    // What was requested in the turn is made after it, and can be stopped there.
    until(|| model.bodies().len() == 3).await;
    house.command(&engine, id, CommandAction::CancelCompaction).await.unwrap();
    within(engine.until_rest()).await;
    assert_eq!(compactions(&house.events(id)).len(), 0);
    let third = ask(&engine, &message("m3", ROOM, "and?")).await.unwrap();
    assert_eq!(third.text, "Three.");
    assert_verified(&house.events(id));
}

/// The hash of the request that would be made next.
fn next_hash(events: &[Event]) -> String {
    let state = State::of(events);
    let parameters = Json::empty_object();
    let context = context(&state);
    let request = context.request("scripted", "scripted", &parameters);
    kith_testkit::sha256_hex(
        &render::render(Wire::OpenaiChat, &request, &MediaBytes::new()).unwrap(),
    )
}

#[tokio::test(start_paused = true)]
async fn identifiers_and_tasks_outlive_ten_compactions_by_a_model_that_forgets() {
    const ROUNDS: usize = 10;
    let mut model = script();
    for round in 0..ROUNDS {
        // It forgets everything, and takes what is done for open.
        let forgetful = format!("## Facts\n\n## Open tasks\n- Do thing {}\n\n## Done\n", round * 5);
        model = model.says("Noted.").says(&forgetful);
    }
    let model = Arc::new(model);
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let (mut id, mut undo) = (None, Vec::new());
    for round in 0..ROUNDS {
        let ids = (0..30).map(|n| format!("Note ORD-{}.\n", 10_000 + round * 30 + n));
        let tasks = (0..5).map(|n| format!("- [ ] do thing {}\n", round * 5 + n));
        // All but the last two of each round are finished at once.
        let done = (0..3).map(|n| format!("- [x] do thing {}\n", round * 5 + n));
        let text: String = ids.chain(tasks).chain(done).collect();
        let sent = ask(&engine, &message(&format!("m{round}"), ROOM, &text)).await.unwrap();
        id = Some(sent.session_id);
        within(engine.until_rest()).await;
        let events = house.events(sent.session_id);
        let leaf = events.iter().rfind(|it| it.is_tree()).map(|it| it.id);
        undo.push((LeafId::from(leaf), next_hash(&events)));
        compact(&house, &engine, sent.session_id).await;
    }
    let id = id.unwrap();
    let events = house.events(id);
    let made = compactions(&events);
    assert_eq!(made.len(), ROUNDS);
    let ledger = &made[ROUNDS - 1].ledger;
    let lost: Vec<usize> =
        (10_000..10_300).filter(|n| !ledger.identifiers.contains(&format!("ORD-{n}"))).collect();
    assert_eq!(lost, [0; 0], "identifiers that are lost");
    let open: Vec<String> =
        (0..50).filter(|n| n % 5 >= 3).map(|n| format!("do thing {n}")).collect();
    assert_eq!(ledger.open_tasks, open);
    assert_eq!(ledger.done_tasks.len(), 30);
    assert_verified(&events);
    for (leaf, hash) in undo.into_iter().rev() {
        engine.branch(id, leaf, mover(&house)).await.unwrap();
        within(engine.until_rest()).await;
        assert_eq!(next_hash(&house.events(id)), hash);
    }
}

#[tokio::test(start_paused = true)]
async fn a_branch_or_a_lack_of_time_ends_a_compaction_and_the_next_message_is_answered() {
    let model = Arc::new(script().says("One.").waits().says("Two.").waits().says("Three."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let id = ask(&engine, &message("m1", ROOM, &words_of(300))).await.unwrap().session_id;
    within(engine.until_rest()).await;
    let mut followed = engine.follow(id, 0);
    let action = CommandAction::Compact { models: Vec::new() };
    house.command(&engine, id, action.clone()).await.unwrap();
    until(|| model.bodies().len() == 2).await;
    engine.branch(id, LeafId::Start, mover(&house)).await.unwrap();
    let second = ask(&engine, &message("m2", ROOM, "anew")).await.unwrap();
    assert_eq!((second.text.as_str(), second.end), ("Two.", MessageEnd::Done));
    within(engine.until_rest()).await;
    // Nobody stops the next one but the clock.
    house.command(&engine, id, action).await.unwrap();
    until(|| model.bodies().len() == 4).await;
    within(engine.until_rest()).await;
    let third = ask(&engine, &message("m3", ROOM, "on")).await.unwrap();
    assert_eq!((third.text.as_str(), third.end), ("Three.", MessageEnd::Done));
    within(engine.until_rest()).await;
    let events = house.events(id);
    assert_eq!(compactions(&events).len(), 0);
    assert_verified(&events);
    // The driver never failed.
    engine.stop().await;
    while let Ok(item) = within(followed.next()).await {
        assert!(!matches!(item, FeedItem::Failed(_)), "{item:?}");
        if matches!(&item, FeedItem::Event(event) if event.seq == events.len() as u64) {
            break;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_summary_cannot_shorten_is_not_summarised() {
    // The message to be answered fills the window by itself.
    let model = Arc::new(with_window(script().says("One.").says("Two."), 4_000));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let id = ask(&engine, &message("m1", ROOM, "hi")).await.unwrap().session_id;
    *house.setup.prompt.lock().unwrap() = words_of(3_600);
    let room = "cli:room:b";
    let first = ask(&engine, &message("m2", room, "hi")).await.unwrap();
    assert_eq!(first.text, "Two.");
    ask(&engine, &message("m3", room, "and?")).await.unwrap();
    within(engine.until_rest()).await;
    for id in [id, first.session_id] {
        assert!(compactions(&house.events(id)).is_empty());
        assert!(requests(&house.events(id)).iter().all(|it| it.purpose == Purpose::Turn));
    }
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_was_requested_in_a_turn_is_dropped_when_the_turn_is_cancelled() {
    let model = Arc::new(script().says("One.").waits().says("Two."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let id = ask(&engine, &message("m1", ROOM, &words_of(300))).await.unwrap().session_id;
    let row = engine.send(&message("m2", ROOM, "go"), RowTarget::Current).await.unwrap();
    until(|| model.bodies().len() == 2).await;
    let action = CommandAction::Compact { models: Vec::new() };
    house.command(&engine, id, action).await.unwrap();
    house.command(&engine, id, CommandAction::Cancel { key: None }).await.unwrap();
    assert_eq!(within(row.end()).await.unwrap().end, MessageEnd::Cancelled);
    within(engine.until_rest()).await;
    assert_eq!((model.bodies().len(), compactions(&house.events(id)).len()), (2, 0));
}

/// A host that has the models A and B, and a conversation of two turns with A.
fn with_two_models(
    model_a: ScriptedModel,
    model_b: ScriptedModel,
) -> (TestHouse, Engine, [Arc<ScriptedModel>; 2]) {
    let [a, b] = [model_a, model_b].map(|it| Arc::new(with_window(it, 4_000)));
    let mut house = TestHouse::new(&a);
    let known = ScriptedModels::none()
        .with(sample_model_ref("a"), a.clone())
        .with(sample_model_ref("b"), b.clone());
    house.models = Arc::new(known);
    let engine = house.engine();
    (house, engine, [a, b])
}

fn to_both(key: &str, text: &str) -> IngressEvent {
    let models = ["a", "b"].map(sample_model_ref).to_vec();
    IngressEvent { models, ..message(key, ROOM, text) }
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_one_model_cannot_make_is_asked_of_the_next_within_a_turn() {
    for failing in [
        script().says("One.").says("Two.").fails(FailureKind::Status, true),
        script().says("One.").says("Two.").empty(),
    ] {
        let model_a = failing.says("Three.");
        let (house, engine, [a, b]) = with_two_models(model_a, script().says(SUMMARY));
        let id = ask(&engine, &to_both("m1", &words_of(1_100))).await.unwrap().session_id;
        ask(&engine, &to_both("m2", &words_of(1_100))).await.unwrap();
        // The first model is given up for the summary, not for the turn.
        assert_eq!(ask(&engine, &to_both("m3", &words_of(700))).await.unwrap().text, "Three.");
        assert_eq!((a.bodies().len(), b.bodies().len()), (4, 1));
        within(engine.until_rest()).await;
        let events = house.events(id);
        assert_eq!(compactions(&events).len(), 1, "{}", house.outline(id));
        assert!(house.notices(id).iter().any(|it| it.ends_with("`b` is asked instead.")));
        assert_verified(&events);
    }
}

#[tokio::test(start_paused = true)]
async fn a_summary_between_turns_is_asked_of_the_next_model_and_fails_after_the_last() {
    let model_a = script().says("One.").fails(FailureKind::Auth, false).empty().says("Two.");
    let model_b = script().says(SUMMARY).fails(FailureKind::Auth, false);
    let (house, engine, [a, b]) = with_two_models(model_a, model_b);
    let id = ask(&engine, &to_both("m1", &words_of(300))).await.unwrap().session_id;
    within(engine.until_rest()).await;
    compact(&house, &engine, id).await;
    assert_eq!(compactions(&house.events(id)).len(), 1, "{}", house.outline(id));
    compact(&house, &engine, id).await;
    assert_eq!((a.bodies().len(), b.bodies().len()), (3, 2));
    assert_eq!(compactions(&house.events(id)).len(), 1, "{}", house.outline(id));
    assert_eq!(ask(&engine, &to_both("m2", "on")).await.unwrap().text, "Two.");
    assert_verified(&house.events(id));
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_ends_the_program_each_time_is_given_up_until_it_is_asked_for_again() {
    let model = script().says("One.").waits().waits().waits().says(SUMMARY);
    let model = Arc::new(model);
    let house = TestHouse::new(&model);
    let mut engine = house.engine();
    let id = ask(&engine, &message("m1", ROOM, &words_of(300))).await.unwrap().session_id;
    within(engine.until_rest()).await;
    let action = CommandAction::Compact { models: Vec::new() };
    house.command(&engine, id, action).await.unwrap();
    for n in 2..=4 {
        until(|| model.bodies().len() == n).await;
        engine.kill();
        engine = house.engine();
        engine.wake(id);
    }
    for _ in 0..2 {
        within(engine.until_rest()).await;
        assert_eq!(model.bodies().len(), 4, "{}", house.outline(id));
        assert_eq!(house.notices(id).len(), 1);
        engine.kill();
        engine = house.engine();
        engine.wake(id);
    }
    within(engine.until_rest()).await;
    compact(&house, &engine, id).await;
    assert_eq!(compactions(&house.events(id)).len(), 1, "{}", house.outline(id));
    assert_verified(&house.events(id));
}

#[tokio::test(start_paused = true)]
async fn in_a_small_window_the_ledger_leaves_room_for_the_conversation() {
    const WINDOW: u64 = 4_000;
    let mut model = script();
    for _ in 0..60 {
        model = model.says(SUMMARY);
    }
    let model = Arc::new(with_window(model, WINDOW));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let mut id = None;
    for n in 0..30 {
        let names = (0..40).map(|it| format!("ORDER-{n:04}-{it:04}-0123456789"));
        let names = names.collect::<Vec<_>>().join(" ");
        let sent = ask(&engine, &message(&format!("m{n}"), ROOM, &names)).await.unwrap();
        assert_eq!(sent.end, MessageEnd::Done);
        id = Some(sent.session_id);
    }
    within(engine.until_rest()).await;
    let events = house.events(id.unwrap());
    let made = compactions(&events);
    assert!((2..=12).contains(&made.len()), "{}", made.len());
    let newest = &made.last().unwrap().ledger.identifiers;
    assert!(newest.iter().map(String::len).sum::<usize>() as u64 <= WINDOW * 3 / 8);
    for request in requests(&events) {
        assert!(request.body_bytes / 4 <= WINDOW, "{} bytes", request.body_bytes);
    }
    assert_verified(&events);
}
