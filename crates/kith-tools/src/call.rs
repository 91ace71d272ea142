//! What all tools do around their own work.
//!
//! The disk may be slow or hang, so tools touch it on threads made for waiting, never on those
//! that serve other conversations.

use std::path::Path;

use kith_vocab::digest::hex;
use kith_vocab::event::calls::Effect;
use kith_vocab::json::Json;
use kith_vocab::snapshot::ToolSpec;
use kith_vocab::tool::{Prepared, Refusal, RunContext, ToolOutcome, ToolOutput};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use crate::roots::Roots;
use crate::shown;
use crate::trust::{QuotedText, own_words};

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
    Prepared { input: input.clone(), effects: vec![Effect::Read], facts, digest, summary }
}

/// Refuses to run on another file than the one that was judged: a link may have been moved since.
pub(crate) fn check_unchanged(judged: &Prepared, now: &Prepared) -> Result<(), Refusal> {
    if judged.digest == now.digest {
        return Ok(());
    }
    let text =
        "the path leads elsewhere than when the call was judged; nothing was read, call again";
    Err(own_words(text.to_owned()))
}

/// Runs `work` where it may wait for the disk. On cancel, and when the turn's time is over, it stops
/// waiting for it and tells it to stop.
pub(crate) async fn work<F>(tool: &'static str, ctx: &RunContext, work: F) -> ToolOutput
where
    F: FnOnce(&CancellationToken) -> Result<QuotedText, Refusal> + Send + 'static,
{
    if let Some(stopped) = stopped_before_it_began(tool, ctx) {
        return stopped;
    }
    let stop = ctx.call.cancel.child_token();
    let token = stop.clone();
    // However this ends, the work ends too. A disk that hangs cannot be interrupted; its thread is
    // left behind and ends when it can.
    let _guard = stop.drop_guard();
    let done = tokio::select! {
        biased;
        () = ctx.call.cancel.cancelled() => Err(own_words(cancelled(tool))),
        () = tokio::time::sleep(ctx.time_left) => Err(own_words(out_of_time(tool))),
        done = tokio::task::spawn_blocking(move || work(&token)) => done.unwrap_or_else(|_| {
            let text = format!("{tool} broke off: this is a fault of the program, not of the call");
            Err(own_words(text))
        }),
    };
    output(done)
}

/// Why a call may not even begin, if so.
pub(crate) fn stopped_before_it_began(tool: &str, ctx: &RunContext) -> Option<ToolOutput> {
    if ctx.call.cancel.is_cancelled() {
        return Some(output(Err(own_words(cancelled(tool)))));
    }
    ctx.time_left.is_zero().then(|| output(Err(own_words(out_of_time(tool)))))
}

/// Either way it is text for the model.
pub(crate) fn output(done: Result<QuotedText, Refusal>) -> ToolOutput {
    match done {
        Ok(QuotedText { text, trust }) => ToolOutput::text(ToolOutcome::Done, trust, text),
        Err(Refusal { text, trust }) => ToolOutput::text(ToolOutcome::Failed, trust, text),
    }
}

pub(crate) fn cancelled(tool: &str) -> String {
    format!("{tool} was cancelled")
}

fn out_of_time(tool: &str) -> String {
    format!("{tool} stopped: the time of this turn is over; ask for less at once")
}

#[cfg(test)]
mod tests;
