//! Arguments of `kith approvals`, `kith approve`, `kith deny` and `kith grants`.

use clap::{Args, Subcommand};

use super::{SESSION_OR_CURRENT, STREAM_JSON};

/// The help of every argument that names an approval.
const APPROVAL: &str = "Code or id of the approval; by default, the only one that waits";

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith approvals\n  kith approvals ls --json")]
pub(crate) struct ApprovalsArgs {
    #[command(subcommand)]
    pub(crate) action: Option<ApprovalsAction>,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum ApprovalsAction {
    /// List approvals that wait for your answer
    #[command(after_help = "Example:\n  kith approvals ls")]
    Ls,
    /// Show all that a call would do, also what its question leaves out
    #[command(after_help = "Example:\n  kith approvals show 7QX")]
    Show {
        #[arg(help = APPROVAL)]
        approval: Option<String>,
    },
}

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  kith approve\n  kith approve 7QX\n  kith approve 7QX --for 10m"
)]
pub(crate) struct Approve {
    #[arg(help = APPROVAL)]
    pub(crate) approval: Option<String>,
    /// Also approve the same command or file for this long, without asking: `10m`, `2h`, `24h` at most
    #[arg(long = "for", value_name = "DURATION")]
    pub(crate) for_time: Option<String>,
    #[arg(long, help = SESSION_OR_CURRENT, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    #[arg(long, help = STREAM_JSON, conflicts_with = "json")]
    pub(crate) stream_json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith deny 7QX\n  kith deny 7QX --reason \"no backup yet\"")]
pub(crate) struct Deny {
    #[arg(help = APPROVAL)]
    pub(crate) approval: Option<String>,
    /// Why; the model reads it
    #[arg(long)]
    pub(crate) reason: Option<String>,
    #[arg(long, help = SESSION_OR_CURRENT, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    #[arg(long, help = STREAM_JSON, conflicts_with = "json")]
    pub(crate) stream_json: bool,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum GrantsCommand {
    /// List standing approvals
    #[command(after_help = "Example:\n  kith grants ls")]
    Ls,
    /// Revoke a standing approval
    #[command(after_help = "Example:\n  kith grants rm 4c1ec498")]
    Rm {
        /// Id of the grant, or the end of it
        grant: String,
    },
}
