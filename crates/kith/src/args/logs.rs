//! Arguments of `kith logs`.

use clap::Args;
use clap::builder::RangedU64ValueParser;
use kith_host::calls::log::LOG_LINES_MAX;

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith logs\n  kith logs --session current --lines 5\n  \
                        kith logs --session latest --follow")]
pub(crate) struct Logs {
    #[arg(long, help = super::SESSION, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// Print new lines as they come, until Ctrl-C; with `--json`, one JSON object per line
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// How many of the last lines to print
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    #[arg(value_parser = RangedU64ValueParser::<u32>::new().range(0..=u64::from(LOG_LINES_MAX)))]
    pub(crate) lines: u32,
}
