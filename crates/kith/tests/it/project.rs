//! `kith project`: registered folders and their sessions.

use std::fs;

use crate::house::House;

#[test]
fn a_project_is_added_listed_and_removed() {
    let house = House::new();
    fs::create_dir_all(house.path("work/app")).unwrap();
    let app = house.path("work/app").canonicalize().unwrap();
    let app = app.to_str().unwrap();
    house.kith(&["ask", "hello"]).succeeded();
    let added = house.json(&["project", "add", "work/app", "--json"]);
    assert_eq!(
        (&added["ok"], &added["isNew"], &added["path"]),
        (&true.into(), &true.into(), &app.into())
    );
    let projects = house.json(&["project", "ls", "--json"])["projects"].clone();
    assert_eq!((&projects[0]["kind"], &projects[0]["sessions"]), (&"house".into(), &1.into()));
    assert_eq!((&projects[1]["kind"], &projects[1]["path"]), (&"registered".into(), &app.into()));
    let shown = house.kith(&["project", "ls"]).succeeded().stdout;
    assert!(shown.contains("1 session  ") && shown.contains("(this house)"), "{shown}");

    let missing = house.kith(&["project", "add", "nowhere"]);
    assert_eq!(missing.code, 1, "{}", missing.shown());
    assert!(missing.stderr.contains("nowhere"), "{}", missing.stderr);
    house.kith(&["project", "rm", "work/app"]).succeeded();
    let again = house.kith(&["project", "rm", "work/app"]);
    assert_eq!(again.code, 1, "{}", again.shown());
    assert!(again.stderr.contains("kith project ls"), "{}", again.stderr);
}
