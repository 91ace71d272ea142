//! The requests that a model gets, and their proof from the log alone.

use std::fs;

use kith_testkit::server::ServerReply;
use serde_json::{Value, json};

use crate::house::{House, Vendor, of_type};
use crate::session::{BY_HAND, write_session};

fn system_prompt(body: &Value) -> &str {
    body["messages"][0]["content"].as_str().unwrap()
}

/// The hashes that the log announced are those of the bytes that arrived.
#[track_caller]
fn check_hashes(log: &[Value], vendor: &Vendor) {
    let announced = of_type(log, "model_requested").into_iter();
    let announced = announced.map(|it| json!([it["bodySha256"], it["bodyBytes"]]));
    let arrived = vendor.requests().into_iter().map(|it| json!([it.sha256, it.body.len()]));
    assert_eq!(announced.collect::<Vec<_>>(), arrived.collect::<Vec<_>>());
}

#[test]
fn editing_and_deleting_every_file_leaves_the_system_prompt_as_it_was() {
    let replies = ["one", "two", "three"].map(ServerReply::text);
    let vendor = Vendor::new(replies);
    let house = House::asking(&vendor);
    let prompt_files =
        ["Agent.md", "AGENTS.md", "SOUL.md", "USER.md", "IDENTITY.md", "TOOLS.md", "MEMORY.md"];
    for name in prompt_files {
        house.write(name, format!("This is {name}.\n"));
    }
    house.kith(&["ask", "first"]).succeeded();
    for name in prompt_files {
        house.write(name, "Everything is different now.\n");
    }
    house.kith(&["ask", "second"]).succeeded();
    for name in prompt_files {
        fs::remove_file(house.path(name)).unwrap();
    }
    house.kith(&["ask", "third"]).succeeded();

    let bodies = vendor.bodies();
    let first = system_prompt(&bodies[0]);
    assert!(first.contains("This is Agent.md.") && first.contains("This is SOUL.md."), "{first}");
    for body in &bodies {
        assert_eq!(system_prompt(body), first);
        assert_eq!(body["tools"], bodies[0]["tools"]);
    }
    let log = house.log();
    assert_eq!(of_type(&log, "instruction_snapshot").len(), 1);
    check_hashes(&log, &vendor);
    let verified = house.json(&["session", "verify", "latest", "--json"]);
    assert_eq!(verified["ok"], true);
    assert_eq!(verified["requests"], 3);

    // And the log alone tells what the session was given.
    let view = house.json(&["session", "show", "latest", "--json"]);
    let sections = view["events"][0]["snapshot"]["sections"].as_array().unwrap();
    let sources = sections.iter().filter_map(|it| it["sources"].as_array()).flatten();
    let soul = sources.into_iter().find(|it| it["path"] == json!(house.path("SOUL.md"))).unwrap();
    assert_eq!(soul["content"], "This is SOUL.md.\n");
    assert_eq!(soul["sha256"], kith_testkit::sha256_hex(b"This is SOUL.md.\n"));
}

