//! `kith session`: list, show, verify.

use std::fs;
use std::sync::Arc;

use kith_sessions::disk::DiskFiles;
use kith_sessions::store::SessionStore;
use kith_testkit::transcript::transcript;
use kith_vocab::event::messages::Visibility;
use kith_vocab::event::{Body, Event};
use kith_vocab::header::{Audience, HeaderMeta, HeaderType, LOG_FORMAT_VERSION, SessionHeader};
use serde_json::Value;

use crate::check;
use crate::house::{House, spoil};

pub(crate) const BY_HAND: &str = "01a1e11b-9858-75e6-b081-4c1ec49881c0";

/// A session written by hand, whose reminders are hidden if their text says so.
pub(crate) fn write_session(house: &House, line: &str) {
    let mut events = transcript(line).events;
    for event in &mut events {
        if let Body::HarnessItem(it) = &mut event.body {
            it.item.visibility = match it.item.content.split(' ').next() {
                Some("hidden") => Visibility::Hidden,
                Some("compact") => Visibility::Compact,
                _ => Visibility::Display,
            };
        }
    }
    store_session(house, ("cli:room:by-hand", 1_794_744_000_000), &events);
}

/// Puts events into the house as the session [`BY_HAND`] of a thread that began at this time.
pub(crate) fn store_session(house: &House, (thread, created_at): (&str, u64), events: &[Event]) {
    let header = SessionHeader {
        v: LOG_FORMAT_VERSION,
        line_type: HeaderType::SessionHeader,
        session_id: BY_HAND.parse().unwrap(),
        agent_id: "main".to_owned(),
        device_id: "device".to_owned(),
        created_at,
        thread_id: thread.parse().unwrap(),
        audience: Audience::Owner,
        cwd: house.path("").display().to_string(),
        cloned_from: None,
        parent: None,
        meta: HeaderMeta::default(),
    };
    let store = SessionStore::new(Arc::new(DiskFiles), &house.path(".kith"));
    store.create(&header, events).unwrap();
}

