//! The messages of a conversation that only grows, event by event.
//!
//! Where a log branches, or goes back to events that were not seen, a projection says that it needs
//! a full read. So the messages after each turn are those that reading the whole log would give.

use std::collections::HashMap;

use kith_vocab::block::Block;
use kith_vocab::event::calls::{ApprovalDecided, ApprovalRequested, Decision};
use kith_vocab::event::control::{EndReason, LeafMoved, LeafReason, Level};
use kith_vocab::event::messages::{AssistantMessage, IngressRef, UserMessage};
use kith_vocab::event::{Body, Event};
use kith_vocab::header::SessionHeader;
use kith_vocab::ids::{CallId, EventId, SessionId, ThreadId};

use super::parts::{failure, notice, question, record, reminder, reply, rfc3339, shown_part};
use super::{
    ApprovalResponseView, BranchView, CompactView, DataPart, DelegatedView, EndView, MessagePart,
    Metadata, ToolState, UiMessage, UiRole,
};
use crate::turn_tracker::{TurnChange, TurnTracker};

/// The messages of a conversation, kept up to date event by event.
#[derive(Debug)]
pub struct Projection {
    identity: SessionIdentity,
    messages: Vec<UiMessage>,
    turns: TurnTracker,
    turn: Option<ProjectedTurn>,
    /// Parts from before the first turn, to be shown in it.
    early: Vec<MessagePart>,
    leaf: Option<EventId>,
    first_seq: Option<u64>,
    last_seq: u64,
    begins_in_the_middle: bool,
    needs_full_read: bool,
}

/// The metadata that all messages of a session share.
#[derive(Clone, Debug)]
struct SessionIdentity {
    thread_id: ThreadId,
    session_id: SessionId,
    agent_id: String,
    hides_priming: bool,
}

#[derive(Debug)]
struct ProjectedTurn {
    /// The message that began it.
    id: EventId,
    began_seq: u64,
    correlation_id: String,
    /// The place of its answer among the messages, once it has one.
    reply: Option<usize>,
    /// The places of its calls among the answer's parts.
    calls: HashMap<CallId, usize>,
    approvals: HashMap<String, CallId>,
}

impl Projection {
    /// Projects a session from its beginning.
    pub fn new(header: &SessionHeader) -> Projection {
        Projection::with(SessionIdentity {
            thread_id: header.thread_id.clone(),
            session_id: header.session_id,
            agent_id: header.agent_id.clone(),
            hides_priming: header.meta.priming.as_ref().is_some_and(|it| !it.show_in_ui),
        })
    }

    /// Projects the new events of an existing session. Only turns that begin from now on can be
    /// projected.
    pub fn of_new_turns(agent_id: &str, thread_id: &ThreadId, session_id: SessionId) -> Projection {
        let (agent_id, thread_id) = (agent_id.to_owned(), thread_id.clone());
        let mut projection = Projection::with(SessionIdentity {
            thread_id,
            session_id,
            agent_id,
            hides_priming: false,
        });
        projection.begins_in_the_middle = true;
        projection
    }

    fn with(identity: SessionIdentity) -> Projection {
        Projection {
            identity,
            messages: Vec::new(),
            turns: TurnTracker::default(),
            turn: None,
            early: Vec::new(),
            leaf: None,
            first_seq: None,
            last_seq: 0,
            begins_in_the_middle: false,
            needs_full_read: false,
        }
    }

    /// Takes the next event of the log.
    pub fn take(&mut self, event: &Event) {
        let in_order = self.first_seq.is_none() || event.seq == self.last_seq + 1;
        self.first_seq.get_or_insert(event.seq);
        self.last_seq = event.seq;
        // Events before the first new turn belong to a turn that is not known.
        let is_known = !self.begins_in_the_middle
            || self.turn.is_some()
            || matches!(&event.body, Body::UserMessage(_) if event.is_lived());
        self.needs_full_read |= !in_order || !is_known || !self.continues_with(event);
        self.add(event);
    }

    /// Whether the log branched or went back too far, so that it must be read from its beginning.
    pub fn needs_full_read(&self) -> bool {
        self.needs_full_read
    }

    /// The numbers of the first and the last event that were taken.
    pub fn span(&self) -> Option<(u64, u64)> {
        self.first_seq.map(|first| (first, self.last_seq))
    }

    pub fn session_id(&self) -> SessionId {
        self.identity.session_id
    }

    pub fn is_in_turn(&self) -> bool {
        self.turns.is_open()
    }

    pub fn messages(&self) -> &[UiMessage] {
        &self.messages
    }

    /// The answer of the last turn, once it has a part.
    pub(super) fn reply(&self) -> Option<&UiMessage> {
        self.messages.get(self.turn.as_ref()?.reply?)
    }

