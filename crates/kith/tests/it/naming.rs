//! Which session is meant: `current`, `latest`, what `session ls` prints of an id, and `kith resume`.

use serde_json::Value;

use crate::check;
use crate::house::{House, lines_of, of_type};
use crate::terminal::Terminal;

/// Asks in the house's folder and returns the session's whole id.
fn ask(house: &House, args: &[&str]) -> String {
    let args = [&["ask", "--model", "demo", "--json"], args].concat();
    let answer = house.json(&args);
    assert_eq!(answer["ok"], true, "{answer}");
    answer["sessionId"].as_str().unwrap().to_owned()
}

fn shown(id: &str) -> &str {
    &id[id.len() - 8..]
}

fn shown_session(house: &House, args: &[&str]) -> Value {
    let args = [&["session", "show", "--json"], args].concat();
    house.json(&args)["header"]["sessionId"].clone()
}

fn said_in(house: &House, id: &str) -> Vec<String> {
    let file = house.session_files().into_iter().find(|it| it.to_string_lossy().contains(id));
    let log = lines_of(&file.unwrap());
    let said = of_type(&log, "user_message").into_iter();
    said.map(|it| it["message"]["content"][0]["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn an_id_that_is_shown_can_be_shortened() {
    let house = House::new();
    let id = ask(&house, &["say one"]);
    for n_chars in 4..=8 {
        let typed = &shown(&id)[..n_chars];
        assert_eq!(shown_session(&house, &[typed]), *id, "{typed}");
    }
    // Events too.
    let log = house.log();
    let answer = of_type(&log, "assistant_message")[0]["id"].as_str().unwrap();
    ask(&house, &["say two"]);
    let branched = house.json(&["session", "branch", "--to", &shown(answer)[..6], "--json"]);
    assert_eq!(branched["leaf"], answer);
    let cloned = house.json(&["session", "clone", "--at", &shown(answer)[..6], "--json"]);
    assert_eq!(cloned["leaf"], answer);
}

#[test]
fn an_ambiguous_beginning_names_the_candidates() {
    let house = House::new();
    let ids: Vec<String> = (0..7).map(|n| ask(&house, &["--new", &format!("say {n}")])).collect();
    // The beginning of the ids themselves, which is a time.
    let ran = house.kith(&["session", "show", &ids[0][..6]]);
    assert_eq!(ran.code, 1);
    for id in &ids[2..] {
        assert!(ran.stderr.contains(shown(id)), "{id}: {}", ran.stderr);
    }
    assert!(ran.stderr.starts_with("error: several sessions match `"), "{}", ran.stderr);
    assert!(ran.stderr.ends_with(" and 2 more\nhint: type more of the id\n"), "{}", ran.stderr);
}

#[test]
fn the_current_session_is_this_folders_and_the_latest_is_the_newest_of_the_house() {
    let house = House::new();
    let talked = ask(&house, &["say one"]);
    let clone = house.json(&["session", "clone", "--json"])["sessionId"].clone();
    assert_eq!(shown_session(&house, &["latest"]), clone);
    for args in [&[] as &[&str], &["current"]] {
        assert_eq!(shown_session(&house, args), *talked, "{args:?}");
    }
    house.kith(&["session", "rename", "current", "the garden"]).succeeded();
    let listed = house.json(&["session", "ls", "--json"]);
    assert_eq!(listed["current"], *talked);
    let titled = listed["sessions"].as_array().unwrap().iter();
    let titled = titled.filter(|row| row["title"] == "the garden").map(|row| &row["sessionId"]);
    assert_eq!(titled.collect::<Vec<_>>(), [&Value::from(talked.as_str())]);
    for verb in ["verify", "replay", "tree", "export"] {
        house.kith(&["session", verb]).succeeded();
    }
    house.kith(&["prime", "export", "current"]).succeeded();
    assert_eq!(ask(&house, &["--session", "current", "say two"]), talked);
}

#[test]
fn a_folder_without_a_conversation_has_no_current_session() {
    let house = House::new();
    check!(house.kith(&["session", "show"]), @"
    exit 1
    --- stderr
    error: no conversation in this folder yet
    hint: name a session; `kith session ls` lists them
    ");
    assert_eq!(house.json(&["session", "ls", "--json"]).get("current"), None);
    assert_eq!(house.files(), ["Agent.md"]);
}

#[test]
fn a_list_in_a_terminal_has_headings_and_marks_the_current_session() {
    let house = House::new();
    let talked = ask(&house, &["say one"]);
    house.kith(&["session", "clone"]).succeeded();
    let (_, screen, _) = Terminal::start(&house, &["session", "ls"], &[]).end();
    let lines: Vec<&str> = screen.lines().collect();
    assert!(lines[0].starts_with("  SESSION   CHANGED           STATE      FOLDER"), "{screen}");
    let marked: Vec<&&str> = lines.iter().filter(|line| line.starts_with("* ")).collect();
    assert_eq!(marked.len(), 1, "{screen}");
    assert!(marked[0].contains(shown(&talked)), "{screen}");
    // The folder, not the name of its thread.
    assert!(marked[0].contains("/house ") && !screen.contains("cli:room:"), "{screen}");
    // A program reads neither.
    let piped = house.kith(&["session", "ls"]).succeeded().stdout;
    assert_eq!(piped.lines().count(), 2);
    assert!(!piped.contains('*') && !piped.contains("SESSION"), "{piped}");
}

#[test]
fn a_list_can_be_limited() {
    let house = House::new();
    let ids: Vec<String> = (0..3).map(|n| ask(&house, &["--new", &format!("say {n}")])).collect();
    let ran = house.kith(&["session", "ls", "--limit", "2"]).succeeded();
    assert!(!ran.stdout.contains(shown(&ids[0])), "{}", ran.stdout);
    check!(ran, @"
    exit 0
    --- stdout
    [short]  [minute]  idle       cli:room:[cwd]  say 2
    [short]  [minute]  idle       cli:room:[cwd]  say 1
    --- stderr
    note: 1 older not shown; raise `--limit` to see them
    ");
}

#[test]
fn a_clone_is_opened_in_the_chat_by_resume() {
    let house = House::new();
    let talked = ask(&house, &["say one"]);
    let clone = house.json(&["session", "clone", "--json"])["sessionId"].clone();
    let clone = clone.as_str().unwrap();
    let lines = "say two\nsay three\n/new\nsay four\n";
    house.kith_with_input(&["resume", shown(clone), "--model", "demo"], lines).succeeded();
    assert_eq!(said_in(&house, clone), ["say one", "say two", "say three"]);
    assert_eq!(said_in(&house, &talked), ["say one"]);
    // `/new` begins anew in this folder.
    let current = house.json(&["session", "ls", "--json"])["current"].clone();
    assert_eq!(said_in(&house, current.as_str().unwrap()), ["say four"]);
}

#[test]
fn an_older_conversation_goes_on_where_it_was_resumed() {
    let house = House::new();
    let old = ask(&house, &["say old"]);
    ask(&house, &["--new", "say new"]);
    house.kith_with_input(&["resume", shown(&old), "--model", "demo"], "say more\n").succeeded();
    assert_eq!(ask(&house, &["say again"]), old, "it is this folder's conversation again");
}

#[test]
fn a_session_that_is_not_there_cannot_be_resumed() {
    let house = House::new();
    check!(house.kith(&["resume", "nobody"]), @"
    exit 1
    --- stderr
    error: there is no session `nobody`
    hint: `kith session ls` lists the sessions
    ");
}
