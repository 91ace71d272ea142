//! Arguments of `kith compact`.

use clap::Args;

use super::SESSION_OR_CURRENT;

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith compact\n  kith compact --session 4c1ec498")]
pub(crate) struct CompactArgs {
    #[arg(long, help = SESSION_OR_CURRENT, value_name = "SESSION")]
    pub(crate) session: Option<String>,
}
