//! `exec_output` and `exec_stop`: what a command in the background prints, and its end.
//!
//! Both concern a command that was judged when it started, of the same session, so they are not judged
//! again: reading gives the model what the command was allowed to print, and stopping takes away.

use std::sync::Arc;
use std::time::Duration;

use kith_vocab::blocking::blocking;
use kith_vocab::clock::BoxFuture;
use kith_vocab::digest::sha256_hex;
use kith_vocab::event::calls::Effect;
use kith_vocab::json::Json;
use kith_vocab::snapshot::ToolSpec;
use kith_vocab::tool::{CallContext, CallPlan, Refusal, RunContext, Tool, ToolOutcome, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::exec_shell::background::{BackgroundCommand, BackgroundCommands, NewOutput};
use crate::trust::own_refusal;
use crate::{call, display, schema};

const OUTPUT: &str = "exec_output";
const OUTPUT_DESCRIPTION: &str =
    "What a command in the background has printed since it was asked last, and whether it runs.";
const STOP: &str = "exec_stop";
const STOP_DESCRIPTION: &str = "End a command in the background and everything it started.";

/// Seconds that a call may wait for something new.
const WAIT_SECS_MAX: u64 = 300;
/// How long a command that is stopped may take to end.
const STOP_MS_MAX: u64 = 10_000;

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ExecOutputInput {
    id: String,
    /// seconds to wait for more
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wait: Option<u64>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ExecStopInput {
    id: String,
}

struct ExecOutput {
    spec: ToolSpec,
    commands: Arc<BackgroundCommands>,
}

struct ExecStop {
    spec: ToolSpec,
    commands: Arc<BackgroundCommands>,
}

/// The tools for these commands.
pub(crate) fn tools(commands: &Arc<BackgroundCommands>) -> [Arc<dyn Tool>; 2] {
    let output = ExecOutput {
        spec: schema::spec::<ExecOutputInput>(OUTPUT, OUTPUT_DESCRIPTION),
        commands: Arc::clone(commands),
    };
    let stop = ExecStop {
        spec: schema::spec::<ExecStopInput>(STOP, STOP_DESCRIPTION),
        commands: Arc::clone(commands),
    };
    [Arc::new(output), Arc::new(stop)]
}

fn find(
    commands: &BackgroundCommands,
    id: &str,
    ctx: &CallContext,
) -> Result<Arc<BackgroundCommand>, Refusal> {
    commands.find(ctx.session_id, id).ok_or_else(|| {
        let id = display::name(id);
        own_refusal(format!(
            "no command `{id}` runs in the background of this session; it may have ended with the \
             kith that ran it"
        ))
    })
}

fn plan(name: &str, input: &Json, id: &str) -> CallPlan {
    CallPlan {
        input: input.clone(),
        effects: vec![Effect::Read],
        facts: Json::of(&serde_json::json!({ "background": id })),
        digest: sha256_hex(format!("{name}\0{}", input.as_str()).as_bytes()),
        summary: format!("{name} {}", display::name(id)),
    }
}

/// What is new of a command; one that has ended is forgotten when that has been told.
fn told(
    commands: &BackgroundCommands,
    command: &BackgroundCommand,
    ctx: &CallContext,
) -> ToolOutput {
    let NewOutput { text, full, end } = match blocking(|| command.read_new()) {
        Ok(new) => new,
        Err(error) => return call::failed(own_refusal(error.to_string())),
    };
    if end.is_some() {
        commands.forget(ctx.session_id, &command.id);
    }
    let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let remark = end.unwrap_or_else(|| "still running".to_owned());
    let text = format!("{text}{newline}[{remark}]");
    ToolOutput { full, ..ToolOutput::text(ToolOutcome::Done, command.trust, text) }
}

impl Tool for ExecOutput {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare<'a>(
        &'a self,
        input: &'a Json,
        ctx: &'a CallContext,
    ) -> BoxFuture<'a, Result<CallPlan, Refusal>> {
        Box::pin(async move {
            let read: ExecOutputInput = call::read_input(OUTPUT, input).map_err(own_refusal)?;
            if read.wait.is_some_and(|secs| secs > WAIT_SECS_MAX) {
                return Err(own_refusal(format!("`wait` is at most {WAIT_SECS_MAX} seconds")));
            }
            find(&self.commands, &read.id, ctx)?;
            Ok(plan(OUTPUT, input, &read.id))
        })
    }

    fn run(&self, prepared: CallPlan, ctx: RunContext) -> BoxFuture<'_, ToolOutput> {
        Box::pin(async move {
            let read = call::read_input::<ExecOutputInput>(OUTPUT, &prepared.input);
            let found = read.map_err(own_refusal).and_then(|read| {
                let command = find(&self.commands, &read.id, &ctx.call)?;
                Ok((command, read.wait.unwrap_or_default()))
            });
            let (command, secs) = match found {
                Ok(found) => found,
                Err(refusal) => return call::failed(refusal),
            };
            let time = Duration::from_secs(secs).min(ctx.time_left);
            tokio::select! {
                biased;
                () = ctx.call.cancel.cancelled() => (),
                () = command.until_news() => (),
                () = tokio::time::sleep(time) => (),
            }
            told(&self.commands, &command, &ctx.call)
        })
    }
}

impl Tool for ExecStop {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare<'a>(
        &'a self,
        input: &'a Json,
        ctx: &'a CallContext,
    ) -> BoxFuture<'a, Result<CallPlan, Refusal>> {
        Box::pin(async move {
            let read: ExecStopInput = call::read_input(STOP, input).map_err(own_refusal)?;
            find(&self.commands, &read.id, ctx)?;
            Ok(plan(STOP, input, &read.id))
        })
    }

    fn run(&self, prepared: CallPlan, ctx: RunContext) -> BoxFuture<'_, ToolOutput> {
        Box::pin(async move {
            let read = call::read_input::<ExecStopInput>(STOP, &prepared.input);
            let found = read
                .map_err(own_refusal)
                .and_then(|read| find(&self.commands, &read.id, &ctx.call));
            let command = match found {
                Ok(command) => command,
                Err(refusal) => return call::failed(refusal),
            };
            command.stop_as_asked();
            let time_max = Duration::from_millis(STOP_MS_MAX);
            if tokio::time::timeout(time_max, command.until_end()).await.is_err() {
                let text = "it was told to end and has not yet; look again with exec_output";
                return call::failed(own_refusal(text.to_owned()));
            }
            told(&self.commands, &command, &ctx.call)
        })
    }
}
