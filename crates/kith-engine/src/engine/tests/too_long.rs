//! What is too long for a model once does not keep the session from being used.

use kith_sessions::desk::RowTarget;
use kith_testkit::transcript::transcript;
use kith_vocab::block::{Block, Media};
use kith_vocab::digest::sha256_hex;
use kith_vocab::event::models::{FailureKind, Purpose};

use super::compaction::{
    SUMMARY, assert_verified, compactions, requests, text_of, with_window, words_of,
};
use super::*;
use crate::command::CommandAction;
use crate::fixture::ask_in;
use crate::replay::Replayer;
use crate::verify::BlobReader;
use crate::why::{
    BodySpan, ChangeCause, ExplainedRequest, PartSource, Proof, RequestExplainer, RequestFinder,
    WantedRequest,
};

const TOO_LONG: FailureKind = FailureKind::ContextLength;
const WINDOW: u64 = 4_000;

fn assert_replays(events: &[Event]) {
    let mut replayer = Replayer::default();
    for event in events {
        replayer.read(event);
    }
    assert_eq!(replayer.difference, None);
}

/// A message whose beginning and end are known.
fn overlong() -> String {
    format!("It begins with ORD-77. {} It ends with ORD-88.", words_of(20_000))
}

#[tokio::test(start_paused = true)]
async fn after_a_message_that_is_longer_than_the_window_the_next_one_is_answered() {
    for (window, has_history) in [(WINDOW, false), (WINDOW, true), (0, false), (0, true)] {
        let mut model = script();
        if has_history {
            model = model.says("Hello.");
        }
        // Where the window is known, what stands before it is summarised first.
        if has_history && window > 0 {
            model = model.says(SUMMARY);
        }
        model = model.fails(TOO_LONG, false);
        // Where it is not, the vendor's refusal has it summarised, and it is refused again.
        if has_history && window == 0 {
            model = model.says(SUMMARY).fails(TOO_LONG, false);
        }
        // A vendor of which the window is not known says so once more.
        if window == 0 {
            model = model.fails(TOO_LONG, false);
        }
        let model = model.says(SUMMARY).says("Two.").says("Three.");
        let model = Arc::new(if window > 0 { with_window(model, window) } else { model });
        let house = TestHouse::new(&model);
        let engine = house.engine();
        if has_history {
            ask(&engine, &message("m0", ROOM, "hello")).await.unwrap();
        }
        let first = ask(&engine, &message("m1", ROOM, &overlong())).await.unwrap();
        assert_eq!(first.end, MessageEnd::Failed);
        let id = first.session_id;
        let second = ask(&engine, &message("m2", ROOM, "and in short?")).await.unwrap();
        assert_eq!((second.text.as_str(), second.end), ("Two.", MessageEnd::Done));
        // The model is shown both ends of the message, and told that it is cut.
        let bodies = model.bodies();
        let [.., summary, answered] = bodies.as_slice() else { panic!("{}", house.outline(id)) };
        for shown in ["begins with ORD-77", "ends with ORD-88", "bytes were left out here"] {
            assert!(text_of(summary).contains(shown), "{shown}");
        }
        assert!(!text_of(summary).contains("and in short?"));
        let answered = text_of(answered);
        for shown in ["likes tea", "ORD-77", "too long to be shown to you whole", "and in short?"] {
            assert!(answered.contains(shown), "{shown}");
        }
        assert!(answered.len() < 20_000, "{}", answered.len());
        // The person is told once.
        let told = house.notices(id);
        let is_told = |it: &&String| it.contains("is too long for `scripted`");
        assert_eq!(told.iter().filter(is_told).count(), 1, "{told:?}");
        let events = house.events(id);
        assert_verified(&events);
        assert_replays(&events);
        // A host that comes later goes on from there.
        engine.kill();
        let engine = house.engine();
        let third = ask(&engine, &message("m3", ROOM, "and?")).await.unwrap();
        assert_eq!((third.text.as_str(), third.end), ("Three.", MessageEnd::Done));
        assert!(text_of(model.bodies().last().unwrap()).contains("likes tea"));
        assert_verified(&house.events(id));
        assert_replays(&house.events(id));
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_that_was_too_long_is_whole_for_a_model_that_can_read_it() {
    let small = Arc::new(with_window(script().fails(TOO_LONG, false), WINDOW));
    let mut house = TestHouse::new(&small);
    let engine = house.engine();
    let id = ask(&engine, &message("m1", ROOM, &overlong())).await.unwrap().session_id;
    within(engine.until_rest()).await;
    engine.kill();
    let large = Arc::new(with_window(script().says("Read."), 128_000));
    let provider: Arc<dyn kith_vocab::provider::Provider> = large.clone();
    house.models = Arc::new(kith_testkit::scripted::ScriptedModels::one(provider));
    let engine = house.engine();
    let second = ask(&engine, &message("m2", ROOM, "and in short?")).await.unwrap();
    assert_eq!(second.text, "Read.");
    assert!(text_of(&large.bodies()[0]).contains(&overlong()));
    assert_eq!(compactions(&house.events(id)).len(), 0);
    assert_verified(&house.events(id));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_even_be_summarised_is_told_with_what_to_do() {
    // What a call was given cannot be shortened.
    let input = serde_json::json!({ "text": words_of(20_000) });
    let tool = kith_testkit::tools::CountingTool::new("look");
    let model = script().calls("", &[("look", input)]).fails(TOO_LONG, false);
    let model = Arc::new(with_window(model, WINDOW));
    let house = TestHouse::with_tools(&model, vec![Arc::new(tool)]);
    let engine = house.engine();
    let first = ask(&engine, &message("m1", ROOM, "look")).await.unwrap();
    assert_eq!(first.end, MessageEnd::Failed);
    within(engine.until_rest()).await;
    let told = house.notices(first.session_id);
    assert!(told.iter().any(|it| it.contains("Choose a model with a larger context")), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn after_more_images_than_a_request_takes_the_next_message_is_answered() {
    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n pixels";
    let model = Arc::new(script().says(SUMMARY).says("A cat."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    house.files.write_raw(format!("/house/.kith/blobs/{}", sha256_hex(PNG)), PNG);
    let mut log = transcript("snapshot be kind | user: look | model: seen").events;
    for event in &mut log {
        if let Body::UserMessage(it) = &mut event.body {
            let (media_type, bytes) = ("image/png".to_owned(), 21 * 1024 * 1024);
            let image = Media { media_type, blob: sha256_hex(PNG), bytes, name: None };
            it.message.content.push(Block::Image(image));
        }
    }
    let id = house.adopt(&engine, ROOM, &log).await.session_id;
    let target = RowTarget::Session(id);
    let report = ask_in(&engine, &message("m1", ROOM, "what is it?"), target).await.unwrap();
    assert_eq!((report.text.as_str(), report.end), ("A cat.", MessageEnd::Done));
    let events = house.events(id);
    let purposes: Vec<Purpose> = requests(&events).iter().map(|it| it.purpose).collect();
    assert_eq!(purposes, [Purpose::Compact, Purpose::Turn]);
    let last = text_of(model.bodies().last().unwrap());
    assert!(last.contains("what is it?") && !last.contains("base64"), "{last}");
    assert_verified(&events);
}

#[tokio::test(start_paused = true)]
async fn a_conversation_beyond_the_window_that_the_server_takes_is_told_once() {
    let model = script().says("One.").says("Two.").fails(FailureKind::Status, false).says("Three.");
    let model = Arc::new(with_window(model, WINDOW));
    let house = TestHouse::new(&model);
    // What cannot be summarised fills the window.
    *house.setup.prompt.lock().unwrap() = words_of(6_000);
    let engine = house.engine();
    let id = ask(&engine, &message("m1", ROOM, "hi")).await.unwrap().session_id;
    let told = || {
        let notices = house.notices(id).into_iter();
        notices.filter(|it| it.contains("reads 4000 at once")).collect::<Vec<_>>()
    };
    within(engine.until_rest()).await;
    assert_eq!(told().len(), 1, "{}", house.outline(id));
    assert!(told()[0].contains("correct `contextWindow` of the model in kith.toml"));
    ask(&engine, &message("m2", ROOM, "and?")).await.unwrap();
    engine.kill();
    let engine = house.engine();
    let failed = ask(&engine, &message("m3", ROOM, "and?")).await.unwrap();
    assert_eq!(failed.end, MessageEnd::Failed);
    within(engine.until_rest()).await;
    assert_eq!(told().len(), 1, "{}", house.outline(id));
    assert!(compactions(&house.events(id)).is_empty());
    assert_verified(&house.events(id));
    assert_replays(&house.events(id));
}

#[tokio::test(start_paused = true)]
async fn a_request_beyond_the_window_is_told_also_when_it_is_answered_after_a_retry() {
    let model = script().fails(FailureKind::Status, false).says("One.").says("Two.");
    let model = Arc::new(with_window(model, WINDOW));
    let house = TestHouse::new(&model);
    *house.setup.prompt.lock().unwrap() = words_of(6_000);
    let engine = house.engine();
    let id = ask(&engine, &message("m1", ROOM, "hi")).await.unwrap().session_id;
    within(engine.until_rest()).await;
    let n_told = || {
        let notices = house.notices(id).into_iter();
        notices.filter(|it| it.contains("reads 4000 at once")).count()
    };
    // What was refused was not read by anyone.
    assert_eq!(n_told(), 0);
    let retry = CommandAction::Retry { key: None, attended: true };
    house.command(&engine, id, retry).await.unwrap();
    within(engine.until_rest()).await;
    assert_eq!(n_told(), 1, "{}", house.outline(id));
    ask(&engine, &message("m2", ROOM, "and?")).await.unwrap();
    within(engine.until_rest()).await;
    assert_eq!(n_told(), 1, "{}", house.outline(id));
    assert_replays(&house.events(id));
}

/// The last request, or the last one of this turn, explained.
fn explained(events: &[Event], turn: Option<u32>) -> ExplainedRequest {
    let mut finder = RequestFinder::new(turn.map_or(WantedRequest::Last, WantedRequest::OfTurn));
    for event in events {
        finder.read(event);
    }
    let blobs: BlobReader = Box::new(|_| None);
    let mut explainer = RequestExplainer::new(finder.found().unwrap(), blobs);
    for event in events {
        explainer.read(event).unwrap();
    }
    explainer.finish().unwrap()
}

fn texts_of(found: &ExplainedRequest) -> Vec<String> {
    let text =
        |span: &BodySpan| String::from_utf8_lossy(&found.body[span.start..span.end]).into_owned();
    found.spans.iter().map(text).collect()
}

#[tokio::test(start_paused = true)]
async fn a_summary_of_shortened_messages_and_the_request_after_it_are_explained() {
    let model = script().fails(TOO_LONG, false).says(SUMMARY).says("Two.");
    let model = Arc::new(with_window(model, WINDOW));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let id = ask(&engine, &message("m1", ROOM, &overlong())).await.unwrap().session_id;
    ask(&engine, &message("m2", ROOM, "and in short?")).await.unwrap();
    within(engine.until_rest()).await;
    let events = house.events(id);
    let is_last = |event: &Event| matches!(event.body, Body::Compact(_));
    let end = events.iter().position(is_last).unwrap();

    let summary = explained(&events[..=end], None);
    assert!(summary.requested.scope.unwrap().text_bytes_max.is_some());
    assert_eq!((summary.proof, summary.turn), (Proof::Same, 2));
    let change = summary.change.as_ref().unwrap();
    assert_eq!(change.cause, ChangeCause::OtherPurpose);
    let said = events.iter().find(|it| matches!(it.body, Body::UserMessage(_))).unwrap().id;
    let source = PartSource::Event { id: said, event_type: "user_message" };
    let shown: Vec<(String, PartSource)> = texts_of(&summary)
        .into_iter()
        .zip(summary.spans.iter().map(|span| summary.parts[span.part].source.clone()))
        .collect();
    let cut: Vec<_> = shown.iter().filter(|(text, _)| text.contains("left out here")).collect();
    assert_eq!(cut.len(), 1);
    assert!(cut[0].0.contains("begins with ORD-77") && cut[0].0.contains("ends with ORD-88"));
    assert_eq!(cut[0].1, source);

    let after = explained(&events, None);
    assert_eq!((after.requested.purpose, after.proof), (Purpose::Turn, Proof::Same));
    assert_eq!(after.change.as_ref().unwrap().cause, ChangeCause::Compacted);
    let texts = texts_of(&after);
    for shown in ["likes tea", "too long to be shown to you whole", "and in short?"] {
        assert!(texts.iter().any(|text| text.contains(shown)), "{shown}: {texts:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_conversation_within_the_window_is_sent_without_a_word() {
    let model = Arc::new(with_window(script().says("One.").says("Two."), WINDOW));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let id = ask(&engine, &message("m1", ROOM, &words_of(1_000))).await.unwrap().session_id;
    ask(&engine, &message("m2", ROOM, "and?")).await.unwrap();
    within(engine.until_rest()).await;
    assert_eq!(house.notices(id), [""; 0]);
}
