//! `kith session search` and `kith session rm`.

use std::fs;

use kith_testkit::server::ServerReply;
use serde_json::{Value, json};

use crate::check;
use crate::house::{House, Vendor, spoil};

fn texts(found: &Value) -> Vec<&str> {
    found["hits"].as_array().unwrap().iter().map(|it| it["text"].as_str().unwrap()).collect()
}

/// Three sessions; the demo model repeats what it was told.
fn spoken_in() -> House {
    let house = House::new();
    for words in ["北京的天气怎么样", "the Garden plan", "gardening in Köln"] {
        house.kith(&["ask", "--new", words]).succeeded();
    }
    house
}

#[test]
fn messages_are_found_newest_first_with_and_without_an_index() {
    let house = spoken_in();
    let with_index = |words: &str| house.json(&["session", "search", words, "--json"]);
    let all = ["天气", "garden", "KOLN garden", "nothing like it"];
    let found: Vec<Value> = all.iter().map(|words| with_index(words)).collect();
    assert!(texts(&found[0]).contains(&"北京的天气怎么样"), "{}", found[0]);
    let said = &found[0]["hits"].as_array().unwrap().last().unwrap();
    assert_eq!((&said["text"], &said["kind"]), (&json!("北京的天气怎么样"), &json!("user")));
    let garden = texts(&found[1]);
    let place = |words| garden.iter().position(|it| *it == words).unwrap();
    assert!(place("gardening in Köln") < place("the Garden plan"), "{garden:?}");
    assert!(texts(&found[2]).contains(&"gardening in Köln"));
    assert_eq!(found[3], json!({"ok": true, "hits": []}));
    let keys: Vec<&String> = found[0]["hits"][0].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["sessionId", "eventId", "kind", "text", "ts", "isAbandoned"]);

    // Derived: without it the answer is the same.
    fs::remove_file(house.path(".kith/index.db")).unwrap();
    let again: Vec<Value> = all.iter().map(|words| with_index(words)).collect();
    assert_eq!(again, found);
    assert!(!house.path(".kith/index.db").exists(), "reading makes no file");
}

#[test]
fn messages_that_are_not_indexed_yet_are_found() {
    let house = spoken_in();
    let kept = fs::read(house.path(".kith/index.db")).unwrap();
    house.kith(&["ask", "a late zebra"]).succeeded();
    fs::write(house.path(".kith/index.db"), kept).unwrap();
    let found = house.json(&["session", "search", "zebra", "--json"]);
    assert!(texts(&found).contains(&"a late zebra"), "{found}");
}

#[test]
fn a_hit_on_an_abandoned_branch_is_marked() {
    let house = House::new();
    house.kith(&["ask", "a zebra at the start"]).succeeded();
    house.kith(&["ask", "a zebra that is taken back"]).succeeded();
    let found = house.json(&["session", "search", "taken", "--json"]);
    let said = found["hits"].as_array().unwrap().last().unwrap();
    assert_eq!(said["isAbandoned"], json!(false), "{found}");
    let event = said["eventId"].as_str().unwrap();
    house.kith(&["session", "branch", "latest", "--to", event]).succeeded();

    let check = || {
        let found = house.json(&["session", "search", "zebra", "--json"]);
        let hits = found["hits"].as_array().unwrap();
        assert!(hits.len() >= 4, "{found}");
        for hit in hits {
            let is_taken_back = hit["text"].as_str().unwrap().contains("taken back");
            assert_eq!(hit["isAbandoned"], json!(is_taken_back), "{hit}");
        }
    };
    check();
    fs::remove_file(house.path(".kith/index.db")).unwrap();
    check();
    let ran = house.kith(&["session", "search", "zebra"]).succeeded();
    for line in ran.stdout.lines() {
        assert_eq!(line.ends_with("  (on another branch)"), line.contains("taken back"), "{line}");
    }
}

