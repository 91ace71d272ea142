//! Arguments of `kith project`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith project ls\n  kith project add ~/src/app\n  \
                        kith project rm ~/src/app")]
pub(crate) struct ProjectArgs {
    #[command(subcommand)]
    pub(crate) action: ProjectAction,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum ProjectAction {
    /// List the projects of this house
    #[command(after_help = "Example:\n  kith project ls")]
    Ls,
    /// Register a folder as a project
    #[command(after_help = "Example:\n  kith project add .")]
    Add {
        /// The folder; by default, this one
        dir: Option<PathBuf>,
    },
    /// Remove a project. Its sessions and files stay
    #[command(after_help = "Example:\n  kith project rm ~/src/app")]
    Rm {
        /// The folder, or where it was
        dir: PathBuf,
    },
}
