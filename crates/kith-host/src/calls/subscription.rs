//! Calls that follow a session, a thread or the whole house for as long as the client wants.

use std::any::Any;

pub use kith_engine::feed::{ResumeMode, ResumePoint};
use kith_vocab::ids::{SessionId, ThreadId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::feed::TurnItem;
use crate::call::{Access, Call, Follow};

/// Follows a session or a thread from where the client left it, until the client stops.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Subscribe {
    pub to: SubscribedTo,
    #[serde(default)]
    #[schemars(with = "serde_json::Value")]
    pub from: ResumePoint,
}

impl Call for Subscribe {
    const NAME: &'static str = "subscribe";
    const ACCESS: Access = Access::Write;
    type Answer = SubscriptionEnd;

    fn note_item(&mut self, item: &dyn Any) {
        let Some(item) = item.downcast_ref::<SubscriptionItem>() else { return };
        item.advance(&mut self.from);
        if let (SubscribedTo::Session(session), SubscriptionItem::Moved(to)) = (&mut self.to, item)
        {
            *session = to.to_string();
        }
    }
}

impl Follow for Subscribe {
    type Item = SubscriptionItem;
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum SubscribedTo {
    Session(String),
    /// Whichever session the thread is in.
    Thread {
        agent_id: String,
        thread_id: ThreadId,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum SubscriptionItem {
    /// The first item: how the subscription goes on from where the client was.
    Started {
        #[schemars(with = "String")]
        mode: ResumeMode,
        /// This life of the host, within which deltas are numbered.
        epoch: String,
        /// None if the thread has no session yet.
        session_id: Option<SessionId>,
        /// The events behind this one follow.
        after_seq: u64,
    },
    Turn(TurnItem),
    /// The session could not go on. It is opened again, and nothing is lost.
    Failed(String),
    /// The thread is in this session from now on, or the damaged session goes on in this copy. What
    /// happens there follows from its first event.
    Moved(SessionId),
    /// The session was removed.
    Removed,
}

impl SubscriptionItem {
    /// Moves the point of a client that has seen this item.
    pub fn advance(&self, point: &mut ResumePoint) {
        match self {
            SubscriptionItem::Started { mode, epoch, session_id, after_seq } => {
                let stream_last_seq =
                    point.stream_last_seq.filter(|_| *mode == ResumeMode::StreamResume);
                *point = ResumePoint {
                    session_id: *session_id,
                    persistent_last_seq: *after_seq,
                    epoch: Some(epoch.clone()),
                    stream_last_seq,
                };
            }
            SubscriptionItem::Turn(TurnItem::Event(event)) => point.persistent_last_seq = event.seq,
            SubscriptionItem::Turn(TurnItem::Delta(delta)) => {
                point.stream_last_seq = Some(delta.stream_seq);
            }
            SubscriptionItem::Turn(TurnItem::Running(parts)) => {
                let seen = parts.last().map(|part| part.stream_seq);
                point.stream_last_seq = seen.or(point.stream_last_seq);
            }
            SubscriptionItem::Moved(to) => {
                let (session_id, epoch) = (Some(*to), point.epoch.take());
                *point = ResumePoint { session_id, epoch, ..ResumePoint::default() };
            }
            SubscriptionItem::Turn(TurnItem::Note(_))
            | SubscriptionItem::Failed(_)
            | SubscriptionItem::Removed => (),
        }
    }
}

/// Why a subscription has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionEnd {
    pub reason: SubscriptionEndReason,
    /// Where another subscription goes on; none for the house.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub resume_point: Option<ResumePoint>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SubscriptionEndReason {
    Cancelled,
    HostEnded,
    SessionRemoved,
    /// The client took nothing for so long that its connection is closed.
    Stalled,
}

/// Follows which threads of the house change, until the client stops. One that goes on with another
/// host sets `resumes`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FollowHouse {
    /// The client followed the house before, until its host went away. What changed meanwhile was told
    /// to nobody, so the first item says that changes were missed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resumes: bool,
}

impl Call for FollowHouse {
    const NAME: &'static str = "follow_house";
    const ACCESS: Access = Access::Write;
    type Answer = SubscriptionEnd;

    fn note_asked(&mut self) {
        self.resumes = true;
    }
}

impl Follow for FollowHouse {
    type Item = ThreadChanges;
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadChanges {
    /// Changes came too fast to be told one by one, or while the client had no host: it looks at all
    /// threads.
    pub some_missed: bool,
    pub threads: Vec<ChangedThread>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangedThread {
    pub agent_id: String,
    pub thread_id: ThreadId,
    pub session_id: SessionId,
}
