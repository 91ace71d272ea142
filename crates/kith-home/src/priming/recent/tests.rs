use std::fs;

use super::*;
use crate::priming::parse::tests::words;
use crate::priming::store::tests::{house, store};

const NOON_MS: u64 = 1_794_744_000_000;

#[test]
fn the_newest_use_comes_first_and_none_stands_twice() {
    let house = house(&[("team_shared/a.md", &words("x")), ("team_shared/b.md", &words("x"))]);
    let store = store(&house);
    assert_eq!(store.recent("ux").unwrap(), []);
    let (a, b) = (script_ref("a"), script_ref("b"));
    store.record_use("ux", std::slice::from_ref(&a), NOON_MS).unwrap();
    store.record_use("ux", std::slice::from_ref(&b), NOON_MS + 1000).unwrap();
    store.record_use("ux", std::slice::from_ref(&a), NOON_MS + 2000).unwrap();
    store.record_use("ux", &[], NOON_MS + 3000).unwrap();
    assert_eq!(
        store.recent("ux").unwrap(),
        [entry(&a, "2026-11-15T12:00:02Z"), entry(&b, "2026-11-15T12:00:01Z")]
    );
    assert_eq!(store.recent("pm").unwrap(), []);
    let file = fs::read_to_string(house.path().join(".dialogs/recent-priming/ux.json")).unwrap();
    let file: serde_json::Value = serde_json::from_str(&file).unwrap();
    assert_eq!(
        file,
        serde_json::json!({"version": 1, "entries": [
            {"scriptRef": "team_shared/a", "lastUsedAt": "2026-11-15T12:00:02Z"},
            {"scriptRef": "team_shared/b", "lastUsedAt": "2026-11-15T12:00:01Z"},
        ]})
    );
    assert_eq!(fs::read_dir(house.path().join(".dialogs/recent-priming")).unwrap().count(), 1);
}

#[test]
fn at_most_twenty_are_kept_and_missing_scripts_are_skipped() {
    let names: Vec<String> = (0..25).map(|n| format!("team_shared/s{n:02}.md")).collect();
    let text = words("x");
    let files: Vec<(&str, &str)> =
        names.iter().map(|name| (name.as_str(), text.as_str())).collect();
    let house = house(&files);
    let store = store(&house);
    for n in 0..25 {
        store.record_use("ux", &[script_ref(&format!("s{n:02}"))], NOON_MS + n).unwrap();
    }
    let path = house.path().join(".dialogs/recent-priming/ux.json");
    let written: RecentFile = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(written.entries.len(), RECENT_ENTRIES_MAX, "cut when written");
    let recent = store.recent("ux").unwrap();
    assert_eq!(recent.len(), RECENT_ENTRIES_MAX);
    assert_eq!(recent[0].script_ref, script_ref("s24"));
    fs::remove_file(house.path().join(".minds/priming/team_shared/s24.md")).unwrap();
    assert_eq!(store.recent("ux").unwrap()[0].script_ref, script_ref("s23"));
}

#[test]
fn the_list_is_replaced_and_never_written_over() {
    let house = house(&[("team_shared/a.md", &words("x")), ("team_shared/b.md", &words("x"))]);
    let store = store(&house);
    store.record_use("ux", &[script_ref("a")], NOON_MS).unwrap();
    let path = house.path().join(".dialogs/recent-priming/ux.json");
    let before = fs::read_to_string(&path).unwrap();
    // A second name of the old file keeps its bytes only if the new ones are in another file.
    let old = house.path().join("old.json");
    fs::hard_link(&path, &old).unwrap();
    store.record_use("ux", &[script_ref("b")], NOON_MS + 1).unwrap();
    assert_eq!(fs::read_to_string(&old).unwrap(), before);
    assert_ne!(fs::read_to_string(&path).unwrap(), before);
}

#[test]
fn a_file_that_cannot_be_understood_is_an_empty_list() {
    let house = house(&[("team_shared/a.md", &words("x"))]);
    let path = house.path().join(".dialogs/recent-priming/ux.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    for text in [
        "",
        "{",
        "[]",
        r#"{"version":2,"entries":[{"scriptRef":"team_shared/a","lastUsedAt":"x"}]}"#,
        r#"{"version":1,"entries":[{"scriptRef":"../../etc/passwd","lastUsedAt":"x"}]}"#,
    ] {
        fs::write(&path, text).unwrap();
        assert_eq!(store(&house).recent("ux").unwrap(), [], "{text}");
    }
    store(&house).record_use("ux", &[script_ref("a")], NOON_MS).unwrap();
    assert_eq!(store(&house).recent("ux").unwrap().len(), 1);
}

#[test]
fn an_agent_id_that_is_a_path_is_refused() {
    let house = house(&[]);
    for agent_id in ["../x", "a/b", "", ".."] {
        assert!(store(&house).recent(agent_id).is_err(), "{agent_id}");
        assert!(store(&house).record_use(agent_id, &[script_ref("a")], 0).is_err());
    }
}

fn script_ref(slug: &str) -> ScriptRef {
    format!("team_shared/{slug}").parse().unwrap()
}

fn entry(script_ref: &ScriptRef, last_used_at: &str) -> RecentEntry {
    RecentEntry { script_ref: script_ref.clone(), last_used_at: last_used_at.to_owned() }
}
