//! `kith ask`: one message, one answer.

use std::fs;

use serde_json::Value;

use crate::check;
use crate::house::{House, lines_of, of_type, types};

#[test]
fn the_demo_model_answers_without_key_or_network_and_is_labelled() {
    let house = House::new();
    check!(house.kith(&["ask", "list the files"]), @"
    exit 0
    --- stdout
    I will use `list_files` for that.
    Here is what `list_files` gave:

    .: 1 entry
    Agent.md	9
    --- stderr
    note: using the built-in demo model; set ANTHROPIC_API_KEY or OPENAI_API_KEY to use a real one
    ");
    let log = house.log();
    check_types(&log);
}

#[track_caller]
fn check_types(log: &[Value]) {
    insta::assert_snapshot!(types(log), @"session_header instruction_snapshot toolset_snapshot user_message turn_started model_requested assistant_message call_judged tool_result model_requested assistant_message turn_ended");
}

#[test]
fn the_demo_model_is_not_labelled_when_it_was_named() {
    let ran = House::new().kith(&["ask", "say hi", "--model", "demo"]).succeeded();
    assert_eq!(ran.stderr, "");
    let ran = House::new().kith(&["--model", "demo", "ask", "say hi"]).succeeded();
    assert_eq!(ran.stderr, "");
}

#[test]
fn a_message_needs_no_quotes() {
    let house = House::new();
    house.kith(&["ask", "what", "is", "this", "--model", "demo"]).succeeded();
    let log = house.log();
    let message = of_type(&log, "user_message")[0];
    assert_eq!(message["message"]["content"][0]["text"], "what is this");
}

#[test]
fn the_json_form_has_exactly_these_keys() {
    let house = House::new();
    let answer = house.json(&["ask", "hello", "--json"]);
    let keys: Vec<&String> = answer.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "ok",
            "sessionId",
            "threadId",
            "leaf",
            "text",
            "usage",
            "stopReason",
            "end",
            "pendingApprovals"
        ]
    );
    assert_eq!(answer["end"], "done");
    assert_eq!(answer["ok"], true);
    assert_eq!(answer["stopReason"], "end_turn");
    assert_eq!(answer["pendingApprovals"], serde_json::json!([]));
    let usage: Vec<&String> = answer["usage"].as_object().unwrap().keys().collect();
    assert_eq!(usage, ["input", "output", "cacheRead", "cacheWrite"]);
    let log = house.log();
    assert_eq!(answer["leaf"], of_type(&log, "assistant_message")[0]["id"]);
    assert_eq!(answer["threadId"], "cli:room:.");
}

#[test]
fn a_message_may_come_from_stdin() {
    let house = House::new();
    let first = house.kith_with_input(&["ask", "--model", "demo"], "list the\nfiles\n").succeeded();
    let second = house.kith_with_input(&["ask", "-", "--model", "demo"], "hello").succeeded();
    assert_ne!(first.stdout, second.stdout);
    let log = house.log();
    let said: Vec<&Value> = of_type(&log, "user_message");
    assert_eq!(said[0]["message"]["content"][0]["text"], "list the\nfiles\n");
    assert_eq!(said[1]["message"]["content"][0]["text"], "hello");
}

