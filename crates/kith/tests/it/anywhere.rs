//! Which house is meant in which folder, and that a conversation belongs to a folder.

use std::fs;

use crate::check;
use crate::house::House;

/// Asks in a folder beside the house and returns the answer's form.
fn ask_in(house: &House, folder: &str, text: &str) -> serde_json::Value {
    fs::create_dir_all(house.path(folder)).unwrap();
    let ran = house.kith_in(folder, &["ask", text, "--model", "demo", "--json"]);
    ran.json()
}

#[test]
fn the_first_agent_answers_in_every_folder_without_one() {
    let house = House::empty();
    check!(house.kith(&["init", "luna"]), @"
    exit 0
    --- stdout
    Created in `luna`:
      Agent.md
      USER.md
      IDENTITY.md
      TOOLS.md
      HEARTBEAT.md
      kith.toml
      .gitignore

    Talk to it:
      cd luna && kith

    This folder is its house: its files, settings and conversations stay here.
    It also answers `kith` in every folder that has no agent of its own.
    ");
    let settings = fs::read_to_string(house.path("../user/.kith/config.toml")).unwrap();
    assert_eq!(settings, format!("[house]\ndefault = \"{}\"\n", house.path("luna").display()));
    // The second one is only itself.
    house.kith(&["init", "other"]).succeeded();
    assert_eq!(fs::read_to_string(house.path("../user/.kith/config.toml")).unwrap(), settings);
    let answer = ask_in(&house, "project", "list the files");
    assert_eq!(answer["ok"], true, "{answer}");
    assert!(house.path("luna/.kith/state.db").exists());
    assert_eq!(fs::read_dir(house.path("project")).unwrap().count(), 0, "it stays a project");
    assert_eq!(ask_in(&house, "other", "say hi")["ok"], true);
    assert!(house.path("other/.kith/state.db").exists());
}

#[test]
fn the_users_own_settings_keep_their_comments() {
    let house = House::empty();
    let mine = "# my settings\n[ui]\nlanguage = \"zh\" # 中文\n";
    fs::create_dir(house.path("../user/.kith")).unwrap();
    fs::write(house.path("../user/.kith/config.toml"), mine).unwrap();
    assert_eq!(house.json(&["init", "luna", "--json"])["default"], true);
    let settings = fs::read_to_string(house.path("../user/.kith/config.toml")).unwrap();
    assert!(settings.starts_with(mine) && settings.contains("\n[house]\ndefault = "), "{settings}");
}

#[test]
fn a_project_with_only_an_agents_md_is_a_project() {
    let house = House::empty();
    house.write("project/AGENTS.md", "Use tabs.\n");
    check!(house.kith_in("project", &["ask", "hi"]), @"
    exit 1
    --- stderr
    error: no agent in `[house]/project` or any folder above it
    hint: create one with `kith init my-agent`; the first becomes your agent in every folder
    ");
    let named = house.kith(&["ask", "hi", "--home", "project"]);
    assert_eq!(named.code, 1, "{}", named.shown());
    house.kith(&["init", "luna"]).succeeded();
    assert_eq!(ask_in(&house, "project", "say hi")["ok"], true);
    assert_eq!(house.kith_in("project", &["doctor"]).code, 0);
    let left: Vec<_> = fs::read_dir(house.path("project")).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn a_default_house_that_is_gone_is_named_with_its_line() {
    let house = House::empty();
    house.kith(&["init", "luna"]).succeeded();
    fs::rename(house.path("luna"), house.path("moved")).unwrap();
    check!(house.kith(&["ask", "hi"]), @"
    exit 1
    --- stderr
    error: `[root]/user/.kith/config.toml` line 2: there is no folder `[house]/luna`, your default house
    hint: name the folder where your agent is now, or remove the line
    ");
    house.write("kith.toml", "[house]\ndefault = \"moved\"\n");
    let ran = house.kith(&["ask", "hi"]);
    assert!(ran.stderr.contains("`[house]` belongs in `~/.kith/config.toml`"), "{}", ran.stderr);
}

#[test]
fn a_new_agent_replaces_a_default_house_that_is_gone() {
    let house = House::empty();
    house.kith(&["init", "luna"]).succeeded();
    fs::remove_dir_all(house.path("luna")).unwrap();
    house.kith(&["init", "nova"]).succeeded();
    fs::create_dir(house.path("project")).unwrap();
    assert_eq!(ask_in(&house, "project", "say hi")["ok"], true);
    // One that is still there stays.
    house.kith(&["init", "third"]).succeeded();
    let settings = fs::read_to_string(house.path("../user/.kith/config.toml")).unwrap();
    assert!(settings.contains("nova") && !settings.contains("third"), "{settings}");
}

#[test]
fn a_house_that_is_moved_goes_on_with_its_conversations() {
    let house = House::empty();
    house.write("base/Agent.md", "Be kind.\n");
    let first = ask_in(&house, "base", "say one");
    let notes = ask_in(&house, "base/notes", "say two");
    assert_eq!(first["threadId"], "cli:room:.");
    assert_eq!(notes["threadId"], "cli:room:./notes");
    fs::rename(house.path("base"), house.path("luna")).unwrap();
    assert_eq!(ask_in(&house, "luna", "say three")["sessionId"], first["sessionId"]);
    assert_eq!(ask_in(&house, "luna/notes", "say four")["sessionId"], notes["sessionId"]);
}

#[test]
fn a_thread_under_its_former_name_is_continued() {
    let house = House::new();
    // As an older version named the thread of this folder.
    let digest = kith_vocab::digest::sha256_hex(
        house.path("").canonicalize().unwrap().as_os_str().as_encoded_bytes(),
    );
    let former = format!("cli:room:{}", &digest[..16]);
    let args = ["ask", "say one", "--model", "demo", "--json", "--thread", &former];
    let first = house.json(&args);
    let next = house.json(&["ask", "say two", "--model", "demo", "--json"]);
    assert_eq!((&next["sessionId"], &next["threadId"]), (&first["sessionId"], &first["threadId"]));
    assert_eq!(house.json(&["session", "ls", "--json"])["current"], first["sessionId"]);
    house.kith(&["new"]).succeeded();
    let anew = house.json(&["ask", "say three", "--model", "demo", "--json"]);
    assert_ne!(anew["sessionId"], first["sessionId"]);
    assert_eq!(anew["threadId"], *former, "one conversation, one thread");
    // Another one under the new name is its own.
    let args = ["ask", "say x", "--model", "demo", "--json", "--thread", "cli:room:./x"];
    assert_eq!(house.json(&args)["threadId"], "cli:room:./x");
}
