//! Images of a conversation reach the model as bytes, and are proven with them.

use kith_sessions::desk::{Inbox as _, RowTarget};
use kith_sessions::journal::{FilesJournal, NewBlob};
use kith_testkit::scripted::ScriptedModels;
use kith_testkit::transcript::transcript;
use kith_vocab::block::{Block, Media};
use kith_vocab::digest::sha256_hex;
use kith_vocab::event::models::FailureKind;
use kith_vocab::files::FileSystem as _;
use kith_vocab::ingress::{IngressContent, IngressEvent};
use kith_vocab::provider::{ModelChoice, Provider};

use super::*;
use crate::command::CommandAction;
use crate::fixture::ask_in;
use crate::verify::{Mismatch, Verifier, blobs_of};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n pixels";
const BASE64: &str = "data:image/png;base64,iVBORw0KGgogcGl4ZWxz";

/// A session in which a person has shown an image of so many bytes, by its blob.
async fn shown(house: &TestHouse, engine: &Engine, bytes: u64) -> SessionId {
    let mut log = transcript("snapshot be kind | user: look | model: seen").events;
    for event in &mut log {
        if let Body::UserMessage(it) = &mut event.body {
            let media_type = "image/png".to_owned();
            let image = Media { media_type, blob: sha256_hex(PNG), bytes, name: None };
            it.message.content.push(Block::Image(image));
        }
    }
    house.adopt(engine, ROOM, &log).await.session_id
}

fn mismatches(house: &TestHouse, id: SessionId) -> Vec<Mismatch> {
    let journal = Arc::new(FilesJournal::new(house.store()));
    let mut verifier = Verifier::default().with_blobs(blobs_of(journal));
    house.events(id).iter().for_each(|event| verifier.read(event));
    verifier.mismatches
}