#[test]
fn an_empty_search_is_refused_and_one_without_results_says_so() {
    let house = spoken_in();
    check!(house.kith(&["session", "search", "?!"]), @"
    exit 1
    --- stderr
    error: the query has no words to search for
    hint: `kith session search garden plan` finds messages with both words
    ");
    check!(house.kith(&["session", "search", "zebra"]), @"
    exit 0
    --- stderr
    note: no messages match all of these words
    ");
    let ran = house.kith(&["session", "search", "天气", "--limit", "1"]).succeeded();
    assert_eq!(ran.stdout.lines().count(), 1, "{}", ran.stdout);
}

#[test]
fn a_session_is_removed_with_everything_it_left_after_a_yes() {
    let house = House::new();
    house.kith(&["ask", "keep this"]).succeeded();
    let kept = house.files();
    house.kith(&["ask", "--new", "a zebra crossing"]).succeeded();
    let id = house.json(&["session", "ls", "--json"])["sessions"][0]["sessionId"].clone();
    let id = id.as_str().unwrap();
    check!(house.kith(&["session", "rm", id]), @"
    exit 1
    --- stderr
    error: refusing to remove session [short] (a zebra crossing) ([size]) without confirmation
    hint: pass `--yes` to confirm
    ");
    let removed = house.json(&["session", "rm", id, "--yes", "--json"]);
    assert_eq!(removed, json!({"ok": true, "removed": [format!("sessions/{id}.jsonl")]}));
    assert_eq!(house.files(), kept);
    assert_eq!(texts(&house.json(&["session", "search", "zebra", "--json"])), Vec::<&str>::new());
    let bytes = fs::read(house.path(".kith/state.db")).unwrap();
    assert!(!bytes.windows(5).any(|it| it == b"zebra"));

    let again = house.kith(&["session", "rm", id, "--yes", "--json"]).json();
    assert_eq!(again["error"]["code"], "session_not_found");
    // The thread was in it, and begins anew.
    let answer = house.json(&["ask", "hello", "--json"]);
    assert_ne!(answer["sessionId"], id);
    assert_eq!(house.json(&["session", "verify", "latest", "--json"])["ok"], true);
}

#[test]
fn a_damaged_session_can_be_removed() {
    let house = House::new();
    house.kith(&["ask", "hi"]).succeeded();
    let path = house.session_file();
    spoil(&path, "session_header");
    let id = path.file_stem().unwrap().to_str().unwrap();
    house.kith(&["session", "rm", id, "--yes"]).succeeded();
    assert_eq!(house.session_files(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_session_with_a_running_turn_is_not_removed() {
    let vendor = Vendor::new([ServerReply::Hang]);
    let house = House::asking(&vendor);
    let mut running = house.start(&["ask", "hello?", "--stream-json"]);
    running.until("model_requested");
    vendor.until_asked(1);
    let refused = house.kith(&["session", "rm", "latest", "--yes", "--json"]).json();
    assert_eq!(refused["error"]["code"], "runtime_busy", "{refused}");
    running.signal("INT");
    running.finish();
    assert_eq!(house.session_files().len(), 1);
}

#[test]
fn the_doctor_reports_a_missing_session_file_until_it_is_removed() {
    let house = House::new();
    house.kith(&["ask", "hello"]).succeeded();
    let id = house.json(&["session", "ls", "--json"])["sessions"][0]["sessionId"].clone();
    fs::remove_file(house.session_file()).unwrap();
    let doctor = house.kith(&["doctor", "--json"]).json();
    let checks = doctor["checks"].as_array().unwrap();
    let sessions = checks.iter().find(|it| it["name"] == "sessions").unwrap();
    assert_eq!(sessions["state"], "fail", "{sessions}");
    assert!(sessions["detail"].to_string().contains("1 missing"), "{sessions}");
    let id = id.as_str().unwrap();
    let removed = house.json(&["session", "rm", id, "--yes", "--json"]);
    assert_eq!(removed, json!({"ok": true, "removed": []}));
    let doctor = house.json(&["doctor", "--json"]);
    assert_eq!(doctor["ok"], true, "{doctor}");
}

#[test]
fn a_model_finds_what_was_said_in_another_conversation() {
    let search = json!({ "name": "session_search", "input": { "query": "garden" } });
    let vendor = Vendor::new([
        ServerReply::text("A garden it is."),
        ServerReply::calls("", &[("use_tool", search)]),
        ServerReply::text("found"),
    ]);
    let house = House::asking(&vendor);
    house.kith(&["ask", "we plan a garden"]).succeeded();
    house.kith(&["ask", "--new", "what did we plan?"]).succeeded();
    let told = vendor.bodies()[2]["messages"].as_array().unwrap().last().unwrap().to_string();
    assert!(told.contains("we plan a garden") && told.contains("A garden it is."), "{told}");
    assert!(told.contains("<untrusted-"), "{told}");
}
