//! Followers through the router see what the log holds.

use std::sync::Mutex;

use kith_engine::feed::{ResumeMode, ResumePoint};
use kith_vocab::event::Body;
use kith_vocab::json::Json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::call::Call;
use crate::calls::message::{CancelTurn, RetryTurn, SendMessage};
use crate::calls::session::ShowSession;
use crate::error::ErrorCode;
use crate::host::message::tests::{ask, guest, message};
use crate::routes;
use crate::tests::host;

/// Follows until it has seen as many events, and returns them and the first item.
async fn follow(host: &Arc<Host>, to: SubscribedTo, n_events: usize) -> Vec<SubscriptionItem> {
    let cancel = CancellationToken::new();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let take = {
        let (seen, cancel) = (Arc::clone(&seen), cancel.clone());
        move |item: Json, _| {
            let mut seen = seen.lock().unwrap();
            seen.push(item.read::<SubscriptionItem>().unwrap());
            if events(&seen).len() == n_events {
                cancel.cancel();
            }
            Ok(())
        }
    };
    let body = Json::of(&Subscribe { to, from: ResumePoint::default() });
    let follower = Follower::new(take, cancel);
    let answer = routes::dispatch(host, guest(), Subscribe::NAME, &body, follower).await.unwrap();
    let end: SubscriptionEnd = answer.data.read().unwrap();
    assert_eq!(end.reason, SubscriptionEndReason::Cancelled);
    std::mem::take(&mut *seen.lock().unwrap())
}

/// Fails instead of waiting for ever.
async fn within<T>(work: impl Future<Output = T>) -> T {
    let patience = std::time::Duration::from_secs(30);
    tokio::time::timeout(patience, work).await.expect("it waits for ever")
}

