//! Which agents a house has, which is meant, and what is no home.

use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;
use crate::settings::Settings;

/// A house with the folders `agents/ux` and `agents/dev`, and these settings.
fn house(settings: &str) -> (TempDir, House) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    for folder in ["house/agents/ux", "house/agents/dev", "house/.kith/x", "elsewhere"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    fs::write(root.join("house/kith.toml"), settings).unwrap();
    fs::write(root.join("house/file"), "").unwrap();
    symlink(root.join("elsewhere"), root.join("house/out")).unwrap();
    symlink(root.join("house/agents/ux"), root.join("house/again")).unwrap();
    let cwd = root.join("house");
    (dir, House { dir: cwd.clone(), cwd, user_home: None })
}

/// The agents with their homes, the one that is meant by default first.
fn told(house: &House) -> String {
    let team = match Settings::load(house) {
        Ok(settings) => settings.team,
        Err(report) => return report.message().replace(&house.dir.display().to_string(), ""),
    };
    let meant = team.choose(None).map_or_else(|report| report.message(), |it| it.id.clone());
    let homes = team.members().map(|member| {
        let home = member.home.strip_prefix(&house.dir).unwrap();
        format!("{}={}", member.id, home.display())
    });
    format!("{meant}: {}", homes.collect::<Vec<_>>().join(" "))
}

#[track_caller]
fn check(settings: &str, expected: &str) {
    let (_dir, house) = house(settings);
    assert_eq!(told(&house), expected, "for:\n{settings}");
}

#[test]
fn a_house_that_names_nobody_has_one_agent() {
    check("", "main: main=");
    check("[agent]\nid = \"ada\"\n", "ada: ada=");
    check("[agent]\nhome = \"agents/ux\"\n", "main: main=agents/ux");
    check("[agent.identity]\nname = \"Ada\"\n", "main: main=");
}

#[test]
fn a_team_is_several_homes_and_main_speaks_for_it() {
    check("[agents.ux]\nhome = \"agents/ux\"\n[agents.main]\n", "main: main= ux=agents/ux");
    check("[agents.ux]\nhome = \"./agents/ux\"\n", "ux: ux=agents/ux");
    check(
        "[agents.ux]\nhome = \"agents/ux\"\n[agents.dev]\nhome = \"agents/dev\"\n",
        "this house has several agents; choose one: dev=agents/dev ux=agents/ux",
    );
    check("[agent]\nid = \"ada\"\n[agents.ux]\nhome = \"agents/ux\"\n", "ada: ada= ux=agents/ux");
}

#[test]
fn the_folder_itself_is_an_agent_if_it_looks_like_one() {
    let (_dir, house) = house("[agents.ux]\nhome = \"agents/ux\"\n");
    fs::write(house.dir.join("Agent.md"), "Be kind.\n").unwrap();
    assert_eq!(told(&house), "main: main= ux=agents/ux");
}

#[test]
fn a_home_is_a_folder_beneath_the_house() {
    let ux = |home: &str| format!("[agents.ux]\nhome = \"{home}\"\n");
    let refused = |home: &str, what: &str| {
        check(&ux(home), &format!("`/kith.toml` line 2: the home `{home}` of agent `ux` {what}"));
    };
    refused("../elsewhere", "is not inside the house");
    refused("/tmp", "is not inside the house");
    refused("agents/../../elsewhere", "is not inside the house");
    refused("out", "is a link that points outside the house");
    refused(".kith/x", "is inside `.kith`, which is reserved");
    refused("file", "is not a folder");
    check("[agents.ux]\nskills = []\n", "`/kith.toml` line 1: agent `ux` has no `home`");
}

#[test]
fn a_home_that_is_not_there_concerns_only_its_agent() {
    let (_dir, house) = house("[agents.ux]\nhome = \"agents/gone\"\n[agents.main]\n");
    assert_eq!(told(&house), "main: main=");
    let team = Settings::load(&house).unwrap().team;
    let refused = team.choose(Some("ux")).unwrap_err().message();
    assert!(refused.contains("line 2: the home `agents/gone` of agent `ux` cannot be opened"));
    assert_eq!(team.absent().map(|(id, _)| id).collect::<Vec<_>>(), ["ux"]);
}

#[test]
fn two_agents_have_two_homes_and_two_names() {
    check(
        "[agents.dev]\nhome = \"agents/ux\"\n[agents.ux]\nhome = \"again\"\n",
        "`/kith.toml` line 4: agents `dev` and `ux` have the same home",
    );
    check(
        "[agent]\nid = \"ux\"\n[agents.ux]\nhome = \"agents/ux\"\n",
        "`/kith.toml` line 4: duplicate agent `ux`",
    );
}

#[test]
fn an_agent_that_is_not_there_is_told_with_the_nearest_and_all_of_them() {
    let (_dir, house) = house("[agents.ux]\nhome = \"agents/ux\"\n[agents.main]\n");
    let team = Settings::load(&house).unwrap().team;
    assert_eq!(team.choose(Some("ux")).unwrap().id, "ux");
    assert_eq!(team.choose(Some("")).unwrap().id, "main");
    let report = team.choose(Some("uxx")).unwrap_err();
    assert_eq!(
        report.to_string(),
        "error: there is no agent `uxx` in this house\nhint: did you mean `ux`?\n\
         hint: agents here: main, ux\n"
    );
    assert_eq!(team.choose(Some("nobody\u{1b}")).unwrap_err().hints, ["agents here: main, ux"]);
}
