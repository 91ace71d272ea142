//! A turn that is stopped, killed or left alone: nothing is lost, doubled or half-written.

use kith_testkit::gate::Gate;
use kith_testkit::server::ServerReply;
use serde_json::Value;

use crate::check;
use crate::house::{House, Ran, Running, Vendor, of_type, types};

#[test]
fn ctrl_c_stops_a_stream_that_never_ends_and_what_was_said_is_kept() {
    let vendor = Vendor::new([ServerReply::Trickle { pause_ms: 1 }, ServerReply::text("again")]);
    let house = House::asking(&vendor);
    let mut running = house.start(&["ask", "talk for ever", "--stream-json"]);
    running.until("drip");
    running.signal("INT");
    let ran = running.finish();
    assert_eq!(ran.code, 130, "{}", ran.stderr);
    assert_eq!(Running::last_line(&ran)["error"]["code"], "cancelled");

    let log = house.log();
    insta::assert_snapshot!(types(&log), @"session_header instruction_snapshot toolset_snapshot user_message turn_started model_requested cancel_requested assistant_message turn_ended");
    assert_eq!(of_type(&log, "turn_ended")[0]["reason"], "cancelled");
    let partial = of_type(&log, "assistant_message")[0];
    assert_eq!(partial["stopReason"], "cancelled");
    assert!(partial["message"]["content"][0]["text"].as_str().unwrap().starts_with("drip "));
    assert_eq!(house.json(&["session", "verify", "latest", "--json"])["ok"], true);
    assert_eq!(house.json(&["ask", "and now?", "--json"])["text"], "again");
}

