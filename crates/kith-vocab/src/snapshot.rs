//! The frozen instructions and tool list of a session.
//!
//! Both are written once, before the first message, and never change: the prefix a vendor has
//! cached stays valid, and a log tells for ever what its model was given.

use serde::{Deserialize, Serialize};

use crate::json::Json;

pub const SNAPSHOT_VERSION: u32 = 1;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InstructionSnapshot {
    pub version: u32,
    pub cwd: String,
    pub sections: Vec<Section>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Section {
    pub kind: SectionKind,
    pub frozen_at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<Vec<Source>>,
    pub rendered_block: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Json>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SectionKind {
    Baseline,
    Agents,
    Memory,
    Workspace,
    Environment,
    Time,
}

impl SectionKind {
    /// The order of a snapshot's sections, which is also the order in the system prompt.
    pub const ORDER: [SectionKind; 6] = [
        SectionKind::Baseline,
        SectionKind::Agents,
        SectionKind::Memory,
        SectionKind::Workspace,
        SectionKind::Environment,
        SectionKind::Time,
    ];
}

/// Where a section's text came from: enough to tell, with every file gone, what was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Source {
    pub source_type: SourceType,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// The text as it was injected, cuts included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Of the file's bytes as they were on disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Characters (Unicode scalar values) of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chars: Option<u64>,
    /// Characters of it that are in the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub injected_chars: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceType {
    Builtin,
    AgentsMd,
    AgentMd,
    Soul,
    User,
    Identity,
    Tools,
    Memory,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    GlobalUser,
    Project,
    Home,
}

impl InstructionSnapshot {
    /// The system prompt: the blocks that are not empty, joined by a blank line.
    pub fn system_prompt(&self) -> String {
        let blocks: Vec<&str> = self
            .sections
            .iter()
            .map(|section| section.rendered_block.as_str())
            .filter(|block| !block.is_empty())
            .collect();
        blocks.join("\n\n")
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolsetSnapshot {
    pub tools: Vec<ToolSpec>,
    /// Of the JSON text of `tools`.
    pub sha256: String,
}

/// A tool as the model sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    pub input_schema: Json,
}