#[test]
fn a_house_without_sessions_says_so() {
    let house = House::new();
    check!(house.kith(&["session", "ls"]), @r#"
    exit 0
    --- stderr
    note: no sessions yet; `kith ask "hello"` starts one
    "#);
    check!(house.kith(&["session", "ls", "--json"]), @r#"
    exit 0
    --- stdout
    {"ok":true,"sessions":[]}
    "#);
    check!(house.kith(&["session", "show", "latest"]), @"
    exit 1
    --- stderr
    error: there are no sessions yet
    ");
    assert_eq!(house.files(), ["Agent.md"]);
}

#[test]
fn sessions_are_listed_newest_first() {
    let house = House::new();
    house.kith(&["ask", "one"]).succeeded();
    house.kith(&["ask", "two", "--new"]).succeeded();
    house.kith(&["ask", "three", "--thread", "web:room:notes"]).succeeded();
    check!(house.kith(&["session", "ls"]), @"
    exit 0
    --- stdout
    [short]  [minute]  idle       web:room:notes  three
    [short]  [minute]  idle       cli:room:[cwd]      two
    [short]  [minute]  idle       cli:room:[cwd]      one
    ");
    // Spoken to again, the oldest is the newest.
    let list = house.json(&["session", "ls", "--json"]);
    let oldest = list["sessions"][2]["sessionId"].as_str().unwrap();
    house.kith(&["ask", "four", "--session", oldest]).succeeded();
    let list = house.json(&["session", "ls", "--json"]);
    let titles: Vec<&Value> =
        list["sessions"].as_array().unwrap().iter().map(|row| &row["title"]).collect();
    assert_eq!(titles, ["one", "three", "two"]);
}

#[test]
fn a_row_has_exactly_these_keys() {
    let house = House::new();
    let answer = house.json(&["ask", "hello", "--json"]);
    let list = house.json(&["session", "ls", "--json"]);
    let row = list["sessions"][0].as_object().unwrap();
    let keys: Vec<&String> = row.keys().collect();
    assert_eq!(
        keys,
        [
            "sessionId",
            "threadId",
            "agentId",
            "title",
            "createdAt",
            "updatedAt",
            "events",
            "leaf",
            "cwd",
            "project",
            "state"
        ]
    );
    assert_eq!(row["sessionId"], answer["sessionId"]);
    assert_eq!(row["leaf"], answer["leaf"]);
    assert_eq!(row["state"], "idle");
    assert_eq!(row["events"], house.log().len() - 1);
    for time in ["createdAt", "updatedAt"] {
        // Always with milliseconds, so that they sort as text, too.
        assert_eq!(row[time].as_str().unwrap().len(), "2026-11-15T12:00:00.000Z".len());
    }
}

#[test]
fn a_title_is_one_line_whatever_was_said() {
    let house = House::new();
    let said = format!("\n\n  {}\u{1b}[2J\nmore", "很长 ".repeat(40));
    house.kith_with_input(&["ask"], said).succeeded();
    let ran = house.kith(&["session", "ls"]).succeeded();
    assert_eq!(ran.stdout.lines().count(), 1);
    assert!(ran.stdout.ends_with("…\n") && !ran.stdout.contains('\u{1b}'), "{}", ran.stdout);
}

#[test]
fn a_transcript_shows_what_was_said_and_done() {
    let house = House::new();
    house.kith(&["ask", "list the files"]).succeeded();
    check!(house.kith(&["session", "show", "latest"]), @"
    exit 0
    --- stdout
    owner:
      list the files

    agent:
      I will use `list_files` for that.
      -> list_files {}

      list_files done:
        .: 1 entry
        Agent.md	9

    agent:
      Here is what `list_files` gave:
      
      .: 1 entry
      Agent.md	9
    ");
}

#[test]
fn the_json_form_has_every_event_as_the_log_holds_it() {
    let house = House::new();
    house.kith(&["ask", "list the files"]).succeeded();
    let view = house.json(&["session", "show", "latest", "--json"]);
    let keys: Vec<&String> = view.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["ok", "header", "events", "leaf"]);
    let mut log = house.log();
    for line in &mut log {
        let line = line.as_object_mut().unwrap();
        for key in ["prev", "crc", "batch"] {
            line.shift_remove(key);
        }
    }
    assert_eq!(view["header"], log[0]);
    assert_eq!(view["events"].as_array().unwrap()[..], log[1..]);
    // `--all` is about what people are shown; JSON has all of it anyhow.
    assert_eq!(house.json(&["session", "show", "latest", "--all", "--json"]), view);
}

#[test]
fn all_events_are_shown_for_people_with_time_and_kind() {
    let house = House::new();
    house.kith(&["ask", "list the files"]).succeeded();
    let log = house.log();
    let all = house.kith(&["session", "show", "latest", "--all"]).succeeded().stdout;
    assert!(!all.contains("{\"seq\""), "{all}");
    for event in &log[1..] {
        let seq = event["seq"].as_u64().unwrap();
        let kind = event["type"].as_str().unwrap().replace('_', " ");
        let id = event["id"].as_str().unwrap();
        let start = format!("{seq:>5}  20");
        let line = all.lines().find(|line| line.starts_with(&start)).expect(&start);
        let short = &id[id.len() - 8..];
        assert!(line.contains(&format!("  {short}  {kind}")), "{line}");
    }
    assert!(all.contains(": owner\n       list the files\n"), "{all}");
}

#[test]
fn a_hidden_item_is_left_out_of_the_transcript_and_can_be_audited() {
    let house = House::new();
    let log = "snapshot be kind | tools read_file | user: go | model: ok \
               | note hidden secret of the house | note shown to all \
               | note compact first line\\nsecond line | user: on | model: done | ended done";
    write_session(&house, log);
    check!(house.kith(&["session", "show", BY_HAND]), @"
    exit 0
    --- stdout
    Owner:
      go

    agent:
      ok

    (runtime notice)
      shown to all

    (runtime notice: compact first line … 1 more line)

    Owner:
      on

    agent:
      done
    ");
    let all = house.kith(&["session", "show", "--all", BY_HAND]).succeeded();
    assert!(all.stdout.contains("hidden secret of the house"));
    let json = house.kith(&["session", "show", "--json", BY_HAND]).succeeded();
    assert!(json.stdout.contains("hidden secret of the house"));
}

#[test]
fn a_session_may_be_named_by_either_end_of_its_id() {
    let house = House::new();
    write_session(&house, "user: go | model: ok | ended done");
    for name in [BY_HAND, "01a1e11b", "01", "c49881c0", "c0", "latest"] {
        let view = house.json(&["session", "show", name, "--json"]);
        assert_eq!(view["header"]["sessionId"], BY_HAND, "{name}");
    }
    house.kith(&["ask", "hello"]).succeeded();
    check!(house.kith(&["session", "show", "01a"]), @"
    exit 1
    --- stderr
    error: several sessions match `01a`: [short], [short]
    hint: type more of the id
    ");
    check!(house.kith(&["session", "show", ""]), @"
    exit 1
    --- stderr
    error: there is no session ``
    hint: `kith session ls` lists the sessions
    ");
    check!(house.kith(&["session", "show", "../../etc/passwd", "--json"]), @r#"
    exit 1
    --- stdout
    {"ok":false,"error":{"code":"session_not_found","message":"there is no session `../../etc/passwd`","hint":"`kith session ls` lists the sessions"}}
    "#);
}

#[test]
fn a_session_verifies() {
    let house = House::new();
    house.kith(&["ask", "list the files"]).succeeded();
    house.kith(&["ask", "hello"]).succeeded();
    check!(house.kith(&["session", "verify", "latest"]), @"
    exit 0
    --- stdout
    OK: 16 events intact, 3 of 3 requests rebuilt byte for byte
    ");
    check!(house.kith(&["session", "verify", "latest", "--json"]), @r#"
    exit 0
    --- stdout
    {"ok":true,"events":16,"requests":3,"mismatches":[]}
    "#);
}

#[test]
fn a_damaged_session_does_not_verify_and_the_line_is_named() {
    let house = House::new();
    house.kith(&["ask", "say one"]).succeeded();
    house.kith(&["ask", "say two"]).succeeded();
    spoil(&house.session_file(), "say two");
    check!(house.kith(&["session", "verify", "latest"]), @"
    exit 1
    --- stderr
    error: the session is damaged at line 9 (bad_crc): its checksum does not match; everything before it is intact
    hint: `kith session show` shows the 7 intact events, `kith session repair` copies them into a new session; nothing was changed
    ");
    check!(house.kith(&["session", "verify", "latest", "--json"]), @r#"
    exit 1
    --- stdout
    {"ok":false,"events":7,"requests":1,"damaged":{"line":9,"code":"bad_crc"},"mismatches":[],"error":{"code":"damaged","message":"the session is damaged at line 9 (bad_crc): its checksum does not match; everything before it is intact","line":9,"hint":"`kith session show` shows the 7 intact events, `kith session repair` copies them into a new session; nothing was changed"}}
    --- stderr
    note: the session is damaged at line 9 (bad_crc): its checksum does not match; everything before it is intact
    "#);
    check!(house.kith(&["session", "show", "latest"]), @"
    exit 0
    --- stdout
    owner:
      say one

    agent:
      one
    --- stderr
    note: the session is damaged at line 9 (bad_crc): its checksum does not match; everything before it is intact
    ");
    check!(house.kith(&["session", "ls"]), @"
    exit 0
    --- stdout
    [short]  [minute]  read-only  cli:room:[cwd]  say one
    --- stderr
    note: session [short] is damaged at line 9 (bad_crc): its checksum does not match
    ");
    let view = house.json(&["session", "show", "latest", "--json"]);
    assert_eq!(view["damaged"], serde_json::json!({ "line": 9, "code": "bad_crc" }));
}

#[test]
fn a_session_whose_end_was_lost_does_not_verify() {
    let house = House::new();
    house.kith(&["ask", "say one"]).succeeded();
    let text = fs::read_to_string(house.session_file()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    fs::write(house.session_file(), lines[..4].join("\n") + "\n").unwrap();
    check!(house.kith(&["session", "verify", "latest", "--json"]), @r#"
    exit 1
    --- stdout
    {"ok":false,"events":0,"requests":0,"damaged":{"line":2,"code":"lost_tail"},"mismatches":[],"error":{"code":"damaged","message":"the session is damaged at line 2 (lost_tail): events up to 7 were acknowledged, but only 0 can be read; everything before it is intact","line":2,"hint":"nothing can be read; nothing was changed"}}
    --- stderr
    note: the session is damaged at line 2 (lost_tail): events up to 7 were acknowledged, but only 0 can be read; everything before it is intact
    "#);
}

#[test]
fn an_incomplete_write_is_reported_and_set_aside() {
    let house = House::new();
    house.kith(&["ask", "say one"]).succeeded();
    let mut bytes = fs::read(house.session_file()).unwrap();
    bytes.extend_from_slice(b"{\"seq\":99,\"id\":\"01a1");
    fs::write(house.session_file(), bytes).unwrap();
    check!(house.kith(&["session", "verify", "latest"]), @"
    exit 0
    --- stdout
    OK: 7 events intact, 1 of 1 requests rebuilt byte for byte
    --- stderr
    note: the last write was incomplete; the next message sets its 20 bytes aside
    ");
    house.kith(&["ask", "say two"]).succeeded();
    let ran = house.kith(&["session", "show", "latest"]).succeeded();
    assert!(
        ran.stdout.contains("(an incomplete write of 20 bytes was set aside)"),
        "{}",
        ran.stdout
    );
    let ran = house.kith(&["session", "verify", "latest"]).succeeded();
    assert_eq!(ran.stderr, "");
}

#[test]
fn reading_writes_nothing() {
    let house = House::new();
    house.kith(&["ask", "say one"]).succeeded();
    let before = house.files();
    let log = fs::read(house.session_file()).unwrap();
    for args in [
        &["session", "ls"] as &[&str],
        &["session", "show", "latest"],
        &["session", "verify", "latest"],
        &["prompt"],
    ] {
        house.kith(args).succeeded();
    }
    assert_eq!(house.files(), before);
    assert_eq!(fs::read(house.session_file()).unwrap(), log);
}

#[test]
fn reading_and_asking_work_while_another_process_hosts() {
    let house = House::new();
    house.kith(&["ask", "say one"]).succeeded();
    let mut chat = house.command(&["--model", "demo"]);
    let mut chat = chat.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let mut input = chat.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, b"say two\n").unwrap();
    let mut line = String::new();
    let mut output = std::io::BufReader::new(chat.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut output, &mut line).unwrap();
    assert_eq!(line, "two\n");
    let ran = house.kith(&["session", "show", "latest"]).succeeded();
    assert!(ran.stdout.ends_with("agent:\n  two\n"), "{}", ran.stdout);
    // A second one is answered by the first.
    let ran = house.kith(&["ask", "--model", "demo", "say three"]).succeeded();
    assert_eq!(ran.stdout, "three\n");
    drop(input);
    assert!(chat.wait().unwrap().success());
    let ran = house.kith(&["session", "show", "latest"]).succeeded();
    assert!(ran.stdout.ends_with("agent:\n  three\n"), "{}", ran.stdout);
}
