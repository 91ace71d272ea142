//! What waits for an approval, read from the logs, and standing approvals.

use std::sync::Arc;

use kith_engine::judge::grants::{GrantScope, scope_to_offer};
use kith_engine::question::{left_out_text, question_text};
use kith_engine::reading::state_of;
use kith_engine::state::State;
use kith_engine::state::calls::CallProgress;
use kith_sessions::desk::{GrantRow, WakeupReason};
use kith_vocab::clock::Clock as _;
use kith_vocab::event::calls::{ApprovalRequested, Effect};
use kith_vocab::ids::SessionId;
use kith_vocab::invisible::visible;
use serde_json::Value;

use super::ReadSide;
use crate::call::{Reply, Response};
use crate::calls::approval::{
    ApprovalList, GrantList, GrantView, ListApprovals, ListGrants, PendingApprovalView,
};
use crate::clock::SystemClock;
use crate::error::{CallError, ErrorCode};
use crate::words::rfc3339;

pub async fn list_approvals(side: Arc<ReadSide>, call: ListApprovals) -> Reply<ApprovalList> {
    let session = match &call.session {
        Some(session) => Some(side.resolve(session).await?),
        None => None,
    };
    let approvals = if let Some(name) = &call.approval {
        vec![side.find_approval(Some(name), session).await?]
    } else {
        let mut approvals = side.pending_approvals(session).await?;
        for approval in &mut approvals {
            // Each may be megabytes long.
            approval.input = None;
        }
        approvals
    };
    Ok(Response::new(ApprovalList { approvals }))
}

pub async fn list_grants(side: Arc<ReadSide>, _: ListGrants) -> Reply<GrantList> {
    let rows = match side.require_desk()? {
        Some(desk) => desk.grants(SystemClock.now()).await?,
        None => Vec::new(),
    };
    Ok(Response::new(GrantList { grants: rows.iter().map(grant_view).collect() }))
}

impl ReadSide {
    /// What waits in a session, or in all of them. A turn that waits has an open row, or a time at
    /// which its question expires.
    pub(crate) async fn pending_approvals(
        &self,
        session: Option<SessionId>,
    ) -> Result<Vec<PendingApprovalView>, CallError> {
        let sessions = match (session, self.require_desk()?) {
            (Some(session), _) => vec![session],
            (None, None) => Vec::new(),
            (None, Some(desk)) => {
                let mut sessions = desk.sessions_with_open_rows().await?;
                let wakeups = desk.wakeups().await?.into_iter();
                let expiring = wakeups.filter(|it| it.reason == WakeupReason::ApprovalExpiry);
                sessions.extend(expiring.filter_map(|it| it.session_id));
                sessions.sort_unstable();
                sessions.dedup();
                sessions
            }
        };
        let mut approvals = Vec::new();
        for session_id in sessions {
            let head = self.head(session_id).await?;
            // One that cannot be read cannot go on either; `kith doctor` reports it.
            let Ok((_, state)) = state_of(&*self.journal, session_id, head, &mut |_| ()).await
            else {
                continue;
            };
            approvals.extend(views(session_id, &state));
        }
        Ok(approvals)
    }

    /// The approval that a person names by its code or id, or the only one there is.
    pub(crate) async fn find_approval(
        &self,
        name: Option<&str>,
        session: Option<SessionId>,
    ) -> Result<PendingApprovalView, CallError> {
        let mut pending = self.pending_approvals(session).await?;
        let listed = |message: String| {
            CallError::request(ErrorCode::InvalidRequest, message)
                .hint("`kith approvals` lists what waits")
        };
        if let Some(name) = name {
            pending.retain(|it| it.code.eq_ignore_ascii_case(name) || it.approval_id == name);
        }
        match (pending.len(), name) {
            (1, _) => Ok(pending.remove(0)),
            (0, Some(name)) => Err(listed(format!("no approval `{name}` is waiting"))),
            (0, None) => Err(listed("no approval is waiting".to_owned())),
            (n, Some(name)) => Err(listed(format!(
                "{n} approvals have the code `{name}`; name the session too, with `--session`"
            ))),
            (n, None) => Err(listed(format!("{n} approvals are waiting; name one by its code"))),
        }
    }
}

