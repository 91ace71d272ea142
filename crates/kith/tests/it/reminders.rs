//! Files that change during a conversation, and the reminders about them.

use std::fs;

use kith_testkit::server::ServerReply;
use serde_json::Value;

use crate::check;
use crate::house::{House, Vendor};

fn last_words(body: &Value) -> String {
    body["messages"].as_array().unwrap().last().unwrap().to_string()
}

#[test]
fn a_changed_file_is_reported_once_and_shown_in_one_line() {
    let vendor = Vendor::new(["one", "two", "three", "four"].map(ServerReply::text));
    let house = House::asking(&vendor);
    house.write("SOUL.md", "Be warm.\n");
    house.kith(&["ask", "first"]).succeeded();
    house.write("SOUL.md", "Be very warm.\n");
    house.kith(&["ask", "second"]).succeeded();
    house.kith(&["ask", "third"]).succeeded();
    fs::remove_file(house.path("SOUL.md")).unwrap();
    fs::remove_file(house.path("Agent.md")).unwrap();
    house.kith(&["ask", "fourth"]).succeeded();

    let bodies = vendor.bodies();
    let told: Vec<usize> = bodies
        .iter()
        .map(|body| body.to_string().matches("<system-reminder>\\nThe file").count())
        .collect();
    assert_eq!(told, [0, 1, 1, 3]);
    let second = last_words(&bodies[1]);
    assert!(second.contains("-Be warm.\\n+Be very warm."), "{second}");
    assert!(second.find("second").unwrap() < second.find("<system-reminder>").unwrap(), "{second}");
    assert!(last_words(&bodies[3]).contains("SOUL.md` is gone or empty now"));
    for pair in bodies.windows(2) {
        let [before, after] = [&pair[0], &pair[1]].map(|it| it["messages"].as_array().unwrap());
        assert_eq!(&after[..before.len()], &before[..]);
    }
    assert_eq!(house.json(&["session", "verify", "latest", "--json"])["ok"], true);
    check!(house.kith(&["session", "show", "latest"]), @r"
    exit 0
    --- stdout
    owner:
      first

    agent:
      one

    owner:
      second

    (runtime notice: The file `[house]/SOUL.md` has changed. The new text holds from now on; it differs from your instructions in this: … 3 more lines)

    agent:
      two

    owner:
      third

    agent:
      three

    owner:
      fourth

    (runtime notice: The file `[house]/Agent.md` is gone or empty now. What you were told of it no longer holds.)

    (runtime notice: The file `[house]/SOUL.md` is gone or empty now. What you were told of it no longer holds.)

    agent:
      four
    ");
    let all = house.kith(&["session", "show", "latest", "--all"]);
    assert!(all.stdout.contains("+Be very warm."), "{}", all.stdout);
}

#[test]
fn an_unreadable_file_does_not_prevent_an_answer() {
    let vendor = Vendor::new(["one", "two"].map(ServerReply::text));
    let house = House::asking(&vendor);
    house.write("USER.md", "- Name: Mass\n");
    house.kith(&["ask", "first"]).succeeded();
    fs::remove_file(house.path("USER.md")).unwrap();
    fs::create_dir(house.path("USER.md")).unwrap();
    house.kith(&["ask", "second"]).succeeded();
    assert!(last_words(&vendor.bodies()[1]).contains("USER.md` can no longer be used"));
}

#[test]
fn skills_are_listed_with_the_first_message_and_then_what_changed() {
    let vendor = Vendor::new(["one", "two", "three"].map(ServerReply::text));
    let house = House::asking(&vendor);
    house.write("skills/tea/SKILL.md", "---\ndescription: How to make tea.\n---\nBoil water.\n");
    house.kith(&["ask", "first"]).succeeded();
    house.kith(&["ask", "second"]).succeeded();
    house.write("skills/tea/SKILL.md", "---\ndescription: How to make good tea.\n---\nBoil.\n");
    house.kith(&["ask", "third"]).succeeded();
    let bodies = vendor.bodies();
    let told: Vec<usize> = bodies
        .iter()
        .map(|body| body.to_string().matches("<system-reminder>\\n").count())
        .collect();
    assert_eq!(told, [1, 1, 2]);
    assert!(last_words(&bodies[0]).contains("- tea: How to make tea."));
    assert!(last_words(&bodies[2]).contains("- tea: How to make good tea."));
    let types: Vec<String> = house
        .log()
        .iter()
        .map(|it| it["type"].as_str().unwrap().to_owned())
        .filter(|it| it.starts_with("skill_index"))
        .collect();
    assert_eq!(types, ["skill_index_snapshot", "skill_index_delta"]);
    let shown = house.kith(&["session", "show", "latest"]);
    assert!(!shown.stdout.contains("make"), "{}", shown.stdout);
    assert_eq!(house.json(&["session", "verify", "latest", "--json"])["ok"], true);
}
