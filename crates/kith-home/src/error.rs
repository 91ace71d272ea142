//! Errors that make a home unusable, and problems with single files.
//!
//! An error stops the session, because its agent would differ from the one that was written down. A
//! problem is reported, and the session begins.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    #[error("`{}` is not an agent's home: it contains neither `Agent.md` nor `AGENTS.md`", path.display())]
    NotAHome { path: PathBuf },
    #[error(
        "the agent in `{}` belongs to the repository `{}`, which is not trusted yet",
        home.display(), root.display()
    )]
    Untrusted { home: PathBuf, root: PathBuf },
    /// Leaving the file out silently would change who the agent is.
    #[error("cannot read prompt file `{}`", path.display())]
    ReadFile { path: PathBuf, source: io::Error },
    #[error("cannot open folder `{}`", path.display())]
    OpenFolder { path: PathBuf, source: io::Error },
    #[error("cannot create folder `{}`", path.display())]
    MakeFolder { path: PathBuf, source: io::Error },
    #[error("cannot write file `{}`", path.display())]
    WriteFile { path: PathBuf, source: io::Error },
    #[error("`{agent_id}` is not an agent id (1 to 64 of `a` to `z`, `0` to `9`, `-` and `_`)")]
    AgentId { agent_id: String },
    #[error("the clock shows {now_ms} milliseconds since 1970, which is not a valid date")]
    Time { now_ms: u64 },
}

/// A problem with one file, in words that follow its path: "`AGENTS.md` is not a file".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("is not a regular file, so it is ignored; replace it with a file or remove it")]
    NotAFile,
    #[error("is not a folder, so it is ignored; replace it with a folder or remove it")]
    NotAFolder,
    #[error("belongs to user {uid}, so it is ignored; run `chown` on it if it is yours")]
    ForeignOwner { uid: u32 },
    #[error("is writable by every user, so it is ignored; run `chmod o-w` on it")]
    WritableByOthers,
    /// Of the home: leaving it out would change who the agent is.
    #[error("is writable by every user; run `chmod o-w` on it")]
    LooseInHome,
    #[error("is a link that points outside `{}`, so it is ignored", within.display())]
    LeadsOutside { within: PathBuf },
    #[error(
        "is ignored because the repository `{}` is not trusted; run `kith trust .` in it to trust it",
        root.display()
    )]
    RepositoryNotTrusted { root: PathBuf },
    #[error(
        "is ignored because it changed while a command ran that may have written untrusted text; read \
         it, and run `touch` on it if it is right"
    )]
    WrittenByCommand,
    #[error("is ignored because it could not be read: {reason}")]
    Unreadable { reason: String },
    #[error("contains bytes that are not UTF-8; they were replaced")]
    NotText,
    /// `None`: the file is too large to count.
    #[error("is too long; {} characters were left out of the prompt", missing(*missing_chars))]
    Cut { missing_chars: Option<u64> },
}

fn missing(chars: Option<u64>) -> String {
    chars.map_or_else(|| "most of its".to_owned(), |chars| chars.to_string())
}
