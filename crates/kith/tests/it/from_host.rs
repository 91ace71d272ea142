//! The host gives the same answers as the files.

use serde_json::{Value, json};

use crate::house::House;
use crate::many::Staying;

/// Every command that only reads, for the latest session and the one skill and script there are.
pub(crate) const READS: [&[&str]; 19] = [
    &["session", "ls"],
    &["session", "show", "latest"],
    &["session", "show", "latest", "--all"],
    &["session", "verify", "latest"],
    &["session", "export", "latest"],
    &["session", "export", "latest", "--format", "markdown"],
    &["session", "export", "latest", "--format", "uimessages"],
    &["session", "search", "tree"],
    &["session", "tree", "latest"],
    &["thread", "ls"],
    &["thread", "show", "cli:"],
    &["prime", "ls"],
    &["prime", "show", "team_shared/greeting"],
    &["prime", "check"],
    &["skill", "ls"],
    &["skill", "show", "tidy"],
    &["skill", "check"],
    &["explain", "identity"],
    &["trust", "ls"],
];

pub(crate) const SKILL: &str = "---\nname: tidy\ndescription: Tidies up.\n---\nTidy.\n";
pub(crate) const SCRIPT: &str =
    "### record agent_words_record\n```\n---\ngenseq: 3\n---\nReady.\n```\n";

fn house() -> House {
    let house = House::new();
    house.write("skills/tidy/SKILL.md", SKILL);
    house.write(".minds/priming/team_shared/greeting.md", SCRIPT);
    house
}

#[test]
fn a_host_answers_what_the_files_say() {
    let house = house();
    let mut host = Staying::new(&house, &["--model", "demo"], "say tree");
    assert_eq!(host.hear(), "tree");
    for command in READS {
        for form in [&[][..], &["--json"]] {
            let here = house.kith(&[command, form].concat()).succeeded();
            let there = house.kith(&[command, form, &["--from-host"]].concat()).succeeded();
            assert_eq!(there.shown(), here.shown(), "{command:?} {form:?}");
        }
    }
    let prompt = house.json(&["prompt", "--json", "--from-host"]);
    assert_eq!(prompt["ok"], true);
    let doctor = house.json(&["doctor", "--json", "--from-host"]);
    assert_eq!(doctor["checks"][0]["name"], "platform", "{doctor}");
    assert_eq!(host.end().0, 0);
}

#[test]
fn without_a_host_the_command_becomes_one_and_answers() {
    let house = house();
    house.kith(&["ask", "say tree", "--model", "demo"]).succeeded();
    let here = house.kith(&["session", "show", "latest"]).succeeded();
    let there = house.kith(&["session", "show", "latest", "--from-host"]).succeeded();
    assert_eq!(there.shown(), here.shown());
    assert!(!house.path(".kith/host.sock").exists());
}

#[test]
fn commands_that_only_read_write_nothing() {
    let house = house();
    let before = house.files();
    for command in READS {
        house.kith(command);
    }
    house.kith(&["doctor"]);
    assert_eq!(house.files(), before);
}

#[test]
fn a_refusal_of_the_host_is_the_refusal_of_the_files() {
    let house = house();
    let mut host = Staying::new(&house, &["--model", "demo"], "say tree");
    assert_eq!(host.hear(), "tree");
    for (command, code) in [
        (&["session", "show", "nobody", "--json"][..], "session_not_found"),
        (&["skill", "show", "nothing", "--json"], "invalid_request"),
        (&["prime", "show", "team_shared/nothing", "--json"], "invalid_request"),
        (&["prime", "show", "nothing", "--json"], "invalid_request"),
        (&["prime", "show", "no thing", "--json"], "usage"),
    ] {
        let here = house.kith(command);
        let there = house.kith(&[command, &["--from-host"]].concat());
        assert_eq!(there.shown(), here.shown(), "{command:?}");
        let answer: Value = there.json();
        assert_eq!(answer["error"]["code"], json!(code), "{answer}");
    }
    assert_eq!(host.end().0, 0);
}
