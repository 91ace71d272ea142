//! Chats: conversations of programs that speak the AI SDK's UI message stream.
//!
//! A chat is a thread. What a client sends of its history is not believed: only its last message, and
//! its answers to questions that wait, are taken from a request. The stream tells one turn; a client
//! that loses it asks for the running turn again and gets it from the beginning.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kith_engine::command::{CommandAction, DecideAction, refusal_of_reason};
use kith_engine::engine::{BranchCommand, RowFollower, RowProgress, TurnPlace};
use kith_engine::feed::FeedItem;
use kith_engine::report::{MessageEnd, TurnReport};
use kith_engine::ui_message::{ChunkStream, StreamEnd, UiChunk};
use kith_sessions::desk::{Wakeup, WakeupReason};
use kith_vocab::block::{Block, plain_text};
use kith_vocab::event::calls::{Decision, Via};
use kith_vocab::event::{Body, Event};
use kith_vocab::ids::{LeafId, SessionId, ThreadId};
use kith_vocab::ingress::RunningBehavior;

use super::Host;
use super::message::AcceptedMessage;
use crate::caller::Caller;
use crate::calls::message::{Acknowledgement, MessageTarget, SendMessage, SentFile};
use crate::error::CallError;
use crate::notes::HostNote;
use crate::projects::whole_path_text;

/// The end of the id of an answer; before it stands the id of the message that began its turn.
const REPLY_SUFFIX: &str = "_reply";

/// What a client asks for.
#[derive(Clone, Debug)]
pub(crate) struct ChatRequest {
    pub(crate) chat: ChatName,
    /// The last message of the conversation, if a person wrote it.
    pub(crate) said: Option<ChatMessage>,
    pub(crate) answers: Vec<ChatAnswer>,
    pub(crate) change: ChatChange,
    pub(crate) model: Option<String>,
    pub(crate) cwd: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct ChatName {
    /// As the client calls it.
    pub(crate) id: String,
    pub(crate) thread_id: ThreadId,
    pub(crate) agent_id: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct ChatMessage {
    /// The client's own.
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) files: Vec<SentFile>,
}

/// An answer to the question whether a call may run.
#[derive(Clone, Debug)]
pub(crate) struct ChatAnswer {
    pub(crate) approval_id: String,
    pub(crate) approved: bool,
    pub(crate) reason: Option<String>,
}

/// What a request does to the conversation.
#[derive(Clone, Debug)]
pub(crate) enum ChatChange {
    /// It goes on.
    Append,
    /// The message of this id is said in other words, on a branch; an id that is unknown is a new one.
    Edit(String),
    /// The message before this answer, or the last one, is said again, on a branch.
    Regenerate(Option<String>),
}

/// One turn of a chat, as chunks.
pub(crate) struct ChatStream {
    row: RowFollower,
    chunks: ChunkStream,
    /// The client has the parts of the message up to this event.
    known_to: u64,
    notes: Vec<String>,
    /// Said when the turn has no words of its own for what went wrong.
    problem: String,
    is_over: bool,
}

/// The session and the agent of a chat.
struct ChatPlace {
    agent_id: String,
    session_id: Option<SessionId>,
}

impl Host {
    /// Does what a request of a chat asks for, and follows the turn that comes of it.
    pub(crate) async fn begin_chat(
        self: &Arc<Self>,
        caller: &Caller,
        request: ChatRequest,
    ) -> Result<ChatStream, CallError> {
        let place = self.chat_place(&request.chat).await?;
        if let Some(session_id) = place.session_id
            && let Some(stream) = self.answer_questions(caller, session_id, &request).await?
            && request.said.is_none()
        {
            return Ok(stream);
        }
        let ChatRequest { chat, said, change, model, cwd, .. } = request;
        let (mut said, branch) = match (&change, said) {
            (ChatChange::Regenerate(of), _) => {
                let wanted = of.as_deref().map(|id| id.strip_suffix(REPLY_SUFFIX).unwrap_or(id));
                let found = self.find_said(&place, &chat, wanted).await?.ok_or_else(|| {
                    CallError::invalid("the conversation has no message that can be asked again")
                })?;
                (self.said_again(&found).await?, Some(found))
            }
            (ChatChange::Edit(id), Some(said)) => {
                let found = self.find_said(&place, &chat, Some(id)).await?;
                // The client keeps the id; here it is another message.
                let id = if found.is_some() { self.new_event_id().to_string() } else { said.id };
                (ChatMessage { id, ..said }, found)
            }
            (ChatChange::Append, Some(said)) => (said, None),
            (ChatChange::Append | ChatChange::Edit(_), None) => {
                return Err(CallError::invalid(
                    "there is nothing to answer: the last message is not a person's, and it answers no \
                     question that waits",
                ));
            }
        };
        said.id = message_id(&chat, &said.id);
        let message = self.chat_message(&chat, &place.agent_id, said, model, cwd)?;
        if let (Some(turn), Some(session_id)) = (branch, place.session_id) {
            // First: a message that is refused must leave the conversation as it was.
            self.check_message(&message)?;
            self.branch_before(caller, session_id, &turn).await?;
        }
        let AcceptedMessage { is_first, row, notes } = self.accept_message(caller, message).await?;
        let session_id = row.session_id();
        let notes = self.notes_for(caller, &notes);
        if is_first {
            return Ok(self.chat_stream(caller, &place.agent_id, &chat.thread_id, row, notes));
        }
        // Sent again: what came of it so far is told from the beginning.
        let key = row.key().to_owned();
        let is_ours = |event: &Event| event.ingress_key.as_deref() == Some(key.as_str());
        let turn = self.engine.find_turn(session_id, is_ours).await?;
        let row = turn.map_or(row, |turn| self.engine.follow_turn(session_id, &turn));
        Ok(self.chat_stream(caller, &place.agent_id, &chat.thread_id, row, notes))
    }

