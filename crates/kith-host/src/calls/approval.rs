//! Calls about approvals that wait for a person, and about standing ones.

use kith_vocab::ids::{EventId, SessionId, ThreadId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::feed::TurnItem;
use super::message::MessageReply;
use crate::call::call;

/// Lists the approvals that wait for an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListApprovals {
    /// Only those of this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Only the one with this code or id, with the whole input of its call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
}

call!(Read "list_approvals", ListApprovals => ApprovalList);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalList {
    pub approvals: Vec<PendingApprovalView>,
}

/// A question that waits. Its times are milliseconds, as in the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PendingApprovalView {
    pub approval_id: String,
    /// What a person types.
    pub code: String,
    pub session_id: SessionId,
    pub thread_id: ThreadId,
    pub tool: String,
    pub summary: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    pub paths: Vec<String>,
    /// What would change in a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Lines at the end of `diff` that are left out; the whole follows from the input of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff_lines_left_out: Option<u64>,
    /// The whole input of the call, where one approval was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    pub risk: String,
    pub approvers: Vec<String>,
    pub expires_at: u64,
    /// The command or path that may also be allowed for a while; absent where only a single yes is
    /// safe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<String>,
    /// The whole question in the language of its turn.
    pub question: String,
}

/// Answers a question, and follows the turn until it has ended or waits again. The first answer
/// counts: a later one is refused (`conflict`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DecideApproval {
    /// The code or the id of the approval; without it, the only one that waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// A repeated id gets the first answer again.
    pub decide_id: EventId,
    pub decision: ApprovalAnswer,
    /// Also allows the same for this many minutes, a day at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_minutes: Option<u32>,
    /// Why, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

call!(Write "decide_approval", DecideApproval => DecidedApproval, items TurnItem);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ApprovalAnswer {
    Allow,
    Deny,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecidedApproval {
    pub approval_id: String,
    pub decision: ApprovalAnswer,
    /// What may be done without asking from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<GrantView>,
    /// What came of the turn.
    #[serde(flatten)]
    pub reply: MessageReply,
}

/// Lists standing approvals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListGrants {}

call!(Read "list_grants", ListGrants => GrantList);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrantList {
    pub grants: Vec<GrantView>,
}

/// A standing approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrantView {
    pub grant_id: String,
    pub agent_id: String,
    /// The folder in which it counts.
    pub workspace: String,
    /// The words with which a command must begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argv_prefix: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    pub granted_by: String,
    pub granted_at: String,
    pub expires_at: String,
}

/// Revokes a standing approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RevokeGrant {
    /// Its id, or the end of it.
    pub grant: String,
}

call!(Write "revoke_grant", RevokeGrant => RevokedGrant);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RevokedGrant {
    pub grant_id: String,
}
