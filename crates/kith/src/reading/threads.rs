//! The threads of a house, read off its sessions.

use std::collections::HashMap;

use kith_engine::state::State;
use kith_engine::state::calls::Stage;
use kith_engine::threads::{Sessions, ThreadKey, Threads};
use kith_engine::ui_message::UiMessage;
use kith_vocab::header::Audience;
use kith_vocab::ids::{SessionId, ThreadId};

use super::Reader;
use crate::client::{SessionRow, SessionState, ThreadList, ThreadRowView, Told};
use crate::host::threads::threads_of;
use crate::report::{Blame, Report};

/// Which session a thread is in.
struct Current {
    session_id: SessionId,
    audience: Audience,
}

impl Reader {
    pub(crate) async fn threads(&self, agent_id: &str) -> Result<Told<ThreadList>, Report> {
        let listed = self.list().await?;
        let mut rows: HashMap<SessionId, SessionRow> =
            listed.form.sessions.into_iter().map(|row| (row.session_id, row)).collect();
        let mut threads = Vec::new();
        for (thread_id, current) in self.current_sessions(agent_id).await? {
            // A session that was chosen and never begun is none yet.
            let Some(row) = rows.remove(&current.session_id) else { continue };
            let pending_approvals = match row.state {
                SessionState::Waiting => pending(&self.read(current.session_id).await?.state),
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
        Ok(Told { form: ThreadList { threads }, notes: listed.notes })
    }

    /// The messages of a thread, from its logs.
    pub(crate) fn thread_messages(
        &self,
        agent_id: &str,
        thread: &str,
    ) -> Result<Vec<UiMessage>, Report> {
        let (threads, ids) = self.thread_sessions(agent_id, thread)?;
        Ok(threads.messages(&ids)?)
    }

    /// A thread as it was lived: the sessions of it, from the oldest to the newest.
    pub(crate) fn thread_sessions(
        &self,
        agent_id: &str,
        thread: &str,
    ) -> Result<(Threads, Vec<SessionId>), Report> {
        let threads = threads_of(&self.house, self.store.clone());
        let mut sessions = threads.sessions()?;
        let key = resolve_thread(sessions.keys(), agent_id, thread)?;
        let ids = threads.told_once(&sessions.remove(&key).unwrap_or_default());
        Ok((threads, ids))
    }

    /// The messages of one session.
    pub(crate) fn session_messages(&self, id: SessionId) -> Result<Vec<UiMessage>, Report> {
        Ok(threads_of(&self.house, self.store.clone()).messages(&[id])?)
    }

    /// As the desk has it; without a desk a thread is in its newest session.
    async fn current_sessions(&self, agent_id: &str) -> Result<Vec<(ThreadId, Current)>, Report> {
        let Some(desk) = &self.desk else { return self.newest_sessions(agent_id) };
        let rows = desk.threads().await?.into_iter().filter(|row| row.agent_id == agent_id);
        let current = rows.map(|row| {
            let (session_id, audience) = (row.session_id, row.audience);
            (row.thread_id, Current { session_id, audience })
        });
        let mut threads: Vec<(ThreadId, Current)> = current.collect();
        // What was made elsewhere and put here is not on the desk.
        let known: Vec<ThreadId> = threads.iter().map(|(id, _)| id.clone()).collect();
        let newest =
            self.newest_sessions(agent_id)?.into_iter().filter(|(id, _)| !known.contains(id));
        threads.extend(newest);
        Ok(threads)
    }

    fn newest_sessions(&self, agent_id: &str) -> Result<Vec<(ThreadId, Current)>, Report> {
        let sessions: Sessions = threads_of(&self.house, self.store.clone()).sessions()?;
        let own = sessions.into_iter().filter(|(key, _)| key.agent_id == agent_id);
        let newest = own.filter_map(|(key, ids)| Some((key.thread_id, *ids.last()?)));
        let current = newest.filter_map(|(thread_id, session_id)| {
            // Its first line was good a moment ago.
            let audience = self.store.header(session_id).ok()?.audience;
            Some((thread_id, Current { session_id, audience }))
        });
        Ok(current.collect())
    }
}

fn pending(state: &State) -> Vec<String> {
    let calls = state.turn.iter().flat_map(|turn| turn.calls.iter());
    let asked = calls.filter_map(|it| match &it.stage {
        Stage::Asked { approval_id, .. } => Some(approval_id.clone()),
        _ => None,
    });
    asked.collect()
}

/// A whole thread id, or the beginning or the end of one, of the threads there are.
pub(crate) fn resolve_thread<'a>(
    keys: impl Iterator<Item = &'a ThreadKey>,
    agent_id: &str,
    thread: &str,
) -> Result<ThreadKey, Report> {
    let not_found = |message: String| {
        Report::new(Blame::Request, "session_not_found", message)
            .hint("`kith thread ls` lists the threads there are")
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
        _ => Err(not_found(format!("several threads fit `{thread}`"))),
    }
}
