//! The life of an agent on disk: session logs, and the desk where promises to the outside are kept.
//!
//! Nothing else writes these files, so what a log may hold is decided in one place, for the hand
//! that writes and for the eye that reads. Read in this order:
//!
//! - [`damage`]: what can be wrong with a session file, by name.
//! - [`line`]: the form of one line.
//! - `past`: what a log must remember to judge the next event.
//! - [`read`]: a session file read from its beginning, torn tail told from damage.
//! - [`log`]: one session, open for appending.
//! - [`store`]: the sessions of a house: made, opened, read, listed.
//! - [`disk`]: the real files.
//! - [`lock`]: whoever holds it writes.
//! - [`desk`]: what is promised to the outside, in SQLite.

pub mod damage;
pub mod line;
mod past;
pub mod read;

pub mod log;
pub mod store;

pub mod disk;
pub mod lock;

pub mod desk;

#[cfg(test)]
mod faults;
#[cfg(test)]
mod format_tests;
#[cfg(test)]
mod samples;
