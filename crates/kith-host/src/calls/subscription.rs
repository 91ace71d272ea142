//! Calls that follow a session, a thread or the whole house for as long as the client wants.

use kith_engine::feed::{ResumeMode, ResumePoint};
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
        #[schemars(with = "String")]
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
        #[schemars(with = "Option<String>")]
        session_id: Option<SessionId>,
    },
    Turn(TurnItem),
    /// The session could not go on. It is opened again, and nothing is lost.
    Failed(String),
    /// The thread is in this session from now on, or the damaged session goes on in this copy. What
    /// happens there follows from its first event.
    Moved(#[schemars(with = "String")] SessionId),
    /// The session was removed.
    Removed,
}

/// Why a subscription has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionEnd {
    pub reason: SubscriptionEndReason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SubscriptionEndReason {
    Cancelled,
    HostEnded,
    SessionRemoved,
}

/// Follows which threads of the house change, until the client stops.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FollowHouse {}

impl Call for FollowHouse {
    const NAME: &'static str = "follow_house";
    const ACCESS: Access = Access::Write;
    type Answer = SubscriptionEnd;
}

impl Follow for FollowHouse {
    type Item = ThreadChanges;
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadChanges {
    /// Changes came too fast to be told one by one: the client looks at all threads.
    pub some_missed: bool,
    pub threads: Vec<ChangedThread>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangedThread {
    pub agent_id: String,
    #[schemars(with = "String")]
    pub thread_id: ThreadId,
    #[schemars(with = "String")]
    pub session_id: SessionId,
}
