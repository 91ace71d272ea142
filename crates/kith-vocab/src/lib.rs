//! The nouns of Kith and the ports through which it touches the world.
//!
//! Nothing here does I/O or reads a clock: a log is a value, and everything that is decided from
//! it can be decided again. Read in this order:
//!
//! - [`ids`]: names of events, sessions, calls and threads.
//! - [`text`]: a text that many may hold.
//! - [`json`]: JSON that keeps its bytes.
//! - [`invisible`]: characters that a reader does not see.
//! - [`digest`]: hashes as we write them.
//! - [`bounded`]: bytes up to a limit.
//! - [`block`]: what a message is made of.
//! - [`snapshot`]: the frozen instructions and tool list of a session.
//! - [`event`]: the words a session log is written in.
//! - [`header`]: the first line of a session.
//! - [`audience`]: who can read a thread.
//! - [`validate`]: what a well-typed event may still get wrong.
//! - [`conversation`]: what a model is shown, in no vendor's words.
//! - [`ingress`]: what wakes an agent.
//! - [`provider`], [`tool`], [`policy`], [`clock`], [`files`]: the ports.
//! - [`blocking`]: the one place where an async task may wait for the disk.

pub mod audience;
pub mod block;
pub mod bounded;
pub mod conversation;
pub mod digest;
pub mod event;
pub mod header;
pub mod ids;
pub mod ingress;
pub mod invisible;
pub mod json;
pub mod snapshot;
pub mod text;
pub mod validate;

pub mod blocking;
pub mod clock;
pub mod files;
pub mod policy;
pub mod provider;
pub mod tool;
