//! Arguments of `kith completions` and `kith man`.

use std::ffi::OsString;

use clap::{Args, ValueEnum};

/// The command that completion scripts call. People do not, so it is not in the help.
pub(crate) const COMPLETE: &str = "__complete";

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  \
    bash: kith completions bash > ~/.local/share/bash-completion/completions/kith\n  \
    zsh:  kith completions zsh > ~/.zfunc/_kith   (a folder of $fpath)\n  \
    fish: kith completions fish > ~/.config/fish/completions/kith.fish")]
pub(crate) struct CompletionsArgs {
    /// Shell to write it for
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Zsh,
    Fish,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith man | man -l -\n  \
                        kith man session ls > ~/.local/share/man/man1/kith-session-ls.1")]
pub(crate) struct ManArgs {
    /// Command, such as `session ls`; by default, kith as a whole
    pub(crate) command: Vec<String>,
    /// List the names of all pages instead
    #[arg(long, conflicts_with = "command")]
    pub(crate) list: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Complete {
    /// The command line so far, without `kith`; the last word is the one to complete
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<OsString>,
}
