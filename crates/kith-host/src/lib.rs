//! The running house: settings, trust, models, sessions and whoever may speak to them.
//!
//! Nothing here prints, reads arguments or knows a terminal; a program that does is a client.
//!
//! - [`house`], [`settings`], [`team`], [`models`], [`price`], [`opening`], [`skills`], [`policy`], [`sandbox`],
//!   [`clock`]: what the engine is wired up with.
//! - [`trust`], [`vouching`]: whose files may speak, whose settings count, how far text from a path
//!   is trusted.
//! - [`secrets`]: the secrets that must not leave; [`tainted_files`]: files that strangers may have
//!   shaped.
//! - [`init`]: making an agent; [`agents`]: those of a house.
//! - [`call`], [`caller`], [`calls`], [`router`], [`routes`]: requests as types, who makes them, and
//!   who answers which.
//! - [`client`]: how a program asks; [`attachments`]: files that go along with a message.
//! - [`read_side`], [`host`]: who answers, from the files or as the writer of the house.
//! - [`connection`], [`attach`], `any_call`, [`serve`], [`protocol`]: the host in another process.
//! - [`http`]: the host for browsers and programs; [`daemon`], [`service`]: a host that stays; [`remote`]: a host on
//!   another machine.
//! - [`priming`]: the scripts that were chosen for a conversation; [`projects`]: the folders they take
//!   place in.
//! - [`diagnostics`]: logs, metrics and spans of what happens.
//! - [`doctor`]: what may be wrong with a house.
//! - [`error`]: what a call answers when it fails: a code, whose move it is, and what may help.
//! - [`words`]: short words for ids, times and outcomes; [`notes`]: what is told beside an answer;
//!   [`language`]: in which language.

#![cfg(unix)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests prepare folders"))]

pub mod agents;
mod any_call;
pub mod attach;
pub mod attachments;
pub mod budget;
pub mod call;
pub mod caller;
pub mod calls;
pub mod client;
pub mod clock;
pub mod connection;
pub mod daemon;
pub mod diagnostics;
pub mod doctor;
pub mod error;
pub mod host;
pub mod house;
pub mod http;
pub mod init;
pub mod language;
pub mod models;
pub mod notes;
pub mod opening;
pub mod policy;
pub mod price;
pub mod priming;
pub mod projects;
pub mod protocol;
pub mod read_side;
pub mod remote;
pub mod replies;
pub mod router;
pub mod routes;
pub mod sandbox;
pub mod secrets;
pub mod serve;
pub mod service;
pub mod session_search;
pub mod settings;
pub mod skills;
mod socket_peer;
pub mod tainted_files;
pub mod team;
pub mod trust;
pub mod vouching;
pub mod words;

#[cfg(test)]
mod tests;
