//! The program: one binary for the command line and, later, the daemon.
//!
//! - [`args`]: the command line, as typed.
//! - [`commands`]: one file per verb.
//! - [`client`], [`reading`], [`door`]: every command speaks to a client: a reader when nothing
//!   needs to be written, else the way into the house.
//! - [`host`], [`serve`], [`attach`], [`protocol`]: who answers behind the door, in this process or
//!   in another.
//! - [`house`], [`config`], [`team`], [`models`], [`price`], [`opening`], [`skills`], [`policy`],
//!   [`clock`], [`signals`]: what the engine is wired up with.
//! - [`trust`]: whose files may speak, and whose settings count.
//! - [`priming`]: the scripts that were chosen for a conversation.
//! - [`doctor`]: whether all is well.
//! - [`screen`], [`transcript`]: a turn as it is watched, a session as a person reads it.
//! - [`branches`], [`columns`]: the tree of a session in a terminal.
//! - [`report`], [`ui`]: errors in words, and the only place that prints.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests prepare folders"))]

#[cfg(unix)]
mod args;
#[cfg(unix)]
mod attach;
#[cfg(unix)]
mod branches;
#[cfg(unix)]
mod client;
#[cfg(unix)]
mod clock;
#[cfg(unix)]
mod columns;
#[cfg(unix)]
mod commands;
#[cfg(unix)]
mod config;
#[cfg(unix)]
mod doctor;
#[cfg(unix)]
mod door;
#[cfg(unix)]
mod host;
#[cfg(unix)]
mod house;
#[cfg(unix)]
mod models;
#[cfg(unix)]
mod opening;
#[cfg(unix)]
mod policy;
#[cfg(unix)]
mod price;
#[cfg(unix)]
mod priming;
#[cfg(unix)]
mod protocol;
#[cfg(unix)]
mod reading;
#[cfg(unix)]
mod report;
#[cfg(unix)]
mod screen;
#[cfg(unix)]
mod serve;
#[cfg(unix)]
mod signals;
#[cfg(unix)]
mod skills;
#[cfg(unix)]
mod team;
#[cfg(unix)]
mod transcript;
#[cfg(unix)]
mod trust;
#[cfg(unix)]
mod ui;

use std::process::ExitCode;

#[cfg(unix)]
fn main() -> ExitCode {
    use report::{Blame, Report};

    // A panic is a broken promise of ours. It must not look like a refusal or a failed disk.
    let outcome = std::panic::catch_unwind(|| match args::Invocation::parse() {
        Ok(invocation) => commands::run(invocation),
        Err(code) => code,
    });
    let code = outcome.unwrap_or_else(|_| {
        let bug = Report::new(Blame::Program, "internal_error", "this is a bug in kith")
            .hint("please report it, with the lines above");
        ui::failure(&bug, args::asks_for_json())
    });
    ui::conclude(code)
}

/// Locks, permissions and signals of another kind would be guesses, and guesses lose data.
#[cfg(not(unix))]
#[expect(clippy::print_stderr, reason = "here is no other file than this one")]
fn main() -> ExitCode {
    eprintln!(
        "error: kith runs on Linux and macOS only so far\nhint: on Windows, use it inside WSL"
    );
    ExitCode::FAILURE
}
