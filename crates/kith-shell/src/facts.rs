//! What is recorded about a shell command: in the log, for people, and for the judge.
//!
//! The form is described in docs/format/facts.md. It holds what was found when the call was
//! prepared, because the verdict must not depend on when it is asked for again.

use kith_vocab::facts::{PathEntry, Zone};
use serde::{Deserialize, Serialize};

use crate::script::{Joint, Obstacle};

/// Facts of `exec_shell`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShellFacts {
    /// The whole text, as it will be given to the shell.
    pub command: String,
    /// Where it starts, absolute.
    pub cwd: String,
    pub segments: Vec<SegmentFacts>,
    /// What was not understood. If there is any, the segments are not all there is.
    pub obstacles: Vec<Obstacle>,
    /// Whether the call asks for the network.
    pub network: bool,
    /// Whether the call asks to run outside the sandbox.
    pub unsandboxed: bool,
}

/// One simple command of the script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SegmentFacts {
    pub joint: Joint,
    /// The program and its arguments without quotes. Empty for redirections of a whole group.
    pub argv: Vec<String>,
    /// Which words of `argv` the shell replaces by others: patterns, `~`, and what is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<usize>,
    /// Variables set for this command only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<EnvironmentChange>,
    pub program: ProgramFacts,
    pub paths: Vec<PathFacts>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentChange {
    pub name: String,
    pub value: String,
}

/// The program that really runs: of `timeout 5 make`, that is `make`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProgramFacts {
    /// As written, without quotes.
    pub name: String,
    /// The file that will be run, absolute, with its links resolved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    pub place: ProgramPlace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProgramPlace {
    /// Installed, and nothing that runs in the workspace can change it.
    System,
    /// A file of the workspace, or one that commands can replace.
    Workspace,
    /// Part of the shell.
    Builtin,
    /// No such program was found, or the word is not known.
    Unknown,
}

/// A path that a segment names, as far as that can be told from its words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PathFacts {
    /// Absolute, with its links resolved as far as it exists.
    pub path: String,
    pub zone: Zone,
    pub entry: PathEntry,
    pub intent: PathIntent,
}

/// What a command does with a path, in rising order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathIntent {
    Read,
    /// Creates it, or adds to it.
    Append,
    /// Creates it, or changes what it holds.
    Write,
    /// Puts a file into it if it is a folder; else what it held is lost.
    Put,
    /// What it held is lost.
    Replace,
    /// It is somewhere else afterwards.
    Move,
    Delete,
}
