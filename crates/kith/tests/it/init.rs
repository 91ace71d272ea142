//! `kith init`.

use std::fs;

use serde_json::json;

use crate::check;
use crate::house::House;

const FILES: [&str; 7] =
    [".gitignore", "Agent.md", "HEARTBEAT.md", "IDENTITY.md", "TOOLS.md", "USER.md", "kith.toml"];

#[test]
fn init_creates_an_agent_that_answers_at_once() {
    let house = House::empty();
    check!(house.kith(&["init", "."]), @"
    exit 0
    --- stdout
    Created in `.`:
      Agent.md
      USER.md
      IDENTITY.md
      TOOLS.md
      HEARTBEAT.md
      kith.toml
      .gitignore

    Talk to it:
      kith

    This folder is its house: its files, settings and conversations stay here.
    It also answers `kith` in every folder that has no agent of its own.
    ");
    assert_eq!(house.files(), FILES);
    house.kith(&["ask", "hello"]).succeeded();
    house.kith(&["prompt"]).succeeded();
}

#[test]
fn init_again_adds_missing_files_and_overwrites_nothing() {
    let house = House::empty();
    house.kith(&["init", "."]).succeeded();
    house.write("Agent.md", "mine");
    house.write("USER.md", "");
    fs::remove_file(house.path("TOOLS.md")).unwrap();
    let ran = house.json(&["init", ".", "--yes", "--json"]);
    assert_eq!(ran["files"], json!([house.path("TOOLS.md")]));
    assert_eq!(fs::read_to_string(house.path("Agent.md")).unwrap(), "mine");
    assert_eq!(fs::read_to_string(house.path("USER.md")).unwrap(), "");
    check!(house.kith(&["init", "."]), @"
    exit 0
    --- stdout
    `.` already has all its files; nothing was changed

    Talk to it:
      kith
    ");
}

#[test]
fn init_prints_its_json_form() {
    let house = House::empty();
    let ran = house.json(&["init", "ada", "--json"]);
    let files = ["Agent.md", "USER.md", "IDENTITY.md", "TOOLS.md", "HEARTBEAT.md", "kith.toml"];
    let files = files.iter().chain(&[".gitignore"]).map(|it| house.path("ada").join(it));
    let files: Vec<_> = files.collect();
    let house = house.path("ada");
    let form =
        json!({ "ok": true, "house": house, "agentId": "main", "files": files, "default": true });
    assert_eq!(ran, form);
}

#[test]
fn init_accepts_the_folder_as_home() {
    let house = House::empty().with("KITH_HOME", "ada lovelace");
    check!(house.kith(&["init"]), @"
    exit 0
    --- stdout
    Created in `ada lovelace`:
      Agent.md
      USER.md
      IDENTITY.md
      TOOLS.md
      HEARTBEAT.md
      kith.toml
      .gitignore

    Talk to it:
      cd 'ada lovelace' && kith

    This folder is its house: its files, settings and conversations stay here.
    It also answers `kith` in every folder that has no agent of its own.
    ");
}

#[test]
fn init_without_a_folder_is_wrong_usage() {
    check!(House::empty().kith(&["init"]), @"
    exit 2
    --- stderr
    error: no folder was given for the agent
    hint: `kith init my-agent` creates a folder, `kith init .` uses this one
    ");
}

#[test]
fn init_over_a_file_is_refused() {
    let house = House::empty();
    house.write("ada", "");
    check!(house.kith(&["init", "ada"]), @"
    exit 1
    --- stderr
    error: cannot create folder `ada`
      cause: File exists (os error 17)
    hint: a file with that name exists; choose another name
    ");
    check!(house.kith(&["init", "ada/b", "--json"]), @r#"
    exit 1
    --- stdout
    {"ok":false,"error":{"code":"invalid_request","message":"cannot create folder `ada/b`: Not a directory (os error 20)","hint":"a file with that name exists; choose another name"}}
    "#);
    assert_eq!(house.files(), ["ada"]);
}

#[test]
fn init_in_an_unwritable_folder_is_a_filesystem_error() {
    check!(House::empty().kith(&["init", "/proc/kith"]), @"
    exit 3
    --- stderr
    error: cannot create folder `/proc/kith`
      cause: No such file or directory (os error 2)
    hint: choose a folder you can write to
    ");
}