#[test]
fn the_snapshot_is_on_disk_before_the_first_request_and_the_prompt_is_no_message() {
    let vendor = Vendor::new([ServerReply::text("hello")]);
    let house = House::asking(&vendor);
    house.kith(&["ask", "hi"]).succeeded();
    let log = house.log();
    assert_eq!(log[1]["type"], "instruction_snapshot");
    assert_eq!(log[2]["type"], "toolset_snapshot");
    let body = &vendor.bodies()[0];
    assert!(["system", "developer"].contains(&body["messages"][0]["role"].as_str().unwrap()));
    let blocks = log[1]["snapshot"]["sections"].as_array().unwrap().iter();
    let blocks = blocks.map(|it| it["renderedBlock"].as_str().unwrap());
    let blocks: Vec<&str> = blocks.filter(|it| !it.is_empty()).collect();
    assert_eq!(system_prompt(body), blocks.join("\n\n"));
    let others = body["messages"].as_array().unwrap()[1..].iter();
    assert_eq!(others.map(|it| it["role"].as_str().unwrap()).collect::<Vec<_>>(), ["user"]);
    for event in &log[2..] {
        let text = event.to_string();
        assert!(!text.contains("Be kind.") && !text.contains(r#""role":"system""#), "{text}");
    }
    check_hashes(&log, &vendor);
}

#[test]
fn a_session_continued_from_another_folder_keeps_its_snapshot() {
    let vendor = Vendor::new([ServerReply::text("one"), ServerReply::text("two")]);
    let house = House::asking(&vendor);
    house.kith(&["ask", "hi"]).succeeded();
    fs::create_dir(house.path("sub")).unwrap();
    house.write("sub/AGENTS.md", "Only here.");
    house.write("Agent.md", "Be brief.");
    house.kith_in("sub", &["ask", "there", "--session", "latest"]).succeeded();
    let log = house.log();
    let snapshots = of_type(&log, "instruction_snapshot");
    assert_eq!(snapshots.len(), 1);
    assert_eq!(
        snapshots[0]["snapshot"]["cwd"],
        house.path("").to_str().unwrap().trim_end_matches('/')
    );
    assert_eq!(of_type(&log, "toolset_snapshot").len(), 1);
    let bodies = vendor.bodies();
    assert_eq!(system_prompt(&bodies[0]), system_prompt(&bodies[1]));
}

#[test]
fn no_file_of_the_house_holds_the_assembled_prompt() {
    let vendor = Vendor::new((0..3).map(|_| ServerReply::text("hello")));
    let house = House::asking(&vendor);
    // Sections of the prompt that are long enough to lie in a blob.
    house.write("Agent.md", "Be kind. ".repeat(7_000));
    house.write("MEMORY.md", "Remember. ".repeat(6_500));
    for words in ["hi", "again", "and again"] {
        house.kith(&["ask", words]).succeeded();
    }
    let bodies = vendor.bodies();
    let prompt = system_prompt(&bodies[0]);
    let log = house.log();
    let sections = log[1]["snapshot"]["sections"].as_array().unwrap();
    // Where the first section ends and the next begins, as text and as a string of JSON.
    let baseline = sections[0]["renderedBlock"].as_str().unwrap();
    let joined = format!("{}\n\n# ", &baseline[baseline.len() - 40..]);
    assert!(prompt.contains(&joined), "{prompt}");
    let in_json = serde_json::to_string(&joined).unwrap();
    let names = house.files();
    assert!(names.iter().any(|it| it.contains("threads/")) && names.len() > 6, "{names:?}");
    for name in names {
        let bytes = fs::read(house.path(&name)).unwrap();
        for text in [joined.as_str(), in_json.trim_matches('"')] {
            let is_there = bytes.windows(text.len()).any(|it| it == text.as_bytes());
            assert!(!is_there, "the assembled prompt is in {name}");
        }
    }
}

#[test]
fn the_key_goes_to_the_server_and_nowhere_else() {
    let vendor = Vendor::new([ServerReply::Raw {
        status: 401,
        content_type: "application/json".to_owned(),
        body: br#"{"error":{"message":"bad key sk-test-0123456789"}}"#.to_vec(),
    }]);
    let house = House::asking(&vendor);
    let ran = house.kith(&["ask", "hi"]);
    assert_eq!(ran.code, 3);
    assert_eq!(vendor.requests()[0].header("authorization"), Some("Bearer sk-test-0123456789"));
    let log = fs::read_to_string(house.session_file()).unwrap();
    for text in [ran.stdout, ran.stderr, log] {
        assert!(!text.contains("sk-test"), "{text}");
    }
}

#[test]
fn reminders_survive_a_restart_and_reach_the_model_the_same_way() {
    let replies = ["one", "two"].map(ServerReply::text);
    let vendor = Vendor::new(replies);
    let house = House::asking(&vendor);
    write_session(
        &house,
        "snapshot be kind | tools read_file | user: go | model: ok \
         | note hidden the door is open | ended done",
    );
    house.kith(&["ask", "first", "--session", BY_HAND]).succeeded();
    house.kith(&["ask", "second", "--session", BY_HAND]).succeeded();
    let bodies = vendor.bodies();
    let [first, second] = [&bodies[0], &bodies[1]].map(|it| it["messages"].as_array().unwrap());
    assert!(first.iter().any(|it| it.to_string().contains("hidden the door is open")));
    assert_eq!(&second[..first.len()], &first[..]);
    let log = house.log();
    check_hashes(&log, &vendor);
    assert_eq!(house.json(&["session", "verify", BY_HAND, "--json"])["ok"], true);
}

#[test]
fn a_turn_with_calls_verifies_after_the_files_it_read_are_gone() {
    let vendor = Vendor::new([
        ServerReply::calls("Let me look.", &[("read_file", json!({ "path": "note.txt" }))]),
        ServerReply::text("It says tea."),
    ]);
    let house = House::asking(&vendor);
    house.write("note.txt", "tea\n");
    let answer = house.json(&["ask", "read the note", "--json"]);
    assert_eq!(answer["text"], "It says tea.");
    assert_eq!(answer["usage"]["input"].as_u64().unwrap() % 2, 0);
    fs::remove_file(house.path("note.txt")).unwrap();
    fs::remove_file(house.path("Agent.md")).unwrap();
    let log = house.log();
    check_hashes(&log, &vendor);
    assert_eq!(house.json(&["session", "verify", "latest", "--json"])["ok"], true);
}

#[test]
fn everything_is_on_disk_before_it_is_shown() {
    let house = House::new();
    let mut running = house.start(&["ask", "list the files", "--stream-json"]);
    // Each line is an event that was written, or a delta of a request that was.
    running.until("\"type\":\"model_requested\"");
    let log = house.log();
    assert_eq!(of_type(&log, "user_message").len(), 1);
    assert!(!of_type(&log, "model_requested").is_empty());
    assert_eq!(running.finish().code, 0);
}
