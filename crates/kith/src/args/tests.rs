//! The help of every command, as a person reads it.

use clap::{Command, CommandFactory as _};

use super::Invocation;

#[test]
fn the_help_of_every_command_reads_so() {
    let mut command = Invocation::command();
    command.build();
    let mut pages = Vec::new();
    add_pages(&mut command, &mut pages);
    insta::assert_snapshot!("help", pages.join("\n"));
}

fn add_pages(command: &mut Command, pages: &mut Vec<String>) {
    pages.push(command.render_long_help().to_string());
    for command in command.get_subcommands_mut().filter(|it| it.get_name() != "help") {
        add_pages(command, pages);
    }
}
