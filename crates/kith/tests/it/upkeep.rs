//! `kith session export`, `rename`, `repair` and `kith doctor`; and a clock that goes back.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use kith_testkit::transcript::transcript;
use serde_json::Value;

use crate::check;
use crate::house::{House, lines_of, of_type, spoil, types};
use crate::session::{BY_HAND, store_session, write_session};

#[test]
fn nothing_is_deleted_automatically() {
    let house = House::new();
    house.kith(&["ask", "say one", "--model", "demo"]).succeeded();
    house.kith(&["ask", "say two", "--new", "--model", "demo"]).succeeded();
    let before = house.files();
    let year_2000 = std::time::UNIX_EPOCH + std::time::Duration::from_hours(262_968);
    for name in &before {
        let file = fs::File::options().write(true).open(house.path(name)).unwrap();
        file.set_modified(year_2000).unwrap();
    }
    for args in [
        &["ask", "say three", "--new", "--model", "demo"] as &[&str],
        &["session", "ls"],
        &["session", "search", "one"],
        &["thread", "rebuild"],
        &["doctor"],
    ] {
        house.kith(args).succeeded();
    }
    let after = house.files();
    let is_kept =
        |name: &&String| after.contains(name) || name.ends_with("-wal") || name.ends_with("-shm");
    assert_eq!(before.iter().find(|name| !is_kept(name)), None);
    assert_eq!(house.json(&["session", "ls", "--json"])["sessions"].as_array().unwrap().len(), 3);
}

#[test]
fn a_session_is_exported_as_json_lines_header_first() {
    let house = House::new();
    house.kith(&["ask", "say one", "--model", "demo"]).succeeded();
    let ran = house.kith(&["session", "export", "latest"]).succeeded();
    let lines: Vec<Value> =
        ran.stdout.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    insta::assert_snapshot!(types(&lines), @"session_header instruction_snapshot toolset_snapshot user_message turn_started model_requested assistant_message turn_ended");
    let shown = house.json(&["session", "show", "latest", "--json"]);
    assert_eq!(lines[0], shown["header"]);
    assert_eq!(lines[1..], shown["events"].as_array().unwrap()[..]);
    let value = house.json(&["session", "export", "latest", "--json"]);
    assert_eq!(value["text"], ran.stdout);
    assert_eq!(value["ok"], true);
}

