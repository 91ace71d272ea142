//! The port for the policy that decides about calls.

use crate::event::calls::{Effect, Grant, Sandbox, Verdict};
use crate::event::messages::{Author, Trust};
use crate::header::Audience;
use crate::ids::CallId;
use crate::json::Json;

/// Everything a verdict depends on: facts that were looked up before, nothing to look up now.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    pub call_id: CallId,
    pub tool: &'a str,
    /// Of all parts of the call.
    pub effects: &'a [Effect],
    pub summary: &'a str,
    pub facts: &'a Json,
    /// Whose message the turn answers, and how far that person is trusted.
    pub author: &'a Author,
    pub trust: Trust,
    /// Whether anything on the session's path comes from below the people the owner knows.
    pub is_tainted: bool,
    pub audience: Audience,
    /// Whether a person is there to be asked.
    pub is_attended: bool,
    /// Those in force for this agent and workspace; none that has expired.
    pub grants: &'a [Grant],
    /// The strongest sandbox that this machine offers.
    pub sandbox: Sandbox,
    /// The tag of the language in which the reason is worded.
    pub language: &'a str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    pub verdict: Verdict,
    /// In words, for the model and for people, in the language of the question.
    pub reason: String,
    pub rule: Option<String>,
    pub grant_id: Option<String>,
    pub sandbox: Sandbox,
}

pub trait Policy: Send + Sync {
    fn judge(&self, question: &Question<'_>) -> Judgement;
}
