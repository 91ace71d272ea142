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
    let (link, receiver) = Link::new(Arrival::Socket);
    for n in 0..FRAMES_WAITING_MAX {
        link.push_item(&item(n), Delivery::Certain).unwrap();
    }
    link.push_item(&item(0), Delivery::IfRoom).unwrap();
    assert!(!link.gone.is_cancelled());
    link.push_item(&item(0), Delivery::Certain).unwrap();
    assert!(link.gone.is_cancelled());
    assert_eq!(receiver.len(), FRAMES_WAITING_MAX);
}

#[tokio::test]
async fn who_follows_for_a_client_that_has_left_is_told() {
    let (link, _receiver) = Link::new(Arrival::Socket);
    link.gone.cancel();
    for delivery in [Delivery::Certain, Delivery::IfRoom] {
        let error = link.push_item(&item(0), delivery).unwrap_err();
        assert_eq!(error.code, ErrorCode::Cancelled);
    }
    assert!(matches!(link.send_item(&item(0)).await, Err(Undelivered::Gone)));
}

#[tokio::test(start_paused = true)]
async fn items_leave_room_for_what_must_arrive() {
    let (link, receiver) = Link::new(Arrival::Socket);
    for n in 0..ITEMS_WAITING_MAX {
        link.send_item(&item(n)).await.unwrap();
    }
    link.push_item(&item(0), Delivery::IfRoom).unwrap();
    assert_eq!(receiver.len(), ITEMS_WAITING_MAX);
    link.send(&HostFrame::Alive(KeepAlive {}));
    assert_eq!((receiver.len(), link.gone.is_cancelled()), (ITEMS_WAITING_MAX + 1, false));

    // Long ones, too.
    let (link, receiver) = Link::new(Arrival::Socket);
    let (request_type, request_id) = ("count".to_owned(), "1".to_owned());
    let long = Json::of(&"x".repeat(FRAME_BYTES_MAX * 2 / 3));
    let long = HostFrame::Item(ItemFrame { request_type, request_id, item: long });
    link.send_item(&long).await.unwrap();
    assert!(matches!(link.send_item(&long).await, Err(Undelivered::Stalled)));
    assert_eq!((receiver.len(), link.gone.is_cancelled()), (1, false));
}

#[tokio::test(start_paused = true)]
async fn little_is_kept_for_a_client_that_reads_nothing() {
    let (link, receiver) = Link::new(Arrival::Socket);
    let (request_type, request_id) = ("count".to_owned(), "1".to_owned());
    let text = Json::of(&"x".repeat(8 * 1024));
    let item = HostFrame::Item(ItemFrame { request_type, request_id, item: text });
    while link.send_item(&item).await.is_ok() {}
    assert!(receiver.len() > 16, "{}", receiver.len());
    let n_bytes = link.bytes_waiting.load(Ordering::Relaxed);
    assert!(n_bytes <= 256 * 1024, "{n_bytes}");
}

