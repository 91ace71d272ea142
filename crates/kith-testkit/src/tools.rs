//! Tools whose effect is a number in the test.
//!
//! "No side-effecting tool runs twice" is only worth something if the runs are counted outside of
//! everything that could crash; so the count outlives the engine under test.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use kith_vocab::clock::BoxFuture;
use kith_vocab::event::calls::Effect;
use kith_vocab::event::messages::Trust;
use kith_vocab::json::Json;
use kith_vocab::snapshot::ToolSpec;
use kith_vocab::tool::{Prepared, Tool, ToolOutput};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::sha256_hex;

type Hook = Arc<dyn Fn(&Json) + Send + Sync>;

/// A tool that changes the world, where the world is a counter. Clones share it.
#[derive(Clone)]
pub struct CountingTool {
    spec: ToolSpec,
    effect: Effect,
    ending: Ending,
    hook: Option<Hook>,
    runs: Arc<AtomicUsize>,
    inputs: Arc<Mutex<Vec<Json>>>,
    /// Stands for what a digest covers besides the input: files, the executable.
    world: Arc<AtomicUsize>,
}

#[derive(Clone, Debug)]
enum Ending {
    Succeeds,
    Fails(String),
    WaitsForCancel,
    CannotPrepare(String),
}

impl CountingTool {
    /// A tool of effect `write` that succeeds.
    pub fn new(name: &str) -> CountingTool {
        CountingTool {
            spec: spec(name),
            effect: Effect::Write,
            ending: Ending::Succeeds,
            hook: None,
            runs: Arc::default(),
            inputs: Arc::default(),
            world: Arc::default(),
        }
    }

    #[must_use]
    pub fn with_effect(self, effect: Effect) -> CountingTool {
        CountingTool { effect, ..self }
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

    /// Never gets as far as running.
    #[must_use]
    pub fn refusing_to_prepare(self, text: &str) -> CountingTool {
        CountingTool { ending: Ending::CannotPrepare(text.to_owned()), ..self }
    }

    /// Called with the input when the tool has taken effect and before it returns: the worst
    /// moment to crash.
    #[must_use]
    pub fn with_hook(self, hook: impl Fn(&Json) + Send + Sync + 'static) -> CountingTool {
        CountingTool { hook: Some(Arc::new(hook)), ..self }
    }

    pub fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }

    pub fn inputs(&self) -> Vec<Json> {
        self.inputs.lock().unwrap().clone()
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

    fn prepare<'a>(&'a self, input: &'a Json) -> BoxFuture<'a, Result<Prepared, String>> {
        Box::pin(async move {
            if let Ending::CannotPrepare(text) = &self.ending {
                return Err(text.clone());
            }
            Ok(prepared(&self.spec.name, self.effect, input, self.digest(input)))
        })
    }

    fn run<'a>(
        &'a self,
        prepared: Prepared,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let run = self.runs.fetch_add(1, Ordering::SeqCst) + 1;
            self.inputs.lock().unwrap().push(prepared.input.clone());
            if let Some(hook) = &self.hook {
                hook(&prepared.input);
            }
            match &self.ending {
                Ending::Succeeds => output(&format!("{} ran, run {run}", self.spec.name), true),
                Ending::Fails(text) | Ending::CannotPrepare(text) => output(text, false),
                Ending::WaitsForCancel => {
                    cancel.cancelled().await;
                    output("stopped", false)
                }
            }
        })
    }
}

/// A tool that looks and returns a text.
#[derive(Clone, Debug)]
pub struct ReadTool {
    spec: ToolSpec,
    text: String,
    runs: Arc<AtomicUsize>,
}

impl ReadTool {
    pub fn new(name: &str, text: &str) -> ReadTool {
        ReadTool { spec: spec(name), text: text.to_owned(), runs: Arc::default() }
    }

    pub fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }
}

impl Tool for ReadTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare<'a>(&'a self, input: &'a Json) -> BoxFuture<'a, Result<Prepared, String>> {
        let digest = sha256_hex(input.as_str().as_bytes());
        let prepared = prepared(&self.spec.name, Effect::Read, input, digest);
        Box::pin(async move { Ok(prepared) })
    }

    fn run<'a>(
        &'a self,
        _prepared: Prepared,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, ToolOutput> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move { output(&self.text, true) })
    }
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: format!("The test's {name}."),
        input_schema: Json::of(&json!({"type": "object", "properties": {}})),
    }
}

fn prepared(name: &str, effect: Effect, input: &Json, digest: String) -> Prepared {
    Prepared {
        input: input.clone(),
        effect,
        facts: Json::of(&json!({"tool": name})),
        digest,
        summary: format!("{name} {}", input.as_str()),
    }
}

fn output(text: &str, succeeded: bool) -> ToolOutput {
    ToolOutput { text: text.to_owned(), succeeded, trust: Trust::Owner }
}

#[cfg(test)]
mod tests;
