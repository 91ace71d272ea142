//! Models that answer, call tools, fail, stall and break off, as chance has it.

use std::sync::Arc;

use kith_host::models::ProviderMaker;
use kith_vocab::clock::{BoxFuture, Clock};
use kith_vocab::digest::sha256_hex;
use kith_vocab::event::messages::StopReason;
use kith_vocab::event::models::{FailureKind, ModelRef};
use kith_vocab::json::Json;
use kith_vocab::provider::{
    Answer, AnswerBlock, AnswerFailure, AskContext, Delta, DeltaPart, FailureCause, ModelChoice,
    Provider,
};

use super::chance::Chance;
use super::plan::Plan;
use super::world::World;

/// Makes the models of a life.
pub(crate) fn maker(world: &Arc<World>, clock: &Arc<dyn Clock>) -> ProviderMaker {
    let (world, clock) = (Arc::clone(world), Arc::clone(clock));
    Box::new(move |model| Arc::new(SimModel::new(model, Arc::clone(&world), Arc::clone(&clock))))
}

struct SimModel {
    choice: ModelChoice,
    world: Arc<World>,
    clock: Arc<dyn Clock>,
}

/// How a request ends.
enum Behavior {
    Answers(Answer),
    Fails {
        kind: FailureKind,
        retryable: bool,
        retry_after_ms: Option<u64>,
        says: usize,
    },
    /// Says something and then nothing until it is cancelled.
    Stalls {
        says: usize,
    },
    /// Does not even notice that it is cancelled.
    Hangs,
    /// A bug of ours.
    Panics,
}

impl SimModel {
    fn new(reference: &ModelRef, world: Arc<World>, clock: Arc<dyn Clock>) -> SimModel {
        let Plan { context_window, wire_of_b, .. } = world.lock().plan.clone();
        let choice = ModelChoice {
            provider: reference.provider.clone(),
            wire: if reference.name == "b" { wire_of_b } else { reference.wire },
            model: reference.model.clone(),
            parameters: Json::empty_object(),
            context_window,
        };
        SimModel { choice, world, clock }
    }

    fn receive(&self, body: &[u8]) {
        let mut world = self.world.lock();
        world.tally.requests += 1;
        world.note(format!("{} is asked", self.choice.model));
        world.oracle.requests.push((self.choice.model.clone(), sha256_hex(body)));
    }

    /// What it does, and how long it thinks before.
    fn behave(&self) -> (Behavior, u64) {
        let mut world = self.world.lock();
        let plan = world.plan.clone();
        let chance = &mut world.chance;
        let thinks_ms = match chance.below(10) {
            0 => chance.magnitude(21),
            1..4 => chance.magnitude(12),
            _ => 0,
        };
        let fails = chance.percent(plan.model_faults);
        let panics = chance.per_mille(plan.own_faults);
        let behavior = match (panics, fails) {
            (true, _) => Behavior::Panics,
            (false, true) => misbehave(chance),
            (false, false) => Behavior::Answers(answer(chance, plan.tool_calls)),
        };
        world.tally.model_faults += u64::from(!matches!(behavior, Behavior::Answers(_)));
        (behavior, thinks_ms)
    }

    async fn respond(&self, ctx: &AskContext) -> Result<Answer, AnswerFailure> {
        self.world.step().await;
        let (behavior, thinks_ms) = self.behave();
        if thinks_ms > 0 {
            self.clock.sleep(thinks_ms).await;
            self.world.live().await;
        }
        match behavior {
            Behavior::Answers(answer) => {
                self.stream(&answer, ctx).await;
                Ok(answer)
            }
            Behavior::Fails { kind, retryable, retry_after_ms, says } => {
                let partial_text = self.say(says, ctx).await;
                let message = "the simulation lets the model fail".to_owned();
                let cause = FailureCause::Failed { kind, message, retryable, retry_after_ms };
                Err(AnswerFailure { cause, partial_text, usage: None })
            }
            Behavior::Stalls { says } => {
                let partial_text = self.say(says, ctx).await;
                ctx.cancel.cancelled().await;
                Err(AnswerFailure { cause: FailureCause::Cancelled, partial_text, usage: None })
            }
            Behavior::Hangs => std::future::pending().await,
            // Not `panic!`: nobody needs to read of it.
            Behavior::Panics => std::panic::resume_unwind(Box::new("the simulation's panic")),
        }
    }

