//! What all tools do around their own work.
//!
//! A call opens its file twice: once to be judged, and once to run, when it must still be the same
//! file. What takes long then runs on a thread made for waiting, because the disk may be slow or
//! hang; the threads that serve other conversations do only what is short.

use std::path::Path;
use std::sync::Arc;

use kith_vocab::blocking::briefly;
use kith_vocab::clock::BoxFuture;
use kith_vocab::digest::hex;
use kith_vocab::event::calls::Effect;
use kith_vocab::json::Json;
use kith_vocab::snapshot::ToolSpec;
use kith_vocab::tool::{CallContext, CallPlan, Refusal, RunContext, Tool, ToolOutcome, ToolOutput};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use crate::display;
use crate::roots::Roots;
use crate::trust::{QuotedText, own_refusal};

/// Characters of a parse error that the model is shown.
const PARSE_ERROR_CHARS_MAX: usize = 300;

/// The part of a tool that differs between those that read files; [`FileTool`] adds the rest.
pub(crate) trait FileReader: Send + Sync + 'static {
    const NAME: &'static str;
    const DESCRIPTION: &'static str;
    const INPUT_SCHEMA: &'static str;

    /// The checked input, with the file or folder that it names opened.
    type Target: Send + 'static;

    fn open(&self, input: &Json) -> Result<(Self::Target, CallPlan), Refusal>;

    /// Whether reading takes less time than waking another thread to do it.
    fn is_short(_: &Self::Target) -> bool {
        false
    }

    fn read(&self, target: Self::Target, stop: &CancellationToken) -> Result<QuotedText, Refusal>;
}

pub(crate) struct FileTool<T> {
    spec: ToolSpec,
    reader: Arc<T>,
}

impl<T: FileReader> FileTool<T> {
    pub(crate) fn new(reader: T) -> FileTool<T> {
        #[expect(clippy::expect_used, reason = "a constant of ours, which a test parses")]
        let input_schema = Json::parse(T::INPUT_SCHEMA).expect("a tool's schema is JSON");
        let (name, description) = (T::NAME.to_owned(), T::DESCRIPTION.to_owned());
        let spec = ToolSpec { name, description, input_schema };
        FileTool { spec, reader: Arc::new(reader) }
    }

    /// The text if reading was short; otherwise what is to be read on another thread.
    fn begin(
        &self,
        judged: &CallPlan,
        ctx: &RunContext,
    ) -> Result<Result<QuotedText, T::Target>, Refusal> {
        let (target, now) = self.reader.open(&judged.input)?;
        check_unchanged(judged, &now)?;
        if !T::is_short(&target) {
            return Ok(Err(target));
        }
        self.reader.read(target, &ctx.call.cancel).map(Ok)
    }
}

impl<T: FileReader> Tool for FileTool<T> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare<'a>(
        &'a self,
        input: &'a Json,
        _ctx: &'a CallContext,
    ) -> BoxFuture<'a, Result<CallPlan, Refusal>> {
        Box::pin(async move { briefly(|| self.reader.open(input).map(|(_, prepared)| prepared)) })
    }

    fn run(&self, prepared: CallPlan, ctx: RunContext) -> BoxFuture<'_, ToolOutput> {
        Box::pin(async move {
            if let Some(stopped) = stopped_before_it_began(T::NAME, &ctx) {
                return stopped;
            }
            match briefly(|| self.begin(&prepared, &ctx)) {
                Ok(Ok(text)) => output(Ok(text)),
                Err(refusal) => output(Err(refusal)),
                Ok(Err(target)) => {
                    let reader = Arc::clone(&self.reader);
                    work(T::NAME, &ctx, move |stop| reader.read(target, stop)).await
                }
            }
        })
    }
}

pub(crate) fn read_input<T: DeserializeOwned>(tool: &str, input: &Json) -> Result<T, String> {
    if !input.is_object() {
        return Err(format!("the input of {tool} must be a JSON object"));
    }
    input.read().map_err(|error| {
        let reason = display::words(&error.to_string(), PARSE_ERROR_CHARS_MAX);
        format!("the input of {tool} is wrong: {reason}")
    })
}

/// The default of `path`.
pub(crate) fn cwd() -> String {
    ".".to_owned()
}

/// The plan of a call that reads: the same call on another file has another digest.
pub(crate) fn prepared_read(
    tool: &str,
    roots: &Roots,
    (input, canonical): (&Json, &impl Serialize),
    real: &Path,
    summary: String,
) -> CallPlan {
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
    CallPlan { input: input.clone(), effects: vec![Effect::Read], facts, digest, summary }
}

/// Refuses to run on another file than the one that was judged: a link may have been moved since.
pub(crate) fn check_unchanged(judged: &CallPlan, now: &CallPlan) -> Result<(), Refusal> {
    if judged.digest == now.digest {
        return Ok(());
    }
    let text = "what it would act on is not what was judged; nothing was done, call again";
    Err(own_refusal(text.to_owned()))
}

/// Runs `work` where it may wait for the disk. On cancel, and when the turn's time is over, it stops
/// waiting for it and tells it to stop.
async fn work<F>(tool: &'static str, ctx: &RunContext, work: F) -> ToolOutput
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
        () = ctx.call.cancel.cancelled() => Err(own_refusal(cancelled(tool))),
        () = tokio::time::sleep(ctx.time_left) => Err(own_refusal(out_of_time(tool))),
        done = tokio::task::spawn_blocking(move || work(&token)) => done.unwrap_or_else(|_| {
            let text = format!("{tool} crashed: this is a bug in Kith, not in the call");
            Err(own_refusal(text))
        }),
    };
    output(done)
}

/// The output of a call that may not begin, because it was cancelled or its time is over.
pub(crate) fn stopped_before_it_began(tool: &str, ctx: &RunContext) -> Option<ToolOutput> {
    if ctx.call.cancel.is_cancelled() {
        return Some(output(Err(own_refusal(cancelled(tool)))));
    }
    ctx.time_left.is_zero().then(|| output(Err(own_refusal(out_of_time(tool)))))
}

/// The result or refusal as text for the model.
fn output(done: Result<QuotedText, Refusal>) -> ToolOutput {
    match done {
        Ok(QuotedText { text, trust }) => ToolOutput::text(ToolOutcome::Done, trust, text),
        Err(Refusal { text, trust }) => ToolOutput::text(ToolOutcome::Failed, trust, text),
    }
}

pub(crate) fn failed(refusal: Refusal) -> ToolOutput {
    output(Err(refusal))
}

pub(crate) fn cancelled(tool: &str) -> String {
    format!("{tool} was cancelled")
}

pub(crate) fn out_of_time(tool: &str) -> String {
    format!("{tool} stopped: the time of this turn is over; ask for less at once")
}

#[cfg(test)]
mod tests;
