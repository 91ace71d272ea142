//! Calls that send a message, and that cancel or retry a turn.

use kith_engine::report::MessageEnd;
use kith_vocab::event::control::Bound;
use kith_vocab::event::messages::{StopReason, Usage};
use kith_vocab::ids::{EventId, LeafId, SessionId, ThreadId};
use kith_vocab::ingress::RunningBehavior;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::feed::TurnItem;
use crate::call::call;

/// Says something and follows the turn until it has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SendMessage {
    /// A repeated id gets the first answer again.
    pub client_message_id: String,
    pub text: String,
    /// Whom it is for; with a session, only if the person said so: a session is somebody's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    pub thread_id: ThreadId,
    pub target: MessageTarget,
    pub cwd: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The model that the client thinks will be asked. A host that was set up for another one refuses:
    /// what is said goes only where its author thinks it goes.
    pub expects: ModelName,
    /// It is said only if the conversation ends there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_leaf: Option<LeafId>,
    /// What it does if a turn is running: wait for its end, or steer it.
    #[serde(default)]
    pub running_behavior: RunningBehavior,
    /// What is waited for.
    #[serde(default, skip_serializing_if = "Acknowledgement::is_default")]
    pub ack: Acknowledgement,
    /// Images and PDFs that the model is to see with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<SentFile>,
}

call!(Write "send_message", SendMessage => MessageReply, items TurnItem);

/// When a message is answered for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Acknowledgement {
    /// As soon as it is on disk: it will be answered, whatever happens to the host.
    Accepted,
    /// When its turn has ended or waits for a person.
    #[default]
    Completed,
}

impl Acknowledgement {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
    fn is_default(&self) -> bool {
        *self == Acknowledgement::default()
    }
}

/// A file that is sent along with a message. What it is, its bytes say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SentFile {
    /// Without folders.
    pub name: String,
    /// Its bytes as base64.
    pub data: String,
}

/// Which session of the thread a message goes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MessageTarget {
    Current,
    New,
    Session(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelName {
    pub provider: String,
    pub model: String,
    /// Where it is asked, if that is elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageReply {
    pub answer: MessageAnswer,
    pub outcome: MessageOutcome,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageAnswer {
    pub session_id: SessionId,
    pub thread_id: ThreadId,
    pub leaf: Option<EventId>,
    pub text: String,
    pub usage: Usage,
    pub stop_reason: Option<StopReason>,
    pub end: TurnEnd,
    /// The limit at which the turn was stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<Bound>,
    pub pending_approvals: Vec<String>,
}

/// What became of the message's turn, as programs read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TurnEnd {
    /// It is on disk, and was not waited for.
    Accepted,
    Done,
    Cancelled,
    Failed,
    Bound,
    /// It waits for a person.
    Waiting,
    /// It is queued behind a turn that did not end well.
    Held,
}

impl From<MessageEnd> for TurnEnd {
    fn from(end: MessageEnd) -> TurnEnd {
        match end {
            MessageEnd::Done => TurnEnd::Done,
            MessageEnd::Cancelled | MessageEnd::Removed => TurnEnd::Cancelled,
            MessageEnd::Bound(_) => TurnEnd::Bound,
            MessageEnd::Waiting => TurnEnd::Waiting,
            MessageEnd::Held => TurnEnd::Held,
            MessageEnd::Failed | MessageEnd::Declined(_) | MessageEnd::Unknown => TurnEnd::Failed,
        }
    }
}

/// How the turn ended, for the exit code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MessageOutcome {
    /// It was not waited for.
    Accepted,
    Answered,
    Cancelled,
    /// It was taken back before its turn began.
    Withdrawn,
    /// Before its end: at a limit, for a person, behind a turn that did not end well.
    Stopped(String),
    Failed(String),
}

/// Stops the turn that runs in a session, whoever began it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CancelTurn {
    pub session: String,
    /// A repeated id gets the first answer again.
    pub cancel_id: EventId,
}

call!(Write "cancel_turn", CancelTurn => CancelledTurn);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CancelledTurn {
    pub session_id: SessionId,
    /// Whether a turn was running.
    pub was_running: bool,
}

/// Takes up the last turn of a session, if it did not end well, with the model it began with; or
/// goes on with one that was cut short. Follows it until it has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RetryTurn {
    pub session: String,
    /// A repeated id begins no second turn.
    pub retry_id: EventId,
}

call!(Write "retry_turn", RetryTurn => MessageReply, items TurnItem);
