//! Following sessions, threads and the house.

use std::sync::Arc;

use kith_engine::engine::{ThreadItem, ThreadSubscription};
use kith_engine::feed::{FeedItem, Subscription, SubscriptionError, ThreadKey};

use super::Host;
use crate::call::{Delivery, Follower, Response};
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
) -> Result<Response<SubscriptionEnd>, CallError> {
    let (mode, mut source) = match call.to {
        SubscribedTo::Session(session) => {
            let id = host.reads.resolve(&session).await?;
            let (mode, subscription) = host.engine.subscribe(id, &call.from).await?;
            (mode, FollowedSource::Session(Box::new(subscription)))
        }
        SubscribedTo::Thread { agent_id, thread_id } => {
            let thread = ThreadKey { agent_id, thread_id };
            let (mode, subscription) = host.engine.subscribe_thread(thread, &call.from).await?;
            (mode, FollowedSource::Thread(Box::new(subscription)))
        }
    };
    let session_id = match &source {
        FollowedSource::Session(subscription) => Some(subscription.session_id()),
        FollowedSource::Thread(subscription) => subscription.session_id(),
    };
    let epoch = host.engine.feed().epoch().to_owned();
    follower.push(SubscriptionItem::Started { mode, epoch, session_id }, Delivery::Certain)?;
    let host_end = host.until_end();
    tokio::pin!(host_end);
    let reason = loop {
        let item = tokio::select! {
            biased;
            () = follower.cancel.cancelled() => break SubscriptionEndReason::Cancelled,
            item = source.next() => item?,
            () = &mut host_end => break SubscriptionEndReason::HostEnded,
        };
        let Some((item, delivery)) = item else { break SubscriptionEndReason::SessionRemoved };
        follower.push(item, delivery)?;
    };
    Ok(Response::new(SubscriptionEnd { reason }))
}

pub async fn follow_house(
    host: Arc<Host>,
    _: Caller,
    _: FollowHouse,
    follower: Follower<ThreadChanges>,
) -> Result<Response<SubscriptionEnd>, CallError> {
    let mut house = host.engine.follow_house();
    let host_end = host.until_end();
    tokio::pin!(host_end);
    let reason = loop {
        let changes = tokio::select! {
            biased;
            () = follower.cancel.cancelled() => break SubscriptionEndReason::Cancelled,
            changes = house.next() => changes,
            () = &mut host_end => break SubscriptionEndReason::HostEnded,
        };
        let threads = changes.into_iter().map(|change| ChangedThread {
            agent_id: change.thread.agent_id,
            thread_id: change.thread.thread_id,
            session_id: change.session_id,
        });
        let threads = threads.collect();
        let some_missed = house.take_missed() > 0;
        follower.push(ThreadChanges { some_missed, threads }, Delivery::Certain)?;
    };
    Ok(Response::new(SubscriptionEnd { reason }))
}

enum FollowedSource {
    Session(Box<Subscription>),
    Thread(Box<ThreadSubscription>),
}

impl FollowedSource {
    /// The next item; `None` if the session was removed and its follower has been told.
    async fn next(&mut self) -> Result<Option<(SubscriptionItem, Delivery)>, CallError> {
        match self {
            FollowedSource::Session(subscription) => match subscription.next().await {
                Ok(item) => Ok(Some(item_of(item))),
                Err(SubscriptionError::Ended { .. }) => Ok(None),
                Err(SubscriptionError::Storage(error)) => Err(error.into()),
            },
            FollowedSource::Thread(subscription) => Ok(Some(match subscription.next().await? {
                ThreadItem::Session(_, item) => item_of(item),
                ThreadItem::Changed(id) => (SubscriptionItem::Moved(id), Delivery::Certain),
            })),
        }
    }
}

fn item_of(item: FeedItem) -> (SubscriptionItem, Delivery) {
    match item {
        FeedItem::Event(event) => {
            let event = TurnItem::Event(Box::new((*event).clone()));
            (SubscriptionItem::Turn(event), Delivery::Certain)
        }
        FeedItem::Delta(delta) => {
            (SubscriptionItem::Turn(TurnItem::Delta((&*delta).into())), Delivery::IfRoom)
        }
        FeedItem::Running(answer) => {
            (SubscriptionItem::Turn(TurnItem::running(answer)), Delivery::IfRoom)
        }
        FeedItem::Failed(failure) => {
            let why = CallError::from((*failure).clone()).message();
            (SubscriptionItem::Failed(why), Delivery::Certain)
        }
        FeedItem::Moved { to } => (SubscriptionItem::Moved(to), Delivery::Certain),
        FeedItem::Removed => (SubscriptionItem::Removed, Delivery::Certain),
    }
}

#[cfg(test)]
mod tests;
