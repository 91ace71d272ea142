//! Events of a call: judged, asked about, decided, started.

use serde::{Deserialize, Serialize};

use crate::event::messages::{Author, IngressRef};
use crate::ids::{CallId, SessionId, ThreadId};
use crate::json::Json;
use crate::text::Text;

/// What the policy said, written down so that reading the log never asks it again: by then the
/// rules, the clock or the disk may have changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CallJudged {
    pub call_id: CallId,
    pub tool: String,
    pub effect: Effect,
    pub verdict: Verdict,
    pub reason: Text,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant_id: Option<String>,
    pub sandbox: Sandbox,
    /// Covers everything that will run; it is computed again when the call starts.
    pub digest: String,
    pub facts: Json,
}

/// The kind of effect that a call has.
///
/// In rising order: the strongest effect of a call comes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    Read,
    Write,
    Exec,
    Network,
    Message,
    /// A change of what the agent is.
    #[serde(rename = "self")]
    Oneself,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Allow,
    Ask,
    Deny,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sandbox {
    None,
    Workspace,
    Network,
}

/// A person was asked whether the call may run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApprovalRequested {
    pub approval_id: String,
    pub call_id: CallId,
    pub thread_id: ThreadId,
    pub code: String,
    pub summary: Text,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Text>,
    pub paths: Vec<String>,
    pub digest: String,
    pub risk: Text,
    pub approvers: Vec<String>,
    pub expires_at: u64,
}

/// A person said something about what was asked; the decision is in `approval_decided`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApprovalReplied {
    pub text: Text,
    pub author: Author,
    pub ingress: IngressRef,
    pub verdict: ReplyVerdict,
    pub approvals: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReplyVerdict {
    Allow,
    Deny,
    AskBack,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApprovalDecided {
    pub approval_id: String,
    pub decision: Decision,
    pub by: String,
    pub via: Via,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant: Option<Grant>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Allow,
    Deny,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Via {
    Words,
    Button,
    Command,
    Expiry,
    Branch,
    Cancel,
}

/// A standing approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Grant {
    pub grant_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argv_prefix: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// A network host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    pub expires_at: u64,
}

/// Written before a side-effecting tool runs, so that a crash leaves a trace of the half-done call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolStarted {
    pub call_id: CallId,
    pub digest: String,
}

/// The call is the work of another session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Delegated {
    pub call_id: CallId,
    pub session_id: SessionId,
}
