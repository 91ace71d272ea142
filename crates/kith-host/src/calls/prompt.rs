//! Calls about what an agent is told, and who it is.

use kith_vocab::header::Audience;
use kith_vocab::snapshot::InstructionSnapshot;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::call;

/// Shows what a new session would be told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GetPrompt {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    #[schemars(with = "String")]
    pub audience: Audience,
    pub cwd: String,
}

call!(Read "get_prompt", GetPrompt => PromptView);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PromptView {
    pub system_prompt: String,
    #[schemars(with = "serde_json::Value")]
    pub snapshot: InstructionSnapshot,
}

/// Says what an agent is called, and where that comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExplainAgent {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
}

call!(Read "explain_identity", ExplainAgent => IdentityView);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IdentityView {
    pub name: String,
    pub role: Option<String>,
    pub goal: Option<String>,
    pub voice: Option<String>,
    pub emoji: Option<String>,
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub style: Option<String>,
    pub avatar: Option<String>,
    /// Where the name comes from.
    pub source: String,
}
