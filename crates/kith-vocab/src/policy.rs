//! Who may do what.

use crate::event::calls::{Effect, Sandbox, Verdict};
use crate::ids::CallId;
use crate::json::Json;

/// A call as the policy sees it: facts that were looked up before, nothing to look up now.
#[derive(Clone, Copy, Debug)]
pub struct CallToJudge<'a> {
    pub call_id: CallId,
    pub tool: &'a str,
    pub effect: Effect,
    pub summary: &'a str,
    pub facts: &'a Json,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    pub verdict: Verdict,
    /// In words, for the model and for people.
    pub reason: String,
    pub rule: Option<String>,
    pub grant_id: Option<String>,
    pub sandbox: Sandbox,
}

pub trait Policy: Send + Sync {
    fn judge(&self, call: &CallToJudge<'_>) -> Judgement;
}
