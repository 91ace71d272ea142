//! Which files each session has read, and in which state.
//!
//! A model that replaces a file it has not read destroys what it does not know of. The list lives in
//! memory: after a restart a file is read once more before it is replaced, which costs little.

use std::collections::{HashMap, VecDeque};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use kith_vocab::clock::BoxFuture;
use kith_vocab::ids::SessionId;
use kith_vocab::json::Json;
use kith_vocab::snapshot::ToolSpec;
use kith_vocab::tool::{CallContext, CallPlan, Refusal, RunContext, Tool, ToolOutcome, ToolOutput};
use serde::Deserialize;

use crate::change_file::ChangeTarget;

/// Files that are remembered, of all sessions together; the oldest are forgotten first.
const FILES_REMEMBERED_MAX: usize = 10_000;

/// The state of a file: if any of it differs, the file has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FileVersion {
    device: u64,
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
    modified: (i64, i64),
}

impl FileVersion {
    pub(crate) fn of(metadata: &Metadata) -> FileVersion {
        FileVersion {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.len(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }

    /// As text, for a digest.
    pub(crate) fn text(stamp: Option<FileVersion>) -> String {
        stamp.map_or_else(|| "absent".to_owned(), |it| format!("{it:?}"))
    }
}

#[derive(Debug, Default)]
pub struct ReadLog(Mutex<ReadFiles>);

#[derive(Debug, Default)]
struct ReadFiles {
    stamps: HashMap<(SessionId, PathBuf), FileVersion>,
    order: VecDeque<(SessionId, PathBuf)>,
}

impl ReadLog {
    pub(crate) fn note(&self, session: SessionId, real: &Path, stamp: FileVersion) {
        // A map of stamps is never left half-changed.
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (session, real.to_owned());
        if files.stamps.insert(key.clone(), stamp).is_none() {
            files.order.push_back(key);
        }
        if files.order.len() > FILES_REMEMBERED_MAX
            && let Some(oldest) = files.order.pop_front()
        {
            files.stamps.remove(&oldest);
        }
    }

    /// Whether the session has read the file as it is now.
    pub(crate) fn knows(&self, session: SessionId, target: &ChangeTarget) -> bool {
        let files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = files.stamps.get(&(session, target.real.clone()));
        known.is_some() && known.copied() == target.stamp
    }
}

/// A tool that reads one file, and takes note of that.
pub(crate) struct NotedRead<T> {
    pub(crate) tool: T,
    pub(crate) log: Arc<ReadLog>,
}

impl<T: Tool> Tool for NotedRead<T> {
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
        #[derive(Deserialize)]
        struct ReadPath {
            path: PathBuf,
        }
        Box::pin(async move {
            let real = prepared.facts.read::<ReadPath>().map(|it| it.path);
            // Before the read: if it changes meanwhile, it counts as not read.
            let stamp = real.as_ref().ok().and_then(|it| std::fs::symlink_metadata(it).ok());
            let session = ctx.call.session_id;
            let output = self.tool.run(prepared, ctx).await;
            if let (Ok(real), Some(stamp), ToolOutcome::Done) = (real, stamp, output.outcome) {
                self.log.note(session, &real, FileVersion::of(&stamp));
            }
            output
        })
    }
}
