//! Calls of the real tools that wait for a person: approved, changed meanwhile, killed, asked beside.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use kith_testkit::server::ServerReply;
use serde_json::{Value, json};

use crate::house::{House, Vendor, of_type};

/// A house whose model makes one call and then says that it is done.
fn calling(tool: &str, input: Value) -> (Vendor, House) {
    let vendor = Vendor::new([
        ServerReply::calls("", &[(tool, input)]),
        ServerReply::text("done"),
        ServerReply::text("and this"),
    ]);
    let house = House::asking(&vendor);
    (vendor, house)
}

fn result(house: &House) -> (String, String) {
    let log = house.log();
    let result = of_type(&log, "tool_result")[0];
    let text = result["content"][0]["text"].as_str().unwrap();
    (result["outcome"].as_str().unwrap().to_owned(), text.to_owned())
}

/// Asks, changes the world while the question waits, approves, and what came of the call.
fn approved_after(house: &House, change: impl FnOnce()) -> (String, String) {
    let asked = house.kith(&["ask", "go"]);
    assert_eq!(asked.code, 4, "{}", asked.shown());
    change();
    house.kith(&["approve"]).succeeded();
    result(house)
}

#[test]
fn an_approved_command_runs_once_as_it_was_asked_about() {
    let input = json!({ "command": "cat note.txt >> out.txt", "unsandboxed": true });
    let (_vendor, house) = calling("exec_shell", input);
    house.write("note.txt", "a\n");
    let (outcome, text) = approved_after(&house, || ());
    assert_eq!((outcome.as_str(), text.as_str()), ("done", "[exit code 0]"));
    assert_eq!(fs::read_to_string(house.path("out.txt")).unwrap(), "a\n");
    assert_eq!(of_type(&house.log(), "tool_started").len(), 1);
}

#[test]
fn all_that_a_long_change_would_write_can_be_read_before_it_is_approved() {
    let lines: Vec<String> = (0..5_000).map(|n| format!("line {n}\n")).collect();
    let content = lines.concat();
    let (_vendor, house) = calling("write_file", json!({ "path": "USER.md", "content": content }));
    assert_eq!(house.kith(&["ask", "go"]).code, 4);
    let listed = house.kith(&["approvals"]).succeeded().stdout;
    assert!(!listed.contains("line 4999"));
    let told = listed.lines().find(|line| line.contains(" more lines of the diff; ")).unwrap();
    let code = told.split("approvals show ").nth(1).unwrap().split('`').next().unwrap();
    let shown = house.kith(&["approvals", "show", code]).succeeded().stdout;
    assert!(shown.contains("    line 0\n") && shown.contains("    line 4999\n"));
    let files = fs::read_dir(house.path(".kith/approvals")).unwrap();
    let files: Vec<String> =
        files.map(|it| fs::read_to_string(it.unwrap().path()).unwrap()).collect();
    assert!(files.len() == 1 && files[0].contains("line 4999\\n"));
}

#[test]
fn an_approved_command_whose_file_changed_is_refused_and_says_which() {
    let input = json!({ "command": "cat note.txt >> out.txt", "unsandboxed": true });
    let (_vendor, house) = calling("exec_shell", input);
    house.write("note.txt", "a\n");
    let (outcome, text) = approved_after(&house, || house.write("note.txt", "b\n"));
    assert_eq!(outcome, "refused", "{text}");
    assert!(text.contains("has changed since it was allowed"), "{text}");
    assert!(text.contains("/note.txt`"), "{text}");
    assert!(!house.path("out.txt").exists());
    assert!(of_type(&house.log(), "tool_started").is_empty());
}

#[test]
fn an_approved_command_whose_program_changed_is_refused_and_says_which() {
    let write = |house: &House, name: &str, text: &str| {
        house.write(name, text);
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(house.path(name), mode).unwrap();
    };
    let input = json!({ "command": "greet >> out.txt", "unsandboxed": true });
    let (_vendor, mut house) = calling("exec_shell", input);
    write(&house, "bin/greet", "#!/bin/sh\necho hello\n");
    let path = format!("{}:/usr/bin:/bin", house.path("bin").display());
    house.set("PATH", &path);
    let (outcome, text) = approved_after(&house, || {
        // Another file under the same name, of the same size.
        fs::remove_file(house.path("bin/greet")).unwrap();
        write(&house, "bin/greet", "#!/bin/sh\necho jello\n");
    });
    assert_eq!(outcome, "refused", "{text}");
    assert!(text.contains("/bin/greet`"), "{text}");
    assert!(!house.path("out.txt").exists());
}

#[test]
fn an_approved_change_of_the_self_is_made_only_to_the_file_that_was_shown() {
    for changes in [false, true] {
        let input = json!({ "path": "SOUL.md", "old": "kind", "new": "brave" });
        let (_vendor, house) = calling("edit_file", input);
        house.write("SOUL.md", "Be kind.\n");
        let (outcome, text) = approved_after(&house, || {
            if changes {
                house.write("SOUL.md", "Be kind and brief.\n");
            }
        });
        let soul = fs::read_to_string(house.path("SOUL.md")).unwrap();
        if changes {
            assert_eq!((outcome.as_str(), soul.as_str()), ("refused", "Be kind and brief.\n"));
            assert!(text.contains("/SOUL.md`"), "{text}");
        } else {
            assert_eq!((outcome.as_str(), soul.as_str()), ("done", "Be brave.\n"), "{text}");
        }
    }
}

#[test]
fn a_file_that_was_read_before_a_restart_is_replaced_when_that_is_approved_after_it() {
    // Each command is a program of its own, so the one that approves has read nothing.
    let vendor = Vendor::new([
        ServerReply::calls("", &[("read_file", json!({ "path": "SOUL.md" }))]),
        ServerReply::calls("", &[("write_file", json!({ "path": "SOUL.md", "content": "x\n" }))]),
        ServerReply::text("done"),
    ]);
    let house = House::asking(&vendor);
    house.write("SOUL.md", "Be kind.\n");
    assert_eq!(house.kith(&["ask", "go"]).code, 4);
    house.kith(&["approve"]).succeeded();
    assert_eq!(fs::read_to_string(house.path("SOUL.md")).unwrap(), "x\n");
}

#[test]
fn a_denied_call_does_nothing_and_the_model_is_told_why() {
    let (vendor, house) = calling("exec_shell", json!({ "command": "rm -r src" }));
    house.write("src/main.rs", "fn main() {}\n");
    assert_eq!(house.kith(&["ask", "go"]).code, 4);
    house.kith(&["deny", "--reason", "no backup yet"]).succeeded();
    assert!(house.path("src/main.rs").exists());
    let told = vendor.bodies()[1].to_string();
    assert!(told.contains("no backup yet"), "{told}");
}

#[test]
fn who_writes_while_a_question_waits_is_told_so_and_answered_after_it() {
    let (vendor, house) = calling("exec_shell", json!({ "command": "rm -r src" }));
    assert_eq!(house.kith(&["ask", "go"]).code, 4);
    let beside = house.kith(&["ask", "and what is the time?"]);
    assert_eq!(beside.code, 4, "{}", beside.shown());
    assert!(beside.shown().contains("exec_shell rm -r src"), "{}", beside.shown());
    assert_eq!(vendor.requests().len(), 1);
    house.kith(&["deny"]).succeeded();
    let log = house.log();
    let said = of_type(&log, "user_message");
    assert_eq!(said.len(), 2, "{log:?}");
    assert_eq!(vendor.requests().len(), 3);
}
