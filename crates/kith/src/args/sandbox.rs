//! Arguments of `kith sandbox`.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct SandboxArgs {
    /// Let the command reach the network
    #[arg(long)]
    pub(crate) network: bool,
    /// Command and its arguments, after `--`
    #[arg(required = true, last = true)]
    pub(crate) command: Vec<String>,
}
