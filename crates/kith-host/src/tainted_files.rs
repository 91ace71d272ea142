//! Files that were written while untrusted text was on the path.
//!
//! What a model writes after it has read a stranger's text may be the stranger's. The desk remembers
//! the content by its hash, so wherever the file goes, it reads as untrusted until somebody else
//! changes it. The hash is durable before the file is written.
//!
//! What a command writes, nobody sees; such files are known by when they changed, see [`periods`].

pub mod periods;

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kith_sessions::desk::{CommandTime, Desk, TaintedContent};
use kith_vocab::clock::{BoxFuture, Clock};
use kith_vocab::digest::Sha256Writer;
use kith_vocab::event::messages::Trust;
use kith_vocab::json::Json;
use kith_vocab::snapshot::ToolSpec;
use kith_vocab::tool::{CallContext, CallPlan, Refusal, RunContext, Tool, ToolOutcome, ToolOutput};
use serde::Deserialize;

use self::periods::CommandPeriods;

pub struct TaintedFiles {
    desk: Arc<dyn Desk>,
    clock: Arc<dyn Clock>,
    /// The hashes by length: a file of another length need not be read.
    known: Mutex<HashMap<u64, HashSet<String>>>,
    commands: Arc<CommandPeriods>,
}

impl TaintedFiles {
    pub fn new(
        desk: Arc<dyn Desk>,
        clock: Arc<dyn Clock>,
        known: Vec<TaintedContent>,
        times: Vec<CommandTime>,
    ) -> TaintedFiles {
        let mut by_length: HashMap<u64, HashSet<String>> = HashMap::new();
        for TaintedContent { sha256, bytes, .. } in known {
            by_length.entry(bytes).or_default().insert(sha256);
        }
        let commands = CommandPeriods::new(Arc::clone(&desk), Arc::clone(&clock), times);
        TaintedFiles { desk, clock, known: Mutex::new(by_length), commands: Arc::new(commands) }
    }

    /// The commands that may have written such files.
    pub fn commands(&self) -> &Arc<CommandPeriods> {
        &self.commands
    }

    /// Whether the file at this path is, to the byte, one that was written while tainted, or changed
    /// while a command ran that was. One that cannot be read is taken for it: nobody knows what it holds.
    pub fn hold(&self, path: &Path) -> bool {
        if self.commands.cover(path) {
            return true;
        }
        let Ok(metadata) = path.metadata() else { return false };
        if !metadata.is_file() || !self.known().contains_key(&metadata.len()) {
            return false;
        }
        let Ok(sha256) = hash(path) else { return true };
        self.known().get(&metadata.len()).is_some_and(|it| it.contains(&sha256))
    }

    /// Whether a command in this folder may come across such a file.
    pub fn may_be_at(&self, path: &Path) -> bool {
        !self.known().is_empty() || self.commands.any_at(path)
    }

    async fn note(
        &self,
        WrittenContent { sha256, bytes, .. }: WrittenContent,
    ) -> Result<(), String> {
        let noted_at = self.clock.now();
        let content = TaintedContent { sha256: sha256.clone(), bytes, noted_at };
        self.desk.note_tainted(content).await.map_err(|error| error.to_string())?;
        self.known().entry(bytes).or_default().insert(sha256);
        Ok(())
    }

    fn known(&self) -> MutexGuard<'_, HashMap<u64, HashSet<String>>> {
        // A set is never left half-changed, so a panic elsewhere does not spoil it.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn hash(path: &Path) -> io::Result<String> {
    let mut hash = Sha256Writer::default();
    io::copy(&mut File::open(path)?, &mut hash)?;
    Ok(hash.finish_hex())
}

/// A tool that writes files, and notes what it writes while the session is tainted.
pub struct NotedWrites {
    pub tool: Arc<dyn Tool>,
    pub files: Arc<TaintedFiles>,
}

/// What the facts of a call say that it writes.
#[derive(Deserialize)]
struct WriteFacts {
    written: Option<WrittenContent>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrittenContent {
    sha256: String,
    bytes: u64,
    /// Of what the file held before: an edit keeps most of it.
    old_trust: Option<Trust>,
}

impl Tool for NotedWrites {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    fn prepare<'a>(
        &'a self,
        input: &'a Json,
        ctx: &'a CallContext,
    ) -> BoxFuture<'a, Result<CallPlan, Refusal>> {
        self.tool.prepare(input, ctx)
    }

    fn run(&self, prepared: CallPlan, ctx: RunContext) -> BoxFuture<'_, ToolOutput> {
        Box::pin(async move {
            let facts = prepared.facts.read::<WriteFacts>().ok();
            let written = facts.and_then(|it| it.written);
            let of_session = ctx.call.lowest_trust;
            let is_tainted = |it: &WrittenContent| {
                it.old_trust.unwrap_or(of_session).max(of_session) > Trust::Paired
            };
            if let Some(written) = written.filter(is_tainted)
                && let Err(why) = self.files.note(written).await
            {
                let text = format!(
                    "nothing was written: it could not be noted that the file depends on untrusted \
                     text ({why})"
                );
                return ToolOutput::text(ToolOutcome::Failed, Trust::Owner, text);
            }
            self.tool.run(prepared, ctx).await
        })
    }
}

#[cfg(test)]
mod tests;
