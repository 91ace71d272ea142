//! The threads of a house, derived from its sessions.

use std::collections::HashMap;
use std::sync::Arc;

use kith_engine::feed::ThreadKey;
use kith_engine::state::State;
use kith_engine::state::calls::CallStage;
use kith_engine::thread_logs::ThreadLogs;
use kith_vocab::event::Event;
use kith_vocab::header::{Audience, Priming};
use kith_vocab::ids::{SessionId, ThreadId};
use kith_vocab::json::Json;

use super::ReadSide;
use super::sessions::WITHOUT_DESK;
use crate::call::{Reply, Response};
use crate::calls::session::{SessionRow, SessionState};
use crate::calls::thread::{
    CurrentSession, CurrentSessionId, FindCurrentSession, GetThread, ListMessages,
    ListThreadSessions, ListThreads, MessageList, MessageSource, ThreadList, ThreadRowView,
    ThreadSessions, ThreadView,
};
use crate::error::{CallError, ErrorCode};
use crate::secrets::secret_filter;

/// Which session a thread is in.
struct ThreadPosition {
    session_id: SessionId,
    audience: Audience,
}

pub async fn list_threads(side: Arc<ReadSide>, call: ListThreads) -> Reply<ThreadList> {
    let agent_id = side.agent_id(call.agent_id.as_deref())?;
    let listed = side.list().await?;
    let mut rows: HashMap<SessionId, SessionRow> =
        listed.data.sessions.into_iter().map(|row| (row.session_id, row)).collect();
    let mut threads = Vec::new();
    for (thread_id, current) in side.current_sessions(&agent_id).await? {
        // A session that was chosen and never begun is none yet.
        let Some(row) = rows.remove(&current.session_id) else { continue };
        let pending_approvals = match row.state {
            SessionState::Waiting => pending(&side.read(current.session_id).await?.state),
            SessionState::Idle | SessionState::Running | SessionState::ReadOnly => Vec::new(),
        };
        threads.push(ThreadRowView {
            thread_id,
            audience: current.audience,
            session_id: current.session_id,
            title: row.title,
            updated_at: row.updated_at,
            pending_approvals,
        });
    }
    threads.sort_by(|a, b| b.updated_at.cmp(&a.updated_at));
    let listed = Response { data: ThreadList { threads }, notes: listed.notes };
    Ok(listed.with_notes(side.desk_note(WITHOUT_DESK)))
}

pub async fn list_thread_sessions(
    side: Arc<ReadSide>,
    call: ListThreadSessions,
) -> Reply<ThreadSessions> {
    let agent_id = side.agent_id(call.agent_id.as_deref())?;
    let sessions = side.thread_sessions(&agent_id, &call.thread).await?;
    Ok(Response::new(ThreadSessions { sessions }).with_notes(side.desk_note(WITHOUT_DESK)))
}

pub async fn list_messages(side: Arc<ReadSide>, call: ListMessages) -> Reply<MessageList> {
    let messages = match &call.of {
        MessageSource::Session(session) => {
            let id = side.resolve(session).await?;
            side.thread_logs().messages(&[id]).await?
        }
        MessageSource::Thread(thread) => {
            let agent_id = side.agent_id(call.agent_id.as_deref())?;
            let ids = side.thread_sessions(&agent_id, thread).await?;
            side.thread_logs().messages(&ids).await?
        }
    };
    // For use elsewhere: screens follow the feed.
    let secrets = secret_filter(&*side.settings()?);
    let list = MessageList { messages: secrets.filtered_json(&Json::of(&messages)) };
    Ok(Response::new(list).with_notes(side.desk_note(WITHOUT_DESK)))
}

pub async fn get_thread(side: Arc<ReadSide>, call: GetThread) -> Reply<ThreadView> {
    let current = side.current_session(call.agent_id.as_deref(), &call.thread_id).await?;
    let Some(session_id) = current else { return Ok(Response::new(ThreadView { session: None })) };
    let title = side.title_of(session_id).await?;
    let history = side.history_before(session_id).await?;
    let session = Some(CurrentSession { session_id, title, history });
    Ok(Response::new(ThreadView { session }))
}

pub async fn find_current_session(
    side: Arc<ReadSide>,
    call: FindCurrentSession,
) -> Reply<CurrentSessionId> {
    let session_id = side.current_session(call.agent_id.as_deref(), &call.thread_id).await?;
    Ok(Response::new(CurrentSessionId { session_id }))
}

impl ReadSide {
    /// The thread, or the one that an older version named otherwise, if only that one has begun.
    pub(crate) async fn thread_in_use(
        &self,
        agent_id: &str,
        thread_id: ThreadId,
    ) -> Result<ThreadId, CallError> {
        let (Some(former), Some(desk)) = (self.house.former_thread(&thread_id), &self.desk) else {
            return Ok(thread_id);
        };
        if desk.current_session(agent_id, &thread_id).await?.is_some() {
            return Ok(thread_id);
        }
        let is_former_in_use = desk.current_session(agent_id, &former).await?.is_some();
        Ok(if is_former_in_use { former } else { thread_id })
    }

