//! Session files that are damaged, foreign, or of a newer version: named, readable, not changed.

use std::fs;

use serde_json::Value;

use crate::check;
use crate::house::{House, lines_of, of_type, spoil};
use crate::session::{BY_HAND, write_session};

/// A session file of the workspace's fixtures, put into this house.
fn put_fixture(house: &House, name: &str) -> String {
    let path = format!("{}/../../testdata/sessions/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(path).unwrap();
    let header: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let id = header["sessionId"].as_str().unwrap().to_owned();
    house.write(&format!(".kith/sessions/{id}.jsonl"), text);
    id
}

#[test]
fn a_message_whose_end_a_damaged_log_has_lost_is_not_waited_for() {
    for n_lost in [1, 2, 3] {
        let house = House::new();
        house.kith(&["ask", "say one"]).succeeded();
        house.kith(&["ask", "say two", "--message-id", "m2"]).succeeded();
        let file = house.session_file();
        let text = fs::read_to_string(&file).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let left = lines[..lines.len() - n_lost].join("\n");
        fs::write(&file, format!("{left}\n{{\"seq\":")).unwrap();
        let ran = house.kith(&["ask", "say two", "--message-id", "m2", "--json"]);
        assert_eq!(ran.json()["ok"], false, "{n_lost}: {}", ran.stdout);
    }
}

#[test]
fn a_damaged_session_stays_readable_and_the_conversation_goes_on_in_a_new_one() {
    let house = House::new();
    house.kith(&["ask", "say one"]).succeeded();
    house.kith(&["ask", "say two"]).succeeded();
    let damaged = house.session_file();
    spoil(&damaged, "say two");
    let before = fs::read(&damaged).unwrap();
    check!(house.kith(&["ask", "say three", "--model", "demo"]), @"
    exit 0
    --- stdout
    three
    --- stderr
    note: session [short] is damaged at line 9 (bad_crc): its checksum does not match; the conversation continues in session [short]
    ");
    house.kith(&["ask", "say four"]).succeeded();
    assert_eq!(fs::read(&damaged).unwrap(), before);
    let sessions = house.session_files();
    assert_eq!(sessions.len(), 2);
    let new = lines_of(sessions.iter().find(|it| **it != damaged).unwrap());
    assert_eq!(of_type(&new, "user_message").len(), 3);
    assert_eq!(of_type(&new, "notice")[0]["level"], "warn");
    let id = damaged.file_stem().unwrap().to_str().unwrap();
    let ran = house.kith(&["session", "show", id]).succeeded();
    assert!(ran.stdout.contains("say one"), "{}", ran.stdout);
    check!(house.kith(&["session", "show", "latest"]), @"
    exit 0
    --- stdout
    owner (copied):
      say one

    agent (copied):
      one

    (copied) (runtime notice: The log of this conversation was damaged. Something that was said or done at this point is missing and cannot be recovered. Do not guess what it was; ask if it matters.)

    agent (copied):
      two

    ! The previous session of this thread is read-only: session file `[house]/.kith/sessions/[id].jsonl` is damaged at line 9: bad_crc: its checksum does not match. The conversation continues here with everything that could be read.

    owner:
      say three

    agent:
      three

    owner:
      say four

    agent:
      four
    ");
}

#[test]
fn an_answer_of_a_damaged_session_is_not_asked_for_again() {
    let house = House::new();
    house.kith(&["ask", "say one", "--message-id", "m1"]).succeeded();
    house.kith(&["ask", "say two"]).succeeded();
    spoil(&house.session_file(), "say two");
    let again =
        house.kith(&["ask", "say one", "--message-id", "m1", "--model", "demo"]).succeeded();
    assert_eq!(again.stdout, "one\n");
    assert_eq!(house.session_files().len(), 1);
}

#[test]
fn a_session_of_the_first_version_can_be_opened() {
    let house = House::new();
    let id = put_fixture(&house, "v1-plain");
    let verified = house.kith(&["session", "verify", &id, "--json"]);
    assert_eq!(verified.json().get("damaged"), None, "{}", verified.stdout);
    house.kith(&["session", "show", &id]).succeeded();
    assert_eq!(house.json(&["session", "ls", "--json"])["sessions"][0]["state"], "idle");
}

#[test]
fn a_newer_version_is_named_and_nothing_is_changed() {
    let house = House::new();
    let id = put_fixture(&house, "v2-header");
    let before = house.files();
    check!(house.kith(&["session", "show", &id]), @"
    exit 1
    --- stderr
    error: session `[id]` cannot be read from line 1 on: its format version is 2, and this kith knows versions up to 1; a newer kith can read it
    hint: nothing was changed; `kith ask --new` starts a new session
    ");
    check!(house.kith(&["session", "show", &id, "--json"]), @r#"
    exit 1
    --- stdout
    {"ok":false,"error":{"code":"newer_version","message":"session `[id]` cannot be read from line 1 on: its format version is 2, and this kith knows versions up to 1; a newer kith can read it","line":1,"hint":"nothing was changed; `kith ask --new` starts a new session"}}
    "#);
    check!(house.kith(&["session", "verify", &id, "--json"]), @r#"
    exit 1
    --- stdout
    {"ok":false,"events":0,"requests":0,"damaged":{"line":1,"code":"newer_version"},"mismatches":[],"error":{"code":"damaged","message":"the session cannot be read from line 1 on: its format version is 2, and this kith knows versions up to 1; a newer kith can read it; everything before it is intact","line":1,"hint":"nothing can be read; nothing was changed"}}
    --- stderr
    note: the session cannot be read from line 1 on: its format version is 2, and this kith knows versions up to 1; a newer kith can read it; everything before it is intact
    "#);
    check!(house.kith(&["session", "ls"]), @"
    exit 0
    --- stdout
    [short]  -                 read-only  -  (unreadable)
    --- stderr
    note: session [short] cannot be read from line 1 on: its format version is 2, and this kith knows versions up to 1; a newer kith can read it
    ");
    assert_eq!(house.files(), before);
    check!(house.kith(&["ask", "hi", "--session", &id]), @"
    exit 1
    --- stderr
    error: session `[id]` cannot be read from line 1 on: its format version is 2, and this kith knows versions up to 1; a newer kith can read it
    hint: nothing was changed; `kith ask --new` starts a new session
    ");
}

#[test]
fn a_newer_event_is_named_and_what_stands_before_it_can_be_read() {
    let house = House::new();
    let id = put_fixture(&house, "v1-newer-event");
    check!(house.kith(&["session", "verify", &id]), @"
    exit 1
    --- stderr
    error: the session cannot be read from line 4 on: its format version is 2, and this kith knows versions up to 1; a newer kith can read it; everything before it is intact
    hint: `kith session show` shows the 2 intact events; nothing was changed
    ");
    let view = house.json(&["session", "show", &id, "--json"]);
    assert_eq!(view["damaged"]["code"], "newer_version");
}

#[test]
fn an_unknown_event_is_named_and_what_stands_before_it_can_be_read() {
    let house = House::new();
    let id = put_fixture(&house, "v1-unknown-event");
    check!(house.kith(&["session", "verify", &id]), @"
    exit 1
    --- stderr
    error: the session is damaged at line 4 (invalid_event): unknown variant `telepathy`; everything before it is intact
    hint: `kith session show` shows the 2 intact events, `kith session repair` copies them into a new session; nothing was changed
    ");
    check!(house.kith(&["session", "verify", &id, "--json"]), @r#"
    exit 1
    --- stdout
    {"ok":false,"events":2,"requests":0,"damaged":{"line":4,"code":"invalid_event"},"mismatches":[],"error":{"code":"damaged","message":"the session is damaged at line 4 (invalid_event): unknown variant `telepathy`; everything before it is intact","line":4,"hint":"`kith session show` shows the 2 intact events, `kith session repair` copies them into a new session; nothing was changed"}}
    --- stderr
    note: the session is damaged at line 4 (invalid_event): unknown variant `telepathy`; everything before it is intact
    "#);
    house.kith(&["session", "show", &id]).succeeded();
}

#[test]
fn files_that_are_not_sessions_are_not_touched() {
    let house = House::new();
    house.kith(&["ask", "say one"]).succeeded();
    house.write(".kith/sessions/notes.txt", "mine");
    house.write(".kith/sessions/other.jsonl", "{}\n");
    fs::create_dir(house.path(".kith/sessions/folder.jsonl")).unwrap();
    check!(house.kith(&["session", "ls"]), @"
    exit 0
    --- stdout
    [short]  [minute]  idle       cli:room:[cwd]  say one
    ");
    house.kith(&["ask", "say two"]).succeeded();
}

#[test]
fn a_foreign_file_with_the_name_of_a_session_is_listed_and_not_touched() {
    let house = House::new();
    let texts = ["", "{\"hello\":\"world\"}\n", "\u{0}\u{1}\u{2}", "{\"type\":\"user\"}\n"];
    for text in texts {
        house.write(&format!(".kith/sessions/{BY_HAND}.jsonl"), text);
        let list = house.json(&["session", "ls", "--json"]);
        assert_eq!(list["sessions"][0]["state"], "readOnly", "{text:?}");
        let ran = house.kith(&["session", "show", BY_HAND, "--json"]);
        assert_eq!((ran.code, ran.json()["error"]["line"].as_u64()), (1, Some(1)), "{text:?}");
        let ran = house.kith(&["session", "verify", BY_HAND, "--json"]);
        assert_eq!((ran.code, ran.json()["damaged"]["line"].as_u64()), (1, Some(1)), "{text:?}");
        assert_eq!(fs::read_to_string(house.session_file()).unwrap(), text);
    }
}

#[test]
fn a_session_under_the_name_of_another_is_refused() {
    let house = House::new();
    write_session(&house, "user: go | model: ok | ended done");
    let other = BY_HAND.replace("c0", "c1");
    fs::rename(house.session_file(), house.path(&format!(".kith/sessions/{other}.jsonl"))).unwrap();
    check!(house.kith(&["session", "show", &other]), @"
    exit 1
    --- stderr
    error: session `[id]` is damaged at line 1 (invalid_header): it is the header of session `[id]`
    hint: nothing was changed; `kith ask --new` starts a new session
    ");
}
