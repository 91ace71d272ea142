//! `kith prompt`: the prompt of a new session, without starting one.

use crate::check;
use crate::house::{House, Ran};

#[test]
fn the_prompt_goes_to_stdout_and_its_sources_to_stderr_and_nothing_is_made() {
    let house = House::new();
    house.write("SOUL.md", "You are Ada.\n");
    let ran = house.kith(&["prompt"]).succeeded();
    assert!(ran.stdout.contains("Be kind.") && ran.stdout.contains("You are Ada."));
    check!(Ran { stdout: String::new(), ..ran }, @"
    exit 0
    --- stderr
    [house]/Agent.md: 9 of 9 characters in the prompt
    [house]/SOUL.md: 13 of 13 characters in the prompt
    ");
    assert_eq!(house.files(), ["Agent.md", "SOUL.md"]);
}

#[test]
fn the_json_form_is_the_prompt_and_the_snapshot_as_the_log_would_hold_it() {
    let house = House::new();
    let prompt = house.json(&["prompt", "--json"]);
    let keys: Vec<&String> = prompt.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["ok", "systemPrompt", "snapshot"]);
    let blocks = prompt["snapshot"]["sections"].as_array().unwrap().iter();
    let blocks = blocks.map(|section| section["renderedBlock"].as_str().unwrap());
    let blocks: Vec<&str> = blocks.filter(|block| !block.is_empty()).collect();
    assert_eq!(prompt["systemPrompt"], blocks.join("\n\n"));

    house.kith(&["ask", "hello"]).succeeded();
    let log = house.log();
    let keys = |value: &serde_json::Value| -> Vec<String> {
        value.as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(keys(&log[1]["snapshot"]), keys(&prompt["snapshot"]));
    let kinds = |value: &serde_json::Value| -> Vec<String> {
        let sections = value["sections"].as_array().unwrap().iter();
        sections.map(|section| section["kind"].to_string()).collect()
    };
    assert_eq!(kinds(&log[1]["snapshot"]), kinds(&prompt["snapshot"]));
}

#[test]
fn the_prompt_for_a_peer_leaves_private_files_out() {
    let house = House::new();
    house.write("MEMORY.md", "The safe is behind the picture.\n");
    let owner = house.kith(&["prompt"]).succeeded();
    let peer = house.kith(&["prompt", "--audience", "peer"]).succeeded();
    assert!(owner.stdout.contains("behind the picture"));
    assert!(!peer.stdout.contains("behind the picture"));
}

#[test]
fn a_missing_folder_is_named() {
    let house = House::new();
    check!(house.kith(&["prompt", "--cwd", "nowhere"]), @"
    exit 1
    --- stderr
    error: cannot use the folder `nowhere`: No such file or directory (os error 2)
    ");
    check!(house.kith(&["prompt", "--cwd", "Agent.md", "--json"]), @r#"
    exit 1
    --- stdout
    {"ok":false,"error":{"code":"invalid_request","message":"cannot use the folder `Agent.md`: not a folder"}}
    "#);
}

#[test]
fn the_example_person_of_a_template_never_reaches_the_model() {
    let house = House::empty();
    house.kith(&["init", "."]).succeeded();
    for (file, line) in
        [("USER.md", "- Name: Ana\n"), ("IDENTITY.md", "name: Luna\n"), ("TOOLS.md", "- x\n")]
    {
        let text = std::fs::read_to_string(house.path(file)).unwrap();
        house.write(file, format!("{text}{line}"));
    }
    let ran = house.kith(&["prompt"]).succeeded();
    for example in ["Mass", "Magi", "192.168.1.100", "podman", "<!--"] {
        assert!(!ran.stdout.contains(example), "{example}: {}", ran.stdout);
    }
    assert!(ran.stdout.contains("# USER.md\n\n- Name: Ana\n"), "{}", ran.stdout);
    assert!(ran.stderr.contains("USER.md: 23 of "), "{}", ran.stderr);
}

#[test]
fn the_first_request_of_a_new_agent_is_small() {
    let house = House::empty();
    house.kith(&["init", "."]).succeeded();
    house.kith(&["ask", "hello", "--model", "demo"]).succeeded();
    let log = house.log();
    let bytes = crate::house::of_type(&log, "model_requested")[0]["bodyBytes"].as_u64().unwrap();
    assert!(bytes <= 6000, "{bytes}");
}