fn views(session_id: SessionId, state: &State) -> Vec<PendingApprovalView> {
    let Some(turn) = &state.turn else { return Vec::new() };
    let tool = |asked: &ApprovalRequested| {
        turn.calls.get(asked.call_id).map(|it| it.call.tool_meant()).unwrap_or_default()
    };
    let diff = |asked: &ApprovalRequested| {
        let facts = turn.calls.get(asked.call_id)?.facts.as_ref()?.read::<Value>().ok()?;
        let diff = facts.get("diff")?.as_str().filter(|it| !it.is_empty())?.to_owned();
        Some((diff, facts.get("diffLinesLeftOut").and_then(Value::as_u64)))
    };
    let view = |asked: &ApprovalRequested| {
        let view = approval_view(session_id, asked, tool(asked), &turn.language);
        let (diff, left_out) = diff(asked).unzip();
        let diff_lines_left_out = left_out.flatten();
        let call = turn.calls.get(asked.call_id).map(|it| &it.call);
        let input = call.map(|it| it.input.as_str().to_owned());
        let grant = offered(turn.calls.get(asked.call_id), state.is_tainted());
        let mut rows = diff.clone();
        if let (Some(rows), Some(n_lines)) = (&mut rows, diff_lines_left_out) {
            rows.push('\n');
            rows.push_str(&left_out_text(n_lines, &asked.code, &turn.language));
        }
        let question = with_diff(view.question, rows.as_deref());
        PendingApprovalView { diff, diff_lines_left_out, input, grant, question, ..view }
    };
    turn.calls.questions().map(view).collect()
}

/// What the person may be offered not to be asked about again.
fn offered(call: Option<&CallProgress>, is_tainted: bool) -> Option<String> {
    let call = call?;
    let effects: Vec<Effect> = call.effect.into_iter().collect();
    Some(match scope_to_offer(&effects, call.facts.as_ref()?, is_tainted)? {
        GrantScope::Command { argv, .. } => argv.join(" "),
        GrantScope::Path(name) | GrantScope::Host(name) => name,
    })
}

/// The question with what would change, before its last line, which says how to answer.
fn with_diff(question: String, diff: Option<&str>) -> String {
    let Some(diff) = diff else { return question };
    let (asked, how) = question.rsplit_once('\n').unwrap_or(("", &question));
    let rows: Vec<String> = visible(diff).lines().map(|row| format!("    {row}")).collect();
    [asked, &rows.join("\n"), how].join("\n")
}

pub(crate) fn approval_view(
    session_id: SessionId,
    asked: &ApprovalRequested,
    tool: String,
    language: &str,
) -> PendingApprovalView {
    PendingApprovalView {
        approval_id: asked.approval_id.clone(),
        code: asked.code.clone(),
        session_id,
        thread_id: asked.thread_id.clone(),
        tool,
        summary: asked.summary.to_string(),
        command: asked.command.as_ref().map(ToString::to_string),
        paths: asked.paths.clone(),
        diff: None,
        diff_lines_left_out: None,
        input: None,
        risk: asked.risk.to_string(),
        approvers: asked.approvers.clone(),
        expires_at: asked.expires_at,
        grant: None,
        question: question_text(asked, language),
    }
}

pub(crate) fn grant_view(row: &GrantRow) -> GrantView {
    let GrantRow { agent_id, workspace, granted_by, granted_at, grant } = row;
    GrantView {
        grant_id: grant.grant_id.clone(),
        agent_id: agent_id.clone(),
        workspace: workspace.clone(),
        argv_prefix: grant.argv_prefix.clone(),
        path: grant.path.clone(),
        granted_by: granted_by.clone(),
        granted_at: rfc3339(*granted_at),
        expires_at: rfc3339(grant.expires_at),
    }
}
