//! Command lines, and what could stand at their end.

use clap::CommandFactory as _;

use super::*;
use crate::program::args::Invocation;

fn completed(line: &str) -> Completion {
    let mut root = Invocation::command();
    root.build();
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    complete(&root, &words)
}

#[track_caller]
fn check(line: &str, expected: &[&str]) {
    let completion = completed(line);
    let words: Vec<&str> = completion.candidates.iter().map(|it| it.word.as_str()).collect();
    assert_eq!(words, expected, "{line}");
}

#[track_caller]
fn check_of_house(line: &str, expected: Option<HouseWords>) {
    assert_eq!(completed(line).of_house, expected, "{line}");
}

#[test]
fn commands_and_options_are_completed_where_they_can_stand() {
    check("sess", &["session"]);
    check("session re", &["replay", "rename", "repair", "rerun"]);
    check("--json session re", &["replay", "rename", "repair", "rerun"]);
    check("--home /tmp session br", &["branch"]);
    check("ask --mess", &["--message-id"]);
    check("ask --qui", &["--quiet"]);
    check("ask -- --qui", &[]);
    check("__comp", &[]);
    check("ask hello sess", &[]);
    check("completions ", &["bash", "zsh", "fish"]);
}

#[test]
fn values_are_completed_after_their_option() {
    check("--color ", &["auto", "always", "never"]);
    check("--color=n", &["never"]);
    check("session export --format u", &["uimessages"]);
    // bash hands over three words.
    check("--color = n", &["never"]);
    assert_eq!(completed("--color = n").before, "--color=");
}

#[test]
fn what_the_house_knows_is_asked_of_it() {
    use HouseWords::{Agents, Models, Scripts, Sessions, Skills, Threads};
    check_of_house("session show ", Some(Sessions));
    check_of_house("session show 4c ", None);
    check_of_house("resume ", Some(Sessions));
    check_of_house("ask --session ", Some(Sessions));
    check_of_house("--agent u", Some(Agents));
    check_of_house("agent rm ", Some(Agents));
    check_of_house("--model=s", Some(Models));
    check_of_house("model use ", Some(Models));
    check_of_house("new --prime ", Some(Scripts));
    check_of_house("prime show ", Some(Scripts));
    check_of_house("skill show ", Some(Skills));
    check_of_house("thread show ", Some(Threads));
    check_of_house("backup ", None);
    let completion = completed("--home /srv/a --agent ux session show ");
    assert_eq!(completion.home.as_deref(), Some("/srv/a"));
    assert_eq!(completion.agent.as_deref(), Some("ux"));
}
