//! Calls about repositories other than the house's own.
//!
//! Whether the house itself is trusted is asked before there is a host: see [`crate::vouching`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::{Access, Call};

/// Lists what is trusted: the house itself, then repositories.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListRepositories {}

impl Call for ListRepositories {
    const NAME: &'static str = "list_repositories";
    const ACCESS: Access = Access::Read;
    type Answer = RepositoryList;
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RepositoryList {
    pub repositories: Vec<RepositoryRow>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RepositoryRow {
    pub path: String,
    pub trusted_at: String,
}

/// Finds the repository whose files are left out in a folder because nobody trusts it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FindUntrusted {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    pub cwd: String,
}

impl Call for FindUntrusted {
    const NAME: &'static str = "find_untrusted";
    const ACCESS: Access = Access::Read;
    type Answer = UntrustedView;
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UntrustedView {
    /// `null` if nothing is left out.
    pub repository: Option<UntrustedRepository>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UntrustedRepository {
    pub path: String,
    /// How many of its files are left out.
    pub files: usize,
}

/// Lets the `AGENTS.md` of a repository speak to the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TrustRepository {
    pub path: String,
}

impl Call for TrustRepository {
    const NAME: &'static str = "trust_repository";
    const ACCESS: Access = Access::Write;
    type Answer = TrustedFolder;
}

/// Takes that back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DistrustRepository {
    pub path: String,
}

impl Call for DistrustRepository {
    const NAME: &'static str = "distrust_repository";
    const ACCESS: Access = Access::Write;
    type Answer = TrustedFolder;
}

/// What was trusted, or no longer is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrustedFolder {
    pub path: String,
}