    async fn say(&self, n_words: usize, ctx: &AskContext) -> String {
        let mut said = String::new();
        for _ in 0..n_words {
            let part = DeltaPart::Text("word ");
            ctx.sink.delta(Delta { block: 0, part });
            said.push_str("word ");
            self.world.step().await;
        }
        said
    }

    async fn stream(&self, answer: &Answer, ctx: &AskContext) {
        let mut call = 0;
        for (block, content) in (0..).zip(&answer.content) {
            let part = match content {
                AnswerBlock::Text(text) => {
                    for word in text.split_inclusive(' ') {
                        ctx.sink.delta(Delta { block, part: DeltaPart::Text(word) });
                        self.world.step().await;
                    }
                    continue;
                }
                AnswerBlock::Thinking(thinking) => DeltaPart::Thinking(&thinking.text),
                AnswerBlock::Call { arguments, .. } => {
                    call += 1;
                    DeltaPart::CallInput { call: call - 1, json: arguments }
                }
            };
            ctx.sink.delta(Delta { block, part });
            self.world.step().await;
        }
    }
}

fn misbehave(chance: &mut Chance) -> Behavior {
    let says = chance.index(3);
    match chance.below(10) {
        0..4 => Behavior::Fails {
            kind: FailureKind::Status,
            retryable: true,
            retry_after_ms: chance.percent(50).then(|| chance.magnitude(17)),
            says: 0,
        },
        4 => Behavior::Fails {
            kind: FailureKind::Auth,
            retryable: false,
            retry_after_ms: None,
            says: 0,
        },
        5 => {
            Behavior::Fails { kind: FailureKind::Cut, retryable: true, retry_after_ms: None, says }
        }
        6 => {
            let (content, stop_reason) = (Vec::new(), StopReason::EndTurn);
            Behavior::Answers(Answer { content, usage: None, stop_reason })
        }
        7..9 => Behavior::Stalls { says },
        _ => Behavior::Hangs,
    }
}

fn answer(chance: &mut Chance, tool_calls: u64) -> Answer {
    let mut content = Vec::new();
    let calls = chance.percent(tool_calls);
    if !calls || chance.percent(50) {
        content.push(AnswerBlock::Text(format!("it is {} of it", chance.below(1000))));
    }
    if !calls {
        return Answer { content, usage: None, stop_reason: StopReason::EndTurn };
    }
    for index in 0..chance.between(1, 3) {
        let number = chance.below(1_000_000);
        let (tool, arguments) = match chance.below(20) {
            0 => ("nonexistent", "{}".to_owned()),
            1 => ("write_file", format!("{{\"n\": {number}")),
            2..9 => ("read_file", format!("{{\"n\": {}}}", number % 3)),
            _ => ("write_file", format!("{{\"n\": {number}}}")),
        };
        let provider_call_id = format!("call_{number}_{index}");
        content.push(AnswerBlock::Call { provider_call_id, tool: tool.to_owned(), arguments });
    }
    let stop_reason = if chance.percent(5) { StopReason::MaxTokens } else { StopReason::ToolCall };
    Answer { content, usage: None, stop_reason }
}

impl Provider for SimModel {
    fn choice(&self) -> &ModelChoice {
        &self.choice
    }

    fn ask(&self, body: Vec<u8>, ctx: AskContext) -> BoxFuture<'_, Result<Answer, AnswerFailure>> {
        Box::pin(async move {
            // A dead host sends nothing.
            self.world.live().await;
            self.receive(&body);
            let cancel = ctx.cancel.clone();
            let notices_cancel = self.world.draw(|chance| !chance.percent(5));
            tokio::select! {
                biased;
                () = cancel.cancelled(), if notices_cancel => {
                    let partial_text = String::new();
                    Err(AnswerFailure { cause: FailureCause::Cancelled, partial_text, usage: None })
                }
                answer = self.respond(&ctx) => answer,
            }
        })
    }
}
