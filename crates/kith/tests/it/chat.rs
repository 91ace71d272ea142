//! Plain `kith`, without a terminal: a message per line.

use crate::check;
use crate::house::{House, Vendor, of_type};
use kith_testkit::server::ServerReply;

#[test]
fn a_piped_conversation_answers_line_by_line() {
    let house = House::new();
    check!(house.kith_with_input(&[], "say one\n\n  \nlist the files\n"), @"
    exit 0
    --- stdout
    one

    Here is what `list_files` gave:

    .: 1 entry
    Agent.md	9
    --- stderr
    note: using the built-in demo model; set ANTHROPIC_API_KEY or OPENAI_API_KEY to use a real one
    ");
    assert_eq!(of_type(&house.log(), "user_message").len(), 2);
}

#[test]
fn a_last_line_without_a_newline_is_a_message() {
    let house = House::new();
    let ran = house.kith_with_input(&["--model", "demo"], "say one\r\nsay two").succeeded();
    assert_eq!(ran.stdout, "one\n\ntwo\n");
    assert_eq!(ran.stderr, "");
}

#[test]
fn an_empty_conversation_succeeds_and_starts_nothing() {
    let house = House::new();
    let ran = house.kith_with_input(&["--model", "demo"], "").succeeded();
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""));
    assert_eq!(house.session_files().len(), 0);
}

#[test]
fn new_and_quit_are_commands_and_unknown_ones_are_not_sent() {
    let house = House::new();
    let input = "say one\n/new\n/nwe\nsay two\n/quit\nsay three\n";
    check!(house.kith_with_input(&["--model", "demo"], input), @"
    exit 0
    --- stdout
    one

    two
    --- stderr
    (your next message starts a new session)
    (unknown command /nwe: /new /resume /sessions /branch /retry /model /why /cost /queue /compact /prime /help /quit)
    ");
    assert_eq!(house.session_files().len(), 2);
}

#[test]
fn a_sentence_that_begins_with_a_slash_is_sent() {
    let house = House::new();
    house.kith_with_input(&["--model", "demo"], "/etc/hosts is a file\n").succeeded();
    let log = house.log();
    let said = &of_type(&log, "user_message")[0]["message"]["content"][0]["text"];
    assert_eq!(said, "/etc/hosts is a file");
}

#[test]
fn a_conversation_has_no_json_form() {
    let house = House::new();
    check!(house.kith(&["--json"]), @r#"
    exit 2
    --- stdout
    {"ok":false,"error":{"code":"usage","message":"the interactive chat has no JSON output","hint":"use `kith ask --json TEXT` instead"}}
    "#);
    assert_eq!(house.files(), ["Agent.md"]);
}

#[test]
fn a_line_that_is_not_utf_8_ends_a_piped_conversation() {
    let house = House::new();
    check!(house.kith_with_input(&["--model", "demo"], b"say one\n\xff\nsay two\n"), @"
    exit 1
    --- stdout
    one
    --- stderr
    error: stdin is not valid UTF-8 (byte 1)
    hint: convert it with `iconv -t UTF-8`
    ");
    assert_eq!(of_type(&house.log(), "user_message").len(), 1);
}

#[test]
fn a_failing_model_ends_a_piped_conversation() {
    let vendor = Vendor::new([ServerReply::text("one"), ServerReply::Html]);
    let house = House::asking(&vendor);
    check!(house.kith_with_input(&[], "first\nsecond\nthird\n"), @"
    exit 3
    --- stdout
    one
    --- stderr
    error: `openai` answered with a web page instead of a model's answer: check the base URL
    ");
    assert_eq!(vendor.requests().len(), 2);
}
