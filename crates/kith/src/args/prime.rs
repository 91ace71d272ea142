//! `kith new` and `kith prime`, as typed.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{CWD, SESSION, SESSION_DEFAULT, THREAD};

const SLUG: &str = "Name of the script: `A` to `Z`, `a` to `z`, digits, `.`, `_` and `-`, in segments joined by `/`";
const TITLE: &str = "Title of the script, in any language";

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith new --prime individual/main/probe\n  \
                        kith new --prime team_shared/manners --hide-primed")]
pub(crate) struct New {
    /// Start with the history of this priming script, by its name or reference (see `kith prime ls`);
    /// can be repeated
    #[arg(long, value_name = "SCRIPT")]
    pub(crate) prime: Vec<String>,
    /// Hide the primed history in transcripts; the model still gets it
    #[arg(long)]
    pub(crate) hide_primed: bool,
    #[arg(long, help = CWD, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    #[arg(long, help = THREAD, value_name = "THREAD")]
    pub(crate) thread: Option<String>,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Prime {
    /// List the scripts this agent may use, most recently used first
    #[command(after_help = "Example:\n  kith prime ls\n  kith prime ls probe")]
    Ls {
        /// Show only scripts with this text in their reference or title
        query: Option<String>,
    },
    /// Print a script as kith reads it
    #[command(after_help = "Example:\n  kith prime show individual/main/probe")]
    Show {
        /// Name of the script, or its reference: `individual/<member>/<slug>` or `team_shared/<slug>`
        #[arg(value_name = "SCRIPT")]
        script_ref: String,
    },
    /// Check every script of the house and report problems with file and line
    #[command(after_help = "Example:\n  kith prime check\n  kith prime check --json")]
    Check,
    /// Check any file as a script
    #[command(after_help = "Example:\n  kith prime parse draft.md --json")]
    Parse {
        /// File to read
        file: PathBuf,
    },
    /// Print a session as a script
    #[command(after_help = "Example:\n  kith prime export latest > draft.md")]
    Export {
        #[arg(help = SESSION_DEFAULT)]
        session: Option<String>,
    },
    /// Write a short script to edit
    #[command(after_help = "Example:\n  kith prime new greeting --title 问候")]
    New {
        #[arg(help = SLUG)]
        slug: String,
        #[arg(long, help = TITLE)]
        title: Option<String>,
        /// Write it for every agent of the house, not only this one
        #[arg(long)]
        shared: bool,
    },
    /// Save a session as a script that others can start with
    Save(PrimeSave),
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith prime save latest probe\n  \
                        kith prime save latest team/manners --shared --overwrite")]
pub(crate) struct PrimeSave {
    #[arg(help = SESSION)]
    pub(crate) session: String,
    #[arg(help = SLUG)]
    pub(crate) slug: String,
    #[arg(long, help = TITLE)]
    pub(crate) title: Option<String>,
    /// Save it for every agent of the house, not only this one
    #[arg(long)]
    pub(crate) shared: bool,
    /// Replace an existing script of that name
    #[arg(long)]
    pub(crate) overwrite: bool,
}