    /// The id and the metadata that the answer of the last turn has, or would have if it began with
    /// this event.
    pub(super) fn reply_head(&self, event: &Event) -> Option<(String, Metadata)> {
        let turn = self.turn.as_ref()?;
        let id = format!("{}_reply", turn.id);
        let mut metadata = self.metadata(event, None, &self.identity.agent_id);
        metadata.message_id.clone_from(&id);
        metadata.seq = turn.began_seq;
        Some((id, metadata))
    }

    pub(super) fn into_messages(self) -> Vec<UiMessage> {
        self.messages
    }

    fn continues_with(&self, event: &Event) -> bool {
        let knows_the_leaf = !self.begins_in_the_middle || self.turn.is_some();
        match &event.body {
            Body::LeafMoved(it) => knows_the_leaf && self.leaf == it.to,
            body => !body.is_tree() || !knows_the_leaf || event.parent_id == self.leaf,
        }
    }

    /// Adds an event of the path.
    pub(super) fn add(&mut self, event: &Event) {
        if event.is_tree() {
            self.leaf = Some(event.id);
        }
        if !(self.identity.hides_priming && event.is_primed()) {
            self.show(event);
        }
        self.pass(event.seq);
    }

    fn show(&mut self, event: &Event) {
        let shown = event.id;
        let change = self.turns.read(event);
        match &event.body {
            Body::UserMessage(it) => self.add_message(event, it, change),
            Body::AssistantMessage(it) => self.add_answer(event, it),
            Body::ToolResult(it) => self.change_call(it.call_id, |state| state.with_result(it)),
            Body::HarnessItem(it) => self.put_all(event, reminder(shown, it)),
            Body::Compact(it) => {
                let data = CompactView {
                    summary: it.summary.clone(),
                    tokens_before: it.tokens_before,
                    tokens_after: it.tokens_after,
                };
                self.put(event, MessagePart::Compact(DataPart { id: shown, data }));
            }
            Body::PrimedRecord(it) => self.put(event, record(shown, &it.record)),
            Body::ModelFailed(it) => self.put(event, failure(shown, it)),
            Body::ApprovalRequested(it) => self.add_approval_request(event, it),
            Body::ApprovalReplied(it) => self.put(event, reply(shown, it)),
            Body::ApprovalDecided(it) => self.add_decision(it),
            Body::Delegated(it) => {
                let data = DelegatedView { tool_call_id: it.call_id, session_id: it.session_id };
                self.put(event, MessagePart::Delegated(DataPart { id: shown, data }));
            }
            Body::Notice(it) => self.put(event, notice(shown, it.text.clone(), it.level)),
            Body::LogRepaired(it) => {
                let bytes = it.torn_bytes;
                let text = format!("an incomplete write was set aside ({bytes} bytes)");
                self.put(event, notice(shown, text.into(), Level::Warn));
            }
            Body::LeafMoved(it) => self.add_branch(event, it),
            Body::TurnEnded(it) if it.reason != EndReason::Done => {
                let data = EndView { reason: it.reason, bound: it.bound };
                self.put(event, MessagePart::TurnEnded(DataPart { id: shown, data }));
            }
            _ => (),
        }
    }

    fn add_message(&mut self, event: &Event, said: &UserMessage, change: Option<TurnChange>) {
        let ingress = said.ingress.as_ref().filter(|_| !event.is_primed());
        if change == Some(TurnChange::Begun) || self.turn.is_none() {
            self.begin_turn(event, ingress);
        }
        // Messages that the runtime writes in a person's place are not shown.
        if said.message.meta != Some(true) {
            let metadata = self.metadata(event, ingress, &said.author.user_id);
            let mut parts: Vec<MessagePart> =
                said.message.content.iter().filter_map(shown_part).collect();
            if parts.is_empty() {
                // A person's message must have a part.
                parts.push(MessagePart::Text { text: String::new().into() });
            }
            let id = event.id.to_string();
            self.messages.push(UiMessage { id, role: UiRole::User, metadata, parts });
        }
        let early = std::mem::take(&mut self.early);
        self.put_all(event, early);
    }

    fn add_answer(&mut self, event: &Event, answer: &AssistantMessage) {
        if self.turn.is_none() {
            self.begin_turn(event, None);
        }
        self.put(event, MessagePart::StepStart);
        for block in &answer.message.content {
            let Some(part) = shown_part(block) else { continue };
            let place = self.put_at(event, part);
            if let (Block::ToolCall(call), Some(place)) = (block, place)
                && let Some(turn) = &mut self.turn
            {
                turn.calls.insert(call.call_id, place);
            }
        }
    }