#[test]
fn a_session_is_exported_as_markdown() {
    let house = House::new();
    write_session(
        &house,
        "snapshot be kind | title The garden | user: # look\\nat ```this``` | started | asked model \
         | model: I will, read_file=c1 | free c1 | start c1 | done c1 ````\\nfenced\\n```` \
         | notice wait | asked model | model: There | ended done",
    );
    check!(house.kith(&["session", "export", BY_HAND, "--format", "markdown"]), @r#"
    exit 0
    --- stdout
    # The garden

    Session `[id]` of thread `cli:room:by-hand`, started [time].

    ## Owner

    # look
    at ```this```

    ## agent

    I will

    Called **read_file** with:

    ```json
    {"call":"c1"}
    ```

    **read_file** done:

    `````
    ````
    fenced
    ````
    `````

    > wait

    ## agent

    There
    "#);
    check!(house.kith(&["session", "export", "nobody"]), @"
    exit 1
    --- stderr
    error: there is no session `nobody`
    hint: `kith session ls` lists the sessions
    ");
}

#[test]
fn a_damaged_session_is_exported_as_far_as_it_can_be_read() {
    let house = House::new();
    house.kith(&["ask", "say one", "--model", "demo"]).succeeded();
    house.kith(&["ask", "say two", "--model", "demo"]).succeeded();
    spoil(&house.session_file(), "say two");
    let ran = house.kith(&["session", "export", "latest", "--format", "markdown"]).succeeded();
    assert!(ran.stdout.contains("say one") && !ran.stdout.contains("say two"), "{}", ran.stdout);
    assert!(ran.stderr.contains("is damaged at line 9 (bad_crc)"), "{}", ran.stderr);
}

#[test]
fn a_session_is_renamed_by_hand() {
    let house = House::new();
    house.kith(&["ask", "say one", "--model", "demo"]).succeeded();
    check!(house.kith(&["session", "rename", "latest", " the", "garden ", "--json"]), @r#"
    exit 0
    --- stdout
    {"ok":true,"sessionId":"[id]","title":"the garden"}
    "#);
    check!(house.kith(&["session", "rename", "latest", "the garden"]), @"
    exit 0
    --- stdout
    [short]  the garden
    ");
    check!(house.kith(&["session", "ls"]), @"
    exit 0
    --- stdout
    [short]  [minute]  idle       cli:room:[cwd]  the garden
    ");
    let log = house.log();
    // Said twice, written once.
    let titles = of_type(&log, "session_title_updated");
    assert_eq!(titles.len(), 1);
    assert_eq!((&titles[0]["title"], &titles[0]["source"]), (&"the garden".into(), &"user".into()));
    house.kith(&["session", "rename", "latest", "四月的花园"]).succeeded();
    house.kith(&["ask", "say two", "--model", "demo"]).succeeded();
    assert_eq!(house.json(&["session", "ls", "--json"])["sessions"][0]["title"], "四月的花园");
    assert_eq!(house.json(&["session", "verify", "latest", "--json"])["ok"], true);
}

#[test]
fn an_invalid_title_is_refused_before_anything_is_touched() {
    let house = House::new();
    let refused = |title: &str| {
        let ran = house.kith(&["session", "rename", "latest", title, "--json"]);
        assert_eq!((ran.code, house.files()), (1, vec!["Agent.md".to_owned()]));
        ran.json()["error"]["message"].as_str().unwrap().to_owned()
    };
    assert_eq!(refused("  "), "the title is empty");
    assert_eq!(refused("a\nb"), "the title must be one line, without control characters");
    assert_eq!(refused(&"四".repeat(201)), "the title has 201 characters, and the maximum is 200");
    let ran = house.kith(&["session", "rename", "nobody", "a title", "--json"]);
    assert_eq!(ran.json()["error"]["code"], "session_not_found");
}

#[test]
fn a_damaged_session_is_repaired_into_a_new_one_and_the_thread_goes_on_there() {
    let house = House::new();
    house.kith(&["ask", "say one", "--model", "demo"]).succeeded();
    house.kith(&["session", "rename", "latest", "the garden"]).succeeded();
    house.kith(&["ask", "say two", "--model", "demo"]).succeeded();
    let damaged = house.session_file();
    spoil(&damaged, "say two");
    let before = fs::read(&damaged).unwrap();
    let id = damaged.file_stem().unwrap().to_str().unwrap().to_owned();
    check!(house.kith(&["session", "repair", &id]), @"
    exit 0
    --- stdout
    copied 6 events into the new session [short]; line 10 is the first unreadable one (bad_crc)
    --- stderr
    note: the conversation continues in the new session; the damaged file stays as it is
    ");
    assert_eq!(fs::read(&damaged).unwrap(), before);
    // Asked again, as by a client that lost its host, it is the same repair.
    let again = house.json(&["session", "repair", &id, "--json"]);
    assert_eq!(house.session_files().len(), 2);
    assert_eq!(again["lostFrom"]["code"], "bad_crc");
    assert_eq!(again["ok"], true);
    let new = again["sessionId"].as_str().unwrap();
    let answer = house.json(&["ask", "what did I say first?", "--model", "demo", "--json"]);
    assert_eq!(answer["sessionId"], new);
    assert!(answer["text"].as_str().unwrap().contains("say one"), "{answer}");
    let log = lines_of(&house.path(&format!(".kith/sessions/{new}.jsonl")));
    assert_eq!(log[0]["clonedFrom"]["sessionId"], id);
    let copied = log[1..].iter().filter(|line| line["sourceTag"] == "clone").count() as u64;
    assert_eq!(again["events"], copied);
    assert_eq!(house.json(&["session", "verify", new, "--json"])["ok"], true);
    let sessions = house.json(&["session", "ls", "--json"]);
    assert_eq!(sessions["sessions"][0]["title"], "the garden");
}

#[test]
fn a_repair_is_made_once_also_when_the_thread_has_moved_on_and_the_doctor_says_what_is_left() {
    let house = House::new();
    house.kith(&["ask", "say alpha", "--model", "demo"]).succeeded();
    let path = house.session_file();
    let id = path.file_stem().unwrap().to_str().unwrap().to_owned();
    let len = fs::metadata(&path).unwrap().len();
    fs::File::options().write(true).open(&path).unwrap().set_len(len - 20).unwrap();
    house.kith(&["ask", "say beta", "--model", "demo"]).succeeded();
    let repaired = house.json(&["session", "repair", &id, "--json"]);
    let again = house.json(&["session", "repair", &id, "--json"]);
    assert_eq!(again["sessionId"], repaired["sessionId"]);
    assert_eq!(house.session_files().len(), 2);
    let listed = house.json(&["session", "ls", "--json"]);
    let rows = listed["sessions"].as_array().unwrap();
    let row = rows.iter().find(|row| row["sessionId"] == repaired["sessionId"]).unwrap();
    assert_eq!(row["title"], "say alpha");
    let doctor = house.json(&["doctor", "--json"]);
    let checks = doctor["checks"].as_array().unwrap();
    let sessions = checks.iter().find(|it| it["name"] == "sessions").unwrap();
    assert_eq!(sessions["state"], "warn", "{sessions}");
    assert!(sessions["fix"].as_str().unwrap().starts_with("run `kith session rm "), "{sessions}");
}

#[test]
fn a_session_that_is_whole_or_from_a_later_time_is_not_repaired() {
    let house = House::new();
    house.kith(&["ask", "say one", "--model", "demo"]).succeeded();
    check!(house.kith(&["session", "repair", "latest"]), @"
    exit 1
    --- stderr
    error: session [short] is intact; there is nothing to repair
    ");
    spoil(&house.session_file(), "session_header");
    let ran = house.kith(&["session", "repair", "latest", "--json"]);
    assert_eq!(ran.code, 1, "{}", ran.shown());
    assert_eq!(house.session_files().len(), 1);
}

fn check_of<'a>(doctor: &'a Value, name: &str) -> &'a Value {
    doctor["checks"].as_array().unwrap().iter().find(|it| it["name"] == name).unwrap()
}

#[test]
fn the_doctor_finds_no_problem_in_a_healthy_house_and_changes_nothing() {
    let house = House::new();
    house.kith(&["ask", "say one", "--model", "demo"]).succeeded();
    let before = house.files();
    let ran = house.kith(&["doctor"]).succeeded();
    let text = ran.shown();
    let filters = vec![
        (r"[\d.]+ [TGM]B free; `\.kith` takes [\d.]+ [KM]B", "[n] GB free; `.kith` takes [n] KB"),
        // What a machine offers differs; that each probe is told is tested beside the doctor.
        (r"(ok|warn)  +sandbox .*(\n +-> .*)?", "ok    sandbox       [probes]"),
    ];
    insta::with_settings!({ filters => filters }, {
        insta::assert_snapshot!(text, @"
        exit 0
        --- stdout
        ok    platform      Linux
        ok    sandbox       [probes]
        ok    house         `[house]`
        ok    permissions   only you can read `.kith`
        ok    disk          [n] GB free; `.kith` takes [n] KB
        ok    host          not running (a command that needs one starts it)
        ok    desk          intact (format version 6)
        ok    inbox         no messages are waiting
        ok    sessions      1 intact
        ok    blobs         all referenced blobs are present
        ok    clock         not behind the newest event
        ok    threads       1 up to date
        ok    trust         the house is not part of a repository
        ok    prompt files  1 file with 9 characters in the prompt
        ok    settings      no settings files; the defaults apply
        warn  model         the built-in demo model is in use
                            -> set ANTHROPIC_API_KEY or OPENAI_API_KEY, or name a model in kith.toml
        ");
    });
    assert_eq!(house.files(), before);
}

#[test]
fn the_doctor_says_in_a_line_what_it_lists_when_asked() {
    let house = House::new();
    let fact = "- Agent.md: 9 of 9 characters in the prompt";
    let short = house.kith(&["doctor"]).succeeded().stdout;
    assert!(!short.contains(fact) && short.lines().all(|it| it.len() < 120), "{short}");
    let long = house.kith(&["doctor", "--verbose"]).succeeded().stdout;
    assert!(long.contains(&format!("in the prompt\n                    {fact}\n")), "{long}");
    let json = house.json(&["doctor", "--json"]);
    let facts = &check_of(&json, "prompt files")["facts"];
    assert_eq!(*facts, serde_json::json!(["Agent.md: 9 of 9 characters in the prompt"]));
}

#[test]
fn the_doctor_says_that_comments_are_left_out() {
    let house = House::new();
    house.write("USER.md", "<!-- - Name: Mass -->\n- Name: Ana\n");
    let told = house.kith(&["doctor", "--verbose"]).succeeded().stdout;
    let fact = "- USER.md: 12 of 34 characters in the prompt (HTML comments are left out)\n";
    assert!(told.contains(fact), "{told}");
}

#[test]
fn the_doctor_writes_nothing_in_a_house_without_sessions() {
    let house = House::new();
    let doctor = house.json(&["doctor", "--json"]);
    assert_eq!(doctor["ok"], true, "{doctor}");
    for check in doctor["checks"].as_array().unwrap() {
        let mut keys: Vec<_> = check.as_object().unwrap().keys().map(String::as_str).collect();
        keys.retain(|key| *key != "fix" && *key != "facts");
        assert_eq!(keys, ["name", "state", "detail"]);
    }
    assert_eq!(house.files(), ["Agent.md"]);
}

#[test]
fn the_doctor_reports_a_missing_agent() {
    let house = House::empty();
    let ran = house.kith(&["doctor"]);
    check!(ran, @"
    exit 1
    --- stdout
    ok    platform      Linux
    fail  house         no agent in `[house]` or any folder above it
                        -> create one with `kith init my-agent`; the first becomes your agent in every folder
    ");
    assert_eq!(house.files(), Vec::<String>::new());
}

#[test]
fn the_doctor_names_each_problem_and_its_remedy() {
    let house = House::new();
    house.kith(&["ask", "say one", "--model", "demo"]).succeeded();
    house.kith(&["ask", "say two", "--new", "--model", "demo"]).succeeded();
    let files = house.session_files();
    spoil(&files[0], "say one");
    let torn = fs::read(&files[1]).unwrap();
    fs::write(&files[1], [&torn, b"{\"seq\":" as &[u8]].concat()).unwrap();
    house.write("kith.toml", "[modles]\n");
    house.write("SOUL.md", b"\xff\xfe");
    fs::set_permissions(house.path(".kith"), fs::Permissions::from_mode(0o755)).unwrap();
    let ran = house.kith(&["doctor", "--json"]);
    assert_eq!(ran.code, 1);
    let doctor = ran.json();
    assert_eq!(doctor["ok"], false);
    for (name, state) in [
        ("sessions", "fail"),
        ("settings", "fail"),
        ("permissions", "warn"),
        ("desk", "ok"),
        ("clock", "ok"),
    ] {
        assert_eq!(check_of(&doctor, name)["state"], state, "{doctor}");
    }
    let sessions = check_of(&doctor, "sessions");
    let detail = sessions["detail"].as_str().unwrap();
    assert!(detail.starts_with("0 intact; 1 with an incomplete last write ("), "{detail}");
    assert!(detail.contains("; 1 damaged ("), "{detail}");
    assert!(
        sessions["fix"].as_str().unwrap().starts_with("run `kith session repair "),
        "{sessions}"
    );
    assert_ne!(check_of(&doctor, "prompt files")["state"], "ok", "{doctor}");
}

#[test]
fn the_doctor_names_a_blob_that_is_missing_or_wrong() {
    let house = House::new();
    let words = format!("say {}", "x".repeat(100_000));
    house.kith_with_input(&["ask", "-", "--model", "demo"], words).succeeded();
    let blobs: Vec<_> =
        fs::read_dir(house.path(".kith/blobs")).unwrap().map(|it| it.unwrap().path()).collect();
    assert!(!blobs.is_empty());
    assert_eq!(check_of(&house.json(&["doctor", "--json"]), "blobs")["state"], "ok");
    fs::write(&blobs[0], "something else").unwrap();
    assert_eq!(check_of(&house.json(&["doctor", "--json"]), "blobs")["state"], "fail");
    fs::remove_file(&blobs[0]).unwrap();
    let doctor = house.json(&["doctor", "--json"]);
    assert_eq!(check_of(&doctor, "blobs")["state"], "fail", "{doctor}");
    let verified = house.json(&["session", "verify", "latest", "--json"]);
    assert_eq!(verified["damaged"]["code"], "bad_blob");
    assert_eq!(verified["ok"], false);
}

#[test]
fn a_clock_that_goes_back_changes_no_order() {
    let house = House::new();
    let mut events = transcript(
        "snapshot be kind | user: first | asked model | model: one | ended done \
                                 | user: second | asked model | model: two | ended done",
    )
    .events;
    let n_events = events.len() as u64;
    for event in &mut events {
        event.ts = 4_000_000_000_000 - event.seq * 1_000_000_000;
    }
    store_session(&house, ("web:room:clock", 4_100_000_000_000), &events);
    let shown = house.json(&["session", "show", BY_HAND, "--json"]);
    let seqs: Vec<u64> =
        shown["events"].as_array().unwrap().iter().map(|it| it["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1..=n_events).collect::<Vec<_>>());
    assert_eq!(house.json(&["session", "ls", "--json"])["sessions"][0]["events"], n_events);
    assert_eq!(house.json(&["session", "verify", BY_HAND, "--json"])["damaged"], Value::Null);
    // The real clock is decades behind, and the conversation goes on.
    let args = ["ask", "what did I say first?", "--session", BY_HAND, "--model", "demo", "--json"];
    let answer = house.json(&args);
    assert!(answer["text"].as_str().unwrap().contains("first"), "{answer}");
    assert_eq!(house.json(&["session", "verify", BY_HAND, "--json"])["damaged"], Value::Null);
    let clock = house.json(&["doctor", "--json"]);
    assert_eq!(check_of(&clock, "clock")["state"], "warn", "{clock}");
    assert_eq!(clock["ok"], true, "{clock}");
}