#[test]
fn an_empty_message_is_wrong_usage_and_touches_nothing() {
    let house = House::new();
    check!(house.kith(&["ask", ""]), @r#"
    exit 2
    --- stderr
    error: the message is empty
    hint: for example `kith ask "hello"`
    "#);
    check!(house.kith_with_input(&["ask", "--json"], " \n\t"), @r#"
    exit 2
    --- stdout
    {"ok":false,"error":{"code":"usage","message":"the message is empty","hint":"for example `kith ask \"hello\"`"}}
    "#);
    assert_eq!(house.files(), ["Agent.md"]);
}

#[test]
fn a_message_that_is_not_utf_8_is_refused() {
    let house = House::new();
    check!(house.kith_with_input(&["ask"], b"ab\xffcd"), @"
    exit 1
    --- stderr
    error: stdin is not valid UTF-8 (byte 3)
    hint: convert it with `iconv -t UTF-8`
    ");
    assert_eq!(house.files(), ["Agent.md"]);
}

#[test]
fn a_message_of_ten_megabytes_is_refused() {
    let house = House::new();
    let long = "ä".repeat(5 * 1024 * 1024);
    check!(house.kith_with_input(&["ask"], long), @"
    exit 1
    --- stderr
    error: the message is longer than 8388608 bytes
    hint: put it in a file and ask the agent to read it
    ");
    assert_eq!(house.files(), ["Agent.md"]);
}

#[test]
fn a_repeated_message_id_gets_the_first_answer_and_adds_no_event() {
    let house = House::new();
    let first = house.json(&["ask", "list the files", "--message-id", "m1", "--json"]);
    let log = fs::read(house.session_file()).unwrap();
    let again = house.json(&["ask", "list the files", "--message-id", "m1", "--json"]);
    assert_eq!(again, first);
    // Under the same id, another message is refused instead of being dropped.
    check!(house.kith(&["ask", "something else", "--message-id", "m1", "--json"]), @r#"
    exit 1
    --- stdout
    {"ok":false,"error":{"code":"conflict","message":"`cli:local:m1` was already used for a different message","hint":"send it with another `--message-id`, or without one"}}
    "#);
    let elsewhere = ["ask", "list the files", "--message-id", "m1", "--thread", "web:room:x"];
    let refused = house.kith(&[&elsewhere[..], &["--json"]].concat()).json();
    assert_eq!(refused["error"]["code"], "conflict", "{refused}");
    assert_eq!(fs::read(house.session_file()).unwrap(), log);
    house.json(&["ask", "hello", "--message-id", "m2", "--json"]);
    let again = house.json(&["ask", "list the files", "--message-id", "m1", "--json"]);
    assert_eq!(again, first);
    let again = house.json(&["ask", "list the files", "--message-id", "m1", "--new", "--json"]);
    assert_eq!(again, first);
    let users = of_type(&house.log(), "user_message").len();
    assert_eq!(users, 2);
}

#[test]
fn a_message_id_used_with_another_agent_is_a_conflict() {
    let house = House::empty();
    house.write("kith.toml", "[agents.ux]\nhome = \"ux\"\n[agents.dev]\nhome = \"dev\"\n");
    house.write("ux/Agent.md", "Draw.\n");
    house.write("dev/Agent.md", "Build.\n");
    let ask = |agent| {
        let args = ["--model", "demo", "ask", "say one", "--message-id", "1", "--json"];
        house.kith(&[&["--agent", agent], &args[..]].concat()).json()
    };
    let first = ask("ux");
    assert_eq!(first["text"], "one", "{first}");
    let other = ask("dev");
    assert_eq!(other["error"]["code"], "conflict", "{other}");
    assert_eq!(ask("ux"), first);
    assert_eq!(of_type(&house.log(), "user_message").len(), 1);
}

#[test]
fn an_invalid_message_id_is_refused() {
    let house = House::new();
    check!(house.kith(&["ask", "hi", "--message-id", ""]), @"
    exit 2
    --- stderr
    error: the message id is empty
    hint: omit `--message-id`, or give it a value
    ");
    check!(house.kith(&["ask", "hi", "--message-id", &"x".repeat(600)]), @"
    exit 1
    --- stderr
    error: the message's key has 610 bytes; it must have 1 to 512
    ");
    assert_eq!(house.session_files().len(), 0);
}

#[test]
fn a_folder_has_its_thread_and_goes_on_with_its_session() {
    let house = House::new();
    let first = house.json(&["ask", "one", "--json"]);
    let second = house.json(&["ask", "two", "--json"]);
    assert_eq!(first["sessionId"], second["sessionId"]);
    fs::create_dir(house.path("below")).unwrap();
    let mut below = house.command(&["ask", "three", "--json"]);
    let output = below.current_dir(house.path("below")).output().unwrap();
    let below: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_ne!(below["threadId"], first["threadId"]);
    assert_ne!(below["sessionId"], first["sessionId"]);
    assert_eq!(house.session_files().len(), 2);
}

#[test]
fn new_begins_a_session_that_the_thread_goes_on_with() {
    let house = House::new();
    let first = house.json(&["ask", "one", "--json"]);
    let second = house.json(&["ask", "two", "--new", "--json"]);
    let third = house.json(&["ask", "three", "--json"]);
    assert_eq!(first["threadId"], second["threadId"]);
    assert_ne!(first["sessionId"], second["sessionId"]);
    assert_eq!(second["sessionId"], third["sessionId"]);
}

#[test]
fn a_session_keeps_its_thread_in_every_folder() {
    let house = House::new();
    let first = house.json(&["ask", "one", "--thread", "web:room:notes", "--json"]);
    assert_eq!(first["threadId"], "web:room:notes");
    let id = first["sessionId"].as_str().unwrap();
    for name in [id, &id[..20], &id[28..], "latest"] {
        let answer = house.json(&["ask", "on", "--session", name, "--json"]);
        assert_eq!(answer["sessionId"], id, "{name}");
        assert_eq!(answer["threadId"], "web:room:notes", "{name}");
    }
    assert_eq!(lines_of(&house.session_file())[0]["threadId"], "web:room:notes");
}

#[test]
fn an_invalid_thread_is_wrong_usage() {
    let house = House::new();
    check!(house.kith(&["ask", "hi", "--thread", "nonsense"]), @"
    exit 2
    --- stderr
    error: `nonsense` is not a thread id (`platform:scopeType:scopeId`)
    hint: use a thread id such as `--thread web:room:notes`
    ");
    assert_eq!(house.files(), ["Agent.md"]);
}

#[test]
fn a_missing_session_is_named() {
    let house = House::new();
    check!(house.kith(&["ask", "hi", "--session", "ffff"]), @"
    exit 1
    --- stderr
    error: there is no session `ffff`
    hint: `kith session ls` lists the sessions
    ");
    check!(house.kith(&["ask", "hi", "--session", "latest", "--json"]), @r#"
    exit 1
    --- stdout
    {"ok":false,"error":{"code":"session_not_found","message":"there are no sessions yet"}}
    "#);
    assert_eq!(house.session_files().len(), 0);
}

#[test]
fn the_stream_is_one_event_or_delta_per_line_and_the_answer_last() {
    let house = House::new();
    let ran = house.kith(&["ask", "list the files", "--stream-json"]).succeeded();
    let lines = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap());
    let lines: Vec<Value> = lines.collect();
    let (answer, lines) = lines.split_last().unwrap();
    assert_eq!((&answer["type"], &answer["ok"]), (&Value::from("answer"), &Value::from(true)));
    let streamed: Vec<&Value> =
        lines.iter().filter(|line| line["type"] == "event").map(|line| &line["event"]).collect();
    // Deltas may be lost on a slow machine; what comes is what the model says.
    let said = ["I will use `list_files` for that.", answer["text"].as_str().unwrap()];
    let texts = lines.iter().filter(|line| line["type"] == "delta");
    for text in texts.filter_map(|line| line["text"].as_str()) {
        assert!(said.iter().any(|said| said.contains(text)), "{text}");
    }
    // The two snapshots are there before anyone watches.
    let log = house.log();
    let written: Vec<&Value> = log[3..].iter().map(|event| &event["id"]).collect();
    let streamed: Vec<&Value> = streamed.iter().map(|event| &event["id"]).collect();
    assert_eq!(streamed, written);
}

#[test]
fn a_deleted_session_file_ends_the_session_and_not_the_conversation() {
    let house = House::new();
    house.kith(&["ask", "one"]).succeeded();
    fs::remove_file(house.session_file()).unwrap();
    check!(house.kith(&["ask", "say two", "--model", "demo"]), @"
    exit 0
    --- stdout
    two
    --- stderr
    note: the file of session [short] is missing; the conversation starts over
    ");
    house.kith(&["ask", "three"]).succeeded();
    assert_eq!(of_type(&house.log(), "user_message").len(), 2);
}
