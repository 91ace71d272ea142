//! Arguments of `kith cost`.

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith cost\n  kith cost --by model\n  kith cost current")]
pub(crate) struct Cost {
    /// Only this session: the beginning of its id, `current` or `latest` [default: all sessions]
    pub(crate) session: Option<String>,
    /// What to sum by
    #[arg(long, value_enum, default_value_t = CostBy::Day)]
    pub(crate) by: CostBy,
}

/// What `kith cost` sums by.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum CostBy {
    Day,
    Model,
    Thread,
}
