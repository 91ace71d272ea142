//! The nouns of Kith and the ports through which it touches the world.
//!
//! Nothing here does I/O or reads a clock: a log is a value, and everything that is decided from
//! it can be decided again. Read in this order:
//!
//! - [`ids`]: names of events, sessions, calls and threads.
//! - [`text`]: an immutable text with shared ownership.
//! - [`json`]: JSON that keeps its bytes.
//! - [`invisible`]: characters that a reader does not see.
//! - [`secret`]: secrets, and the filter that keeps them from leaving.
//! - [`digest`]: hashes as we write them.
//! - [`bounded`]: bytes up to a limit.
//! - [`block`]: the blocks of a message.
//! - [`snapshot`]: the frozen instructions and tool list of a session.
//! - [`event`]: the words a session log is written in.
//! - [`header`]: the first line of a session.
//! - [`audience`]: who can read a thread.
//! - [`validate`]: rules that a well-typed event may still break.
//! - [`conversation`]: the content of a request, independent of vendors.
//! - [`ingress`]: events that wake an agent.
//! - [`queue_hold`]: whether what is queued waits for a person.
//! - [`facts`]: what tools record about paths and addresses.
//! - `schema`: these types in the description of calls.
//! - [`provider`], [`tool`], [`policy`], [`session_search`], [`clock`], [`files`]: the ports.
//! - [`blocking`]: the one place where an async task may wait for the disk.

pub mod audience;
pub mod block;
pub mod bounded;
pub mod conversation;
pub mod digest;
pub mod event;
pub mod facts;
pub mod header;
pub mod ids;
pub mod ingress;
pub mod invisible;
pub mod json;
pub mod queue_hold;
mod schema;
pub mod secret;
pub mod snapshot;
pub mod text;
pub mod validate;

pub mod blocking;
pub mod budget;
pub mod clock;
pub mod files;
pub mod policy;
pub mod provider;
pub mod session_search;
pub mod tool;
