//! The help of every command, as a person reads it.

use clap::{Arg, Command, CommandFactory as _};

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
