//! `kith thread`, and thread files.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;

use kith_testkit::server::ServerReply;
use serde_json::Value;

use crate::check;
use crate::house::{House, Vendor, lines_of, spoil};
use crate::session::{BY_HAND, write_session};

fn thread_files(house: &House) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(house.path(".kith/threads")) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn thread_file(house: &House) -> PathBuf {
    let files = thread_files(house);
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

fn texts(messages: &[Value]) -> Vec<String> {
    let last_text = |message: &Value| {
        let parts = message["parts"].as_array().unwrap().iter();
        let text = parts.filter_map(|part| part["text"].as_str()).next_back();
        format!("{}: {}", message["role"].as_str().unwrap(), text.unwrap_or_default())
    };
    messages.iter().map(last_text).collect()
}

#[test]
fn a_house_without_threads_says_so_and_gets_no_files() {
    let house = House::new();
    check!(house.kith(&["thread", "ls"]), @r#"
    exit 0
    --- stderr
    note: no threads yet; `kith ask "hello"` starts one
    "#);
    check!(house.kith(&["thread", "ls", "--json"]), @r#"
    exit 0
    --- stdout
    {"ok":true,"threads":[]}
    "#);
    check!(house.kith(&["thread", "show", "cli:", "--json"]), @r#"
    exit 1
    --- stdout
    {"ok":false,"error":{"code":"session_not_found","message":"there is no thread `cli:`","hint":"`kith thread ls` lists the threads"}}
    "#);
    assert_eq!(house.files(), ["Agent.md"]);
}

#[test]
fn every_turn_is_in_the_thread_file() {
    let house = House::new();
    house.kith(&["ask", "say one", "--model", "demo"]).succeeded();
    house.kith(&["ask", "list the files", "--model", "demo"]).succeeded();
    house.kith(&["ask", "say three", "--new", "--model", "demo"]).succeeded();
    let file = thread_file(&house);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let messages = lines_of(&file);
    assert_eq!(messages.len(), 6);
    assert_eq!(messages[3]["parts"][2]["state"], "output-available");
    // Shown and rebuilt it is the same, and reading changes nothing.
    let shown = house.json(&["thread", "show", "cli:", "--json"]);
    assert_eq!(shown.as_array().unwrap(), &messages);
    let before = fs::read(&file).unwrap();
    check!(house.kith(&["thread", "rebuild", "--json"]), @r#"
    exit 0
    --- stdout
    {"ok":true,"threads":1,"messages":6}
    "#);
    check!(house.kith(&["thread", "compact", "cli:"]), @"
    exit 0
    --- stdout
    1 thread, 6 messages
    ");
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn a_deleted_thread_file_or_folder_is_rebuilt_with_the_same_messages() {
    let house = House::new();
    house.kith(&["ask", "say one", "--model", "demo"]).succeeded();
    let before = fs::read_to_string(thread_file(&house)).unwrap();
    fs::remove_dir_all(house.path(".kith/threads")).unwrap();
    let doctor = house.kith(&["doctor"]).stdout;
    assert!(doctor.contains("ok    threads       0 up to date, 1 not written yet"), "{doctor}");
    house.kith(&["thread", "rebuild"]).succeeded();
    assert_eq!(fs::read_to_string(thread_file(&house)).unwrap(), before);
    fs::remove_file(thread_file(&house)).unwrap();
    house.kith(&["ask", "say two", "--model", "demo"]).succeeded();
    let after = fs::read_to_string(thread_file(&house)).unwrap();
    assert!(after.starts_with(&before) && after.contains("say two"), "{after}");
    fs::write(thread_file(&house), before).unwrap();
    let doctor = house.kith(&["doctor"]).stdout;
    assert!(
        doctor.contains("warn  threads       the files of cli:room:. are out of date"),
        "{doctor}"
    );
}

#[test]
fn a_row_of_the_list_has_exactly_these_keys() {
    let house = House::new();
    let answer = house.json(&["ask", "hello", "--json", "--thread", "web:room:Notes"]);
    house.kith(&["ask", "hello again"]).succeeded();
    let list = house.json(&["thread", "ls", "--json"]);
    let rows = list["threads"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    let row = rows[1].as_object().unwrap();
    let keys: Vec<&String> = row.keys().collect();
    assert_eq!(
        keys,
        ["threadId", "audience", "sessionId", "title", "updatedAt", "pendingApprovals"]
    );
    assert_eq!(row["threadId"], "web:room:Notes");
    assert_eq!((&row["audience"], &row["title"]), (&"owner".into(), &"hello".into()));
    assert_eq!(row["sessionId"], answer["sessionId"]);
    assert_eq!(row["pendingApprovals"], Value::Array(Vec::new()));
    let names: Vec<String> = thread_files(&house)
        .iter()
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    assert!(names.contains(&"web%3aroom%3a%4eotes.jsonl".to_owned()), "{names:?}");
}

#[test]
fn a_thread_is_named_by_its_beginning_or_end() {
    let house = House::new();
    for thread in ["web:room:garden", "web:room:kitchen"] {
        house.kith(&["ask", "hello", "--thread", thread]).succeeded();
    }
    assert_eq!(house.json(&["thread", "show", "garden", "--json"]).as_array().unwrap().len(), 2);
    check!(house.kith(&["thread", "show", "web:"]), @"
    exit 1
    --- stderr
    error: several threads match `web:`
    hint: `kith thread ls` lists the threads
    ");
    check!(house.kith(&["thread", "rebuild", "attic", "--json"]), @r#"
    exit 1
    --- stdout
    {"ok":false,"error":{"code":"session_not_found","message":"there is no thread `attic`","hint":"`kith thread ls` lists the threads"}}
    "#);
}

#[test]
fn a_session_is_exported_as_an_array_of_messages() {
    let house = House::new();
    write_session(
        &house,
        "user: go | model: ok, write_file=c1 | hold c1 | asked c1 | deny c1 | refused c1 no \
         | note hidden canary | model: well | ended done",
    );
    let ran = house.kith(&["session", "export", BY_HAND, "--format", "uimessages"]).succeeded();
    assert!(!ran.stdout.contains("canary"), "{}", ran.stdout);
    let messages: Vec<Value> = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(texts(&messages), ["user: go", "assistant: well"]);
    assert_eq!(messages[1]["parts"][2]["state"], "output-denied");
    // A session that came from elsewhere is of a thread, too.
    let shown = house.json(&["thread", "show", "cli:room:by-hand", "--json"]);
    assert_eq!(shown.as_array().unwrap(), &messages);
    assert_eq!(
        house.json(&["thread", "ls", "--json"])["threads"][0]["threadId"],
        "cli:room:by-hand"
    );
    let before = house.files();
    assert!(before.iter().all(|file| !file.starts_with(".kith/threads")), "{before:?}");
}

#[test]
fn a_waiting_question_is_listed_with_its_thread() {
    let house = House::new();
    write_session(&house, "user: go | model: ok, write_file=c1 | hold c1 | asked c1");
    let list = house.json(&["thread", "ls", "--json"]);
    assert_eq!(list["threads"][0]["pendingApprovals"], serde_json::json!(["approval-c1"]));
}

#[test]
fn a_thread_file_that_cannot_be_written_is_reported_and_fails_no_turn() {
    let house = House::new();
    house.kith(&["ask", "say one", "--model", "demo"]).succeeded();
    let file = thread_file(&house);
    let messages = fs::read_to_string(&file).unwrap();
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    house.kith(&["ask", "say two", "--model", "demo"]).succeeded();
    assert!(house.kith(&["doctor"]).stdout.contains("cannot read the thread file"));
    let ran = house.kith(&["thread", "rebuild"]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    fs::remove_dir(&file).unwrap();
    house.kith(&["ask", "say three", "--model", "demo"]).succeeded();
    let after = fs::read_to_string(&file).unwrap();
    assert!(after.starts_with(&messages) && after.lines().count() == 6, "{after}");
}

#[test]
fn a_thread_goes_on_after_a_repair_and_repeats_nothing() {
    let house = House::new();
    house.kith(&["ask", "say one", "--model", "demo"]).succeeded();
    house.kith(&["ask", "say two", "--model", "demo"]).succeeded();
    spoil(&house.session_file(), "say two");
    house.kith(&["session", "repair", "latest"]).succeeded();
    house.kith(&["ask", "say three", "--model", "demo"]).succeeded();
    let shown = house.json(&["thread", "show", "cli:", "--json"]);
    let said = texts(shown.as_array().unwrap());
    assert_eq!(said.len(), 4, "{said:?}");
    assert_eq!((said[0].as_str(), said[2].as_str()), ("user: say one", "user: say three"));
    assert_eq!(shown.as_array().unwrap(), &lines_of(&thread_file(&house)));
    let transcript = house.kith(&["thread", "show", "cli:"]).succeeded().stdout;
    assert_eq!(transcript.matches("say one").count(), 1, "{transcript}");
}

#[test]
fn a_removed_session_is_in_no_thread_file() {
    let house = House::new();
    house.kith(&["ask", "say one", "--model", "demo"]).succeeded();
    house.kith(&["ask", "say canary", "--new", "--model", "demo"]).succeeded();
    let file = thread_file(&house);
    assert!(fs::read_to_string(&file).unwrap().contains("canary"));
    house.kith(&["session", "rm", "latest", "--yes"]).succeeded();
    let left = fs::read_to_string(&file).unwrap();
    assert!(!left.contains("canary") && left.contains("say one"), "{left}");
    house.kith(&["session", "rm", "latest", "--yes"]).succeeded();
    assert_eq!(thread_files(&house), Vec::<PathBuf>::new());
}

#[test]
fn a_branch_rewrites_the_file_and_a_clone_gets_one_of_its_own() {
    let house = House::new();
    let first = house.json(&["ask", "say one", "--model", "demo", "--json"]);
    house.kith(&["ask", "say two", "--model", "demo"]).succeeded();
    let file = thread_file(&house);
    assert_eq!(lines_of(&file).len(), 4);
    let (session, leaf) = (first["sessionId"].as_str().unwrap(), first["leaf"].as_str().unwrap());
    house.kith(&["session", "branch", session, "--to", leaf]).succeeded();
    assert_eq!(texts(&lines_of(&file)).first().unwrap(), "user: say one");
    let shown = house.json(&["thread", "show", "cli:", "--json"]);
    assert_eq!(shown.as_array().unwrap().len(), 2, "{shown}");
    house.kith(&["session", "clone", session]).succeeded();
    assert_eq!(thread_files(&house).len(), 2);
    let cloned = house.json(&["thread", "show", "web:", "--json"]);
    assert_eq!(texts(cloned.as_array().unwrap()), texts(shown.as_array().unwrap()));
    assert_eq!(house.json(&["doctor", "--json"])["ok"], true);
}

#[test]
fn primed_words_are_in_the_file_unless_they_are_hidden() {
    let house = House::new();
    let script = "### record human_text_record\n\n``````markdown\n---\ngenseq: 1\nmsgId: m\n---\n\nprimed canary\n``````\n";
    house.write(".minds/priming/team_shared/words.md", script);
    let new = |more: &[&str]| {
        let args = [&["new", "--prime", "team_shared/words", "--json"] as &[&str], more].concat();
        let made = house.json(&args);
        assert_eq!(made["primed"], 1, "{made}");
    };
    new(&["--thread", "web:room:shown"]);
    new(&["--thread", "web:room:hidden", "--hide-primed"]);
    for (thread, n_canaries) in [("web:room:shown", 1), ("web:room:hidden", 0)] {
        house.kith(&["ask", "hello", "--thread", thread, "--model", "demo"]).succeeded();
        let shown = house.json(&["thread", "show", thread, "--json"]).to_string();
        assert_eq!(shown.matches("primed canary").count(), n_canaries, "{shown}");
        let text = house.kith(&["thread", "show", thread]).succeeded().stdout;
        assert_eq!(text.matches("primed canary").count(), n_canaries, "{text}");
    }
    let files: String =
        thread_files(&house).iter().map(|it| fs::read_to_string(it).unwrap()).collect();
    assert_eq!(files.matches("primed canary").count(), 1, "{files}");
}

#[test]
fn removed_folders_are_created_again_while_a_host_runs() {
    let vendor = Vendor::new([ServerReply::text("one"), ServerReply::text("two")]);
    let house = House::asking(&vendor);
    let folders = || ["memory", "threads"].map(|it| house.path(&format!(".kith/{it}")).is_dir());
    let mut chat = house.start(&["ask", "hello", "--stream-json"]);
    chat.until("turn_ended");
    chat.finish();
    assert_eq!(folders(), [true, true]);
    let mut chat = house.command(&[]).stdin(Stdio::piped()).spawn().unwrap();
    let mut lines = chat.stdin.take().unwrap();
    fs::remove_dir_all(house.path(".kith/memory")).unwrap();
    fs::remove_dir_all(house.path(".kith/threads")).unwrap();
    lines.write_all(b"again\n").unwrap();
    drop(lines);
    assert!(chat.wait().unwrap().success());
    assert_eq!(folders(), [true, true]);
    assert_eq!(texts(&lines_of(&thread_file(&house))).len(), 4);
}
