//! Calls about diagnostic logs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::call;

/// Maximum number of lines that are asked for at once.
pub const LOG_LINES_MAX: u32 = 10_000;

/// Reads the end of a diagnostic log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReadDiagnosticLog {
    /// The session that is meant; without it the log of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// How many of the last lines, at most 10,000.
    pub lines: u32,
}

call!(Read "read_log", ReadDiagnosticLog => LogView);

/// Reads the end of a diagnostic log, and then each line that comes. It has no end of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FollowLog {
    /// The session that is meant; without it the log of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// How many of the last lines come first, at most 10,000.
    pub lines: u32,
}

call!(Read "follow_log", FollowLog => LogEnd, items DiagnosticLines);

/// The end of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogView {
    /// `host`, or the id of the session.
    pub log: String,
    /// Where it stands; it may not be there yet.
    pub file: String,
    /// `key=value` pairs with spaces between them.
    pub lines: Vec<String>,
}

/// Lines that came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiagnosticLines {
    pub lines: Vec<String>,
}

/// Following has ended, because the client or the host wanted it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogEnd {
    pub log: String,
}
