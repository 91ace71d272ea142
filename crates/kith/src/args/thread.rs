//! `kith thread`, as typed.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum Thread {
    Ls(ThreadLs),
    Show(ThreadShow),
    Rebuild(ThreadRebuild),
    Compact(ThreadCompact),
}

/// List threads, most recently active first
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith thread ls")]
pub(crate) struct ThreadLs {}

/// Show all sessions of a thread as a transcript, or as UI messages with `--json`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith thread show cli:\n  kith thread show cli: --json")]
pub(crate) struct ThreadShow {
    /// Thread id, or a unique beginning or end of one
    pub(crate) thread: String,
}

/// Rebuild thread files from the logs
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith thread rebuild")]
pub(crate) struct ThreadRebuild {
    /// Thread id, or a unique beginning or end of one; by default, all threads
    pub(crate) thread: Option<String>,
}

/// Compact thread files: keep only the latest version of each message
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith thread compact")]
pub(crate) struct ThreadCompact {
    /// Thread id, or a unique beginning or end of one; by default, all threads
    pub(crate) thread: Option<String>,
}
