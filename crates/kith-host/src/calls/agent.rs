//! Calls about an agent: what it is told, who it is, and its skills.

use kith_vocab::event::control::SkillEntry;
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
    pub audience: Audience,
    pub cwd: String,
}

call!(Read "get_prompt", GetPrompt => PromptView);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PromptView {
    pub system_prompt: String,
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

/// Lists the skills in force in a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListSkillsInForce {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    pub cwd: String,
}

call!(Read "list_skills", ListSkillsInForce => SkillList);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillList {
    pub skills: Vec<SkillEntry>,
}

/// Gives the text of a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShowSkill {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    pub cwd: String,
    pub name: String,
}

call!(Read "show_skill", ShowSkill => SkillView);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillView {
    pub entry: SkillEntry,
    pub text: String,
}

/// Says which skills are left out, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CheckSkills {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    pub cwd: String,
}

call!(Read "check_skills", CheckSkills => SkillCheckReport);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillCheckReport {
    pub checked: usize,
    /// How many folders or files something is wrong with.
    pub failed: usize,
    pub issues: Vec<SkillIssueView>,
    /// How many skills are in force.
    pub in_force: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillIssueView {
    pub path: String,
    pub line: usize,
    pub message: String,
}
