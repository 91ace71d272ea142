//! Tools whose effect is a number in the test.
//!
//! "No side-effecting tool runs twice" is only worth something if the runs are counted outside of
//! everything that could crash; so the count outlives the engine under test.

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kith_vocab::clock::BoxFuture;
use kith_vocab::event::calls::{Effect, Sandbox};
use kith_vocab::event::messages::Trust;
use kith_vocab::header::Audience;
use kith_vocab::ids::{EventId, SessionId};
use kith_vocab::json::Json;
use kith_vocab::snapshot::ToolSpec;
use kith_vocab::tool::{
    CallContext, CallPlan, Permit, Progress, Refusal, RunContext, Tool, ToolOutcome, ToolOutput,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::clock::{START, numbered_id};
use crate::gate::Gate;
use crate::sha256_hex;

type Hook = Arc<dyn Fn(&Json) + Send + Sync>;

/// A tool that changes the world, where the world is a counter. Clones share it.
#[derive(Clone)]
pub struct CountingTool {
    spec: ToolSpec,
    effects: Vec<Effect>,
    trust: Trust,
    ending: Ending,
    hook: Option<Hook>,
    gate: Option<Gate>,
    runs: Arc<AtomicUsize>,
    inputs: Arc<Mutex<Vec<Json>>>,
    permits: Arc<Mutex<Vec<Permit>>>,
    /// Stands for what a digest covers besides the input: files, the executable.
    world: Arc<AtomicUsize>,
}

#[derive(Clone, Debug)]
enum Ending {
    Succeeds,
    Fails(String),
    WaitsForCancel,
    Hangs,
    CannotPrepare(String),
    HangsInPrepare,
}

impl CountingTool {
    /// A tool of effect `write` that succeeds, with results of trust `owner`.
    pub fn new(name: &str) -> CountingTool {
        CountingTool {
            spec: spec(name),
            effects: vec![Effect::Write],
            trust: Trust::Owner,
            ending: Ending::Succeeds,
            hook: None,
            gate: None,
            runs: Arc::default(),
            inputs: Arc::default(),
            permits: Arc::default(),
            world: Arc::default(),
        }
    }

    #[must_use]
    pub fn with_effect(self, effect: Effect) -> CountingTool {
        CountingTool { effects: vec![effect], ..self }
    }

    /// A call of several parts, each with its effect.
    #[must_use]
    pub fn with_effects(self, effects: &[Effect]) -> CountingTool {
        CountingTool { effects: effects.to_vec(), ..self }
    }

    /// Of what its results and refusals quote.
    #[must_use]
    pub fn with_trust(self, trust: Trust) -> CountingTool {
        CountingTool { trust, ..self }
    }

    /// Runs, is counted, and reports failure with this text.
    #[must_use]
    pub fn failing(self, text: &str) -> CountingTool {
        CountingTool { ending: Ending::Fails(text.to_owned()), ..self }
    }

    /// Runs, is counted, and does not return until it is cancelled.
    #[must_use]
    pub fn waiting(self) -> CountingTool {
        CountingTool { ending: Ending::WaitsForCancel, ..self }
    }

    /// Runs, is counted, and never returns, even when it is cancelled.
    #[must_use]
    pub fn hanging(self) -> CountingTool {
        CountingTool { ending: Ending::Hangs, ..self }
    }

    /// Never gets as far as running.
    #[must_use]
    pub fn refusing_to_prepare(self, text: &str) -> CountingTool {
        CountingTool { ending: Ending::CannotPrepare(text.to_owned()), ..self }
    }

    /// Never knows what the call would do, even when it is cancelled.
    #[must_use]
    pub fn hanging_in_prepare(self) -> CountingTool {
        CountingTool { ending: Ending::HangsInPrepare, ..self }
    }

    /// Called with the input when the tool has taken effect and before it returns: the worst
    /// moment to crash.
    #[must_use]
    pub fn with_hook(self, hook: impl Fn(&Json) + Send + Sync + 'static) -> CountingTool {
        CountingTool { hook: Some(Arc::new(hook)), ..self }
    }

    /// Waits for the gate when it has taken effect, before it returns. A cancel ends the wait.
    #[must_use]
    pub fn behind(self, gate: &Gate) -> CountingTool {
        CountingTool { gate: Some(gate.clone()), ..self }
    }

    pub fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }

    pub fn inputs(&self) -> Vec<Json> {
        self.inputs.lock().unwrap().clone()
    }

    /// What each run was allowed.
    pub fn permits(&self) -> Vec<Permit> {
        self.permits.lock().unwrap().clone()
    }

    /// Changes something that the digest covers: from now on the same input has another one.
    pub fn change_world(&self) {
        self.world.fetch_add(1, Ordering::SeqCst);
    }

    fn digest(&self, input: &Json) -> String {
        match self.world.load(Ordering::SeqCst) {
            0 => sha256_hex(input.as_str().as_bytes()),
            changes => sha256_hex(format!("{changes}\n{}", input.as_str()).as_bytes()),
        }
    }
}

