//! Arguments of `kith steer` and `kith queue`.

use clap::{Args, Subcommand};

use super::{ModelArg, SESSION_OR_CURRENT, STREAM_JSON};

/// The help of every argument that names a waiting message.
const QUEUE_ITEM: &str = "Number of the message in `kith queue ls`, or its id";

#[derive(Debug, Args)]
pub(crate) struct Steer {
    /// Message to send; piped input follows it. `-` reads only stdin
    pub(crate) text: Vec<String>,
    #[arg(long, help = SESSION_OR_CURRENT, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    #[arg(long, help = STREAM_JSON, conflicts_with = "json")]
    pub(crate) stream_json: bool,
    #[command(flatten)]
    pub(crate) model: ModelArg,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum QueueCommand {
    /// List waiting messages in the order in which they are answered
    #[command(after_help = "Example:\n  kith queue ls")]
    Ls {
        #[arg(long, help = SESSION_OR_CURRENT, value_name = "SESSION")]
        session: Option<String>,
    },
    /// Add a message: it is answered after the running turn, or at once if none runs
    #[command(after_help = "Example:\n  kith queue add \"then run the tests\"")]
    Add(Steer),
    /// Replace the text of a waiting message
    #[command(after_help = "Example:\n  kith queue edit 1 \"use the other file\"")]
    Edit {
        #[arg(help = QUEUE_ITEM)]
        item: String,
        /// New text; `-`, or nothing with piped input, reads stdin
        text: Vec<String>,
        #[arg(long, help = SESSION_OR_CURRENT, value_name = "SESSION")]
        session: Option<String>,
    },
    /// Remove a waiting message
    #[command(after_help = "Example:\n  kith queue rm 1")]
    Rm {
        #[arg(help = QUEUE_ITEM)]
        item: String,
        #[arg(long, help = SESSION_OR_CURRENT, value_name = "SESSION")]
        session: Option<String>,
    },
    /// Move a waiting message to another place in the queue
    #[command(after_help = "Example:\n  kith queue move 3 1")]
    Move {
        #[arg(help = QUEUE_ITEM)]
        item: String,
        /// Place it gets, from 1
        to: u32,
        #[arg(long, help = SESSION_OR_CURRENT, value_name = "SESSION")]
        session: Option<String>,
    },
    /// Answer the first waiting message of a queue that is held because a turn failed or was stopped
    #[command(after_help = "Example:\n  kith queue go")]
    Go {
        #[arg(long, help = SESSION_OR_CURRENT, value_name = "SESSION")]
        session: Option<String>,
    },
}
