//! What the supervisor of a sandbox is told, and what it answers: one line of JSON each.

use std::path::PathBuf;

use kith_home::placeholder::StandIn;
use serde::{Deserialize, Serialize};

/// A longer line is refused.
pub(super) const SPEC_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A command and where it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandSpec {
    pub argv: Vec<String>,
    pub cwd: PathBuf,
    /// All of it: nothing is inherited.
    pub environment: Vec<(String, String)>,
    /// A file to read from; otherwise the command finds its input empty.
    pub stdin: Option<PathBuf>,
    /// `None` runs the command outside, where only its whole tree is ended with it.
    pub view: Option<SandboxView>,
}

/// The file system that a sandboxed command sees. What is not named does not exist in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandboxView {
    /// A parent stands before what lies in it.
    pub mounts: Vec<SandboxMount>,
    pub guards: Vec<PathGuard>,
    /// Whether the network of this machine can be reached.
    pub has_network: bool,
    /// There are more folders than were looked through, so not all repositories have guards.
    #[serde(default)]
    pub has_unseen: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandboxMount {
    /// The same inside and outside.
    pub path: PathBuf,
    pub kind: MountKind,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MountKind {
    ReadOnly,
    Writable,
    /// Changes are private to the command and gone afterwards.
    CopyOnWrite,
    /// Empty, writable, and gone afterwards.
    Empty,
    Link(PathBuf),
}

/// A path in the view that is taken away or made unchangeable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathGuard {
    pub path: PathBuf,
    pub kind: GuardKind,
    /// Lies where the command may write, so it must not be created either.
    pub is_writable_place: bool,
    /// What takes its place while it does not exist.
    pub stand_in: StandIn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuardKind {
    /// Can be read, not changed, moved or removed.
    ReadOnly,
    /// Seems empty.
    Masked,
    /// A folder above a protected path: it can be changed, but not moved or removed, or another one
    /// could take its place.
    Pinned,
}

/// How a command ended, or why it never began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandEnd {
    Exited(i32),
    Killed(i32),
    /// The owner of the supervisor went away or asked for it.
    Stopped,
    /// Why the sandbox could not hold it any longer, and ended it: a sentence.
    Ended(String),
    /// Why it never ran: a sentence.
    NotStarted(String),
    /// Why nobody can say whether it ran, how far it came, and whether all of it has ended: a sentence.
    Unknown(String),
}
