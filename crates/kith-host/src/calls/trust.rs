//! Calls about repositories other than the house's own.
//!
//! Whether the house itself is trusted is asked before there is a host: see [`crate::vouching`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::call;

/// Lists what is trusted: the house itself, then repositories.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListRepositories {}

call!(Read "list_repositories", ListRepositories => RepositoryList);

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

call!(Read "find_untrusted", FindUntrusted => UntrustedView);

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

call!(Write "trust_repository", TrustRepository => TrustedFolder);

/// Takes that back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DistrustRepository {
    pub path: String,
}

call!(Write "distrust_repository", DistrustRepository => TrustedFolder);

/// What was trusted, or no longer is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrustedFolder {
    pub path: String,
}
