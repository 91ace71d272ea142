//! Subscriptions to sessions, threads and the house.

use std::pin::{Pin, pin};
use std::sync::Arc;

use kith_engine::engine::{ThreadItem, ThreadSubscription};
use kith_engine::feed::{FeedItem, ResumePoint, Subscription, SubscriptionError, ThreadKey};

use super::Host;
use crate::call::{Follower, Reply, Response, Undelivered};
use crate::caller::Caller;
use crate::calls::feed::TurnItem;
use crate::calls::subscription::{
    ChangedThread, FollowHouse, Subscribe, SubscribedTo, SubscriptionEnd, SubscriptionEndReason,
    SubscriptionItem, ThreadChanges,
};
use crate::error::CallError;

pub async fn subscribe(
    host: Arc<Host>,
    _: Caller,
    call: Subscribe,
    follower: Follower<SubscriptionItem>,
) -> Reply<SubscriptionEnd> {
    let (mode, mut source) = match call.to {
        SubscribedTo::Session(session) => {
            let id = host.reads.resolve(&session).await?;
            let (mode, subscription) = host.engine.subscribe(id, &call.from).await?;
            (mode, FollowedSource::Session(Box::new(subscription)))
        }
        SubscribedTo::Thread { agent_id, thread_id } => {
            let thread_id = host.reads.thread_in_use(&agent_id, thread_id).await?;
            let thread = ThreadKey { agent_id, thread_id };
            let (mode, subscription) = host.engine.subscribe_thread(thread, &call.from).await?;
            (mode, FollowedSource::Thread(Box::new(subscription)))
        }
    };
    let epoch = host.engine.feed().epoch().to_owned();
    let start = source.resume_point(&epoch);
    let (session_id, after_seq) = (start.session_id, start.persistent_last_seq);
    let mut next = Some(SubscriptionItem::Started { mode, epoch, session_id, after_seq });
    // What the client has been sent.
    let mut point = call.from;
    let mut host_end = pin!(host.until_end());
    let reason = loop {
        let Some(item) = next.take() else { break SubscriptionEndReason::SessionRemoved };
        let mut after = point.clone();
        item.advance(&mut after);
        if let Some(reason) = deliver(&follower, item, host_end.as_mut()).await? {
            break reason;
        }
        point = after;
        next = tokio::select! {
            biased;
            () = stopped(&follower) => break SubscriptionEndReason::Cancelled,
            item = source.next(&host) => item?,
            () = host_end.as_mut() => break SubscriptionEndReason::HostEnded,
        };
    };
    Ok(Response::new(SubscriptionEnd { reason, resume_point: Some(point) }))
}

pub async fn follow_house(
    host: Arc<Host>,
    _: Caller,
    call: FollowHouse,
    follower: Follower<ThreadChanges>,
) -> Reply<SubscriptionEnd> {
    let mut house = host.engine.follow_house();
    let mut host_end = pin!(host.until_end());
    if call.resumes {
        let item = ThreadChanges { some_missed: true, threads: Vec::new() };
        if let Some(reason) = deliver(&follower, item, host_end.as_mut()).await? {
            return Ok(Response::new(SubscriptionEnd { reason, resume_point: None }));
        }
    }
    let reason = loop {
        let changes = tokio::select! {
            biased;
            () = stopped(&follower) => break SubscriptionEndReason::Cancelled,
            changes = house.next() => changes,
            () = host_end.as_mut() => break SubscriptionEndReason::HostEnded,
        };
        let threads = changes.into_iter().map(|change| ChangedThread {
            agent_id: change.thread.agent_id,
            thread_id: change.thread.thread_id,
            session_id: change.session_id,
        });
        let threads = threads.collect();
        let some_missed = house.take_missed() > 0;
        let item = ThreadChanges { some_missed, threads };
        if let Some(reason) = deliver(&follower, item, host_end.as_mut()).await? {
            break reason;
        }
    };
    Ok(Response::new(SubscriptionEnd { reason, resume_point: None }))
}

/// Hands over an item when the client has room for it. Returns why the follow ends, if it does.
async fn deliver<I: 'static>(
    follower: &Follower<I>,
    item: I,
    host_end: Pin<&mut impl Future<Output = ()>>,
) -> Result<Option<SubscriptionEndReason>, CallError> {
    let sent = tokio::select! {
        biased;
        () = stopped(follower) => return Ok(Some(SubscriptionEndReason::Cancelled)),
        sent = follower.send(item) => sent,
        () = host_end => return Ok(Some(SubscriptionEndReason::HostEnded)),
    };
    match sent {
        Ok(()) => Ok(None),
        Err(Undelivered::Stalled) => Ok(Some(SubscriptionEndReason::Stalled)),
        Err(Undelivered::Gone) => Ok(Some(SubscriptionEndReason::Cancelled)),
        Err(Undelivered::Refused(error)) => Err(error),
    }
}

/// Waits until the client wants no more of the follow, or has left.
async fn stopped<I>(follower: &Follower<I>) {
    tokio::select! {
        biased;
        () = follower.cancel.cancelled() => (),
        () = follower.gone.cancelled() => (),
    }
}

enum FollowedSource {
    Session(Box<Subscription>),
    Thread(Box<ThreadSubscription>),
}

impl FollowedSource {
    fn resume_point(&self, epoch: &str) -> ResumePoint {
        match self {
            FollowedSource::Session(subscription) => subscription.resume_point(epoch),
            FollowedSource::Thread(subscription) => subscription.resume_point(epoch),
        }
    }

    /// The next item; `None` if the session was removed and its follower has been told.
    async fn next(&mut self, host: &Host) -> Result<Option<SubscriptionItem>, CallError> {
        let item = match self {
            FollowedSource::Session(subscription) => match subscription.next().await {
                Ok(item) => item,
                Err(SubscriptionError::Ended { .. }) => return Ok(None),
                Err(SubscriptionError::Storage(error)) => return Err(error.into()),
            },
            FollowedSource::Thread(subscription) => match subscription.next().await? {
                ThreadItem::Session(_, item) => item,
                ThreadItem::Changed(id) => return Ok(Some(SubscriptionItem::Moved(id))),
            },
        };
        if let (FollowedSource::Session(subscription), FeedItem::Moved { to }) = (self, &item) {
            **subscription = host.engine.follow(*to, 0);
        }
        Ok(Some(item_of(item)))
    }
}

fn item_of(item: FeedItem) -> SubscriptionItem {
    match item {
        FeedItem::Event(event) => {
            SubscriptionItem::Turn(TurnItem::Event(Box::new((*event).clone())))
        }
        FeedItem::Delta(delta) => SubscriptionItem::Turn(TurnItem::Delta((&*delta).into())),
        FeedItem::Running(answer) => SubscriptionItem::Turn(TurnItem::running(answer)),
        FeedItem::Failed(failure) => {
            SubscriptionItem::Failed(CallError::from((*failure).clone()).message())
        }
        FeedItem::Moved { to } => SubscriptionItem::Moved(to),
        FeedItem::Removed => SubscriptionItem::Removed,
    }
}

#[cfg(test)]
mod tests;
