//! A tool: what it looks at first, and what it does.

use tokio_util::sync::CancellationToken;

use crate::clock::BoxFuture;
use crate::event::calls::Effect;
use crate::event::messages::Trust;
use crate::json::Json;
use crate::snapshot::ToolSpec;

pub trait Tool: Send + Sync {
    fn spec(&self) -> &ToolSpec;

    /// Looks, and changes nothing. An error is text for the model.
    fn prepare<'a>(&'a self, input: &'a Json) -> BoxFuture<'a, Result<Prepared, String>>;

    /// Does what was prepared. Failure is text for the model, so there is no error here.
    fn run<'a>(
        &'a self,
        prepared: Prepared,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, ToolOutput>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    pub input: Json,
    pub effect: Effect,
    /// What the policy judges by. A JSON object.
    pub facts: Json,
    /// SHA-256, in hex, of everything that will run.
    pub digest: String,
    /// One line for people: what will be done, on what.
    pub summary: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutput {
    pub text: String,
    pub succeeded: bool,
    pub trust: Trust,
}

/// A result is cut to this for the model; the whole is kept in a blob.
pub const TOOL_OUTPUT_BYTES_MAX: usize = 16 * 1024;
