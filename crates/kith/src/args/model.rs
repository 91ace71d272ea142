//! Arguments of `kith model`.

use clap::Subcommand;

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum ModelCommand {
    /// List models, which one is used and why, and model servers found on this machine
    #[command(after_help = "Example:\n  kith model ls\n  kith model ls --json")]
    Ls,
    /// Use a model from now on: sets `use` of `[models]` in kith.toml
    #[command(after_help = "Example:\n  kith model use small\n  kith model use demo")]
    Use {
        /// Name of the model: `demo`, a name from kith.toml, or a vendor's model name if its key is set
        name: String,
    },
    /// Ask a model to call a tool and show what works. It is recorded as a session of its own
    #[command(after_help = "Example:\n  kith model test\n  kith model test small")]
    Test {
        /// Model to test, named as for `--model`; by default, the one that is used
        name: Option<String>,
    },
}
