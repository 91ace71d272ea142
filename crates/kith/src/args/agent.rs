//! Arguments of `kith agent`.

use std::path::PathBuf;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum AgentCommand {
    /// List the agents of this house
    #[command(after_help = "Example:\n  kith agent ls")]
    Ls,
    /// Add an agent to this house: a folder with its files, named in kith.toml
    #[command(after_help = "Example:\n  kith agent new ux\n  kith --agent ux")]
    New {
        /// Its id, for `--agent`: lower-case letters, digits, `-` and `_`
        id: String,
        /// Folder of its files, a path from the house; by default, `agents/ID`
        #[arg(long = "in", value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// Take an agent out of this house. Its files and sessions stay
    #[command(after_help = "Example:\n  kith agent rm ux")]
    Rm {
        /// Its id, as printed by `kith agent ls`
        id: String,
    },
}
