//! `kith new` and `kith prime`, as typed.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Begin a new session of this folder's thread, empty or with a history that scripts tell
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith new --prime individual/main/probe\n  \
                        kith new --prime team_shared/manners --hide-primed")]
pub(crate) struct New {
    /// Begin with the history of this script (`kith prime ls` lists them); may stand several times
    #[arg(long, value_name = "REF")]
    pub(crate) prime: Vec<String>,
    /// Do not show that history in transcripts; the model gets it all the same
    #[arg(long)]
    pub(crate) hide_primed: bool,
    /// As if started in this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// In this thread (`platform:scopeType:scopeId`)
    #[arg(long, value_name = "THREAD")]
    pub(crate) thread: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Prime {
    Ls(PrimeLs),
    Show(PrimeShow),
    Check(PrimeCheck),
    Parse(PrimeParse),
    Export(PrimeExport),
    Save(PrimeSave),
}

/// List the scripts that this agent may use, the last used first
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith prime ls\n  kith prime ls probe")]
pub(crate) struct PrimeLs {
    /// Only those with this text in reference or title
    pub(crate) query: Option<String>,
}

/// Print a script as it is understood
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith prime show individual/main/probe")]
pub(crate) struct PrimeShow {
    /// `individual/<member>/<slug>` or `team_shared/<slug>`
    #[arg(value_name = "REF")]
    pub(crate) script_ref: String,
}

/// Read every script of the house and name what is wrong, with file and line
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith prime check\n  kith prime check --json")]
pub(crate) struct PrimeCheck {}

/// Read one file as a script, wherever it lies
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith prime parse draft.md --json")]
pub(crate) struct PrimeParse {
    /// The file
    pub(crate) file: PathBuf,
}

/// Print a session as a script
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith prime export latest > draft.md")]
pub(crate) struct PrimeExport {
    /// A session id, a beginning or an end of one (`session ls` prints ends), or `latest`
    pub(crate) session: String,
}

/// Keep a session as a script, to begin others with
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith prime save latest probe\n  \
                        kith prime save latest team/manners --shared --overwrite")]
pub(crate) struct PrimeSave {
    /// A session id, a beginning or an end of one (`session ls` prints ends), or `latest`
    pub(crate) session: String,
    /// Its name: segments of letters, digits, `.`, `_` and `-`, joined by `/`
    pub(crate) slug: String,
    /// For every agent of the house, not for this one alone
    #[arg(long)]
    pub(crate) shared: bool,
    /// Replace a script of that name
    #[arg(long)]
    pub(crate) overwrite: bool,
}
