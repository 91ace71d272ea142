//! `kith thread`, as typed.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum Thread {
    Ls(ThreadLs),
    Show(ThreadShow),
    Rebuild(ThreadRebuild),
    Compact(ThreadCompact),
}

/// List threads, the last spoken in first
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith thread ls")]
pub(crate) struct ThreadLs {}

/// Show a thread: all its sessions, as a transcript or as UI messages
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith thread show cli:\n  kith thread show cli: --json")]
pub(crate) struct ThreadShow {
    /// A thread id, or a beginning or an end that only one has
    pub(crate) thread: String,
}

/// Make the file of a thread, or of all, again from the logs
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith thread rebuild")]
pub(crate) struct ThreadRebuild {
    /// A thread id, or a beginning or an end that only one has; all if it is left out
    pub(crate) thread: Option<String>,
}

/// Leave of each message in the file of a thread, or of all, only the last line
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith thread compact")]
pub(crate) struct ThreadCompact {
    /// A thread id, or a beginning or an end that only one has; all if it is left out
    pub(crate) thread: Option<String>,
}
