//! `kith backup`.

use std::fs;

use kith_testkit::server::ServerReply;
use serde_json::Value;

use crate::check;
use crate::house::{House, Vendor};

#[test]
fn a_backup_is_a_house_in_which_every_session_verifies() {
    let house = House::new();
    house.write("SOUL.md", "calm");
    house.write(".gitignore", "/.kith/\n");
    house.write("memory/2026-11-15.md", "a note");
    house.write("src/main.rs", "not of the agent");
    house.kith(&["ask", "hello"]).succeeded();
    house.kith(&["ask", "--new", "list the files"]).succeeded();
    let elsewhere = House::empty();
    let target = elsewhere.path("copy");
    let made = house.json(&["backup", target.to_str().unwrap(), "--json"]);
    assert_eq!((&made["ok"], &made["sessions"]), (&Value::Bool(true), &Value::from(2)));
    assert_eq!(fs::read_to_string(target.join("SOUL.md")).unwrap(), "calm");
    assert_eq!(fs::read_to_string(target.join(".gitignore")).unwrap(), "/.kith/\n");
    assert!(target.join("memory/2026-11-15.md").exists() && !target.join("src").exists());

    let there = |args: &[&str]| {
        house.kith_in(target.to_str().unwrap(), &[&["--json"], args].concat()).json()
    };
    let sessions = there(&["session", "ls"]);
    let sessions = sessions["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 2);
    for session in sessions {
        let verified = there(&["session", "verify", session["sessionId"].as_str().unwrap()]);
        assert_eq!(verified["ok"], true, "{verified}");
    }
    // Nothing is missing there, and nobody says so.
    let ran = house.kith_in(target.to_str().unwrap(), &["ask", "hello there"]);
    assert_eq!((ran.code, ran.stderr.contains("state.db")), (0, false), "{}", ran.stderr);
    // It goes on there, in the same conversation, and the first house does not notice.
    let before = house.session_files().iter().map(|it| fs::read(it).unwrap()).collect::<Vec<_>>();
    let answer = there(&["ask", "and now?"]);
    assert_eq!(answer["sessionId"], sessions[0]["sessionId"]);
    let after = house.session_files().iter().map(|it| fs::read(it).unwrap()).collect::<Vec<_>>();
    assert!(before == after);
}

#[test]
fn the_doctor_finds_nothing_wrong_with_a_fresh_backup() {
    let house = House::new();
    house.kith(&["ask", "hello"]).succeeded();
    house.kith(&["ask", "--thread", "web:room:notes", "hello"]).succeeded();
    let elsewhere = House::empty();
    let target = elsewhere.path("copy");
    house.kith(&["backup", target.to_str().unwrap()]).succeeded();
    let threads = |args: &[&str]| {
        let report = house.kith_in(target.to_str().unwrap(), args).json();
        let checks = report["checks"].as_array().unwrap().clone();
        checks.into_iter().find(|check| check["name"] == "threads").unwrap()
    };
    let check = threads(&["doctor", "--json"]);
    assert_eq!(check["state"], "ok", "{check}");
    assert_eq!(
        check["detail"],
        "0 up to date, 2 not written yet (the next turn of a thread writes its file)"
    );
    house.kith_in(target.to_str().unwrap(), &["thread", "rebuild"]).succeeded();
    assert_eq!(threads(&["doctor", "--json"])["detail"], "2 up to date");
}

#[test]
fn a_backup_is_made_while_a_turn_runs() {
    let vendor =
        Vendor::new([ServerReply::Hang, ServerReply::text("it"), ServerReply::text("this")]);
    let house = House::asking(&vendor);
    let mut running = house.start(&["ask", "hello?", "--stream-json"]);
    running.until("model_requested");
    vendor.until_asked(1);
    let elsewhere = House::empty();
    let target = elsewhere.path("copy");
    house.kith(&["backup", target.to_str().unwrap()]).succeeded();
    running.signal("INT");
    running.finish();
    let there = |args: &[&str]| {
        house.kith_in(target.to_str().unwrap(), &[&["--json"], args].concat()).json()
    };
    assert_eq!(there(&["session", "verify", "latest"])["ok"], true);
    // What was under way when the copy was made is finished there.
    assert_eq!(there(&["ask", "and?"])["text"], "this");
    assert!(there(&["session", "show", "latest"]).to_string().contains("\"it\""));
}

#[test]
fn a_backup_over_something_or_into_the_house_is_refused() {
    let house = House::new();
    house.write("memory/2026-11-15.md", "a note");
    house.kith(&["ask", "hello"]).succeeded();
    let before = house.files();
    for dir in [".", "copy", "memory/copy", ".kith"] {
        let ran = house.kith(&["backup", dir, "--json"]).json();
        assert_eq!(ran["error"]["code"], "invalid_request", "{dir}: {ran}");
    }
    check!(house.kith(&["backup", "/nowhere/at/all"]), @"
    exit 3
    --- stderr
    error: cannot create the folder `/nowhere/at/all`: No such file or directory (os error 2)
    hint: check that its parent is a writable folder
    ");
    let elsewhere = House::new();
    let target = elsewhere.path("");
    let ran = house.kith(&["backup", target.to_str().unwrap(), "--json"]).json();
    assert_eq!(ran["error"]["code"], "invalid_request", "{ran}");
    assert_eq!((house.files(), elsewhere.files()), (before, vec!["Agent.md".to_owned()]));
}

#[test]
fn a_backup_is_synced_before_its_rename_and_its_folder_after() {
    let house = House::new();
    house.kith(&["ask", "say one"]).succeeded();
    let target = house.path("../copy").display().to_string();
    let calls = house.path("../calls").display().to_string();
    let strace =
        ["strace", "-f", "-qq", "-y", "-o", &calls, "-e", "trace=fsync,fdatasync,/^rename"];
    let ran = house.behind(&strace, &["backup", &target]).unwrap();
    // Without strace `timeout` says that there is no such program.
    if ran.code == 127 {
        return;
    }
    assert_eq!(ran.code, 0, "{}", ran.shown());
    let calls = fs::read_to_string(calls).unwrap();
    let lines: Vec<&str> = calls.lines().collect();
    let named = lines.iter().rposition(|line| line.contains("rename")).unwrap();
    let above = std::path::Path::new(&target).parent().unwrap().canonicalize().unwrap();
    let is_synced = |lines: &[&str], folder: &str| lines.iter().any(|it| it.contains(folder));
    assert!(is_synced(&lines[named + 1..], &format!("<{}>)", above.display())), "{calls}");
    assert!(is_synced(&lines[..named], "/.kith/sessions>)"), "{calls}");
}