    /// The turn that runs in a chat, from its beginning; `None` if none does.
    pub(crate) async fn resume_chat(
        &self,
        caller: &Caller,
        chat: &ChatName,
    ) -> Result<Option<ChatStream>, CallError> {
        let ChatPlace { agent_id, session_id } = self.chat_place(chat).await?;
        let Some(session_id) = session_id else { return Ok(None) };
        let turn = self.engine.find_turn(session_id, |_| true).await?;
        if let Some(turn) = turn.as_ref().filter(|it| it.is_running) {
            return Ok(Some(self.told_again(caller, session_id, turn, 0)));
        }
        if turn.is_some_and(|it| it.waits_for_person) {
            return Ok(None);
        }
        // A message that is not in the log yet.
        if self.desk.open_rows(session_id).await?.is_empty() {
            return Ok(None);
        }
        let row = self.engine.follow_last_row(session_id).await?;
        let thread_id = &chat.thread_id;
        Ok(row.map(|row| self.chat_stream(caller, &agent_id, thread_id, row, Vec::new())))
    }

    async fn chat_place(&self, chat: &ChatName) -> Result<ChatPlace, CallError> {
        let settings = self.settings.current()?;
        let agent_id = settings.team.choose(chat.agent_id.as_deref())?.id.clone();
        let thread_id = self.reads.thread_in_use(&agent_id, chat.thread_id.clone()).await?;
        let session_id = self.desk.current_session(&agent_id, &thread_id).await?;
        Ok(ChatPlace { agent_id, session_id })
    }

