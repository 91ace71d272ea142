//! Calls about the running host itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::call;

/// Tells who hosts the house, since when, and where it listens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GetStatus {}

call!(Write "get_status", GetStatus => HostStatus);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostStatus {
    pub kind: HostKind,
    pub pid: u32,
    pub version: String,
    /// RFC 3339.
    pub started_at: String,
    /// Where the page is, if it is served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Where clients on other machines reach it, with the SHA-256 of its certificate after the `#`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote_address: Option<String>,
    /// The folder of the house.
    #[serde(default)]
    pub house: String,
    #[serde(default)]
    pub agents: Vec<String>,
    /// The agent to use if none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_agent: Option<String>,
    /// Sessions that something is being done in.
    pub working_sessions: usize,
    /// Sessions that are open and at rest.
    pub open_sessions: usize,
}

/// What a host is besides a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HostKind {
    /// A command that ends by itself.
    #[default]
    Command,
    /// A conversation in a terminal.
    Chat,
    /// `kith up`.
    Daemon,
}

/// Makes a login link for the page. It is good once and for a minute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateLogin {}

call!(Write "create_login", CreateLogin => LoginLink);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoginLink {
    pub url: String,
}

/// Asks the host to give up the house: to end, or to let another process be the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReleaseHouse {
    pub reason: ReleaseReason,
}

call!(Write "release_house", ReleaseHouse => ReleasedHouse);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ReleaseReason {
    /// The daemon is to end.
    Stop,
    /// Another process wants to be the daemon.
    TakeOver,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReleasedHouse {
    /// Who gives it up.
    pub kind: HostKind,
    pub pid: u32,
}
