//! What tools record about the paths and addresses of a call, for the policy to judge by.
//!
//! The forms of facts are described in docs/format/facts.md. A tool looks; the policy only reads
//! what was recorded, so that the same facts always get the same verdict.

use serde::{Deserialize, Serialize};

/// What a path means to the policy, whether something lies there or not.
///
/// In rising order of strictness: of two zones that a path may belong to, the greater one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Zone {
    /// Folders for temporary files, and devices that keep nothing, such as `/dev/null`.
    Temporary,
    /// The project that the session works on.
    Workspace,
    /// The operating system and installed programs, which everyone may read.
    System,
    /// Any other place.
    Outside,
    /// Devices, and files of the kernel.
    Device,
    /// What the agent is: its prompt files, memory, skills and settings, and the files of a
    /// repository that make git run programs.
    #[serde(rename = "self")]
    Oneself,
    /// Keys, and Kith's own records.
    Secret,
}

/// What lies at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathEntry {
    Absent,
    File,
    Folder,
    /// A device, a pipe or a socket.
    Special,
}

/// Facts of a tool that writes one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PathCallFacts {
    /// Absolute, with its links resolved as far as it exists.
    pub path: String,
    pub zone: Zone,
    pub exists: bool,
}

/// Facts of a tool that reaches one address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NetworkFacts {
    pub url: String,
    /// In lower case, without a port.
    pub host: String,
}
