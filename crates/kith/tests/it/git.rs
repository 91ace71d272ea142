//! Sessions stay out of the git repository that a house lies in.

use std::process::Command;

use crate::house::House;
use crate::new::{shared, words};

fn git(house: &House, args: &[&str]) -> String {
    let output = Command::new("git").args(args).current_dir(house.path("")).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A repository of the user's own, with rules of its own about what is ignored.
fn repository() -> House {
    let house = House::empty();
    git(&house, &["init", "--quiet", "."]);
    house.write(".gitignore", "target\n");
    house
}

#[test]
fn git_ignores_the_kith_folder_of_a_house_made_in_a_repository() {
    let house = repository();
    house.kith(&["init", "."]).succeeded();
    house.kith(&["--model", "demo", "ask", "say one"]).succeeded();
    check_unseen(&house);
    assert_eq!(house.kith(&["doctor"]).stdout.matches("git tracks").count(), 0);
}

#[test]
fn git_ignores_the_kith_folder_of_a_house_without_init() {
    let house = repository();
    house.write("Agent.md", "Be kind.\n");
    house.kith(&["trust", "."]).succeeded();
    house.kith(&["--model", "demo", "ask", "say one"]).succeeded();
    shared(&house, "probe", &words("hello"));
    house.kith(&["new", "--prime", "team_shared/probe"]).succeeded();
    assert!(house.path(".dialogs").is_dir());
    check_unseen(&house);
}

#[test]
fn the_doctor_names_a_tracked_kith_folder() {
    for version in ["2", "4"] {
        let house = repository();
        house.kith(&["init", "."]).succeeded();
        house.kith(&["--model", "demo", "ask", "say one"]).succeeded();
        house.write(".kith/skills/tidy/SKILL.md", "Sort them.\n");
        git(&house, &["add", "-f", ".kith/skills", ".kith/.gitignore", "Agent.md"]);
        git(&house, &["update-index", "--index-version", version]);
        let doctor = house.kith(&["doctor"]);
        assert!(!doctor.stdout.contains("git tracks"), "{}", doctor.shown());
        git(&house, &["add", "-f", ".kith/sessions"]);
        let doctor = house.kith(&["doctor"]);
        let line = doctor.stdout.lines().find(|it| it.contains("git tracks"));
        assert!(line.is_some_and(|it| it.contains(".kith/sessions/")), "{}", doctor.shown());
        assert_eq!(doctor.code, 1, "{}", doctor.shown());
    }
}

#[track_caller]
fn check_unseen(house: &House) {
    assert!(house.path(".kith/sessions").is_dir());
    let status = git(house, &["status", "--porcelain", "--untracked-files=all"]);
    let seen = status.lines().filter(|it| it.contains(".kith") || it.contains(".dialogs"));
    assert_eq!(seen.collect::<Vec<_>>(), Vec::<&str>::new());
}
