//! Arguments of `kith session`.

use clap::{Args, Subcommand, ValueEnum};

use super::{ModelArg, SESSION, SESSION_DEFAULT};

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum SessionCommand {
    /// List sessions, newest first; in a terminal, `*` marks this folder's
    #[command(after_help = "Example:\n  kith session ls\n  kith session ls --limit 20")]
    Ls {
        /// Maximum number of sessions
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        limit: Option<u32>,
    },
    /// Show a session as a transcript
    Show(SessionShow),
    /// Rebuild every request of a session and compare it with what was sent
    #[command(after_help = "Example:\n  kith session verify\n  kith session verify latest")]
    Verify {
        #[arg(help = SESSION_DEFAULT)]
        session: Option<String>,
    },
    /// Go through a session again and check that all that was decided follows from what came before
    #[command(after_help = "Example:\n  kith session replay\n  kith session replay latest")]
    Replay {
        #[arg(help = SESSION_DEFAULT)]
        session: Option<String>,
    },
    /// Print a session for use elsewhere
    #[command(after_help = "Example:\n  kith session export latest > session.jsonl\n  \
                            kith session export latest --format markdown > session.md\n  \
                            kith session export latest --format uimessages > messages.json")]
    Export {
        #[arg(help = SESSION_DEFAULT)]
        session: Option<String>,
        /// One event per line, a Markdown document, or a JSON array of AI SDK `UIMessage`s
        #[arg(long, value_enum, default_value_t = ExportFormat::Jsonl)]
        format: ExportFormat,
    },
    /// Set a session's title
    #[command(after_help = "Example:\n  kith session rename latest \"the garden plan\"")]
    Rename {
        #[arg(help = SESSION)]
        session: String,
        /// Title, on one line
        #[arg(required = true)]
        title: Vec<String>,
    },
    /// Copy the readable part of a damaged session into a new one
    #[command(after_help = "Example:\n  kith session repair\n  kith session repair latest")]
    Repair {
        #[arg(help = SESSION_DEFAULT)]
        session: Option<String>,
    },
    /// Search the messages of all sessions, newest first
    #[command(
        after_help = "Example:\n  kith session search garden plan\n  kith session search 天气"
    )]
    Search {
        /// Words to find; all must match, from the start of a word
        #[arg(required = true)]
        query: Vec<String>,
        /// Maximum number of results
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
        limit: u32,
    },
    /// Remove a session permanently, with its log and everything only it uses
    Rm(SessionRm),
    /// Show the session's branches as a tree, one line per turn
    #[command(after_help = "Example:\n  kith session tree\n  kith session tree latest")]
    Tree {
        #[arg(help = SESSION_DEFAULT)]
        session: Option<String>,
    },
    /// Continue a session from an earlier point. Later messages stay in the log
    #[command(after_help = "Example:\n  kith session branch latest --to 4c1ec498\n  \
                            kith session branch latest --to start")]
    Branch {
        #[arg(help = SESSION_DEFAULT)]
        session: Option<String>,
        /// Event: the beginning of its id as `kith session tree` prints it, or `start`; moves to the turn
        /// boundary at or before it
        #[arg(long, value_name = "EVENT")]
        to: String,
        /// Branch only if the conversation still ends here: a whole event id, or `start`
        #[arg(long, value_name = "LEAF")]
        expected_leaf: Option<String>,
    },
    /// Ask a message again, with another model, on a branch of its own
    #[command(after_help = "Example:\n  kith session rerun latest --model demo\n  \
                            kith session rerun latest --at 4c1ec498 --model demo")]
    Rerun {
        #[arg(help = SESSION_DEFAULT)]
        session: Option<String>,
        /// Event of the turn to ask again, by the beginning of its id; by default, the last turn
        #[arg(long, value_name = "EVENT")]
        at: Option<String>,
        #[command(flatten)]
        model: ModelArg,
    },
    /// Copy a conversation into a new session with its own thread
    #[command(after_help = "Example:\n  kith session clone latest\n  \
                            kith session clone latest --at 4c1ec498")]
    Clone {
        #[arg(help = SESSION_DEFAULT)]
        session: Option<String>,
        /// Copy only up to this event: the beginning of its id, or `start`
        #[arg(long, value_name = "EVENT")]
        at: Option<String>,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith session show latest\n  kith session show --all 4c1ec498")]
pub(crate) struct SessionShow {
    #[arg(help = SESSION_DEFAULT)]
    pub(crate) session: Option<String>,
    /// Show every event with its time and kind, including those a transcript leaves out
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    Jsonl,
    Markdown,
    Uimessages,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith session rm 4c1ec498\n  kith session rm 4c1ec498 --yes")]
pub(crate) struct SessionRm {
    #[arg(help = SESSION)]
    pub(crate) session: String,
    /// Do not ask for confirmation
    #[arg(long)]
    pub(crate) yes: bool,
}