    fn add_approval_request(&mut self, event: &Event, asked: &ApprovalRequested) {
        let id = &asked.approval_id;
        let Some(turn) = self.turn.as_mut().filter(|it| it.calls.contains_key(&asked.call_id))
        else {
            return;
        };
        turn.approvals.insert(id.clone(), asked.call_id);
        self.change_call(asked.call_id, |state| state.with_approval_request(id));
        self.put(event, question(event.id, asked));
    }

    fn add_decision(&mut self, decided: &ApprovalDecided) {
        let call_id = self.turn.as_ref().and_then(|it| it.approvals.get(&decided.approval_id));
        let Some(call_id) = call_id.copied() else { return };
        let answer = ApprovalResponseView {
            id: decided.approval_id.clone(),
            approved: decided.decision == Decision::Allow,
            reason: decided.reason.clone(),
        };
        self.change_call(call_id, |state| state.with_approval_response(answer));
    }

    fn add_branch(&mut self, event: &Event, moved: &LeafMoved) {
        if self.leaf == moved.to && moved.reason == LeafReason::Branch && self.turn.is_some() {
            self.put(event, MessagePart::Branch(DataPart { id: event.id, data: BranchView {} }));
        }
    }

    fn begin_turn(&mut self, event: &Event, ingress: Option<&IngressRef>) {
        let correlation_id = ingress.map(|it| it.correlation_id.clone());
        self.turn = Some(ProjectedTurn {
            id: event.id,
            began_seq: event.seq,
            correlation_id: correlation_id.unwrap_or_else(|| event.id.to_string()),
            reply: None,
            calls: HashMap::new(),
            approvals: HashMap::new(),
        });
    }

    fn put_all(&mut self, event: &Event, parts: impl IntoIterator<Item = MessagePart>) {
        for part in parts {
            self.put(event, part);
        }
    }

    fn put(&mut self, event: &Event, part: MessagePart) {
        self.put_at(event, part);
    }

    /// Adds a part to the answer of the last turn, and says where it stands.
    fn put_at(&mut self, event: &Event, part: MessagePart) -> Option<usize> {
        let Some(turn) = &self.turn else {
            self.early.push(part);
            return None;
        };
        let place = match turn.reply {
            Some(place) => place,
            None => self.begin_reply(event)?,
        };
        let parts = &mut self.messages.get_mut(place)?.parts;
        parts.push(part);
        Some(parts.len() - 1)
    }

    fn begin_reply(&mut self, event: &Event) -> Option<usize> {
        let place = self.messages.len();
        let (id, metadata) = self.reply_head(event)?;
        self.messages.push(UiMessage { id, role: UiRole::Assistant, metadata, parts: Vec::new() });
        if let Some(turn) = &mut self.turn {
            turn.reply = Some(place);
        }
        Some(place)
    }

    fn change_call(&mut self, call_id: CallId, change: impl FnOnce(ToolState) -> ToolState) {
        let Some(turn) = &self.turn else { return };
        let (Some(reply), Some(place)) = (turn.reply, turn.calls.get(&call_id)) else { return };
        let parts = self.messages.get_mut(reply).map(|it| &mut it.parts);
        let Some(MessagePart::DynamicTool(part)) = parts.and_then(|it| it.get_mut(*place)) else {
            return;
        };
        part.state = change(part.state.clone());
    }

    fn metadata(&self, event: &Event, ingress: Option<&IngressRef>, user_id: &str) -> Metadata {
        let SessionIdentity { thread_id, session_id, .. } = &self.identity;
        let own = event.id.to_string();
        let of_turn = self.turn.as_ref().map(|it| it.correlation_id.clone());
        Metadata {
            timestamp: rfc3339(event.ts),
            platform: ingress
                .map_or_else(|| thread_id.platform().to_owned(), |it| it.platform.clone()),
            thread_id: thread_id.clone(),
            user_id: user_id.to_owned(),
            message_id: ingress.map_or_else(|| own.clone(), |it| it.message_id.clone()),
            correlation_id: ingress.map(|it| it.correlation_id.clone()).or(of_turn).unwrap_or(own),
            session_id: *session_id,
            seq: event.seq,
        }
    }

    /// The answer of a turn that is over takes account of all that is written before the next
    /// message. Until then only of the message that began it: more is to come.
    pub(super) fn pass(&mut self, seq: u64) {
        if self.turns.is_open() {
            return;
        }
        let Some(place) = self.turn.as_ref().and_then(|it| it.reply) else { return };
        let Some(message) = self.messages.get_mut(place) else { return };
        if seq > message.metadata.seq {
            message.metadata.seq = seq;
        }
    }
}