    /// Gives the answers of a request to the questions that wait, wherever in the request they stand.
    /// Returns the rest of the turn if it asked one of them, also if somebody else was faster.
    async fn answer_questions(
        &self,
        caller: &Caller,
        session_id: SessionId,
        request: &ChatRequest,
    ) -> Result<Option<ChatStream>, CallError> {
        // Clients send all of their history, answers of long ago too. Beside a message, only questions
        // that still wait count, and whether there are any is known without reading the log.
        let is_needed = request.said.is_none() || self.may_wait_for_person(session_id).await?;
        if request.answers.is_empty() || !is_needed {
            return Ok(None);
        }
        let Some(turn) = self.engine.find_turn(session_id, |_| true).await? else {
            return Ok(None);
        };
        let answered =
            |id: &String| request.answers.iter().find(|answer| answer.approval_id == *id);
        let known = turn.questions.iter().filter(|(id, _)| answered(id).is_some());
        let Some(answered_to) = known.map(|(_, seq)| *seq).max() else { return Ok(None) };
        let mut known_to = answered_to;
        if turn.waits_for_person {
            // First: a request is refused as a whole, before any of its answers counts.
            let reasons =
                turn.questions.iter().filter_map(|(id, _)| answered(id)?.reason.as_deref());
            if let Some(refusal) = reasons.into_iter().find_map(|it| refusal_of_reason(Some(it))) {
                return Err(CallError::invalid(refusal));
            }
            // The stream that asked has told all of the questions.
            known_to = turn.questions.iter().map(|(_, seq)| *seq).max().unwrap_or(answered_to);
            for (approval_id, _) in &turn.questions {
                let Some(answer) = answered(approval_id) else { continue };
                let action = CommandAction::Decide(DecideAction {
                    approval_id: approval_id.clone(),
                    decision: if answer.approved { Decision::Allow } else { Decision::Deny },
                    via: Via::Button,
                    grant_minutes: None,
                    reason: answer.reason.clone(),
                });
                // One that was answered before keeps its first answer.
                self.command(caller, session_id, self.new_event_id(), action).await?;
            }
            self.engine.wake(session_id);
        }
        let turn = self.engine.find_turn(session_id, |event| event.id == turn.message.id).await?;
        Ok(turn.map(|turn| self.told_again(caller, session_id, &turn, known_to)))
    }

    /// Whether a turn of the session may wait for an answer: then its message is open, or a time is set
    /// at which its question expires.
    async fn may_wait_for_person(&self, session_id: SessionId) -> Result<bool, CallError> {
        if !self.desk.open_rows(session_id).await?.is_empty() {
            return Ok(true);
        }
        let expires = |it: &Wakeup| {
            it.reason == WakeupReason::ApprovalExpiry && it.session_id == Some(session_id)
        };
        Ok(self.desk.wakeups().await?.iter().any(expires))
    }

    /// The turn of a message of a person's; without an id, of the last one.
    async fn find_said(
        &self,
        place: &ChatPlace,
        chat: &ChatName,
        wanted: Option<&str>,
    ) -> Result<Option<TurnPlace>, CallError> {
        let Some(session_id) = place.session_id else { return Ok(None) };
        let theirs = wanted.map(|id| message_id(chat, id));
        let is_wanted = |event: &Event| {
            let Body::UserMessage(said) = &event.body else { return false };
            let sent_as = said.ingress.as_ref().map(|it| it.message_id.as_str());
            wanted.is_none_or(|id| event.id.to_string() == id || sent_as == theirs.as_deref())
        };
        Ok(self.engine.find_turn(session_id, is_wanted).await?)
    }

    /// Goes back to before the message that began a turn.
    async fn branch_before(
        &self,
        caller: &Caller,
        session_id: SessionId,
        turn: &TurnPlace,
    ) -> Result<(), CallError> {
        let to = turn.message.parent_id.map_or(LeafId::Start, LeafId::Event);
        let command = BranchCommand {
            id: self.new_event_id(),
            client_id: caller.client_id.clone(),
            user_id: caller.user.user_id.clone(),
            expected_leaf: None,
        };
        self.engine.branch(session_id, to, command).await?;
        Ok(())
    }

    /// The message that began a turn, as it would be sent once more.
    async fn said_again(&self, turn: &TurnPlace) -> Result<ChatMessage, CallError> {
        let Body::UserMessage(said) = &turn.message.body else {
            return Err(CallError::bug("a turn begins with a message"));
        };
        let mut files = Vec::new();
        for block in &said.message.content {
            let (Block::Image(media) | Block::Audio(media) | Block::File(media)) = block else {
                continue;
            };
            let bytes = self.journal.read_blob(&media.blob).await?;
            let name = media.name.clone().unwrap_or_else(|| "file".to_owned());
            files.push(SentFile { name, data: STANDARD.encode(bytes) });
        }
        let text = plain_text(&said.message.content).to_string();
        // Another message, though it has the same words.
        Ok(ChatMessage { id: self.new_event_id().to_string(), text, files })
    }

