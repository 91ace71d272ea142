//! Rebuilds and compacts thread files.

use std::sync::Arc;

use kith_engine::feed::ThreadKey;
use kith_engine::thread_file_sync::{RebuildSummary, ThreadFileSync, ThreadFileSyncError};
use kith_vocab::header::SessionHeader;

use super::Host;
use crate::call::{Reply, Response};
use crate::calls::thread::{CompactThreads, RebuildThreads, ThreadFilesSummary};
use crate::error::CallError;
use crate::read_side::threads::resolve_thread;

impl Host {
    /// Takes what a removed session said out of the thread files, and tells if it could not.
    pub(super) async fn forget_in_threads(&self, removed: Option<&SessionHeader>) -> Vec<String> {
        let key = removed.map(ThreadKey::of);
        let rewritten = self.threads.run(move |threads| {
            Box::pin(async move {
                threads.forget();
                match &key {
                    Some(key) => threads.rebuild(key).await,
                    // Nobody knows whose it was.
                    None => threads.rebuild_all().await,
                }
            })
        });
        let Some(Err(error)) = rewritten.await else { return Vec::new() };
        let why = CallError::from(error).message();
        vec![format!("its text may still be in a thread file: {why}; run `kith thread rebuild`")]
    }

    /// Makes thread files again, of one thread or of all.
    async fn rewrite_threads(
        &self,
        agent_id: Option<&str>,
        thread: Option<String>,
        how: ThreadRewrite,
    ) -> Reply<ThreadFilesSummary> {
        let agent_id = match &thread {
            Some(_) => self.settings.current()?.team.choose(agent_id)?.id.clone(),
            None => String::new(),
        };
        let made = self.threads.run(move |threads| {
            Box::pin(async move {
                let thread = thread.as_deref().map(|it| (agent_id.as_str(), it));
                perform(threads, thread, how).await
            })
        });
        let made = made.await;
        let RebuildSummary { threads, messages } =
            made.ok_or_else(|| CallError::bug("the thread files are closed"))??;
        Ok(Response::new(ThreadFilesSummary { threads, messages }))
    }
}

/// What is done to thread files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ThreadRewrite {
    Rebuild,
    Compact,
}

pub async fn rebuild_threads(host: Arc<Host>, call: RebuildThreads) -> Reply<ThreadFilesSummary> {
    let agent_id = call.agent_id.as_deref();
    host.rewrite_threads(agent_id, call.thread, ThreadRewrite::Rebuild).await
}

pub async fn compact_threads(host: Arc<Host>, call: CompactThreads) -> Reply<ThreadFilesSummary> {
    let agent_id = call.agent_id.as_deref();
    host.rewrite_threads(agent_id, call.thread, ThreadRewrite::Compact).await
}

async fn perform(
    threads: &ThreadFileSync,
    thread: Option<(&str, &str)>,
    how: ThreadRewrite,
) -> Result<RebuildSummary, CallError> {
    threads.forget();
    let sessions = threads.sessions().await?;
    let keys: Vec<ThreadKey> = match (thread, how) {
        (None, ThreadRewrite::Rebuild) => return Ok(threads.rebuild_all().await?),
        (None, ThreadRewrite::Compact) => sessions.into_keys().collect(),
        (Some((agent_id, thread)), _) => {
            vec![resolve_thread(sessions.keys(), agent_id, thread)?]
        }
    };
    let mut sum = RebuildSummary::default();
    for key in &keys {
        let made = match how {
            ThreadRewrite::Rebuild => threads.rebuild(key).await,
            ThreadRewrite::Compact => threads.compact(key).await,
        }?;
        sum.threads += made.threads;
        sum.messages += made.messages;
    }
    Ok(sum)
}

impl From<ThreadFileSyncError> for CallError {
    fn from(error: ThreadFileSyncError) -> CallError {
        match error {
            ThreadFileSyncError::Storage(error) => error.into(),
            ThreadFileSyncError::File(error) => {
                CallError::filesystem(error).hint("check that `.kith/threads` is a writable folder")
            }
        }
    }
}