fn events(items: &[SubscriptionItem]) -> Vec<u64> {
    let seq = |item: &SubscriptionItem| match item {
        SubscriptionItem::Turn(TurnItem::Event(event)) => Some(event.seq),
        _ => None,
    };
    items.iter().filter_map(seq).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_and_its_thread_are_followed_through_the_router() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path()).await;
    let reply = ask(&host, guest(), message(&host, "say one")).await.unwrap();
    let session_id = reply.answer.session_id;
    let session = session_id.to_string();
    let view = ask(&host, guest(), ShowSession { session: session.clone() }).await.unwrap();
    let expected: Vec<u64> = view.events.iter().map(|event| event.seq).collect();

    let items = follow(&host, SubscribedTo::Session(session), expected.len()).await;
    assert_eq!(events(&items), expected);
    let thread = SubscribedTo::Thread {
        agent_id: view.header.agent_id.clone(),
        thread_id: reply.answer.thread_id,
    };
    let items = follow(&host, thread, expected.len()).await;
    assert_eq!(events(&items), expected);
    let epoch = host.engine.feed().epoch().to_owned();
    let mode = ResumeMode::PersistentFallback;
    let session_id = Some(session_id);
    assert_eq!(items[0], SubscriptionItem::Started { mode, epoch, session_id, after_seq: 0 });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn followers_do_not_keep_a_host_that_ends() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path()).await;
    let reply = ask(&host, guest(), message(&host, "say one")).await.unwrap();
    let to = SubscribedTo::Session(reply.answer.session_id.to_string());
    host.announce_end();
    let end = ask(&host, guest(), Subscribe { to, from: ResumePoint::default() }).await.unwrap();
    assert_eq!(end.reason, SubscriptionEndReason::HostEnded);
    let end = ask(&host, guest(), FollowHouse { resumes: false }).await.unwrap();
    assert_eq!(end.reason, SubscriptionEndReason::HostEnded);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_ended_well_is_neither_cancelled_nor_retried() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path()).await;
    let reply = ask(&host, guest(), message(&host, "say one")).await.unwrap();
    let session = reply.answer.session_id.to_string();
    let cancel = CancelTurn { session: session.clone(), cancel_id: host.new_event_id() };
    assert!(!ask(&host, guest(), cancel).await.unwrap().was_running);
    let retry = RetryTurn { session, retry_id: host.new_event_id() };
    let error = ask(&host, guest(), retry).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidRequest);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_takes_no_more_is_told_where_to_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path()).await;
    let reply = ask(&host, guest(), message(&host, "say one")).await.unwrap();
    let session_id = reply.answer.session_id;
    let taken = Arc::new(Mutex::new(Vec::new()));
    let take = Arc::clone(&taken);
    // It has room for four items.
    let send = move |item| -> kith_vocab::clock::BoxFuture<'static, _> {
        let mut taken = take.lock().unwrap();
        let has_room = taken.len() < 4;
        if has_room {
            taken.push(item);
        }
        let sent = if has_room { Ok(()) } else { Err(Undelivered::Stalled) };
        Box::pin(std::future::ready(sent))
    };
    let gone = CancellationToken::new();
    let follower = Follower::none().with_room(send, gone);
    let to = SubscribedTo::Session(session_id.to_string());
    let mut call = Subscribe { to, from: ResumePoint::default() };
    let end = subscribe(Arc::clone(&host), guest(), call.clone(), follower);
    let end = within(end).await.unwrap().data;
    assert_eq!(end.reason, SubscriptionEndReason::Stalled);
    let point = end.resume_point.unwrap();
    assert_eq!((point.session_id, point.persistent_last_seq), (Some(session_id), 3));
    assert_eq!(events(&taken.lock().unwrap()), [1, 2, 3]);
    // A client that counts for itself comes to the same.
    for item in &*taken.lock().unwrap() {
        call.note_item(item);
    }
    assert_eq!(call.from, point);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscription_ends_when_its_client_has_left() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path()).await;
    let reply = ask(&host, guest(), message(&host, "say one")).await.unwrap();
    let gone = CancellationToken::new();
    gone.cancel();
    let to = SubscribedTo::Session(reply.answer.session_id.to_string());
    let call = Subscribe { to, from: ResumePoint::default() };
    let follower = Follower::none().with_room(|_| Box::pin(std::future::pending()), gone.clone());
    let end = within(subscribe(Arc::clone(&host), guest(), call, follower)).await.unwrap();
    assert_eq!(end.data.reason, SubscriptionEndReason::Cancelled);
    let follower = Follower::none().with_room(|_| Box::pin(std::future::pending()), gone);
    let end = follow_house(Arc::clone(&host), guest(), FollowHouse { resumes: false }, follower);
    let end = within(end).await.unwrap();
    assert_eq!(end.data.reason, SubscriptionEndReason::Cancelled);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_follows_the_house_again_is_told_that_changes_were_missed() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path()).await;
    for resumes in [false, true] {
        let (sender, mut items) = mpsc::unbounded_channel();
        let cancel = CancellationToken::new();
        let take = move |item: ThreadChanges, _| {
            sender.send(item).unwrap();
            Ok(())
        };
        let follower = Follower::new(take, cancel.clone());
        let following = follow_house(Arc::clone(&host), guest(), FollowHouse { resumes }, follower);
        let following = tokio::spawn(following);
        if resumes {
            let missed = ThreadChanges { some_missed: true, threads: Vec::new() };
            assert_eq!(within(items.recv()).await, Some(missed));
        }
        cancel.cancel();
        within(following).await.unwrap().unwrap();
        assert!(items.recv().await.is_none());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_session_and_its_thread_are_followed_into_the_copy() {
    let dir = tempfile::tempdir().unwrap();
    let first = host(dir.path()).await;
    let answer = ask(&first, guest(), message(&first, "say one")).await.unwrap().answer;
    let path = first.store.path(answer.session_id);
    first.end().await;
    drop(first);
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(17).rposition(|it| it == b"assistant_message").unwrap();
    bytes[at] ^= 1;
    std::fs::write(&path, bytes).unwrap();

    let host = host(dir.path()).await;
    let session = SubscribedTo::Session(answer.session_id.to_string());
    let (agent_id, thread_id) = ("main".to_owned(), answer.thread_id);
    let (started, mut starts) = mpsc::unbounded_channel();
    let following = [session, SubscribedTo::Thread { agent_id, thread_id }].map(|to| {
        let (host, started) = (Arc::clone(&host), started.clone());
        tokio::spawn(async move { within(follow_into_copy(&host, to, started)).await })
    });
    for _ in 0..following.len() {
        within(starts.recv()).await.unwrap();
    }
    let second = SendMessage { client_message_id: "m2".to_owned(), ..message(&host, "say two") };
    let copy = ask(&host, guest(), second).await.unwrap().answer.session_id;
    assert_ne!(copy, answer.session_id);
    for followed in following {
        let items = followed.await.unwrap();
        let moved: Vec<usize> =
            (0..items.len()).filter(|n| items[*n] == SubscriptionItem::Moved(copy)).collect();
        assert_eq!(moved.len(), 1, "{items:?}");
        let seen = events(&items[moved[0]..]);
        assert_eq!(seen, (1..=seen.len() as u64).collect::<Vec<_>>());
    }
}

/// Follows until a turn has ended: that of the damaged session cannot be read.
async fn follow_into_copy(
    host: &Arc<Host>,
    to: SubscribedTo,
    started: mpsc::UnboundedSender<()>,
) -> Vec<SubscriptionItem> {
    let cancel = CancellationToken::new();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let take = {
        let (seen, cancel) = (Arc::clone(&seen), cancel.clone());
        move |item: SubscriptionItem, _| {
            if matches!(item, SubscriptionItem::Started { .. }) {
                started.send(()).unwrap();
            }
            if let SubscriptionItem::Turn(TurnItem::Event(event)) = &item
                && matches!(event.body, Body::TurnEnded(_))
            {
                cancel.cancel();
            }
            seen.lock().unwrap().push(item);
            Ok(())
        }
    };
    let follower = Follower::new(take, cancel);
    let call = Subscribe { to, from: ResumePoint::default() };
    subscribe(Arc::clone(host), guest(), call, follower).await.unwrap();
    std::mem::take(&mut *seen.lock().unwrap())
}
