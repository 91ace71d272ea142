//! Why a home cannot be used, and what is odd about a file of one that can.
//!
//! The two are apart on purpose. An error stops: going on would give the session another self
//! than the one that was written down. A problem is told and the session begins.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    #[error("`{}` is not a home: it holds neither `Agent.md` nor `AGENTS.md`", path.display())]
    NotAHome { path: PathBuf },
    #[error(
        "the agent in `{}` belongs to the repository `{}`, which is not trusted yet",
        home.display(), root.display()
    )]
    Untrusted { home: PathBuf, root: PathBuf },
    /// Leaving the file out silently would change who the agent is.
    #[error("prompt file `{}` could not be read", path.display())]
    ReadFile { path: PathBuf, source: io::Error },
    #[error("folder `{}` could not be opened", path.display())]
    OpenFolder { path: PathBuf, source: io::Error },
    #[error("folder `{}` could not be made", path.display())]
    MakeFolder { path: PathBuf, source: io::Error },
    #[error("file `{}` could not be written", path.display())]
    WriteFile { path: PathBuf, source: io::Error },
    #[error("`{agent_id}` is not an agent id (1 to 64 of `a` to `z`, `0` to `9`, `-` and `_`)")]
    AgentId { agent_id: String },
    #[error("the clock shows {now_ms} milliseconds since 1970, which is no date")]
    Time { now_ms: u64 },
}

/// What is odd about one file, in words that follow its path: "`AGENTS.md` is not a file".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("is not a file and is left out; put a file in its place or remove it")]
    NotAFile,
    #[error("is not a folder and is left out; put a folder in its place or remove it")]
    NotAFolder,
    #[error("belongs to user {uid} and is left out; `chown` it if it is yours")]
    ForeignOwner { uid: u32 },
    #[error("can be written by every user and is left out; `chmod o-w` it")]
    WritableByOthers,
    /// Of the home: leaving it out would change who the agent is.
    #[error("can be written by every user; `chmod o-w` it")]
    LooseInHome,
    #[error("is a link that leads out of `{}` and is left out", within.display())]
    LeadsOutside { within: PathBuf },
    #[error(
        "is left out: the repository `{}` is not trusted yet; `kith trust .` in it changes that",
        root.display()
    )]
    RepositoryNotTrusted { root: PathBuf },
    #[error("is left out because it could not be read: {reason}")]
    Unreadable { reason: String },
    #[error("holds bytes that are not text; they were replaced")]
    NotText,
    /// `None`: the file is too large to count.
    #[error("is too long; {} characters are not in the prompt", missing(*missing_chars))]
    Cut { missing_chars: Option<u64> },
}

fn missing(chars: Option<u64>) -> String {
    chars.map_or_else(|| "most of its".to_owned(), |chars| chars.to_string())
}
