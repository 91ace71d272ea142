//! The life of an agent on disk: session logs, and the desk where promises to the outside are kept.
//!
//! Nothing else writes these files, so what a log may hold is decided in one place, for writer and
//! reader alike. Read in this order:
//!
//! - [`storage`]: the errors of storage.
//! - [`damage`]: what can be wrong with a session file, by name.
//! - `texts`: which texts of an event may be long, and how a line does without them.
//! - [`named_texts`]: the same for events that are sent to clients.
//! - [`mod@line`]: the form of one line.
//! - `blob`: long texts and outputs, each in a file named by its hash.
//! - `validator`: decides whether an event may follow those of a log.
//! - [`checkpoint`]: a place in a session file from which it can be read on.
//! - [`read`]: reads a session file and tells a torn tail from damage.
//! - [`log`]: one session, open for appending.
//! - [`store`]: the sessions of a house: made, opened, read, listed.
//! - [`journal`]: where session logs are kept, whatever keeps them.
//! - `last_line`, [`thread_file`]: what a thread looks like to others, derived from its sessions.
//! - [`own_file`]: which files of `.kith` are opened at all.
//! - [`disk`]: the real files.
//! - [`lock`]: the lock of a house; only its holder writes.
//! - [`socket`]: where the holder listens; [`access_token`]: what programs show it over
//!   HTTP; [`daemon_log`]: what it says when nobody is there; [`diagnostic_log`]: what happened, without
//!   a word of it; [`background_notes`]: the commands that
//!   run in it; `private_file`: small files that are the owner's alone.
//! - `database`: a SQLite file and its one connection.
//! - [`desk`]: promises to the outside (inbox, threads, wake-ups), in SQLite.
//! - [`approval_folder`]: pending approvals as files for people.
//! - [`backup`]: copies all of it while it is in use.
//! - [`words`]: splits text into words for searching.
//! - [`catalog`]: an index of the logs: lists, search, checkpoints.

pub mod damage;
pub mod storage;

mod blob;
pub mod checkpoint;
pub mod line;
pub mod named_texts;
pub mod read;
mod texts;
mod validator;

pub mod journal;
pub mod log;
pub mod store;

mod last_line;
pub mod thread_file;

pub mod access_token;
pub mod background_notes;
pub mod daemon_log;
pub mod diagnostic_log;
pub mod disk;
pub mod lock;
pub mod own_file;
mod private_file;
pub mod socket;

pub mod approval_folder;
pub mod backup;
pub mod catalog;
mod database;
pub mod desk;
pub mod words;

pub use blob::BLOB_BYTES_MAX;
pub use last_line::{LAST_LINE_BYTES_MAX, LastLine};
pub use texts::INLINE_TEXT_BYTES_MAX;

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod format_tests;
#[cfg(test)]
mod samples;
