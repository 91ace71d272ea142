//! Calls about priming scripts.

use kith_vocab::json::Json;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::call;

/// Lists the scripts that an agent may use, the last used first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListScripts {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Only those with this text in reference or title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
}

call!(Read "list_scripts", ListScripts => ScriptList);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScriptList {
    pub scripts: Vec<ScriptRow>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScriptRow {
    /// `null` when the file's name is no name of a script.
    pub script_ref: Option<String>,
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ScriptFault>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScriptFault {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    pub message: String,
}

/// Shows a script as it is understood.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShowScript {
    pub script_ref: String,
}

call!(Read "show_script", ShowScript => ScriptView);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScriptView {
    pub script_ref: String,
    pub path: String,
    pub script: Json,
    /// The script as a file.
    pub text: String,
}

/// Reads every script of the house and names what is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CheckScripts {}

call!(Read "check_scripts", CheckScripts => ScriptCheckReport);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScriptCheckReport {
    pub checked: usize,
    pub failed: usize,
    pub issues: Vec<ScriptIssueView>,
    /// What is odd, and can be used all the same.
    pub warnings: Vec<ScriptIssueView>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScriptIssueView {
    pub path: String,
    pub line: Option<usize>,
    pub message: String,
}

/// Gives a session as a script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExportScript {
    pub session: String,
}

call!(Read "export_script", ExportScript => ScriptText);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScriptText {
    pub records: usize,
    pub text: String,
}

/// Keeps a session as a script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SaveScript {
    pub session: String,
    pub slug: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Its title, if not the session's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// For every agent of the house, not for this one alone.
    #[serde(default)]
    pub shared: bool,
    /// Replaces a script of that name.
    #[serde(default)]
    pub overwrite: bool,
}

call!(Write "save_script", SaveScript => SavedScript);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SavedScript {
    pub script_ref: String,
    pub path: String,
    pub records: usize,
}
