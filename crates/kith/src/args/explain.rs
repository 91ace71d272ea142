//! The arguments of `kith explain`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Explain {
    /// Show the agent's name and where it comes from
    #[command(after_help = "Example:\n  kith explain identity\n  kith explain identity --json")]
    Identity,
    /// Show how a reply to a pending approval would be read
    #[command(after_help = "Example:\n  kith explain reply \"yes, but back up first\"\n  \
                            kith explain reply 同意 --json")]
    Reply {
        /// Words of the reply
        text: String,
        /// JSON file with the pending approvals; by default, one is assumed
        #[arg(long, value_name = "FILE")]
        pending: Option<PathBuf>,
    },
    /// Show whether a shell command would run, be asked about or be denied (runs nothing)
    Command(ExplainCommandArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith explain command \"cargo test && git push\"\n  \
                        kith explain command \"rm -r src\" --mode trusted --json")]
pub(crate) struct ExplainCommandArgs {
    /// Command to judge, as one argument
    pub(crate) command: String,
    /// Mode to judge by [default: that of the settings]
    #[arg(long, value_enum)]
    pub(crate) mode: Option<ModeArg>,
    /// Folder in which it would run [default: this one]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ModeArg {
    Ask,
    Readonly,
    Trusted,
    Deny,
}
