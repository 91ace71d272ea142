//! `kith explain command`: what would be decided, without running anything.

use crate::house::House;

#[test]
fn a_command_is_explained_with_its_segments_and_nothing_runs() {
    let house = House::new();
    let told = house.json(&["explain", "command", "touch x && rm -r src", "--json"]);
    assert_eq!(told["ok"], true);
    assert_eq!(told["verdict"], "ask");
    assert_eq!(told["segments"][1]["argv"], serde_json::json!(["rm", "-r", "src"]));
    assert_eq!(told["segments"][1]["verdict"], "ask");
    assert!(!house.path("x").exists());
    let told = house.json(&["explain", "command", "ls $(id)", "--json"]);
    assert_eq!(told["notUnderstood"][1]["kind"], "substitution", "{told}");
}

#[test]
fn the_mode_and_the_rules_count() {
    let house = House::new();
    let denied = house.json(&["explain", "command", "ls", "--mode", "readonly", "--json"]);
    assert_eq!((&denied["verdict"], &denied["rule"]), (&"deny".into(), &"mode".into()));
    house.write("kith.toml", "[policy]\ndeny = [\"exec_shell(git push *)\"]\n");
    let denied = house.json(&["explain", "command", "ls; git push", "--json"]);
    assert_eq!(denied["verdict"], "deny");
    assert_eq!(denied["rule"], "exec_shell(git push *)");
}

#[test]
fn the_constitution_tightens_and_never_widens() {
    let house = House::new();
    house.write("Agent.md", "---\napprovals:\n  deny: [\"exec_shell(git *)\"]\n---\n# Agent\n");
    let denied = house.json(&["explain", "command", "git status", "--json"]);
    assert_eq!(denied["verdict"], "deny");
    house.write("Agent.md", "---\napprovals:\n  allow: [exec_shell]\n---\n# Agent\n");
    let asked = house.json(&["explain", "command", "ls", "--json"]);
    assert_eq!(asked["verdict"], "ask");
}

#[test]
fn a_reply_is_read_for_an_assumed_question_only_if_that_is_said() {
    let house = House::new();
    let told = house.json(&["explain", "reply", "yes", "--json"]);
    assert_eq!((&told["verdict"], &told["assumed"]), (&"allow".into(), &"make test".into()));
    let shown = house.kith(&["explain", "reply", "yes"]).shown();
    assert!(shown.contains("as if one approval for `make test` were waiting"), "{shown}");
    house.write("pending.json", "[]");
    let told = house.json(&["explain", "reply", "yes", "--pending", "pending.json", "--json"]);
    assert_eq!(told["verdict"], "notAnAnswer");
    assert!(told["assumed"].is_null(), "{told}");
}
