//! The program: arguments, commands and what is printed. The running house is `kith-host`.
//!
//! - [`args`]: the command line, as typed.
//! - [`commands`]: what each verb does.
//! - [`resources`]: checks that there are enough threads, descriptors and memory.
//! - [`signals`]: Ctrl-C, termination and the limit on file sizes.
//! - [`screen`], [`transcript`]: a running turn, and a session as a person reads it.
//! - [`terminal`]: the conversation in a terminal.
//! - [`branches`]: the tree of a session in a terminal.
//! - [`completing`]: what could stand at the end of a command line.
//! - [`progress`], [`pager`]: long work and long lists.
//! - [`ui`]: the only place that prints.

mod args;
mod branches;
mod commands;
mod completing;
#[cfg(test)]
mod json_page;
mod pager;
mod progress;
mod resources;
mod screen;
mod signals;
mod terminal;
mod transcript;
mod ui;

use std::panic::{UnwindSafe, catch_unwind};
use std::process::ExitCode;

use kith_host::error::CallError;
use kith_host::sandbox;

pub(crate) fn run() -> ExitCode {
    // Before anything that may start a thread: only a process with one can make a sandbox.
    if let Some(code) = sandbox::supervise_if_asked(std::env::args_os().nth(1).as_deref()) {
        return code;
    }
    resources::end_without_threads();
    ui::conclude(guarded(|| match args::Invocation::parse() {
        Ok(invocation) => commands::run(invocation),
        Err(code) => code,
    }))
}

/// Runs the program so that a panic, which is a bug, does not look like a refusal or a failed disk.
fn guarded(run: impl FnOnce() -> ExitCode + UnwindSafe) -> ExitCode {
    catch_unwind(run).unwrap_or_else(|_| {
        let bug = CallError::bug("this is a bug in kith")
            .hint("please report it and include the lines above");
        ui::report_error(&bug, args::asks_for_json())
    })
}

#[cfg(test)]
mod tests;
