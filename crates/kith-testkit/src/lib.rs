//! The fakes and fixtures that the tests of every crate share.
//!
//! Only what we do not own is faked: the clock, the disk, the model, a tool's effect. Everything
//! here is deterministic, so a failing test fails again. Read in this order:
//!
//! - [`clock`]: time that stands still until it is told to move.
//! - [`files`]: a disk that can fail, tear or forget any single write.
//! - [`gate`]: a moment that lasts until the test ends it.
//! - [`scripted`]: a model that answers from a script.
//! - [`obeying`]: a model that does whatever any text tells it to.
//! - [`tools`], [`policies`]: a tool that counts its runs, a policy that says one thing.
//! - [`validators`]: what the vendors accept, written from their rules and not from our code.
//! - [`server`]: a model server on loopback, for what only a socket can get wrong.
//! - [`another_user`]: a test run without privileges, for what the superuser never sees.
//! - [`skipped`]: tests that cannot run on this machine, named.
//! - [`transcript`]: a small language in which a whole log is one line.
//! - [`first_events`]: what a session begins with.
//! - [`samples`], [`events`]: every event by example, and logs in any order.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a fake that meets a broken promise should stop the test that relies on it"
)]

#[cfg(unix)]
pub mod another_user;
pub mod clock;
pub mod events;
pub mod files;
pub mod first_events;
pub mod gate;
pub mod obeying;
pub mod policies;
pub mod samples;
pub mod scripted;
pub mod server;
pub mod skipped;
pub mod tools;
pub mod transcript;
pub mod validators;

mod sheet;

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// The SHA-256 of the bytes in lower-case hex, as the log writes it.
pub fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("a string takes every write");
        hex
    })
}