#[tokio::test]
async fn items_wait_while_a_client_fetches_a_long_text() {
    let (link, mut receiver) = Link::new(Arrival::Socket);
    let held = link.hold_items();
    let mut sending = Box::pin(async { link.send_item(&item(0)).await.unwrap() });
    tokio::select! {
        biased;
        () = &mut sending => panic!("it did not wait"),
        () = tokio::task::yield_now() => (),
    }
    assert_eq!(receiver.len(), 0);
    // What cannot wait does not.
    link.push_item(&item(1), Delivery::Certain).unwrap();
    link.push_item(&item(2), Delivery::IfRoom).unwrap();
    drop(held);
    link.send(&last_line());
    link.taken.notify_waiters();
    sending.await;
    for expected in [item(1), item(2), last_line(), item(0)] {
        assert_eq!(receiver.recv().await, frame(&expected));
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_no_line_for_30_s_is_let_go() {
    let (link, mut receiver) = Link::new(Arrival::Socket);
    for n in 0..ITEMS_WAITING_MAX {
        link.send_item(&item(n)).await.unwrap();
    }
    // One line in 29 s is slow, and fast enough.
    for n in 0..3 {
        let sending = tokio::spawn({
            let link = link.clone();
            async move { link.send_item(&item(n)).await }
        });
        tokio::time::sleep(Duration::from_secs(29)).await;
        assert!(!sending.is_finished());
        let sent = receiver.recv().await.unwrap();
        link.bytes_waiting.fetch_sub(sent.len(), Ordering::Relaxed);
        link.taken.notify_waiters();
        sending.await.unwrap().unwrap();
    }
    let since = tokio::time::Instant::now();
    assert!(matches!(link.send_item(&item(0)).await, Err(Undelivered::Stalled)));
    assert_eq!(since.elapsed().as_secs(), 30);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_closed_says_its_last_line_to_a_client_that_takes_it() {
    for reads_at_the_end in [true, false] {
        let (here, there) = tokio::net::UnixStream::pair().unwrap();
        let (link, receiver) = Link::new(Arrival::Socket);
        let (_, writer) = here.into_split();
        let over = CancellationToken::new();
        let writing = tokio::spawn(write_all(writer, receiver, link.clone(), over));
        let mut n_sent = 0;
        while link.send_item(&item(n_sent)).await.is_ok() {
            n_sent += 1;
        }
        link.send(&last_line());
        if reads_at_the_end {
            let mut frames = crate::protocol::Frames::new(tokio::io::BufReader::new(there));
            for n in 0..n_sent {
                assert_eq!(frames.next::<HostFrame>().await.unwrap(), Some(item(n)));
            }
            let last = frames.next::<HostFrame>().await.unwrap();
            assert!(matches!(last, Some(HostFrame::Error(_))), "{last:?}");
            assert!(frames.next::<HostFrame>().await.unwrap().is_none());
        }
        writing.await.unwrap();
        assert!(link.gone.is_cancelled());
    }
}

fn last_line() -> HostFrame {
    let error = CallError::request(ErrorCode::RuntimeBusy, "the last line");
    HostFrame::error(Some("1".to_owned()), error)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paced_follow_waits_for_a_slow_client() {
    let n_items = ITEMS_WAITING_MAX * 2;
    let (link, mut receiver) = Link::new(Arrival::Socket);
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
    let (link, _receiver) = Link::new(Arrival::Socket);
    let (request_type, request_id) = ("export_session".to_owned(), "1".to_owned());
    let item = Json::of(&"x".repeat(FRAME_BYTES_MAX));
    let item = HostFrame::Item(ItemFrame { request_type, request_id, item });
    let error = link.push_item(&item, Delivery::Paced).unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidRequest);
}

#[test]
fn an_answer_that_fits_into_no_line_is_an_error() {
    let (link, mut receiver) = Link::new(Arrival::Socket);
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

#[tokio::test(start_paused = true)]
async fn a_line_may_take_long_over_a_network() {
    let (request_type, request_id) = ("count".to_owned(), "1".to_owned());
    let long = Json::of(&"x".repeat(FRAME_BYTES_MAX * 2 / 3));
    let long = HostFrame::Item(ItemFrame { request_type, request_id, item: long });
    let (link, mut receiver) = Link::new(Arrival::Http);
    link.send_item(&long).await.unwrap();
    let mut sending = Box::pin(link.send_item(&long));
    let much_later = Duration::from_millis(10 * ROOM_WAIT_MS_MAX);
    assert!(tokio::time::timeout(much_later, &mut sending).await.is_err());
    assert!(!link.stalled.is_cancelled());
    // The connection tells when a line has been taken; a client that takes no byte ends it.
    let taken = receiver.recv().await.unwrap();
    link.bytes_waiting.fetch_sub(taken.len(), Ordering::Relaxed);
    link.taken.notify_waiters();
    sending.await.unwrap();
}
