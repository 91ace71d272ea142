//! Clients that are slow, or take nothing.

use kith_vocab::json::Json;

use super::*;
use crate::protocol::{ItemFrame, ResponseFrame};

fn item(n: usize) -> HostFrame {
    let (request_type, request_id) = ("count".to_owned(), "1".to_owned());
    HostFrame::Item(ItemFrame { request_type, request_id, item: Json::of(&n) })
}

#[tokio::test]
async fn what_finds_no_room_is_lost_or_ends_the_connection() {
    let (link, _receiver) = Link::new();
    for n in 0..FRAMES_WAITING_MAX {
        link.push_item(&item(n), Delivery::Certain).unwrap();
    }
    link.push_item(&item(0), Delivery::IfRoom).unwrap();
    assert!(!link.gone.is_cancelled());
    link.push_item(&item(0), Delivery::Certain).unwrap();
    assert!(link.gone.is_cancelled());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paced_follow_waits_for_a_slow_client() {
    let n_items = FRAMES_WAITING_MAX * 2;
    let (link, mut receiver) = Link::new();
    let (taken, bytes_waiting) = (Arc::clone(&link.taken), Arc::clone(&link.bytes_waiting));
    let sender = link.clone();
    let sending = tokio::spawn(async move {
        for n in 0..n_items {
            sender.push_item(&item(n), Delivery::Paced).unwrap();
        }
    });
    for n in 0..n_items {
        let sent = receiver.recv().await.unwrap();
        bytes_waiting.fetch_sub(sent.len(), Ordering::Relaxed);
        taken.notify_waiters();
        assert_eq!(Some(sent), frame(&item(n)));
    }
    sending.await.unwrap();
    assert!(!link.gone.is_cancelled());
}

#[test]
fn an_item_that_fits_into_no_line_is_refused() {
    let (link, _receiver) = Link::new();
    let (request_type, request_id) = ("export_session".to_owned(), "1".to_owned());
    let item = Json::of(&"x".repeat(FRAME_BYTES_MAX));
    let item = HostFrame::Item(ItemFrame { request_type, request_id, item });
    let error = link.push_item(&item, Delivery::Paced).unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidRequest);
}

#[test]
fn an_answer_that_fits_into_no_line_is_an_error() {
    let (link, mut receiver) = Link::new();
    let data = Json::of(&"x".repeat(FRAME_BYTES_MAX));
    link.send(&HostFrame::Response(ResponseFrame {
        request_type: "show_session".to_owned(),
        request_id: "7".to_owned(),
        ok: true,
        data,
        notes: Vec::new(),
    }));
    let sent = receiver.try_recv().unwrap();
    let HostFrame::Error(error) = serde_json::from_slice(&sent).unwrap() else {
        panic!("an answer that long")
    };
    assert_eq!(error.request_id.as_deref(), Some("7"));
    assert_eq!(error.error.message, "the answer is longer than 16777216 bytes");
}