#[test]
fn ctrl_c_stops_the_wait_for_a_server_that_says_nothing() {
    check!(stopped_by("INT"), @r#"
    exit 130
    --- stdout
    {"type":"error","ok":false,"error":{"code":"cancelled","message":"the turn was stopped","hint":"your message is saved: `kith retry --session [short]` asks again, `kith session show [short]` shows it"}}
    "#);
}

#[test]
fn a_termination_signal_stops_the_turn_in_order() {
    check!(stopped_by("TERM"), @r#"
    exit 130
    --- stdout
    {"type":"error","ok":false,"error":{"code":"cancelled","message":"the turn was stopped","hint":"your message is saved: `kith retry --session [short]` asks again, `kith session show [short]` shows it"}}
    "#);
}

fn stopped_by(signal: &str) -> Ran {
    let vendor = Vendor::new([ServerReply::Hang]);
    let house = House::asking(&vendor);
    let mut running = house.start(&["ask", "hello?", "--stream-json"]);
    running.until("model_requested");
    vendor.until_asked(1);
    running.signal(signal);
    let ran = running.finish();
    assert_eq!(of_type(&house.log(), "turn_ended")[0]["reason"], "cancelled");
    last(ran)
}

/// The run with the last line of its stdout only.
fn last(mut ran: Ran) -> Ran {
    ran.stdout = format!("{}\n", ran.stdout.lines().last().unwrap());
    ran
}

#[test]
fn ctrl_c_stops_a_summary_and_the_conversation_stays_as_it_was() {
    let vendor =
        Vendor::new([ServerReply::text("hello"), ServerReply::Hang, ServerReply::text("again")]);
    let house = House::asking(&vendor);
    house.kith(&["ask", "hi"]).succeeded();
    let running = house.start(&["compact", "--json"]);
    vendor.until_asked(2);
    running.signal("INT");
    check!(running.finish(), @r#"
    exit 130
    --- stdout
    {"ok":false,"error":{"code":"cancelled","message":"the summary was cancelled; the conversation is unchanged"}}
    "#);
    let log = house.log();
    assert!(types(&log).ends_with("compact_requested model_requested cancel_requested"));
    assert_eq!(house.json(&["ask", "and now?", "--json"])["text"], "again");
    assert_eq!(vendor.bodies()[2]["messages"][1]["content"], "hi");
    assert_eq!(house.json(&["session", "verify", "latest", "--json"])["ok"], true);
}

#[test]
fn ctrl_c_of_a_summary_that_waits_for_a_turn_leaves_the_turn_alone() {
    let gate = Gate::new();
    let slow = ServerReply::text("two").behind(&gate);
    let vendor = Vendor::new([ServerReply::text("one"), slow, ServerReply::text("## Facts\n- x")]);
    let house = House::asking(&vendor);
    house.kith(&["ask", "first"]).succeeded();
    let mut turn = house.start(&["ask", "second", "--stream-json"]);
    vendor.until_asked(2);
    let running = house.start(&["compact"]);
    turn.until("compact_requested");
    running.signal("INT");
    check!(running.finish(), @"
    exit 130
    --- stderr
    error: stopped waiting for the summary
    hint: it is made by the running turn; `kith cancel` stops both
    ");
    gate.open();
    let turn = turn.finish();
    assert_eq!((turn.code, &Running::last_line(&turn)["text"]), (0, &"two".into()));
}

#[test]
fn a_second_ctrl_c_does_not_wait_for_a_host_that_does_not_stop_the_summary() {
    let vendor = Vendor::new([ServerReply::text("hello"), ServerReply::Hang, ServerReply::Hang]);
    let house = House::asking(&vendor);
    house.kith(&["ask", "hi"]).succeeded();
    let host = house.start(&["ask", "wait", "--thread", "web:room:other"]);
    vendor.until_asked(2);
    let running = house.start(&["compact"]);
    vendor.until_asked(3);
    host.signal("STOP");
    running.signal("INT");
    // Another signal, because two of a kind may be delivered as one.
    running.signal("TERM");
    check!(running.finish(), @"
    exit 130
    --- stderr
    error: quit without waiting for the summary to stop
    ");
    host.signal("KILL");
    host.finish();
}

#[test]
fn a_message_that_is_answered_first_is_told_before_its_answer() {
    let gate = Gate::new();
    let vendor = Vendor::new([
        ServerReply::Hang,
        ServerReply::text("first answer").behind(&gate),
        ServerReply::text("second answer"),
    ]);
    let house = House::asking(&vendor);
    let mut running = house.start(&["ask", "first", "--stream-json"]);
    running.until("model_requested");
    vendor.until_asked(1);
    running.signal("KILL");
    running.finish();
    let mut second = house.start(&["ask", "second", "--stream-json"]);
    // The first answer still waits.
    second.until("an earlier message had been interrupted and is answered first");
    gate.open();
    let ran = second.finish();
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(Running::last_line(&ran)["text"], "second answer");
}

#[test]
fn a_program_killed_in_the_middle_of_a_request_goes_on_where_it_was() {
    let vendor = Vendor::new([
        ServerReply::Hang,
        ServerReply::text("first answer"),
        ServerReply::text("second answer"),
    ]);
    let house = House::asking(&vendor);
    let mut running = house.start(&["ask", "first", "--message-id", "m1", "--stream-json"]);
    running.until("model_requested");
    vendor.until_asked(1);
    running.signal("KILL");
    assert_eq!(running.finish().code, -1);
    check!(house.kith(&["session", "ls"]), @"
    exit 0
    --- stdout
    [short]  [minute]  running    cli:room:[cwd]  first
    ");
    check!(house.kith(&["session", "verify", "latest"]), @"
    exit 0
    --- stdout
    OK: 5 events intact, 1 of 1 requests rebuilt byte for byte
    ");

    check!(house.kith(&["ask", "second"]), @"
    exit 0
    --- stdout
    second answer
    --- stderr
    note: an earlier message had been interrupted and is answered first: `kith session show [short]`
    ");
    let log = house.log();
    insta::assert_snapshot!(types(&log), @"session_header instruction_snapshot toolset_snapshot user_message turn_started model_requested resumed queue_update model_requested assistant_message turn_ended user_message turn_started queue_update model_requested assistant_message turn_ended");
    let users: Vec<_> = of_type(&log, "user_message")
        .iter()
        .map(|it| it["message"]["content"][0]["text"].as_str().unwrap())
        .collect();
    assert_eq!(users, ["first", "second"]);
    assert_eq!(house.json(&["session", "verify", "latest", "--json"])["ok"], true);
    let first = house.json(&["ask", "first", "--message-id", "m1", "--json"]);
    assert_eq!(first["text"], "first answer");
    assert_eq!(vendor.requests().len(), 3);
}

#[test]
fn the_same_message_said_again_after_a_kill_is_answered_once() {
    let vendor = Vendor::new([ServerReply::Hang, ServerReply::text("the answer")]);
    let house = House::asking(&vendor);
    let mut running = house.start(&["ask", "hello", "--message-id", "m1", "--stream-json"]);
    running.until("model_requested");
    vendor.until_asked(1);
    running.signal("KILL");
    running.finish();
    let answer = house.json(&["ask", "hello", "--message-id", "m1", "--json"]);
    assert_eq!(answer["text"], "the answer");
    let log = house.log();
    assert_eq!(of_type(&log, "user_message").len(), 1);
    assert_eq!(of_type(&log, "resumed").len(), 1);
}

#[test]
fn a_closed_stdout_does_not_end_a_turn_early() {
    let house = House::new();
    let mut running = house.start(&["ask", "list the files", "--stream-json"]);
    running.until("\"type\"");
    let ran = running.hang_up();
    assert_eq!((ran.code, ran.stderr.contains("error")), (0, false), "{}", ran.stderr);
    assert_eq!(of_type(&house.log(), "turn_ended")[0]["reason"], "done");
}

#[test]
fn a_list_whose_reader_is_gone_ends_quietly() {
    let house = House::new();
    house.kith(&["ask", "say one"]).succeeded();
    let ran = house.start(&["session", "ls"]).hang_up();
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
}

#[test]
fn closed_standard_streams_are_not_an_error() {
    let house = House::new();
    house.kith(&["ask", "say one"]).succeeded();
    let kith = env!("CARGO_BIN_EXE_kith");
    let mut shell = std::process::Command::new("sh");
    shell.current_dir(house.path("")).arg("-c").arg(format!("'{kith}' session ls >&- 2>&- <&-"));
    assert!(shell.status().unwrap().success());
}

#[test]
fn output_that_cannot_be_written_is_reported() {
    let house = House::new();
    house.kith(&["ask", "say one"]).succeeded();
    let Ok(full) = std::fs::File::options().write(true).open("/dev/full") else {
        let test = "output_that_cannot_be_written_is_reported";
        return kith_testkit::skipped::note(test, "there is no `/dev/full` here");
    };
    let output = house.command(&["session", "ls"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.starts_with("error: cannot write to stdout: "), "{stderr}");
}

#[test]
fn a_file_that_may_not_grow_fails_the_turn_and_loses_nothing() {
    let house = House::new();
    // The log must be the longest file of the house, so that the limit meets it first.
    house.write("Agent.md", "Be kind. ".repeat(10_000));
    house.kith(&["ask", "say one"]).succeeded();
    let blocks = std::fs::metadata(house.session_file()).unwrap().len() / 512 + 1;
    let words = format!("say {}", "x".repeat(4096));
    let kith = env!("CARGO_BIN_EXE_kith");
    let mut shell = std::process::Command::new("sh");
    shell
        .current_dir(house.path(""))
        .env_clear()
        .env("HOME", house.path("../user"))
        .arg("-c")
        .arg(format!("ulimit -f {blocks}; exec '{kith}' ask '{words}' --json"));
    let output = shell.output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(3), "{stdout}");
    let value: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(value["error"]["code"], "disk_full", "{stdout}");
    assert_eq!(house.json(&["session", "verify", "latest", "--json"])["ok"], true);

    let answer = house.json(&["ask", "say two", "--json"]);
    assert_eq!(answer["text"], "two");
    let log = house.log();
    assert_eq!(of_type(&log, "user_message").len(), 3);
    assert_eq!(of_type(&log, "assistant_message").len(), 3);
}