    /// The session of the thread that has begun and would be continued.
    async fn current_session(
        &self,
        agent_id: Option<&str>,
        thread_id: &ThreadId,
    ) -> Result<Option<SessionId>, CallError> {
        let agent_id = self.agent_id(agent_id)?;
        let Some(desk) = self.require_desk()? else { return Ok(None) };
        let thread_id = self.thread_in_use(&agent_id, thread_id.clone()).await?;
        let Some(id) = desk.current_session(&agent_id, &thread_id).await? else { return Ok(None) };
        Ok(self.journal.exists(id).await?.then_some(id))
    }

    /// The history that a session begins with, for someone who is about to say the first thing in
    /// it. Empty where something was said already, and where the history is not to be seen.
    pub(crate) async fn history_before(&self, id: SessionId) -> Result<Vec<Event>, CallError> {
        let mut events = Vec::new();
        let mut is_spoken_in = false;
        let each = &mut |event: Event| {
            is_spoken_in |= event.is_tree() && event.is_lived();
            if !is_spoken_in {
                events.push(event);
            }
        };
        let header = self.each(id, each).await?.header;
        let is_shown = matches!(&header.meta.priming, Some(Priming { show_in_ui: true, .. }));
        Ok(if is_spoken_in || !is_shown { Vec::new() } else { events })
    }

    /// A thread as it was lived: the sessions of it, from the oldest to the newest.
    async fn thread_sessions(
        &self,
        agent_id: &str,
        thread: &str,
    ) -> Result<Vec<SessionId>, CallError> {
        let logs = self.thread_logs();
        let mut sessions = logs.sessions().await?;
        let key = resolve_thread(sessions.keys(), agent_id, thread)?;
        Ok(logs.without_repaired(&sessions.remove(&key).unwrap_or_default()).await)
    }

    fn thread_logs(&self) -> ThreadLogs {
        ThreadLogs::new(Arc::clone(&self.journal))
    }

    /// As the desk has it; without a desk a thread is in its newest session.
    async fn current_sessions(
        &self,
        agent_id: &str,
    ) -> Result<Vec<(ThreadId, ThreadPosition)>, CallError> {
        let Some(desk) = &self.desk else { return self.newest_sessions(agent_id).await };
        let rows = desk.threads().await?.into_iter().filter(|row| row.agent_id == agent_id);
        let current = rows.map(|row| {
            let (session_id, audience) = (row.session_id, row.audience);
            (row.thread_id, ThreadPosition { session_id, audience })
        });
        let mut threads: Vec<(ThreadId, ThreadPosition)> = current.collect();
        // What was made elsewhere and put here is not on the desk.
        let known: Vec<ThreadId> = threads.iter().map(|(id, _)| id.clone()).collect();
        let newest = self.newest_sessions(agent_id).await?;
        threads.extend(newest.into_iter().filter(|(id, _)| !known.contains(id)));
        Ok(threads)
    }

    async fn newest_sessions(
        &self,
        agent_id: &str,
    ) -> Result<Vec<(ThreadId, ThreadPosition)>, CallError> {
        let sessions = self.thread_logs().sessions().await?;
        let mut current = Vec::new();
        for (key, ids) in sessions.into_iter().filter(|(key, _)| key.agent_id == agent_id) {
            let Some(&session_id) = ids.last() else { continue };
            // Its first line was good a moment ago.
            let Ok(header) = self.journal.header(session_id).await else { continue };
            let audience = header.audience;
            current.push((key.thread_id, ThreadPosition { session_id, audience }));
        }
        Ok(current)
    }
}

fn pending(state: &State) -> Vec<String> {
    let calls = state.turn.iter().flat_map(|turn| turn.calls.iter());
    let asked = calls.filter_map(|it| match &it.stage {
        CallStage::Asked { approval_id, .. } => Some(approval_id.clone()),
        _ => None,
    });
    asked.collect()
}

/// A whole thread id, or the beginning or the end of one, of the threads there are.
pub fn resolve_thread<'a>(
    keys: impl Iterator<Item = &'a ThreadKey>,
    agent_id: &str,
    thread: &str,
) -> Result<ThreadKey, CallError> {
    let not_found = |message: String| {
        CallError::request(ErrorCode::SessionNotFound, message)
            .hint("`kith thread ls` lists the threads")
    };
    let mut fitting: Vec<&ThreadKey> = Vec::new();
    for key in keys.filter(|key| key.agent_id == agent_id) {
        let id = key.thread_id.as_str();
        if id == thread {
            return Ok(key.clone());
        }
        if !thread.is_empty() && (id.starts_with(thread) || id.ends_with(thread)) {
            fitting.push(key);
        }
    }
    match fitting.as_slice() {
        [key] => Ok((*key).clone()),
        [] => Err(not_found(format!("there is no thread `{thread}`"))),
        _ => Err(not_found(format!("several threads match `{thread}`"))),
    }
}