    fn chat_message(
        &self,
        chat: &ChatName,
        agent_id: &str,
        said: ChatMessage,
        model: Option<String>,
        cwd: Option<String>,
    ) -> Result<SendMessage, CallError> {
        if said.text.trim().is_empty() && said.files.is_empty() {
            return Err(CallError::invalid("the message has no text and no files"));
        }
        let cwd = match cwd {
            Some(cwd) => whole_path_text(&cwd)?,
            None => self.house.dir.to_string_lossy().into_owned(),
        };
        let settings = self.settings.current()?;
        // Who sends a chat does not know the models of the house; the one that is chosen is meant.
        let expects = self.models.choose(model.as_deref(), &settings)?.name;
        Ok(SendMessage {
            client_message_id: said.id,
            text: said.text,
            agent_id: Some(agent_id.to_owned()),
            thread_id: chat.thread_id.clone(),
            target: MessageTarget::Current,
            cwd,
            model,
            expects,
            expected_leaf: None,
            running_behavior: RunningBehavior::default(),
            ack: Acknowledgement::Completed,
            attachments: said.files,
        })
    }

    fn told_again(
        &self,
        caller: &Caller,
        session_id: SessionId,
        turn: &TurnPlace,
        known_to: u64,
    ) -> ChatStream {
        let row = self.engine.follow_turn(session_id, turn);
        let (agent_id, thread_id) = (&turn.agent_id, &turn.thread_id);
        let stream = self.chat_stream(caller, agent_id, thread_id, row, Vec::new());
        ChatStream { known_to, ..stream }
    }

    fn chat_stream(
        &self,
        caller: &Caller,
        agent_id: &str,
        thread_id: &ThreadId,
        row: RowFollower,
        notes: Vec<String>,
    ) -> ChatStream {
        let chunks = ChunkStream::new(agent_id, thread_id, row.session_id());
        let problem = HostNote::NoAnswer.in_language(&self.language_for(caller));
        ChatStream { row, chunks, known_to: 0, notes, problem, is_over: false }
    }

    fn notes_for(&self, caller: &Caller, notes: &[HostNote]) -> Vec<String> {
        let language = self.language_for(caller);
        notes.iter().map(|note| note.in_language(&language)).collect()
    }
}

/// The name of a client's message in the house. Clients number as they like, so the chat is part of it.
fn message_id(chat: &ChatName, id: &str) -> String {
    format!("{}/{id}", chat.id)
}

impl ChatStream {
    /// The next chunks; `None` when the stream has ended. Nothing is lost when whoever waits stops
    /// waiting.
    pub(crate) async fn next(&mut self) -> Option<Vec<UiChunk>> {
        if !self.notes.is_empty() {
            return Some(std::mem::take(&mut self.notes).into_iter().map(UiChunk::note).collect());
        }
        while !self.is_over {
            let was_in_turn = self.row.is_in_turn();
            let chunks = match self.row.next().await {
                Ok(RowProgress::Item(item)) if was_in_turn || self.row.is_in_turn() => {
                    self.take(&item)
                }
                Ok(RowProgress::Item(_)) => Vec::new(),
                Ok(RowProgress::Settled(report)) => {
                    self.is_over = true;
                    let problem = in_words(&report).unwrap_or_else(|| self.problem.clone());
                    self.chunks.end(StreamEnd::of(&report, &problem))
                }
                Err(error) => {
                    self.is_over = true;
                    self.chunks.end(StreamEnd::Error(CallError::from(error).message()))
                }
            };
            if !chunks.is_empty() {
                return Some(chunks);
            }
        }
        None
    }

    fn take(&mut self, item: &FeedItem) -> Vec<UiChunk> {
        match item {
            FeedItem::Event(event) if event.seq < self.known_to => {
                self.chunks.skip(event);
                Vec::new()
            }
            FeedItem::Event(event) if event.seq == self.known_to => {
                self.chunks.skip(event);
                self.chunks.resume(event)
            }
            FeedItem::Event(event) => self.chunks.event(event),
            FeedItem::Delta(delta) => self.chunks.delta(delta),
            FeedItem::Running(running) => self.chunks.running(running),
            FeedItem::Failed(_) | FeedItem::Moved { .. } | FeedItem::Removed => Vec::new(),
        }
    }
}

/// Why a message was not answered, where the log has no words for it.
fn in_words(report: &TurnReport) -> Option<String> {
    match report.end {
        MessageEnd::Declined(leaf) => {
            Some(format!("the message was not sent: the conversation has moved on to `{leaf}`"))
        }
        _ => None,
    }
}
