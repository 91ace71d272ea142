//! `kith skill`, and the `skill` tool as a model uses it.

use std::fs;

use kith_testkit::server::ServerReply;
use serde_json::json;

use crate::check;
use crate::house::{House, Vendor, of_type};

const TIDY: &str = "---\nname: Tidy\ndescription: Sorts notes.\n---\nSort them. See help.md.\n";

fn house_with_skills() -> House {
    let house = House::new();
    house.write("skills/tidy/SKILL.md", TIDY);
    house.write("skills/tidy/help.md", "By date.\n");
    house.write("../user/.kith/skills/deploy/SKILL.md", "# Deploy\n\nPuts it online.\n");
    house.write("../user/.kith/skills/tidy/SKILL.md", "The far one.\n");
    house
}

#[test]
fn skills_are_listed_and_nothing_is_written() {
    let house = house_with_skills();
    check!(house.kith(&["skill", "ls"]), @"
    exit 0
    --- stdout
    deploy  global_user  Puts it online.
    tidy    home         Sorts notes.
    ");
    check!(house.kith(&["skill", "ls", "--json"]), @r#"
    exit 0
    --- stdout
    {"ok":true,"skills":[{"name":"deploy","displayName":"deploy","description":"Puts it online.","path":"[root]/user/.kith/skills/deploy/SKILL.md","scope":"global_user","sha256":"[sha256]"},{"name":"tidy","displayName":"Tidy","description":"Sorts notes.","path":"[house]/skills/tidy/SKILL.md","scope":"home","sha256":"[sha256]"}]}
    "#);
    assert_eq!(house.files(), ["Agent.md", "skills/tidy/SKILL.md", "skills/tidy/help.md"]);
}

#[test]
fn a_house_without_skills_says_how_to_make_one() {
    let house = House::new();
    check!(house.kith(&["skill", "ls"]), @"
    exit 0
    --- stderr
    note: no skills yet; create one as `skills/<name>/SKILL.md`
    ");
    check!(house.kith(&["skill", "check", "--json"]), @r#"
    exit 0
    --- stdout
    {"ok":true,"checked":0,"failed":0,"issues":[]}
    "#);
    assert_eq!(house.files(), ["Agent.md"]);
}

#[test]
fn a_folder_with_too_many_skills_is_not_called_empty() {
    let house = House::new();
    for n in 0..1_100 {
        house.write(&format!("skills/s{n}/SKILL.md"), "Does something.\n");
    }
    let ran = house.kith(&["skill", "ls"]).succeeded();
    assert!(!ran.stderr.contains("no skills yet"), "{}", ran.stderr);
    assert!(ran.stderr.contains("see `kith skill check`"), "{}", ran.stderr);
    let checked = house.kith(&["skill", "check"]);
    assert!(checked.shown().contains("1024"), "{}", checked.shown());
}

#[test]
fn a_skill_is_shown_as_it_is() {
    let house = house_with_skills();
    check!(house.kith(&["skill", "show", "tidy"]), @"
    exit 0
    --- stdout
    ---
    name: Tidy
    description: Sorts notes.
    ---
    Sort them. See help.md.
    --- stderr
    [house]/skills/tidy/SKILL.md
    ");
    let shown = house.json(&["skill", "show", "deploy", "--json"]);
    let keys: Vec<&String> = shown.as_object().unwrap().keys().collect();
    let expected = ["ok", "name", "displayName", "description", "path", "scope", "sha256", "text"];
    assert_eq!(keys, expected);
    assert_eq!(shown["text"], "# Deploy\n\nPuts it online.\n");
    check!(house.kith(&["skill", "show", "Tidy"]), @"
    exit 1
    --- stderr
    error: no skill `Tidy` is in use here
    hint: did you mean `tidy`?
    ");
    check!(house.kith(&["skill", "show", "a\nb", "--json"]), @r#"
    exit 1
    --- stdout
    {"ok":false,"error":{"code":"invalid_request","message":"no skill `a\\nb` is in use here","hint":"`kith skill ls` lists the skills in use, `kith skill check` those left out"}}
    "#);
}

#[test]
fn skills_that_are_left_out_are_reported_with_their_line() {
    let house = house_with_skills();
    house.write("skills/silent/SKILL.md", "# Only a heading\n");
    house.write("skills/wrong/SKILL.md", "---\nname: x\ndescription: [a]\n---\n");
    check!(house.kith(&["skill", "check"]), @"
    exit 1
    --- stdout
    [house]/skills/silent/SKILL.md:1: has no description, so it is not listed; add `description: …` to its front matter
    [house]/skills/wrong/SKILL.md:3: is ignored: `description` must be text; put it in quotes
    --- stderr
    note: 5 folders checked, 2 in use
    ");
    check!(house.kith(&["skill", "check", "--json"]), @r#"
    exit 1
    --- stdout
    {"ok":false,"checked":5,"failed":2,"issues":[{"path":"[house]/skills/silent/SKILL.md","line":1,"message":"has no description, so it is not listed; add `description: …` to its front matter"},{"path":"[house]/skills/wrong/SKILL.md","line":3,"message":"is ignored: `description` must be text; put it in quotes"}]}
    "#);
    let ran = house.kith(&["skill", "ls"]).succeeded();
    assert_eq!(ran.stderr, "note: 2 skills have problems; see `kith skill check`\n");
}

#[test]
fn skills_of_an_untrusted_repository_are_left_out() {
    let house = house_with_skills();
    house.write("../repo/.git/HEAD", "ref: refs/heads/main\n");
    house.write("../repo/.kith/skills/evil/SKILL.md", "Do harm.\n");
    let home = house.path("");
    let ran = house
        .command(&["skill", "ls", "--json", "--home", home.to_str().unwrap()])
        .current_dir(house.path("../repo"))
        .output()
        .unwrap();
    assert!(!String::from_utf8(ran.stdout).unwrap().contains("evil"));
}

#[test]
fn the_model_loads_a_skill_and_reads_files_beside_it() {
    let house = House::new();
    house.write("../user/.kith/skills/tidy/SKILL.md", TIDY);
    house.write("../user/.kith/skills/tidy/help.md", "By date.\n");
    house.write("../user/.kith/secret.txt", "secret\n");
    let path = |name: &str| {
        let folder = fs::canonicalize(house.path("../user/.kith")).unwrap();
        json!({ "path": folder.join(name) })
    };
    let vendor = Vendor::new([
        ServerReply::calls(
            "",
            &[
                ("skill", json!({ "name": "tidy" })),
                ("read_file", path("skills/tidy/help.md")),
                ("read_file", path("secret.txt")),
            ],
        ),
        ServerReply::text("done"),
    ]);
    let house = house
        .with("OPENAI_API_KEY", "sk-test-0123456789")
        .with("OPENAI_BASE_URL", &vendor.server.base_url());
    house.kith(&["ask", "tidy up"]).succeeded();
    let log = house.log();
    let mut results = of_type(&log, "tool_result");
    results.sort_by_key(|result| result["callId"].to_string());
    let text = |n: usize| results[n]["content"][0]["text"].as_str().unwrap();
    assert!(text(0).starts_with("Skill `tidy`. Its folder is `"), "{}", text(0));
    assert!(text(0).ends_with(TIDY), "{}", text(0));
    assert!(text(1).ends_with("1\tBy date.\n"), "{}", text(1));
    assert!(text(2).contains("lies in `.kith`"), "{}", text(2));
}
