//! Runs the real program in a house of its own.
//!
//! Each test makes a house in a temporary folder and runs the binary there with an environment of
//! its own, so nothing of this machine and no network is touched. A run is compared whole: exit
//! code, stdout, stderr.

#![cfg(unix)]
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests prepare folders and processes"
)]

mod another_user;
mod anywhere;
mod approving;
mod ask;
mod attach;
mod background;
mod backup;
mod bad_input;
mod bad_servers;
mod canary;
mod chat;
mod commands;
mod config;
mod conventions;
mod damage;
mod disks;
mod explain;
mod from_host;
mod git;
mod guide;
mod help;
mod house;
mod houses_in_workspace;
mod init;
mod json_page;
mod killing;
mod kith_folder;
mod language;
mod logs;
mod made_repositories;
mod many;
mod model;
mod models;
mod naming;
mod network;
mod new;
mod newcomer;
mod ordinary;
mod peer;
mod plain;
mod prime;
mod project;
mod prompt;
mod proxy;
mod queue;
mod reload;
mod reminders;
mod remote;
mod resources;
mod retry;
mod sandbox;
mod screens;
mod search;
mod sent;
mod session;
mod skill;
mod stopping;
mod strangers;
mod supervisor;
mod task;
mod teams;
mod terminal;
mod terminal_chat;
mod terminal_commands;
mod terminal_lists;
mod terminal_questions;
mod thread;
mod tree;
mod trust;
mod up;
mod upkeep;
mod vouching;
mod why;

/// Compares a run with its text; ids, times and folders are replaced by their names.
macro_rules! check {
    ($ran:expr, @$expected:literal) => {{
        let text = $ran.shown();
        insta::with_settings!({ filters => $crate::FILTERS.to_vec() }, {
            insta::assert_snapshot!(text, @$expected);
        });
    }};
}
pub(crate) use check;

const FILTERS: [(&str, &str); 9] = [
    (r"\((\d+\.)?\d+ [KM]B\)", "([size])"),
    (r"\d{8} characters", "[n] characters"),
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b", "[id]"),
    (r"cli:room:([0-9a-f]{16}|\.(/\S+)?)", "cli:room:[cwd]"),
    (r"\b[0-9a-f]{64}\b", "[sha256]"),
    (r"\b[0-9a-f]{8}\b", "[short]"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "[time]"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d", "[minute]"),
    (r"127\.0\.0\.1:\d+", "[server]"),
];
