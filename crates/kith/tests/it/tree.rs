//! `kith session tree`, `branch`, `clone`, and messages that expect a leaf.

use std::fs;
use std::path::Path;
use std::thread;

use kith_testkit::server::ServerReply;
use serde_json::Value;

use crate::check;
use crate::house::{House, Running, Vendor, lines_of, of_type, types};
use crate::session::{BY_HAND, write_session};

/// Says these things to the demo model and returns the leaf after each.
fn talk(house: &House, texts: &[&str]) -> Vec<String> {
    let say = |text: &&str| {
        let answer = house.json(&["ask", text, "--model", "demo", "--json"]);
        assert_eq!(answer["ok"], true, "{answer}");
        answer["leaf"].as_str().unwrap().to_owned()
    };
    texts.iter().map(say).collect()
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

fn end_of(id: &str) -> &str {
    &id[id.len() - 8..]
}

#[test]
fn a_conversation_goes_back_and_continues_on_a_branch() {
    let house = House::new();
    let leaves = talk(&house, &["say one", "say two", "说 三"]);
    check!(house.kith(&["session", "branch", "latest", "--to", end_of(&leaves[0])]), @"
    exit 0
    --- stdout
    session [short] now continues after [short]
    ");
    check!(house.kith(&["session", "tree", "latest"]), @"
    exit 0
    --- stdout
    ● start
    ● [short]  say one -> one  <- here
    ○ [short]  say two -> two
    ○ [short]  说 三 -> 三
    ");
    talk(&house, &["say other"]);
    let tree = house.kith(&["session", "tree", "latest"]).succeeded();
    assert!(tree.stdout.contains(end_of(&leaves[1])), "{}", tree.stdout);
    check!(tree, @"
    exit 0
    --- stdout
    ● start
    ● [short]  say one -> one
    ├─○ [short]  say two -> two
    │ ○ [short]  说 三 -> 三
    ● [short]  say other -> other  <- here
    ");
    check!(house.kith(&["session", "show", "latest"]), @"
    exit 0
    --- stdout
    owner:
      say one

    agent:
      one

    (1 other branch from here; see `kith session tree`)

    owner:
      say other

    agent:
      other
    ");
    // The requests before the branch were made on another path, and are proven all the same.
    check!(house.kith(&["session", "verify", "latest", "--json"]), @r#"
    exit 0
    --- stdout
    {"ok":true,"events":23,"requests":4,"mismatches":[]}
    "#);
}

#[test]
fn a_branch_appends_one_event_and_no_snapshot() {
    let house = House::new();
    let leaves = talk(&house, &["say one", "say two"]);
    let before = fs::read_to_string(house.session_file()).unwrap();
    house.write("Agent.md", "Be stern.\n");
    let answer = house.json(&["session", "branch", "latest", "--to", &leaves[0], "--json"]);
    assert_eq!(keys(&answer), ["ok", "sessionId", "leaf"]);
    assert_eq!(answer["leaf"], *leaves[0]);
    let after = fs::read_to_string(house.session_file()).unwrap();
    let added: Vec<Value> = after
        .strip_prefix(&before)
        .unwrap()
        .lines()
        .map(|it| serde_json::from_str(it).unwrap())
        .collect();
    assert_eq!(types(&added), "leaf_moved");
    assert_eq!(
        (&added[0]["to"], &added[0]["reason"]),
        (&leaves[0].as_str().into(), &"branch".into())
    );
    talk(&house, &["say three"]);
    assert_eq!(of_type(&house.log(), "instruction_snapshot").len(), 1);
    let answer = house.json(&["session", "branch", "latest", "--to", "start", "--json"]);
    assert_eq!((&answer["ok"], &answer["leaf"]), (&true.into(), &Value::Null));
}

#[test]
fn the_middle_of_a_turn_leads_to_before_it() {
    let house = House::new();
    talk(&house, &["say one", "list the files"]);
    let log = house.log();
    let result = of_type(&log, "tool_result")[0]["id"].as_str().unwrap();
    check!(house.kith(&["session", "branch", "latest", "--to", result]), @"
    exit 0
    --- stdout
    session [short] now continues after [short]
    --- stderr
    note: [short] is in the middle of a turn that begins after [short]
    ");
}

#[test]
fn an_invalid_branch_target_is_refused_and_nothing_is_written() {
    let house = House::new();
    talk(&house, &["say one"]);
    let before = fs::read(house.session_file()).unwrap();
    let log = house.log();
    let ended = of_type(&log, "turn_ended")[0]["id"].as_str().unwrap();
    check!(house.kith(&["session", "branch", "latest", "--to", "nobody", "--json"]), @r#"
    exit 1
    --- stdout
    {"ok":false,"error":{"code":"invalid_event_id","message":"the session has no event `nobody`","hint":"`kith session tree [short]` shows where you can continue from"}}
    "#);
    check!(house.kith(&["session", "branch", "latest", "--to", ended]), @"
    exit 1
    --- stderr
    error: event `[id]` is of type `turn_ended`, which is not part of the conversation
    hint: `kith session tree [short]` shows where you can continue from
    ");
    // The beginning of the ids themselves, which is a time.
    let ran = house.kith(&["session", "branch", "latest", "--to", &ended[..6]]);
    assert_eq!(ran.code, 1, "{}", ran.shown());
    assert!(ran.stderr.contains("several events of the session match"), "{}", ran.stderr);
    check!(house.kith(&["session", "branch", "latest", "--to", "start", "--expected-leaf", "start"]), @"
    exit 1
    --- stderr
    error: the conversation of session `[id]` now ends at `[id]`, not at `start`
    hint: `kith session tree [short]` shows where you can continue from
    ");
    check!(house.kith(&["session", "branch", "latest", "--to", "start", "--expected-leaf", "x"]), @"
    exit 2
    --- stderr
    error: `x` is not `start` or the id of an event
    hint: `kith ask --json` and `kith session show --json` print it as `leaf`
    ");
    for args in [
        ["session", "branch", "nobody", "--to", "start"],
        ["session", "clone", "nobody", "--at", "start"],
    ] {
        let ran = house.kith(&args);
        assert_eq!(ran.code, 1);
        assert!(ran.stderr.contains("there is no session `nobody`"), "{}", ran.stderr);
    }
    let ran = house.kith(&["session", "clone", "latest", "--at", ended]);
    assert!(ran.stderr.contains("is of type `turn_ended`"), "{}", ran.stderr);
    assert_eq!(fs::read(house.session_file()).unwrap(), before);
}

#[test]
fn of_two_programs_that_branch_at_once_one_wins() {
    let house = House::new();
    let leaves = talk(&house, &["say one", "say two", "say three"]);
    let branch = |to: &str| {
        let expected = leaves[2].as_str();
        house.json(&[
            "session",
            "branch",
            "latest",
            "--to",
            to,
            "--expected-leaf",
            expected,
            "--json",
        ])
    };
    let answers = thread::scope(|scope| {
        let both = [&leaves[0], &leaves[1]].map(|to| scope.spawn(|| branch(to)));
        both.map(|it| it.join().unwrap())
    });
    let (won, lost): (Vec<&Value>, Vec<&Value>) = answers.iter().partition(|it| it["ok"] == true);
    assert_eq!((won.len(), lost.len()), (1, 1), "{answers:?}");
    assert_eq!(lost[0]["error"]["code"], "conflict");
    let message = lost[0]["error"]["message"].as_str().unwrap();
    assert!(message.contains(won[0]["leaf"].as_str().unwrap()), "{message}");
    assert_eq!(of_type(&house.log(), "leaf_moved").len(), 1);
}

#[test]
fn a_branch_from_another_terminal_stops_the_turn_that_runs() {
    let vendor = Vendor::new([
        ServerReply::text("one"),
        ServerReply::Trickle { pause_ms: 1 },
        ServerReply::text("three"),
    ]);
    let house = House::asking(&vendor);
    let first = house.json(&["ask", "first", "--json"]);
    let mut running = house.start(&["ask", "talk for ever", "--stream-json"]);
    running.until("drip");
    let leaf = first["leaf"].as_str().unwrap();
    let answer = house.json(&["session", "branch", "latest", "--to", leaf, "--json"]);
    assert_eq!((&answer["ok"], &answer["leaf"]), (&true.into(), &leaf.into()));
    let ran = running.finish();
    assert_eq!(ran.code, 1);
    assert_eq!(Running::last_line(&ran)["error"]["code"], "cancelled");
    let log = house.log();
    let batch: Vec<Value> = log[log.len() - 4..].to_vec();
    assert_eq!(types(&batch), "assistant_message cancel_requested turn_ended leaf_moved");
    assert_eq!(batch[3]["batch"], serde_json::json!([4, 4]));
    assert_eq!(house.json(&["ask", "third", "--json"])["text"], "three");
    let last = vendor.bodies().pop().unwrap().to_string();
    assert!(last.contains("first") && !last.contains("talk for ever"), "{last}");
    assert_eq!(house.json(&["session", "verify", "latest", "--json"])["ok"], true);
}

#[test]
fn a_message_that_expects_another_leaf_is_not_sent() {
    let house = House::new();
    let leaves = talk(&house, &["say one", "say two"]);
    let late = |id: &str| {
        let args = [
            "ask",
            "say late",
            "--model",
            "demo",
            "--message-id",
            id,
            "--expected-leaf",
            &leaves[0],
        ];
        house.kith(&args)
    };
    check!(late("m1"), @"
    exit 1
    --- stderr
    error: the message was not sent: the conversation has moved on to `[id]`
    hint: `kith session show [short]` shows what is new; send it again with `--expected-leaf [id]`, or without
    ");
    // The same again, also when the leaf is back where it was expected.
    house.kith(&["session", "branch", "latest", "--to", &leaves[0]]).succeeded();
    let before = fs::read(house.session_file()).unwrap();
    let again = late("m1");
    assert_eq!(again.code, 1);
    assert!(again.stderr.contains(&leaves[1]), "{}", again.stderr);
    assert_eq!(fs::read(house.session_file()).unwrap(), before);
    assert_eq!(late("m2").succeeded().stdout, "late\n");
    let ran = house.kith(&["ask", "x", "--expected-leaf", "tomorrow", "--json"]);
    assert_eq!((ran.code, &ran.json()["error"]["code"]), (2, &"usage".into()));
    let ran = house.kith(&["ask", "x", "--new", "--expected-leaf", "start", "--json"]);
    assert_eq!((ran.code, &ran.json()["error"]["code"]), (2, &"usage".into()));
}

/// The line of a file's snapshot, from its `type` to its `prev`.
fn snapshot_bytes(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    let line = text.lines().find(|it| it.contains("\"type\":\"instruction_snapshot\"")).unwrap();
    let from = line.find("\"type\"").unwrap();
    line[from..line.find(",\"prev\"").unwrap()].to_owned()
}

#[test]
fn a_clone_has_the_snapshot_of_its_source_when_the_files_are_gone() {
    let house = House::new();
    house.write("AGENTS.md", "Project rules.\n");
    let leaves = talk(&house, &["say one", "list the files", "say three"]);
    let source = house.session_file();
    let before = fs::read(&source).unwrap();
    fs::remove_file(house.path("AGENTS.md")).unwrap();
    house.write("Agent.md", "Be stern.\n");
    house.write("SOUL.md", "New.\n");

    let answer = house.json(&["session", "clone", "latest", "--at", &leaves[1], "--json"]);
    assert_eq!(keys(&answer), ["ok", "sessionId", "leaf"]);
    assert_eq!(answer["leaf"], *leaves[1]);
    assert_eq!(fs::read(&source).unwrap(), before);
    let id = answer["sessionId"].as_str().unwrap();
    let clone = house.path(&format!(".kith/sessions/{id}.jsonl"));
    assert_eq!(snapshot_bytes(&clone), snapshot_bytes(&source));
    let (from, to) = (lines_of(&source), lines_of(&clone));
    assert_eq!(to[0]["threadId"], format!("web:room:{id}"));
    assert_eq!(to[0]["clonedFrom"]["sessionId"], from[0]["sessionId"]);
    assert_eq!(to[0]["clonedFrom"]["eventId"], *leaves[1]);
    insta::assert_snapshot!(types(&to), @"session_header instruction_snapshot toolset_snapshot user_message assistant_message user_message assistant_message tool_result assistant_message");
    assert!(to[1..].iter().all(|it| it["sourceTag"] == "clone"));

    let said = house.json(&["ask", "say four", "--session", id, "--model", "demo", "--json"]);
    assert_eq!((&said["text"], &said["sessionId"]), (&"four".into(), &id.into()));
    assert_eq!(house.json(&["session", "verify", id, "--json"])["ok"], true);
    assert_eq!(snapshot_bytes(&clone), snapshot_bytes(&source));
    assert_eq!(of_type(&lines_of(&clone), "tool_started").len(), 0);
    // The thread of this folder is where it was.
    talk(&house, &["say five"]);
    assert_eq!(of_type(&lines_of(&source), "user_message").len(), 4);
}

#[test]
fn a_damaged_session_is_cloned_and_not_branched() {
    let house = House::new();
    talk(&house, &["say one", "say two"]);
    crate::house::spoil(&house.session_file(), "say two");
    check!(house.kith(&["session", "branch", "latest", "--to", "start"]), @r"
    exit 1
    --- stderr
    error: session `[id]` is read-only: line 9: bad_crc: its checksum does not match
    hint: `kith session repair` copies the readable part into a new session
    ");
    let ran = house.kith(&["session", "clone", "latest"]).succeeded();
    assert!(ran.stderr.contains("the clone has everything before that"), "{}", ran.stderr);
    check!(house.kith(&["session", "tree", "latest"]), @"
    exit 0
    --- stdout
    ● start
    ● [short]  say one -> one  <- here
    ");
}

#[test]
fn a_tree_as_json_has_every_node_with_its_parent() {
    let house = House::new();
    let line = "snapshot be kind | user#u1: # look\\nat this | asked model | model#m1: ok, read_file=c1 \
         | free c1 | done c1 x | note LONG | asked model | model#m2: done | ended done | leaf root | user#u2: 四";
    write_session(&house, &line.replace("LONG", &"long words ".repeat(50)));
    let tree = house.json(&["session", "tree", BY_HAND, "--json"]);
    assert_eq!(keys(&tree), ["ok", "sessionId", "leaf", "nodes"]);
    let nodes = tree["nodes"].as_array().unwrap();
    assert_eq!(keys(&nodes[0]), ["eventId", "parentId", "kind", "text", "ts", "onPath"]);
    let told: Vec<String> =
        nodes.iter().map(|it| format!("{} {} {}", it["kind"], it["text"], it["onPath"])).collect();
    insta::assert_snapshot!(told.join("\n"), @r##"
    "user_message" "# look at this" false
    "assistant_message" "ok" false
    "tool_result" "read_file done" false
    "harness_item" "long words long words long words long words long words long words long words long words long words long words long words" false
    "assistant_message" "done" false
    "user_message" "四" true
    "##);
    assert_eq!(
        (&nodes[0]["parentId"], &nodes[1]["parentId"]),
        (&Value::Null, &nodes[0]["eventId"])
    );
    assert_eq!(tree["leaf"], nodes[5]["eventId"]);
    // Reading takes no lock and makes nothing.
    assert!(!house.path(".kith/host.lock").exists());
}

#[test]
fn a_clone_is_called_by_what_is_said_in_it_unless_somebody_gave_a_title() {
    let house = House::new();
    house.kith(&["ask", "say apple", "--model", "demo"]).succeeded();
    house.kith(&["session", "branch", "latest", "--to", "start"]).succeeded();
    house.kith(&["ask", "say cherry", "--model", "demo"]).succeeded();
    let title_of_clone = || {
        let made = house.json(&["session", "clone", "latest", "--json"]);
        let listed = house.json(&["session", "ls", "--json"]);
        let rows = listed["sessions"].as_array().unwrap();
        let row = rows.iter().find(|row| row["sessionId"] == made["sessionId"]).unwrap();
        row["title"].as_str().unwrap().to_owned()
    };
    assert_eq!(title_of_clone(), "say cherry");
    house.kith(&["session", "rename", "latest", "the orchard"]).succeeded();
    assert_eq!(title_of_clone(), "the orchard");
}