#[tokio::test(start_paused = true)]
async fn an_image_is_sent_proven_and_when_it_is_lost_told_in_words() {
    let model = Arc::new(script().says("A cat.").says("Gone."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let blob = format!("/house/.kith/blobs/{}", sha256_hex(PNG));
    house.files.write_raw(&blob, PNG);
    let id = shown(&house, &engine, PNG.len() as u64).await;
    let target = || RowTarget::Session(id);
    ask_in(&engine, &message("m1", ROOM, "what is it?"), target()).await.unwrap();
    let body = String::from_utf8(model.bodies()[0].bytes.clone()).unwrap();
    assert!(body.contains(BASE64), "{body}");
    assert_eq!(mismatches(&house, id), []);

    house.files.remove(blob.as_ref()).unwrap();
    let lost = mismatches(&house, id);
    assert_eq!(lost.len(), 1);
    assert_eq!(lost[0].rebuilt, format!("blob `{}` is lost or damaged", sha256_hex(PNG)));
    let report = ask_in(&engine, &message("m2", ROOM, "and now?"), target()).await.unwrap();
    assert_eq!(report.text.as_str(), "Gone.");
    let body = String::from_utf8(model.bodies()[1].bytes.clone()).unwrap();
    assert!(body.contains("[image image/png, 15 bytes, lost, not shown]"), "{body}");
}

/// A message with the image attached.
fn attached(key: &str, thread: &str) -> IngressEvent {
    let media = Media {
        media_type: "image/png".to_owned(),
        blob: sha256_hex(PNG),
        bytes: PNG.len() as u64,
        name: Some("cat.png".to_owned()),
    };
    let (text, attachments) = ("what is it?".to_owned(), vec![media]);
    let content = IngressContent::Text { text, attachments };
    IngressEvent { content, ..message(key, thread, "") }
}

fn png() -> Vec<NewBlob> {
    vec![NewBlob::Bytes(PNG.to_vec())]
}

#[tokio::test(start_paused = true)]
async fn an_attachment_outlives_a_crash_right_after_its_message_was_accepted() {
    let model = Arc::new(script().says("A cat."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    engine.accept_with(&attached("m1", ROOM), RowTarget::Current, png()).await.unwrap();
    // Not one byte of it waits for the disk.
    let blob = format!("/house/.kith/blobs/{}", sha256_hex(PNG));
    assert_eq!(house.files.durable(&blob).as_deref(), Some(PNG));
    engine.kill();
    let engine = house.engine();
    let id = resume(&engine).await[0];
    let body = String::from_utf8(model.bodies()[0].bytes.clone()).unwrap();
    assert!(body.contains(BASE64) && body.contains("what is it?"), "{body}");
    assert_eq!(mismatches(&house, id), []);
}

#[tokio::test(start_paused = true)]
async fn an_attachment_that_cannot_be_kept_is_not_accepted() {
    let model = Arc::new(script());
    let house = TestHouse::new(&model);
    let engine = house.engine();
    house.files.set_hook(|operation, path| {
        let is_change = path.starts_with("/house/.kith/blobs") && operation != "len";
        if is_change { Err(std::io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    });
    engine.accept_with(&attached("m1", ROOM), RowTarget::Current, png()).await.unwrap_err();
    assert_eq!(house.desk.sessions_with_open_rows().await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn a_removed_session_leaves_what_a_waiting_message_shows() {
    let model = Arc::new(script().says("A cat.").says("Still a cat."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let blob = format!("/house/.kith/blobs/{}", sha256_hex(PNG));
    engine.accept_with(&attached("m1", ROOM), RowTarget::Current, png()).await.unwrap();
    let first = resume(&engine).await[0];
    within(engine.until_rest()).await;
    engine.accept_with(&attached("m2", "cli:other:1"), RowTarget::Current, png()).await.unwrap();
    engine.remove(first).await.unwrap();
    assert!(house.files.len(blob.as_ref()).is_ok());
    let second = resume(&engine).await[0];
    within(engine.until_rest()).await;
    let body = String::from_utf8(model.bodies()[1].bytes.clone()).unwrap();
    assert!(body.contains(BASE64), "{body}");
    // And goes with the last that names it.
    engine.remove(second).await.unwrap();
    assert!(house.files.len(blob.as_ref()).is_err());
}

#[tokio::test(start_paused = true)]
async fn a_request_reserves_what_an_image_may_cost_and_a_summary_is_reckoned_without_it() {
    let model = Arc::new(script().says("A cat.").says("## Facts\n- a cat"));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    // It says that it is large, whatever is left of it.
    house.files.write_raw(format!("/house/.kith/blobs/{}", sha256_hex(PNG)), PNG);
    let id = shown(&house, &engine, 300_000).await;
    let question = "what is it? ".repeat(3_000);
    let said = message("m1", ROOM, &question);
    ask_in(&engine, &said, RowTarget::Session(id)).await.unwrap();
    within(engine.until_rest()).await;
    house.command(&engine, id, CommandAction::Compact { models: Vec::new() }).await.unwrap();
    within(engine.until_rest()).await;
    let reserved: Vec<u64> = house
        .events(id)
        .iter()
        .filter_map(|event| match &event.body {
            Body::ModelRequested(it) => Some(it.reserved.tokens),
            _ => None,
        })
        .collect();
    let text_and_answer = question.len() as u64 / 3 + 8_192;
    let in_excess: Vec<u64> = reserved.iter().map(|it| it - text_and_answer).collect();
    assert!((12_000..13_000).contains(&in_excess[0]), "{in_excess:?}");
    // It is told of the image in words.
    assert!(in_excess[1] < 1_500, "{in_excess:?}");
}

#[tokio::test(start_paused = true)]
async fn an_image_that_a_server_refuses_is_told_in_words_with_the_next_message() {
    let model = script().fails(FailureKind::Media, false).says("Without it.");
    let model = model.fails(FailureKind::Media, false).fails(FailureKind::Media, false);
    let model = Arc::new(model.says("Again without it."));
    let mut house = TestHouse::new(&model);
    let engine = house.engine();
    let accepted =
        engine.accept_with(&attached("m1", ROOM), RowTarget::Current, png()).await.unwrap();
    let follower = engine.follow_row(&accepted).await.unwrap();
    engine.wake(accepted.session_id);
    assert_eq!(within(follower.end()).await.unwrap().end, MessageEnd::Failed);
    let id = accepted.session_id;
    let carries = |n: usize| {
        let body = String::from_utf8(model.bodies()[n].bytes.clone()).unwrap();
        assert_ne!(
            body.contains(BASE64),
            body.contains("refused by this model's server"),
            "{body}"
        );
        body.contains(BASE64)
    };
    let second = ask(&engine, &message("m2", ROOM, "and now?")).await.unwrap();
    assert_eq!((second.text.as_str(), carries(0), carries(1)), ("Without it.", true, false));
    // Who shows it again, or retries, wants it tried again.
    let accepted =
        engine.accept_with(&attached("m3", ROOM), RowTarget::Current, png()).await.unwrap();
    let follower = engine.follow_row(&accepted).await.unwrap();
    engine.wake(id);
    assert_eq!(within(follower.end()).await.unwrap().end, MessageEnd::Failed);
    let retry = CommandAction::Retry { key: None, attended: true };
    house.command(&engine, id, retry).await.unwrap();
    within(engine.until_rest()).await;
    assert_eq!((carries(2), carries(3)), (true, true));
    // A later host knows it from the log.
    engine.kill();
    let engine = house.engine();
    let fourth = ask(&engine, &message("m4", ROOM, "and now?")).await.unwrap();
    assert_eq!((fourth.text.as_str(), carries(4)), ("Again without it.", false));
    assert_eq!(mismatches(&house, id), []);
    // Another model is shown it.
    within(engine.until_rest()).await;
    engine.kill();
    let other = ModelChoice { model: "other".to_owned(), ..model.choice().clone() };
    let other = Arc::new(script().says("A cat.").with_choice(other));
    let provider: Arc<dyn Provider> = other.clone();
    house.models = Arc::new(ScriptedModels::one(provider));
    let engine = house.engine();
    assert_eq!(ask(&engine, &message("m5", ROOM, "and you?")).await.unwrap().text, "A cat.");
    assert!(String::from_utf8_lossy(&other.bodies()[0].bytes).contains(BASE64));
    assert_eq!(mismatches(&house, id), []);
}
