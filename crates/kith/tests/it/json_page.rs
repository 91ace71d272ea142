//! docs/json.md beside what the program prints.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::house::House;

/// The keys that the page lists for a command, and whether each may be absent.
fn keys_of(page: &str, command: &str) -> Vec<(String, bool)> {
    let heading = format!("\n### `kith {command}`\n");
    let section = page.split(&heading).nth(1).unwrap_or_else(|| panic!("{command} is missing"));
    let section = section.split("\n#").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    // Keys that a sentence names.
    let told = section.lines().filter_map(|line| line.split_once("`kith skill ls`: "));
    let told = told.flat_map(|(_, keys)| keys.split('`').skip(1).step_by(2));
    rows.chain(told).map(|key| (key.trim_end_matches('?').to_owned(), key.ends_with('?'))).collect()
}

#[track_caller]
fn check(page: &str, command: &str, printed: &Value) {
    let listed = keys_of(page, command);
    let printed: BTreeSet<&str> =
        printed.as_object().unwrap().keys().map(String::as_str).filter(|it| *it != "ok").collect();
    let known: BTreeSet<&str> = listed.iter().map(|(key, _)| key.as_str()).collect();
    assert!(printed.is_subset(&known), "{command} prints {printed:?}, the page has {known:?}");
    for (key, is_optional) in &listed {
        assert!(*is_optional || printed.contains(key.as_str()), "{command} lacks `{key}`");
    }
}

#[test]
fn what_is_printed_is_what_the_page_says() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md");
    let page = fs::read_to_string(page).unwrap();
    let house = House::empty();
    check(&page, "init", &house.json(&["init", ".", "--json"]));
    house.write("skills/tidy/SKILL.md", "---\nname: tidy\ndescription: Tidy up.\n---\nTidy.\n");
    check(&page, "ask", &house.json(&["ask", "list the files", "--model", "demo", "--json"]));
    house.kith(&["prime", "new", "probe"]).succeeded();
    for line in [
        "agent ls",
        "agent new ux",
        "agent rm ux",
        "cancel",
        "queue ls",
        "cost",
        "logs --session latest",
        "model ls",
        "model use demo",
        "new --thread web:room:a",
        "prime ls",
        "prime show probe",
        "prime check",
        "prime export",
        "prime new other",
        "prime save latest saved",
        "session ls",
        "session show",
        "session verify",
        "session replay",
        "session export",
        "session rename latest title",
        "session search list",
        "session tree",
        "session branch --to start",
        "session clone",
        "session rm latest --yes",
        "thread ls",
        "thread rebuild",
        "thread compact",
        "prompt",
        "skill ls",
        "skill show tidy",
        "skill check",
        "explain identity",
        "explain command ls",
        "doctor",
        "trust ls",
        "completions bash",
        "man ask",
    ] {
        let mut words: Vec<&str> = line.split(' ').collect();
        if line.starts_with("prime save") {
            house.kith(&["ask", "say hi", "--model", "demo"]).succeeded();
        }
        words.push("--json");
        let printed = house.json(&words);
        assert_eq!(printed["ok"], true, "{line}: {printed}");
        let command = ["completions", "man", "new", "cancel", "cost", "logs", "prompt", "doctor"];
        let n_words = if command.contains(&words[0]) { 1 } else { 2 };
        check(&page, &words[..n_words].join(" "), &printed);
    }
}
