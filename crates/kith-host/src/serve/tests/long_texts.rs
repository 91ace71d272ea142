//! Texts that no line could hold.

use std::sync::Mutex;

use kith_testkit::gate::Gate;
use kith_vocab::digest::sha256_hex;

use super::*;
use crate::attach::{self, Timeouts};
use crate::call::Delivery;
use crate::calls::session::{ExportItem, ExportSession, ReadBlob};

const LONG_TEXT_BYTES: usize = 20_000_000;

fn long_text() -> String {
    let text = "多么长的一段话 \"\u{1}\n";
    text.repeat(LONG_TEXT_BYTES.div_ceil(text.len()))
}

fn text_of(event: &Event) -> &str {
    let Body::Notice(notice) = &event.body else { panic!("{event:?}") };
    &notice.text
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_with_a_text_of_20_mb_is_followed_over_the_socket() {
    let house = Listening::new().await;
    let texts = ["before".to_owned(), long_text(), "after".to_owned()];
    let id = session_of(&house.house, texts.iter().cloned()).await;

    // On the wire the text is named as in the log.
    let mut client = house.connect().await;
    client.subscribe("1", &id.to_string()).await;
    let mut lines = Vec::new();
    while lines.len() < 4 {
        if let Some(HostFrame::Item(frame)) = client.frames.next::<HostFrame>().await.unwrap() {
            lines.push(frame.item);
        }
    }
    let named: serde_json::Value = lines[2].read().unwrap();
    let name = &named["turn"]["event"]["text"];
    assert_eq!(name["blob"], sha256_hex(texts[1].as_bytes()));
    assert_eq!(name["bytes"], texts[1].len() as u64);
    assert!(lines[2].as_str().len() < 4096, "{}", lines[2].as_str().len());

    // Our own client gives it on whole.
    let path = host_socket(&house.house.kith_dir());
    let (cancel, seen) = (CancellationToken::new(), Arc::new(Mutex::new(Vec::new())));
    let (noted, enough) = (Arc::clone(&seen), cancel.clone());
    let take = move |item: SubscriptionItem, _: Delivery| {
        if let SubscriptionItem::Turn(TurnItem::Event(event)) = item {
            let mut seen = noted.lock().unwrap();
            seen.push(text_of(&event).to_owned());
            if seen.len() == 3 {
                enough.cancel();
            }
        }
        Ok(())
    };
    let follower = Follower::new(take, cancel);
    let to = SubscribedTo::Session(id.to_string());
    let mut call = Subscribe { to, from: ResumePoint::default() };
    let (caller, timeouts) = (Caller::owner("test"), Timeouts::default());
    let ended = attach::ask(&path, &caller, &mut call, &follower, timeouts).await.unwrap();
    assert_eq!(ended.data.resume_point.unwrap().persistent_last_seq, 3);
    assert!(*seen.lock().unwrap() == texts);

    let exported = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&exported);
    let take = move |item: ExportItem, _: Delivery| {
        if let ExportItem::Event(event) = item {
            noted.lock().unwrap().push(text_of(&event).to_owned());
        }
        Ok(())
    };
    let follower = Follower::new(take, CancellationToken::new());
    let mut call = ExportSession { session: id.to_string() };
    attach::ask(&path, &caller, &mut call, &follower, timeouts).await.unwrap();
    assert!(*exported.lock().unwrap() == texts);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_is_ending_still_gives_long_texts() {
    let gate = Gate::new();
    let house = Listening::with_model(ScriptedModel::new([]).says("so").behind(&gate)).await;
    let text = "x".repeat(70_000);
    session_of(&house.house, [text.clone()].into_iter()).await;
    let mut author = house.connect().await;
    author.ask("m1", &message("m1", "one")).await;
    gate.reached().await;
    let mut client = house.connect().await;
    let Listening { _dir, server, .. } = house;
    let state = Arc::clone(&server.state);
    let ending = tokio::spawn(server.end());
    while *state.is_open.lock().unwrap() {
        tokio::task::yield_now().await;
    }
    let call = ReadBlob { sha256: sha256_hex(text.as_bytes()), offset: 0 };
    client.ask("1", &call).await;
    let page = tokio::time::timeout(PATIENCE, client.answer::<ReadBlob>()).await;
    let page = page.expect("it is not answered").unwrap();
    assert_eq!((page.bytes, page.next_offset), (70_000, None));
    gate.open();
    author.answer::<SendMessage>().await.unwrap();
    tokio::time::timeout(PATIENCE, ending).await.expect("it does not end").unwrap();
}

/// CRC-32C, bit by bit.
fn crc_32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            (crc >> 1) ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 }
        })
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_text_that_stands_in_its_line_is_sent_as_it_is() {
    let house = Listening::new().await;
    let text = "x".repeat(70_000);
    let id = session_of(&house.house, [text.clone()].into_iter()).await;
    // As the line of a writer that does not use blobs.
    let kith_dir = house.house.kith_dir();
    let store = SessionStore::new(Arc::new(DiskFiles), &kith_dir);
    let log = std::fs::read_to_string(store.path(id)).unwrap();
    let (start, rest) = log.split_once("{\"blob\":").unwrap();
    let (_, rest) = rest.split_once('}').unwrap();
    let (rest, _) = rest.split_once(",\"crc\":").unwrap();
    let (header, line) = start.split_once('\n').unwrap();
    let line = format!("{line}\"{text}\"{rest}");
    let crc = crc_32c(line.as_bytes());
    let log = format!("{header}\n{line},\"crc\":\"{crc:08x}\"}}\n");
    std::fs::write(store.path(id), log).unwrap();
    std::fs::remove_file(kith_dir.join("blobs").join(sha256_hex(text.as_bytes()))).unwrap();

    let mut client = house.connect().await;
    client.subscribe("1", &id.to_string()).await;
    let event = loop {
        let item = tokio::time::timeout(PATIENCE, client.item()).await.expect("nothing comes");
        if let SubscriptionItem::Turn(TurnItem::Event(event)) = item {
            break event;
        }
    };
    assert!(text_of(&event) == text);
}
