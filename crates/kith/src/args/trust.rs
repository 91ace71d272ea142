//! Arguments of `kith trust`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Example:\n  kith trust .\n  kith trust ls\n  kith trust rm ~/src/clone")]
pub(crate) struct TrustArgs {
    /// A folder of the repository; by default, this folder
    pub(crate) dir: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) action: Option<TrustAction>,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum TrustAction {
    /// List trusted repositories
    #[command(after_help = "Example:\n  kith trust ls")]
    Ls,
    /// Stop trusting a repository. Existing sessions stay as they are
    #[command(after_help = "Example:\n  kith trust rm ~/src/clone")]
    Rm {
        /// A folder of the repository, or where it was
        dir: PathBuf,
    },
}
