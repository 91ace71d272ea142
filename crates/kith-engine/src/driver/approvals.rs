//! Answers to questions: words among the messages, buttons and commands from the mailbox, and the
//! files in which people can read what waits.

use kith_sessions::desk::GrantRow;
use kith_sessions::storage::StorageError;
use kith_vocab::block::ToolCall;
use kith_vocab::event::calls::{
    ApprovalDecided, ApprovalReplied, ApprovalRequested, Decision, Grant, ReplyVerdict, Via,
};
use kith_vocab::event::control::{Level, Notice};
use kith_vocab::event::{Body, Event};
use kith_vocab::ingress::{IngressContent, IngressEvent, RunningBehavior};
use serde_json::{Value, json};

use super::SessionDriver;
use super::commands::{WroteEvents, source};
use crate::command::{DecideAction, DriverCommand, refusal_of_reason};
use crate::engine::EngineError;
use crate::question::{ask_back_text, question_text};
use crate::reply::{GrantWish, PendingApproval, ReplyReading, Unclear, read_reply};
use crate::session::EventSource;
use crate::turn::{grant_of, pending_of, whole_wish};

impl SessionDriver {
    /// Takes the message as a reply to what is pending. False if it is an ordinary message.
    pub(super) fn take_reply(&mut self, event: &IngressEvent) -> bool {
        let IngressContent::Text { text, attachments } = &event.content;
        let pending = self.pending_for(&event.author.user_id);
        let is_plain =
            event.running_behavior == RunningBehavior::FollowUp && attachments.is_empty();
        if !is_plain || pending.is_empty() {
            return false;
        }
        match read_reply(text, &pending) {
            ReplyReading::NotAnAnswer => return false,
            ReplyReading::AskBack(unclear) => self.ask_back(event, unclear, &pending),
            ReplyReading::Deny { approvals, has_reason } => {
                self.stage_reply(event, ReplyVerdict::Deny, &approvals);
                let reason = has_reason.then_some(text.as_str());
                for id in &approvals {
                    self.stage_decision(event, id, Decision::Deny, None, reason);
                }
            }
            ReplyReading::Allow { approvals, denied, grant: wish } => {
                let asked = approvals.first().and_then(|id| self.question(id));
                let grant = wish.as_ref().and_then(|wish| self.grant(asked?, wish));
                if wish.is_some() && grant.is_none() {
                    self.ask_back(event, Unclear::OnceOnly, &pending);
                    return true;
                }
                let all: Vec<String> = approvals.iter().chain(&denied).cloned().collect();
                self.stage_reply(event, ReplyVerdict::Allow, &all);
                for id in &approvals {
                    self.stage_decision(event, id, Decision::Allow, grant.clone(), None);
                }
                for id in &denied {
                    self.stage_decision(event, id, Decision::Deny, None, None);
                }
            }
        }
        true
    }

    /// The questions that this person may answer.
    fn pending_for(&self, user_id: &str) -> Vec<PendingApproval> {
        let Some(turn) = &self.session.state().turn else { return Vec::new() };
        let tool = |asked: &ApprovalRequested| {
            turn.calls.get(asked.call_id).map(|it| it.call.tool_meant()).unwrap_or_default()
        };
        let is_approver =
            |asked: &&ApprovalRequested| asked.approvers.iter().any(|it| it == user_id);
        let asked = turn.calls.questions().filter(is_approver).filter(|it| !self.has_expired(it));
        asked.map(|asked| pending_of(asked, &tool(asked))).collect()
    }

    fn question(&self, approval_id: &str) -> Option<&ApprovalRequested> {
        let turn = self.session.state().turn.as_ref()?;
        turn.calls.questions().find(|it| it.approval_id == approval_id)
    }

    /// Whether nobody may answer any more. The denial is written by a step of its own, which comes
    /// a little later; an answer in between must not count.
    fn has_expired(&self, asked: &ApprovalRequested) -> bool {
        self.engine.clock.now() >= asked.expires_at
    }

    fn grant(&self, asked: &ApprovalRequested, wish: &GrantWish) -> Option<Grant> {
        let state = self.session.state();
        let progress = state.turn.as_ref()?.calls.get(asked.call_id)?;
        let now = self.engine.clock.now();
        grant_of(progress, state.is_tainted(), wish, self.new_grant_id(), now)
    }

    fn new_grant_id(&self) -> String {
        format!("g_{}", self.session.new_event_id())
    }

    fn stage_reply(&mut self, event: &IngressEvent, verdict: ReplyVerdict, approvals: &[String]) {
        let IngressContent::Text { text, .. } = &event.content;
        let body = Body::ApprovalReplied(ApprovalReplied {
            text: text.as_str().into(),
            author: event.author.clone(),
            ingress: event.ingress.clone(),
            verdict,
            approvals: approvals.to_vec(),
        });
        self.session.stage_from(of_row(event), body);
    }

