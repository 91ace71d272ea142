//! The port for tools.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::block::{Block, plain_text};
use crate::clock::BoxFuture;
use crate::event::calls::{Effect, Sandbox};
use crate::event::messages::Trust;
use crate::header::Audience;
use crate::ids::{CallId, SessionId};
use crate::json::Json;
use crate::snapshot::ToolSpec;
use crate::text::Text;

pub trait Tool: Send + Sync {
    fn spec(&self) -> &ToolSpec;

    /// Looks, and changes nothing.
    fn prepare<'a>(
        &'a self,
        input: &'a Json,
        ctx: &'a CallContext,
    ) -> BoxFuture<'a, Result<CallPlan, Refusal>>;

    /// Does what was prepared. Failure is text for the model, so there is no error here.
    fn run(&self, prepared: CallPlan, ctx: RunContext) -> BoxFuture<'_, ToolOutput>;
}

/// The tool through which tools are called that are not in the list of a session.
pub const USE_TOOL: &str = "use_tool";

/// The call that a tool is asked about.
#[derive(Clone, Debug)]
pub struct CallContext {
    pub session_id: SessionId,
    pub call_id: CallId,
    /// The session's working folder.
    pub cwd: PathBuf,
    pub audience: Audience,
    /// The lowest trust of anything on the session's path.
    pub lowest_trust: Trust,
    /// It was judged already, and is looked at once more before it starts.
    pub was_judged: bool,
    pub cancel: CancellationToken,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallPlan {
    pub input: Json,
    /// What each part of the call does to the world; at least one.
    pub effects: Vec<Effect>,
    /// What the policy judges by. A JSON object.
    pub facts: Json,
    /// SHA-256, in hex, of everything that will run.
    pub digest: String,
    /// One line for people: what will be done, on what.
    pub summary: String,
}

impl CallPlan {
    /// The strongest of its effects.
    pub fn effect(&self) -> Effect {
        // A tool that names no effect must not pass for one that only reads.
        self.effects.iter().copied().max().unwrap_or(Effect::Oneself)
    }
}

/// The reason why a call cannot be prepared or run, as the model reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub text: String,
    /// Of what the text quotes.
    pub trust: Trust,
}

/// What a call that runs may use.
#[derive(Clone)]
pub struct RunContext {
    pub call: CallContext,
    pub permit: Permit,
    /// What is left of the turn's time, from now on.
    pub time_left: Duration,
    pub progress: Arc<dyn Progress>,
}

/// The limits that the verdict allows. It is never stored: a call is judged again when it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permit {
    pub sandbox: Sandbox,
    /// Network hosts that may be reached.
    pub hosts: Vec<String>,
    /// Paths outside the workspace that may be used.
    pub paths: Vec<PathBuf>,
}

/// A live, lossy view of a call for screens. Nothing may rely on it.
pub trait Progress: Send + Sync {
    fn line(&self, text: &str);
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutput {
    pub content: Vec<Block>,
    pub outcome: ToolOutcome,
    /// Of what the content quotes. A tool states it; there is no default.
    pub trust: Trust,
    /// The whole output, when `content` is a part of it.
    pub full: Option<SpillFile>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolOutcome {
    Done,
    Failed,
}

/// A finished file with an output that is too long for memory. The journal moves it to the blobs
/// with the result that names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpillFile {
    pub path: PathBuf,
    pub sha256: String,
    pub bytes: u64,
}

impl ToolOutput {
    pub fn text(outcome: ToolOutcome, trust: Trust, text: impl Into<Text>) -> ToolOutput {
        ToolOutput { content: vec![Block::text(text)], outcome, trust, full: None }
    }

    /// The text blocks of the content.
    pub fn plain_text(&self) -> Text {
        plain_text(&self.content)
    }
}

/// A result is cut to this for the model; the whole is kept in a blob.
pub const TOOL_OUTPUT_BYTES_MAX: usize = 16 * 1024;
