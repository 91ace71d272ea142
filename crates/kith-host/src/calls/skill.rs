//! Calls about skills.

use kith_vocab::event::control::SkillEntry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::call;

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
    #[schemars(with = "Vec<serde_json::Value>")]
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
    #[schemars(with = "serde_json::Value")]
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
