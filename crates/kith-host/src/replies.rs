//! How a reply to pending approvals is read, for `kith explain reply`.

use kith_engine::question::unclear_in_english;
use kith_engine::reply::{GrantWish, PendingApproval, ReplyReading, read_reply};
use serde::{Deserialize, Serialize};

/// A pending approval, as a file for `--pending` has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PendingForm {
    pub approval_id: String,
    pub code: String,
    pub tool: String,
    pub summary: String,
    pub command: Option<String>,
    pub path: Option<String>,
}

/// What the reply says.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplyForm {
    pub verdict: &'static str,
    pub approvals: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant: Option<GrantWish>,
    pub reason: String,
    /// The command that was assumed to wait, because no pending approval was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assumed: Option<&'static str>,
}

/// The command of the approval that is assumed.
const ASSUMED_COMMAND: &str = "make test";

/// Reads a reply; without pending approvals, as if one were pending.
pub fn explain(text: &str, pending: Option<Vec<PendingForm>>) -> ReplyForm {
    let assumed = pending.is_none().then_some(ASSUMED_COMMAND);
    let pending = match pending {
        Some(forms) => forms.into_iter().map(PendingApproval::from).collect(),
        None => vec![PendingApproval {
            approval_id: "a1".to_owned(),
            code: "7QX".to_owned(),
            tool: "exec_shell".to_owned(),
            summary: "run the tests".to_owned(),
            command: Some(ASSUMED_COMMAND.to_owned()),
            paths: Vec::new(),
        }],
    };
    ReplyForm { assumed, ..reply_form(read_reply(text, &pending)) }
}

impl From<PendingForm> for PendingApproval {
    fn from(it: PendingForm) -> PendingApproval {
        PendingApproval {
            approval_id: it.approval_id,
            code: it.code,
            tool: it.tool,
            summary: it.summary,
            command: it.command,
            paths: it.path.into_iter().collect(),
        }
    }
}

fn reply_form(reading: ReplyReading) -> ReplyForm {
    let form = |verdict, approvals, reason: &str| ReplyForm {
        verdict,
        approvals,
        denied: Vec::new(),
        grant: None,
        reason: reason.to_owned(),
        assumed: None,
    };
    match reading {
        ReplyReading::Allow { approvals, denied, grant } => {
            ReplyForm { denied, grant, ..form("allow", approvals, "Every word of it is a yes.") }
        }
        ReplyReading::Deny { approvals, .. } => form("deny", approvals, "It is a no."),
        ReplyReading::AskBack(unclear) => form("askBack", Vec::new(), unclear_in_english(unclear)),
        ReplyReading::NotAnAnswer => {
            form("notAnAnswer", Vec::new(), "It is an ordinary message, not an answer.")
        }
    }
}
