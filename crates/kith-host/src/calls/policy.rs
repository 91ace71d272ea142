//! The calls that say what the policy would decide.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::call;

/// Judges a shell command without running it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExplainCommand {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    pub command: String,
    pub cwd: String,
    /// The mode to judge by (default: that of the settings).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<ModeName>,
}

call!(Read "explain_command", ExplainCommand => CommandExplanation);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModeName {
    Ask,
    Readonly,
    Trusted,
    Deny,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerdictName {
    Allow,
    Ask,
    Deny,
}

/// What the policy would decide about a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandExplanation {
    pub verdict: VerdictName,
    /// Whether it would run in the sandbox, now or after a yes.
    pub sandboxed: bool,
    /// Whether it would have the network.
    pub network: bool,
    pub reason: String,
    /// The rule that decided, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Its simple commands, each with its own verdict.
    pub segments: Vec<SegmentExplanation>,
    /// The parts that could not be judged.
    pub not_understood: Vec<UnjudgedPart>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SegmentExplanation {
    pub argv: Vec<String>,
    pub verdict: VerdictName,
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnjudgedPart {
    /// As in the facts of a call: `substitution`, `expansion`, `here_document` …
    pub kind: String,
    pub text: String,
    /// Where it stands, in bytes.
    pub start: usize,
    pub end: usize,
}
