//! Arguments of `kith why`.

use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith why\n  kith why latest@3\n  kith why latest --body")]
pub(crate) struct Why {
    /// Session (the beginning of its id, `current` or `latest`), with `@N` for turn N; by default, the
    /// last turn of this folder's conversation
    #[arg(value_name = "SESSION[@TURN]")]
    pub(crate) session: Option<String>,
    /// Print the exact body of the request instead
    #[arg(long)]
    pub(crate) body: bool,
}
