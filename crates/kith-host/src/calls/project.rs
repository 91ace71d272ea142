//! Calls about projects: the folders in which conversations take place.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::call;

/// Lists the projects of the house: its own folder, those that were registered, and the folders of
/// sessions that are in none of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListProjects {}

call!(Read "list_projects", ListProjects => ProjectList);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectList {
    pub projects: Vec<ProjectRow>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectRow {
    /// The last part of the path.
    pub name: String,
    /// The folder.
    pub path: String,
    pub kind: ProjectKind,
    /// Whether the folder is there.
    pub exists: bool,
    /// How many sessions belong to it.
    pub sessions: u64,
    /// When something last happened in one of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ProjectKind {
    /// The folder of the house, which is always a project.
    House,
    Registered,
    /// A session began in this folder, which is in no registered one.
    Used,
}

/// Registers a folder as a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RegisterProject {
    /// The whole path of the folder.
    pub path: String,
}

call!(Write "register_project", RegisterProject => RegisteredProject);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegisteredProject {
    pub path: String,
    /// Whether it was not a project before.
    pub is_new: bool,
}

/// Takes a folder from the registered projects. Its sessions and files stay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RemoveProject {
    pub path: String,
}

call!(Write "remove_project", RemoveProject => RemovedProject);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemovedProject {
    pub path: String,
}

/// Lists the folders in a folder, for someone who looks for one to register.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListDirectories {
    /// The whole path of the folder; without it, the home of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Also those whose name begins with a dot.
    #[serde(default)]
    pub hidden: bool,
}

call!(Read "list_directories", ListDirectories => DirectoryList);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DirectoryList {
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// By name.
    pub directories: Vec<DirectoryRow>,
    /// There are more than are listed.
    pub is_cut: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DirectoryRow {
    pub name: String,
    pub path: String,
    /// Whether it is a project already.
    pub is_project: bool,
    /// Whether it is the root of a git repository.
    pub is_repository: bool,
}
