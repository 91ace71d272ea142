//! Texts that no line could hold.

use std::sync::Mutex;

use kith_vocab::digest::sha256_hex;

use super::*;
use crate::attach::{self, Timeouts};
use crate::call::Delivery;
use crate::calls::session::{ExportItem, ExportSession};

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