impl fmt::Debug for CountingTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CountingTool")
            .field("name", &self.spec.name)
            .field("runs", &self.runs())
            .finish_non_exhaustive()
    }
}

impl Tool for CountingTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare<'a>(
        &'a self,
        input: &'a Json,
        _ctx: &'a CallContext,
    ) -> BoxFuture<'a, Result<CallPlan, Refusal>> {
        Box::pin(async move {
            if let Ending::CannotPrepare(text) = &self.ending {
                return Err(Refusal { text: text.clone(), trust: self.trust });
            }
            if matches!(self.ending, Ending::HangsInPrepare) {
                std::future::pending::<()>().await;
            }
            Ok(prepared(&self.spec.name, self.effects.clone(), input, self.digest(input)))
        })
    }

    fn run(&self, prepared: CallPlan, ctx: RunContext) -> BoxFuture<'_, ToolOutput> {
        Box::pin(async move {
            let run = self.runs.fetch_add(1, Ordering::SeqCst) + 1;
            self.inputs.lock().unwrap().push(prepared.input.clone());
            self.permits.lock().unwrap().push(ctx.permit);
            if let Some(hook) = &self.hook {
                hook(&prepared.input);
            }
            let output = |outcome, text: &str| ToolOutput::text(outcome, self.trust, text);
            if let Some(gate) = &self.gate {
                tokio::select! {
                    biased;
                    () = ctx.call.cancel.cancelled() => {
                        return output(ToolOutcome::Failed, "stopped");
                    }
                    () = gate.pass() => (),
                }
            }
            match &self.ending {
                Ending::Succeeds => {
                    output(ToolOutcome::Done, &format!("{} ran, run {run}", self.spec.name))
                }
                Ending::Fails(text) | Ending::CannotPrepare(text) => {
                    output(ToolOutcome::Failed, text)
                }
                Ending::WaitsForCancel => {
                    ctx.call.cancel.cancelled().await;
                    output(ToolOutcome::Failed, "stopped")
                }
                Ending::Hangs | Ending::HangsInPrepare => std::future::pending().await,
            }
        })
    }
}

/// A tool that looks and returns a text.
#[derive(Clone, Debug)]
pub struct ReadTool {
    spec: ToolSpec,
    text: String,
    trust: Trust,
    runs: Arc<AtomicUsize>,
}

impl ReadTool {
    /// The text is of trust `owner`.
    pub fn new(name: &str, text: &str) -> ReadTool {
        let trust = Trust::Owner;
        ReadTool { spec: spec(name), text: text.to_owned(), trust, runs: Arc::default() }
    }

    #[must_use]
    pub fn with_trust(self, trust: Trust) -> ReadTool {
        ReadTool { trust, ..self }
    }

    pub fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }
}

impl Tool for ReadTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare<'a>(
        &'a self,
        input: &'a Json,
        _ctx: &'a CallContext,
    ) -> BoxFuture<'a, Result<CallPlan, Refusal>> {
        let digest = sha256_hex(input.as_str().as_bytes());
        let prepared = prepared(&self.spec.name, vec![Effect::Read], input, digest);
        Box::pin(async move { Ok(prepared) })
    }

    fn run(&self, _prepared: CallPlan, _ctx: RunContext) -> BoxFuture<'_, ToolOutput> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move { ToolOutput::text(ToolOutcome::Done, self.trust, &*self.text) })
    }
}

/// A call in a thread that only the owner reads, with nothing untrusted on its path.
pub fn call_context(cancel: &CancellationToken) -> CallContext {
    CallContext {
        session_id: SessionId::from_uuid(numbered_id(START, 1)),
        call_id: EventId::from_uuid(numbered_id(START, 2)).call(0),
        cwd: PathBuf::from("/work"),
        audience: Audience::Owner,
        lowest_trust: Trust::Owner,
        was_judged: false,
        cancel: cancel.clone(),
    }
}

/// The same call as it runs: without a sandbox, with an hour left and nobody who watches.
pub fn run_context(cancel: &CancellationToken) -> RunContext {
    RunContext {
        call: call_context(cancel),
        permit: Permit { sandbox: Sandbox::None, hosts: Vec::new(), paths: Vec::new() },
        time_left: Duration::from_hours(1),
        progress: Arc::new(SilentProgress),
    }
}

/// Shows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct SilentProgress;

impl Progress for SilentProgress {
    fn line(&self, _text: &str) {}
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: format!("The test's {name}."),
        input_schema: Json::of(&json!({"type": "object", "properties": {}})),
    }
}

fn prepared(name: &str, effects: Vec<Effect>, input: &Json, digest: String) -> CallPlan {
    CallPlan {
        input: input.clone(),
        effects,
        facts: Json::of(&json!({"tool": name})),
        digest,
        summary: format!("{name} {}", input.as_str()),
    }
}

#[cfg(test)]
mod tests;
