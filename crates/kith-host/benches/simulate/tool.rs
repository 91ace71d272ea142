//! Tools whose effects are counted outside of everything that can be killed.

use std::sync::Arc;

use kith_vocab::clock::{BoxFuture, Clock};
use kith_vocab::digest::sha256_hex;
use kith_vocab::event::calls::{Effect, Sandbox, Verdict};
use kith_vocab::event::messages::Trust;
use kith_vocab::ids::CallId;
use kith_vocab::json::Json;
use kith_vocab::policy::{Judgement, Policy, Question};
use kith_vocab::snapshot::ToolSpec;
use kith_vocab::tool::{
    CallContext, CallPlan, Refusal, RunContext, TOOL_OUTPUT_BYTES_MAX, Tool, ToolOutcome,
    ToolOutput,
};
use serde_json::json;

use super::world::World;

pub(crate) struct SimTool {
    spec: ToolSpec,
    effect: Effect,
    world: Arc<World>,
    clock: Arc<dyn Clock>,
}

impl SimTool {
    pub(crate) fn all(world: &Arc<World>, clock: &Arc<dyn Clock>) -> Vec<Arc<dyn Tool>> {
        let tool = |name: &str, effect| {
            let spec = ToolSpec {
                name: name.to_owned(),
                description: format!("The simulation's {name}."),
                input_schema: Json::of(&json!({"type": "object", "properties": {}})),
            };
            let (world, clock) = (Arc::clone(world), Arc::clone(clock));
            Arc::new(SimTool { spec, effect, world, clock }) as Arc<dyn Tool>
        };
        vec![tool("write_file", Effect::Write), tool("read_file", Effect::Read)]
    }

    fn begin(&self, call_id: CallId) {
        if self.effect == Effect::Write {
            self.world.lock().oracle.runs.entry(call_id).or_default().n_runs += 1;
        }
    }

    fn take_effect(&self, call_id: CallId) {
        if self.effect == Effect::Write {
            let mut world = self.world.lock();
            world.tally.effects += 1;
            world.note(format!("effect of {call_id}"));
            let run = world.oracle.runs.entry(call_id).or_default();
            run.n_effects += 1;
            let is_repeated = run.n_effects > 1;
            drop(world);
            if is_repeated {
                self.world.violate(format!("call {call_id} took effect twice"));
            }
        }
    }

    fn end(&self, call_id: CallId, outcome: ToolOutcome) {
        if self.effect == Effect::Write {
            let mut world = self.world.lock();
            world.oracle.runs.entry(call_id).or_default().returned = Some(outcome);
        }
    }

    async fn work(&self, ctx: &RunContext) -> ToolOutput {
        let call_id = ctx.call.call_id;
        self.world.step().await;
        let (fault, effect_first, ms) = {
            let mut world = self.world.lock();
            let rate = world.plan.tool_faults;
            let chance = &mut world.chance;
            let fault = chance.percent(rate).then(|| chance.below(4));
            let ms = if chance.percent(30) { chance.magnitude(20) } else { 0 };
            (fault, chance.percent(50), ms)
        };
        if effect_first {
            self.take_effect(call_id);
        }
        if ms > 0 {
            self.clock.sleep(ms).await;
            self.world.live().await;
        }
        ctx.progress.line("working");
        self.world.step().await;
        match fault {
            Some(0) => return output(ToolOutcome::Failed, "it failed"),
            Some(1) => ctx.call.cancel.cancelled().await,
            Some(2) => std::future::pending().await,
            _ => (),
        }
        if !effect_first {
            self.take_effect(call_id);
        }
        if fault == Some(3) {
            let long = "long ".repeat(TOOL_OUTPUT_BYTES_MAX / 4);
            return output(ToolOutcome::Done, &long);
        }
        output(ToolOutcome::Done, "done")
    }
}

fn output(outcome: ToolOutcome, text: &str) -> ToolOutput {
    ToolOutput::text(outcome, Trust::Owner, text)
}

impl Tool for SimTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare<'a>(
        &'a self,
        input: &'a Json,
        _ctx: &'a CallContext,
    ) -> BoxFuture<'a, Result<CallPlan, Refusal>> {
        Box::pin(async move {
            self.world.step().await;
            let refuses = {
                let mut world = self.world.lock();
                let rate = world.plan.tool_faults / 8;
                world.chance.percent(rate)
            };
            if refuses {
                return Err(Refusal { text: "not now".to_owned(), trust: Trust::Owner });
            }
            Ok(CallPlan {
                input: input.clone(),
                effects: vec![self.effect],
                facts: Json::of(&json!({"tool": self.spec.name})),
                digest: sha256_hex(input.as_str().as_bytes()),
                summary: self.spec.name.clone(),
            })
        })
    }

    fn run(&self, _prepared: CallPlan, ctx: RunContext) -> BoxFuture<'_, ToolOutput> {
        Box::pin(async move {
            self.world.live().await;
            let call_id = ctx.call.call_id;
            self.begin(call_id);
            let cancel = ctx.call.cancel.clone();
            let notices_cancel = self.world.draw(|chance| chance.percent(80));
            let output = tokio::select! {
                biased;
                () = cancel.cancelled(), if notices_cancel => {
                    output(ToolOutcome::Failed, "stopped")
                }
                output = self.work(&ctx) => output,
            };
            self.world.live().await;
            self.end(call_id, output.outcome);
            output
        })
    }
}

/// Allows nearly everything. What it says of a call stays the same. It never asks: nobody in the
/// simulation answers approvals yet.
pub(crate) struct SimPolicy;

impl Policy for SimPolicy {
    fn judge(&self, question: &Question<'_>) -> Judgement {
        let verdict = match question.call_id.answer.as_uuid().as_bytes()[15] % 16 {
            0 | 1 => Verdict::Deny,
            _ => Verdict::Allow,
        };
        Judgement {
            verdict,
            reason: "the simulation says so".to_owned(),
            rule: None,
            grant_id: None,
            sandbox: Sandbox::None,
        }
    }
}
