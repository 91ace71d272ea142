//! What all tools do around their own work.
//!
//! The disk may be slow or hang, so tools touch it on threads made for waiting, never on those
//! that serve other conversations.

use std::path::Path;

use kith_vocab::digest::hex;
use kith_vocab::event::calls::Effect;
use kith_vocab::event::messages::Trust;
use kith_vocab::json::Json;
use kith_vocab::snapshot::ToolSpec;
use kith_vocab::tool::{Prepared, ToolOutput};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio_util::sync::CancellationToken;

use crate::roots::Roots;
use crate::shown;

/// What a wrong input may quote of itself.
const PARSE_ERROR_CHARS_MAX: usize = 300;

pub(crate) fn spec(name: &str, description: &str, input_schema: &str) -> ToolSpec {
    #[expect(clippy::expect_used, reason = "a constant of ours, which a test parses")]
    let input_schema = Json::parse(input_schema).expect("the schema of a built-in tool is JSON");
    ToolSpec { name: name.to_owned(), description: description.to_owned(), input_schema }
}

pub(crate) fn read_input<T: DeserializeOwned>(tool: &str, input: &Json) -> Result<T, String> {
    if !input.is_object() {
        return Err(format!("the input of {tool} must be a JSON object"));
    }
    input.read().map_err(|error| {
        let reason = shown::words(&error.to_string(), PARSE_ERROR_CHARS_MAX);
        format!("the input of {tool} is wrong: {reason}")
    })
}

/// What a reading tool found when it looked: the same call on another file has another digest.
pub(crate) fn prepared_read(
    tool: &str,
    roots: &Roots,
    (input, canonical): (&Json, &impl Serialize),
    real: &Path,
    summary: String,
) -> Prepared {
    #[derive(Serialize)]
    struct Facts<'a> {
        path: &'a str,
        roots: Vec<String>,
    }

    let canonical = Json::of(canonical);
    let mut hash = Sha256::new();
    // None of the three can hold a NUL, so no two calls run together into the same bytes.
    let real_bytes = real.as_os_str().as_encoded_bytes();
    for part in [tool.as_bytes(), canonical.as_str().as_bytes(), real_bytes] {
        hash.update(part);
        hash.update([0]);
    }
    let facts = Json::of(&Facts {
        path: &real.to_string_lossy(),
        roots: roots.paths().map(|path| path.to_string_lossy().into_owned()).collect(),
    });
    let digest = hex(&hash.finalize());
    Prepared { input: input.clone(), effect: Effect::Read, facts, digest, summary }
}

/// Refuses to run on another file than the one that was judged: a link may have been moved since.
pub(crate) fn check_unchanged(judged: &Prepared, now: &Prepared) -> Result<(), String> {
    if judged.digest == now.digest {
        return Ok(());
    }
    Err("the path leads elsewhere than when the call was judged; nothing was read, call again"
        .to_owned())
}

/// Runs `look` where it may wait for the disk.
pub(crate) async fn look<T, F>(tool: &'static str, look: F) -> Result<T, String>
where
    T: Send + 'static,
    F: FnOnce() -> Result<T, String> + Send + 'static,
{
    match tokio::task::spawn_blocking(look).await {
        Ok(found) => found,
        Err(_) => Err(format!("{tool} broke off: this is a fault of the program, not of the call")),
    }
}

/// Takes a short look, on this very thread: handing it to another would take longer than the look.
pub(crate) fn glance<T>(look: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(look),
        _ => look(),
    }
}

/// Runs `work` where it may wait for the disk, and stops waiting for it on cancel.
pub(crate) async fn work<F>(tool: &'static str, cancel: &CancellationToken, work: F) -> ToolOutput
where
    F: FnOnce(&CancellationToken) -> Result<String, String> + Send + 'static,
{
    let token = cancel.clone();
    // A disk that hangs cannot be interrupted; its thread is left behind and ends when it can.
    let done = tokio::select! {
        biased;
        () = cancel.cancelled() => Err(cancelled(tool)),
        done = look(tool, move || work(&token)) => done,
    };
    output(done)
}

/// Either way it is text for the model.
pub(crate) fn output(done: Result<String, String>) -> ToolOutput {
    let succeeded = done.is_ok();
    let text = done.unwrap_or_else(|reason| reason);
    ToolOutput { text, succeeded, trust: Trust::Owner }
}

pub(crate) fn cancelled(tool: &str) -> String {
    format!("{tool} was cancelled")
}
