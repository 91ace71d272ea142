//! The help of every command, as a person reads it.

use std::collections::BTreeSet;

use clap::{Arg, Command, CommandFactory as _, Parser as _};

use super::Invocation;

#[test]
fn the_help_of_every_command_is_as_expected() {
    let mut command = Invocation::command();
    command.build();
    let mut pages = vec![command.render_help().to_string()];
    for command in command.get_subcommands() {
        add_pages(command, &mut pages);
    }
    insta::assert_snapshot!("help", pages.join("\n"));
}

/// Adds the help of a command and of those beneath it, without the options that all have.
fn add_pages(command: &Command, pages: &mut Vec<String>) {
    let hide_shared = |arg: Arg| {
        let is_shared = arg.is_global_set() || arg.get_id() == "help";
        arg.hide(is_shared)
    };
    if command.get_name() == "help" {
        return;
    }
    pages.push(command.clone().mut_args(hide_shared).render_help().to_string());
    for command in command.get_subcommands() {
        add_pages(command, pages);
    }
}

/// What the page calls, and a command that does the same.
const COMMANDS_OF_PAGE_CALLS: &[(&str, &str)] = &[
    ("list_threads", "thread ls"),
    ("list_sessions", "session ls"),
    ("list_thread_sessions", "thread show cli:"),
    ("read_events", "session show latest --all"),
    // Ctrl-O in a chat prints the whole output of a call.
    ("read_blob", "resume latest"),
    ("search_sessions", "session search garden"),
    ("rename_session", "session rename latest plan"),
    ("describe_session", "session rm latest"),
    ("remove_session", "session rm latest --yes"),
    ("create_dialog", "new --prime individual/main/probe"),
    ("branch_session", "session branch latest --to 4c1ec498"),
    ("clone_session", "session clone latest"),
    ("cancel_turn", "cancel"),
    ("edit_queue", "queue edit 1 text"),
    ("take_next", "queue go"),
    ("list_approvals", "approvals ls"),
    ("list_grants", "grants ls"),
    ("revoke_grant", "grants rm 4c1ec498"),
    ("list_models", "model ls"),
    ("use_model", "model use demo"),
    ("list_scripts", "prime ls probe"),
    ("show_script", "prime show individual/main/probe"),
    ("export_script", "prime export latest"),
    ("save_script", "prime save latest probe"),
    ("explain_identity", "explain identity"),
    ("get_prompt", "prompt"),
    ("explain_request", "why latest@3 --body"),
    ("sum_costs", "cost --by model"),
    ("check_house", "doctor"),
    ("list_projects", "project ls"),
    ("register_project", "project add app"),
    ("remove_project", "project rm app"),
    // A shell completes the folder that the page lets people browse for.
    ("list_directories", "project add app"),
    ("list_repositories", "trust ls"),
    ("trust_repository", "trust ."),
    ("distrust_repository", "trust rm clone"),
    ("send_message", "ask hello"),
    ("retry_turn", "retry"),
    ("decide_approval", "approve 7QX --for 10m"),
    ("compact_session", "compact"),
    ("export_session", "session export latest"),
    ("subscribe", "resume latest"),
    ("follow_house", "resume latest"),
];

#[test]
fn everything_the_page_calls_has_a_command() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/src/wire/calls.ts");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, calls) = text.split_once("export interface Calls {").unwrap();
    // `  name: { body: …`
    let names = calls.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("  ")?.split_once(": {")?;
        let is_name = name.bytes().all(|it| it.is_ascii_lowercase() || it == b'_');
        (is_name && (rest.is_empty() || rest.starts_with(" body"))).then_some(name)
    });
    let of_page: BTreeSet<&str> = names.collect();
    let known: BTreeSet<&str> = COMMANDS_OF_PAGE_CALLS.iter().map(|(call, _)| *call).collect();
    assert_eq!(of_page, known);
    for (call, words) in COMMANDS_OF_PAGE_CALLS {
        let parsed = Invocation::try_parse_from(["kith"].into_iter().chain(words.split(' ')));
        assert!(parsed.is_ok_and(|it| it.command.is_some()), "{call}: kith {words}");
    }
}
