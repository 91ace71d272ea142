//! The calls of an answer and the stage of each.

use kith_vocab::block::ToolCall;
use kith_vocab::event::calls::{ApprovalRequested, Decision, Effect, Sandbox, Verdict};
use kith_vocab::event::messages::Outcome;
use kith_vocab::event::{Body, Event};
use kith_vocab::ids::CallId;
use kith_vocab::json::Json;
use kith_vocab::text::Text;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallProgress {
    pub call: ToolCall,
    pub stage: CallStage,
    /// As it was last judged.
    pub effect: Option<Effect>,
    pub digest: Option<String>,
    pub facts: Option<Json>,
    /// Where it would run.
    pub sandbox: Option<Sandbox>,
    pub reason: Text,
    /// The question about it, while it waits for an answer.
    pub question: Option<Box<ApprovalRequested>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CallStage {
    /// Not judged, or judged before an earlier call changed the world.
    New,
    MustAsk,
    Asked {
        approval_id: String,
        expires_at: u64,
    },
    /// Allowed by the policy.
    MayRun,
    /// Allowed by a person, for exactly the digest that was shown.
    Approved,
    Refused {
        reason: Text,
    },
    Started,
    /// Started when the process ended. It may have done its work, so it is not run again.
    Interrupted,
    Finished,
}

/// Invariant: one entry per call of the last answer, in the model's order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnCalls(Vec<CallProgress>);

impl TurnCalls {
    pub(crate) fn of(calls: impl Iterator<Item = ToolCall>) -> TurnCalls {
        let new = |call| CallProgress {
            call,
            stage: CallStage::New,
            effect: None,
            digest: None,
            facts: None,
            sandbox: None,
            reason: Text::default(),
            question: None,
        };
        TurnCalls(calls.map(new).collect())
    }

    pub fn iter(&self) -> impl Iterator<Item = &CallProgress> {
        self.0.iter()
    }

    pub fn get(&self, call_id: CallId) -> Option<&CallProgress> {
        self.0.iter().find(|it| it.call.call_id == call_id)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn open(&self) -> impl Iterator<Item = &CallProgress> {
        self.0.iter().filter(|it| it.stage != CallStage::Finished)
    }

    pub fn any_running(&self) -> bool {
        self.0.iter().any(|it| it.stage == CallStage::Started)
    }

    pub fn any_asked(&self) -> bool {
        self.0.iter().any(|it| matches!(it.stage, CallStage::Asked { .. }))
    }

    /// The questions that wait for an answer, in the order of their calls.
    pub fn questions(&self) -> impl Iterator<Item = &ApprovalRequested> {
        self.0.iter().filter_map(|it| it.question.as_deref())
    }

    /// Whether nothing can go on before a person has answered.
    pub(crate) fn waits_for_person(&self) -> bool {
        let is_unsettled = |it: &CallProgress| {
            matches!(it.stage, CallStage::New | CallStage::MustAsk | CallStage::Started)
        };
        let first = self.open().next();
        first.is_some_and(|it| matches!(it.stage, CallStage::Asked { .. }))
            && !self.0.iter().any(is_unsettled)
    }

    /// Marks the calls that were running as interrupted.
    pub(super) fn interrupt(&mut self) {
        for it in &mut self.0 {
            if it.stage == CallStage::Started {
                it.stage = CallStage::Interrupted;
            }
        }
    }

    pub(crate) fn fold(&mut self, event: &Event) {
        let Some(place) = self.0.iter().position(|it| it.is_meant_by(&event.body)) else { return };
        let progress = &mut self.0[place];
        progress.advance(&event.body);
        let changed_the_world = matches!(
            &event.body,
            Body::ToolResult(it) if matches!(it.outcome, Outcome::Done | Outcome::Failed)
        ) && progress.effect != Some(Effect::Read);
        if changed_the_world {
            for later in &mut self.0[place + 1..] {
                if later.stage == CallStage::MayRun {
                    later.stage = CallStage::New;
                }
            }
        }
    }
}

impl CallProgress {
    /// Whether a person was asked about it under this name and has not answered.
    pub fn is_asked_as(&self, name: &str) -> bool {
        matches!(&self.stage, CallStage::Asked { approval_id, .. } if approval_id == name)
    }

    fn is_meant_by(&self, body: &Body) -> bool {
        let call_id = match body {
            Body::CallJudged(it) => it.call_id,
            Body::ApprovalRequested(it) => it.call_id,
            Body::ToolStarted(it) => it.call_id,
            Body::ToolResult(it) => it.call_id,
            Body::ApprovalDecided(it) => {
                return self.is_asked_as(&it.approval_id);
            }
            _ => return false,
        };
        self.call.call_id == call_id
    }

    // A call only moves forward: people press buttons twice and platforms deliver twice, and a
    // second "allow" must not run the tool again.
    fn advance(&mut self, body: &Body) {
        let next = match (&self.stage, body) {
            (CallStage::New, Body::CallJudged(it)) => {
                self.effect = Some(it.effect);
                self.digest = Some(it.digest.clone());
                self.facts = Some(it.facts.clone());
                self.sandbox = Some(it.sandbox);
                self.reason = it.reason.clone();
                match it.verdict {
                    Verdict::Allow => CallStage::MayRun,
                    Verdict::Ask => CallStage::MustAsk,
                    Verdict::Deny => CallStage::Refused { reason: it.reason.clone() },
                }
            }
            (CallStage::MustAsk, Body::ApprovalRequested(it)) => {
                CallStage::Asked { approval_id: it.approval_id.clone(), expires_at: it.expires_at }
            }
            (CallStage::Asked { .. }, Body::ApprovalDecided(it)) => match it.decision {
                Decision::Allow => CallStage::Approved,
                Decision::Deny => {
                    CallStage::Refused { reason: it.reason.clone().unwrap_or_default() }
                }
            },
            (CallStage::MayRun | CallStage::Approved, Body::ToolStarted(_)) => CallStage::Started,
            (_, Body::ToolResult(_)) => CallStage::Finished,
            _ => return,
        };
        self.question = match (&next, body) {
            (CallStage::Asked { .. }, Body::ApprovalRequested(it)) => Some(Box::new(it.clone())),
            _ => None,
        };
        self.stage = next;
    }
}
