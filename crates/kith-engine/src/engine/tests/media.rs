//! Images of a conversation reach the model as bytes, and are proven with them.

use kith_sessions::desk::RowTarget;
use kith_sessions::journal::FilesJournal;
use kith_testkit::transcript::transcript;
use kith_vocab::block::{Block, Media};
use kith_vocab::digest::sha256_hex;
use kith_vocab::files::FileSystem as _;

use super::*;
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

#[tokio::test(start_paused = true)]
async fn too_many_images_end_the_turn_and_say_what_to_do() {
    let model = Arc::new(script().says("never asked"));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let id = shown(&house, &engine, 21 * 1024 * 1024).await;
    let target = RowTarget::Session(id);
    let report = ask_in(&engine, &message("m1", ROOM, "what is it?"), target).await.unwrap();
    let failure = format!("{report:?}");
    let expected = "the images and files of the conversation have 21 MiB together, and a request \
                    may carry 20; go back with `kith session branch`";
    assert!(failure.contains(expected), "{failure}");
    assert_eq!(model.bodies().len(), 0);
}