    fn ask_back(&mut self, event: &IngressEvent, unclear: Unclear, pending: &[PendingApproval]) {
        self.stage_reply(event, ReplyVerdict::AskBack, &[]);
        let text = ask_back_text(unclear, pending, self.session.state().language());
        let notice = Notice { text: text.into(), level: Level::Info, about: None };
        // Without the row's key: under that, a notice says why a message was declined.
        self.session.stage(Body::Notice(notice));
    }

    fn stage_decision(
        &mut self,
        event: &IngressEvent,
        approval_id: &str,
        decision: Decision,
        grant: Option<Grant>,
        reason: Option<&str>,
    ) {
        let by = event.author.user_id.clone();
        let decided = ApprovalDecided {
            approval_id: approval_id.to_owned(),
            decision,
            by,
            via: Via::Words,
            grant,
            reason: reason.map(Into::into),
        };
        let source = EventSource { id: None, client_id: &event.client_id, ingress_key: None };
        self.session.stage_from(source, Body::ApprovalDecided(decided));
    }

    /// A button or a command. The first answer counts; whoever comes later changes nothing.
    pub(super) fn decide_call(
        &mut self,
        command: &DriverCommand,
        action: &DecideAction,
    ) -> WroteEvents {
        let DecideAction { approval_id, decision, via, grant_minutes, reason } = action;
        if let Some(what) = refusal_of_reason(reason.as_deref()) {
            return Err(EngineError::InvalidCommand { what });
        }
        let Some(asked) = self.question(approval_id).cloned() else { return Ok(false) };
        if !asked.approvers.contains(&command.user_id) {
            let what = format!("`{}` may not answer approval {}", command.user_id, asked.code);
            return Err(EngineError::NotApprover { what });
        }
        if self.has_expired(&asked) {
            let what = format!("approval {} has expired", asked.code);
            return Err(EngineError::InvalidCommand { what });
        }
        let mut grant = None;
        if let Some(minutes) = grant_minutes {
            grant = self.grant(&asked, &whole_wish(&asked, *minutes));
            if grant.is_none() {
                let what =
                    format!("approval {} can only be given once, not for a while", asked.code);
                return Err(EngineError::InvalidCommand { what });
            }
        }
        let decided = ApprovalDecided {
            approval_id: approval_id.clone(),
            decision: *decision,
            by: command.user_id.clone(),
            via: *via,
            grant,
            reason: reason.as_deref().map(Into::into),
        };
        self.session.stage_from(source(command), Body::ApprovalDecided(decided));
        Ok(true)
    }

    /// Stores the grants that were given, once the log has them: one that is lost in between is
    /// asked for again.
    pub(super) async fn keep_grants(&mut self, written: &[Event]) -> Result<(), StorageError> {
        for event in written {
            let Body::ApprovalDecided(ApprovalDecided { grant: Some(grant), by, .. }) = &event.body
            else {
                continue;
            };
            let header = self.session.header();
            let row = GrantRow {
                agent_id: header.agent_id.clone(),
                workspace: header.cwd.clone(),
                granted_by: by.clone(),
                granted_at: event.ts,
                grant: grant.clone(),
            };
            self.engine.desk.add_grant(row).await?;
        }
        Ok(())
    }

    /// Keeps the files for people up with what was written.
    pub(super) fn update_approval_files(&self, written: &[Event]) {
        let Some(folder) = self.engine.approval_files.get() else { return };
        for event in written {
            // They follow from the log: one that cannot be written now is written when the session
            // is opened again.
            match &event.body {
                Body::ApprovalRequested(asked) => self.write_approval_file(asked),
                Body::ApprovalDecided(it) => {
                    folder.remove(&it.approval_id).ok();
                }
                _ => (),
            }
        }
    }

    /// Writes the files of what waits when the session is opened.
    pub(super) fn write_approval_files(&self) {
        let Some(turn) = &self.session.state().turn else { return };
        turn.calls.questions().for_each(|asked| self.write_approval_file(asked));
    }

    fn write_approval_file(&self, asked: &ApprovalRequested) {
        let Some(folder) = self.engine.approval_files.get() else { return };
        let turn = self.session.state().turn.as_ref();
        let call = turn.and_then(|turn| turn.calls.get(asked.call_id)).map(|it| &it.call);
        let tool = call.map(ToolCall::tool_meant);
        let input = call.and_then(|it| it.input.read::<Value>().ok());
        let form = json!({
            "approvalId": asked.approval_id,
            "code": asked.code,
            "sessionId": self.session.id(),
            "threadId": asked.thread_id,
            "tool": tool,
            "summary": asked.summary,
            "command": asked.command,
            "paths": asked.paths,
            "risk": asked.risk,
            "approvers": asked.approvers,
            "expiresAt": asked.expires_at,
            // Whole, also where the question shows a part of what would change.
            "input": input,
            "question": question_text(asked, self.session.state().language()),
        });
        folder.write(&asked.approval_id, &format!("{form:#}\n")).ok();
    }
}

fn of_row(event: &IngressEvent) -> EventSource<'_> {
    EventSource { id: None, client_id: &event.client_id, ingress_key: Some(&event.key) }
}
