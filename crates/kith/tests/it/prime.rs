//! `kith prime`: scripts listed, shown, checked, and made of sessions.

use std::fs;

use serde_json::{Value, json};

use crate::check;
use crate::house::House;
use crate::new::{PROBE, shared, words};
use crate::session::write_session;

fn front_matter_of(script: &str) -> &str {
    script.split("---\n").nth(1).unwrap()
}

/// All but the front matter, which tells where a script comes from.
fn records_of(script: &str) -> &str {
    &script[script.find("\n### record").unwrap()..]
}

#[test]
fn a_house_without_scripts_says_how_to_make_one() {
    let house = House::new();
    check!(house.kith(&["prime", "ls"]), @"
    exit 0
    --- stderr
    note: no scripts yet; `kith prime save latest SLUG` saves a conversation as one
    ");
    check!(house.kith(&["prime", "check"]), @"
    exit 0
    --- stdout
    0 scripts checked, 0 unusable
    ");
    assert_eq!(house.files(), ["Agent.md"]);
}

#[test]
fn scripts_are_listed_the_last_used_first_and_broken_ones_with_their_error() {
    let house = House::new();
    shared(&house, "probe", PROBE);
    shared(&house, "a/old", "\n### user\n");
    shared(&house, "not a slug", PROBE);
    shared(&house, "foreign", &format!("---\napplicableMemberIds: [ux]\n---\n{}", words("x")));
    house.write(".minds/priming/individual/main/own.md", words("I am ready."));
    house.write(".minds/priming/individual/ux/theirs.md", words("x"));
    house.kith(&["new", "--prime", "team_shared/probe"]).succeeded();
    check!(house.kith(&["prime", "ls"]), @"
    exit 0
    --- stdout
    team_shared/probe                         4 records  环境探针
    individual/main/own                       1 record
    team_shared/a/old                         unusable, line 2: `### user` is not a record heading; write `### record human_text_record`
    .minds/priming/team_shared/not a slug.md  unusable: `team_shared/not a slug` is not a scriptRef (`individual/<member>/<slug>` or `team_shared/<slug>`): ' ' is not allowed; use `A` to `Z`, `a` to `z`, digits, `.`, `_` and `-`
    ");
    let list = house.json(&["prime", "ls", "探针", "--json"]);
    let used = list["scripts"][0]["lastUsedAt"].as_str().unwrap();
    let found = json!([{
        "scriptRef": "team_shared/probe",
        "path": ".minds/priming/team_shared/probe.md",
        "title": "环境探针",
        "records": 4,
        "lastUsedAt": used,
    }]);
    assert_eq!(list, json!({ "ok": true, "scripts": found }));
    let list = house.json(&["prime", "ls", "OLD", "--json"]);
    assert_eq!(list["scripts"][0]["error"]["line"], 2);
    check!(house.kith(&["prime", "ls", "nothing"]), @"
    exit 0
    --- stderr
    note: no script matches `nothing`
    ");
}

#[test]
fn a_file_is_read_as_a_script_wherever_it_lies_and_needs_no_house() {
    let house = House::empty();
    house.write("draft.md", PROBE);
    check!(house.kith(&["prime", "parse", "draft.md"]), @"
    exit 0
    --- stdout
    4 records  环境探针
    ");
    let parsed = house.json(&["prime", "parse", "draft.md", "--json"]);
    let expected = json!({ "ok": true, "script": { "title": "环境探针", "records": [
        { "type": "human_text_record", "genseq": 5, "msgId": "priming-1", "content": "先做环境探针。" },
        { "type": "func_call_record", "genseq": 5, "id": "call_1", "name": "list_files",
          "arguments": { "path": ".", "n": 1.50 } },
        { "type": "func_result_record", "genseq": 5, "id": "call_1", "name": "list_files",
          "content": "Agent.md" },
        { "type": "human_text_record", "genseq": 2, "msgId": "priming-2", "content": "好的。" },
    ] } });
    assert_eq!(parsed, expected);
    for (name, message) in [("none.md", "No such file"), (".", "not a file")] {
        let ran = house.kith(&["prime", "parse", name]);
        assert_eq!(ran.code, 1);
        assert!(ran.stderr.contains(message), "{}", ran.stderr);
    }
}

#[test]
fn a_script_is_shown_as_it_is_understood() {
    let house = House::new();
    shared(&house, "probe", &format!("{PROBE}\nA comment.\n"));
    let shown = house.kith(&["prime", "show", "team_shared/probe"]).succeeded().stdout;
    assert!(
        shown.starts_with("---\nkind: agent_priming_script\nversion: 3\ntitle: 环境探针\n---\n")
    );
    assert!(!shown.contains("A comment."), "{shown}");
    house.write("again.md", &shown);
    let parse = |name: &str| house.json(&["prime", "parse", name, "--json"]);
    assert_eq!(parse("again.md"), parse(".minds/priming/team_shared/probe.md"));
    let json = house.json(&["prime", "show", "team_shared/probe", "--json"]);
    assert_eq!(json["script"], parse("again.md")["script"]);
    assert_eq!(json["path"], ".minds/priming/team_shared/probe.md");
}

#[test]
fn every_script_is_checked_and_one_that_is_bad_does_not_hide_another() {
    let house = House::new();
    shared(&house, "good", &words("fine"));
    shared(&house, "odd", &words("x").replace("genseq: 1", "genseq: 1\nmood: calm"));
    shared(&house, "old", "\n### user\n");
    std::os::unix::fs::symlink("/etc/hosts", house.path(".minds/priming/team_shared/out.md"))
        .unwrap();
    house.write(".minds/priming/individual/ux/none.md", "# nothing\n");
    check!(house.kith(&["prime", "check"]), @"
    exit 1
    --- stdout
    `.minds/priming/individual/ux/none.md`, line 1: the script has no records; add a heading `### record <type>` and a fenced block
    `.minds/priming/team_shared/old.md`, line 2: `### user` is not a record heading; write `### record human_text_record`
    `.minds/priming/team_shared/out.md`: is a link that points outside the priming folder
    5 scripts checked, 3 unusable
    --- stderr
    note: `.minds/priming/team_shared/odd.md`, line 6: `mood` is not a key of agent_words_record (kept, ignored)
    ");
    let ran = house.kith(&["prime", "check", "--json"]);
    assert_eq!(ran.code, 1);
    let report = ran.json();
    assert_eq!(report["ok"], false);
    assert_eq!((&report["checked"], &report["failed"]), (&json!(5), &json!(3)));
    let issue = json!({
        "path": ".minds/priming/individual/ux/none.md",
        "line": 1,
        "message": "the script has no records; add a heading `### record <type>` and a fenced block",
    });
    assert_eq!(report["issues"][0], issue);
    assert_eq!(report["issues"][2]["line"], Value::Null);
    let keys: Vec<&String> = report.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["ok", "checked", "failed", "issues"]);
}

#[test]
fn a_session_becomes_a_script_that_tells_where_it_comes_from() {
    let house = House::new();
    let answer = house.json(&["ask", "list the files", "--json"]);
    house.kith(&["session", "rename", "latest", "the files"]).succeeded();
    let script = house.kith(&["prime", "export", "latest"]).succeeded().stdout;
    let generated = script.lines().find(|line| line.starts_with("generatedAt: ")).unwrap();
    let (session, thread) = (answer["sessionId"].as_str().unwrap(), &answer["threadId"]);
    let leaf = answer["leaf"].as_str().unwrap();
    let expected = format!(
        "kind: agent_priming_script\nversion: 3\ntitle: the files\nownerAgentId: main\n{generated}\n\
         sourceDialog:\n  rootId: {session}\n  selfId: {thread}\n  course: {leaf}\n  status: idle\n"
    );
    assert_eq!(front_matter_of(&script), expected);
    let types: Vec<&str> =
        script.lines().filter_map(|line| line.strip_prefix("### record ")).collect();
    assert_eq!(
        types,
        [
            "human_text_record",
            "agent_words_record",
            "func_call_record",
            "func_result_record",
            "agent_words_record"
        ]
    );
    // The same history has the same bytes but for the time.
    let again = house.kith(&["prime", "export", "latest"]).succeeded().stdout;
    let timeless = |text: &str| -> String {
        text.lines().filter(|line| !line.starts_with("generatedAt: ")).collect()
    };
    assert_eq!(timeless(&again), timeless(&script));
    let json = house.json(&["prime", "export", "latest", "--json"]);
    assert_eq!((&json["ok"], &json["records"]), (&json!(true), &json!(5)));
    assert_eq!(timeless(json["text"].as_str().unwrap()), timeless(&script));
}

#[test]
fn a_session_is_saved_once_and_replaced_only_when_asked() {
    let house = House::new();
    house.kith(&["ask", "say one"]).succeeded();
    check!(house.kith(&["prime", "save", "latest", "env/probe-1.2"]), @"
    exit 0
    --- stdout
    Saved 2 records to `.minds/priming/individual/main/env/probe-1.2.md`

    Start a session with it:
      kith new --prime individual/main/env/probe-1.2
    ");
    let path = house.path(".minds/priming/individual/main/env/probe-1.2.md");
    let first = fs::read(&path).unwrap();
    house.kith(&["ask", "say two"]).succeeded();
    let ran = house.kith(&["prime", "save", "latest", "env/probe-1.2", "--json"]);
    assert_eq!((ran.code, &ran.json()["error"]["code"]), (1, &json!("already_exists")));
    assert_eq!(fs::read(&path).unwrap(), first);
    let saved = house.json(&["prime", "save", "latest", "env/probe-1.2", "--overwrite", "--json"]);
    let expected = json!({
        "ok": true, "path": ".minds/priming/individual/main/env/probe-1.2.md", "records": 4
    });
    assert_eq!(saved, expected);
    assert_ne!(fs::read(&path).unwrap(), first);
    let saved = house.json(&["prime", "save", "latest", "ours", "--shared", "--json"]);
    assert_eq!(saved["path"], ".minds/priming/team_shared/ours.md");
    // What is left is scripts and nothing else.
    let left: Vec<String> =
        house.files().into_iter().filter(|name| name.starts_with(".minds")).collect();
    assert_eq!(
        left,
        [".minds/priming/individual/main/env/probe-1.2.md", ".minds/priming/team_shared/ours.md"]
    );
}

#[test]
fn an_empty_history_makes_no_file() {
    let house = House::new();
    house.kith(&["new"]).succeeded();
    let before = house.files();
    check!(house.kith(&["prime", "save", "latest", "x"]), @"
    exit 1
    --- stderr
    error: the session has no history to make a script from
    hint: send a message in it first; no file was written
    ");
    assert_eq!(house.kith(&["prime", "export", "latest"]).code, 1);
    assert_eq!(house.files(), before);
}

#[test]
fn only_what_leads_to_the_leaf_is_exported() {
    let house = House::new();
    write_session(
        &house,
        "user#u1: one | model#m1: first | user: two | model: second | leaf m1 | user: three | model: third",
    );
    let script = house.kith(&["prime", "export", "latest"]).succeeded().stdout;
    let said: Vec<&str> = ["one", "first", "two", "second", "three", "third"]
        .into_iter()
        .filter(|word| script.contains(&format!("\n{word}\n")))
        .collect();
    assert_eq!(said, ["one", "first", "three", "third"]);
}

#[test]
fn a_tainted_session_says_how_far_it_is_to_be_trusted() {
    for (line, trust) in [
        ("user: hello | model: hi", None),
        ("user@paired: hello | model: hi", None),
        ("user: hello | model: hi | user@peer: obey | model: no", Some("trust: peer\n")),
    ] {
        let house = House::new();
        write_session(&house, line);
        house.kith(&["prime", "save", "latest", "s"]).succeeded();
        let path = house.path(".minds/priming/individual/main/s.md");
        let script = fs::read_to_string(path).unwrap();
        let stated = front_matter_of(&script).lines().find(|it| it.starts_with("trust: "));
        assert_eq!(stated.map(|it| format!("{it}\n")).as_deref(), trust, "{line}");
        if trust.is_some() {
            // And whoever begins with it is told so by every event.
            house.kith(&["new", "--prime", "individual/main/s"]).succeeded();
            let log = house.json(&["session", "show", "latest", "--json"]);
            assert_eq!(log["events"][2]["trust"], "peer");
        }
    }
}

#[test]
fn a_script_that_was_begun_with_comes_back_as_it_was() {
    let house = House::new();
    let every = include_str!("../../../kith-home/testdata/priming/every-type.md");
    let body = "a\r\nb\r\n``````\n---\ngenseq: 1\n---\n~~~\n\u{1b}[31m\u{202e}\u{85}e\u{feff}";
    let fence = "`".repeat(9);
    let hostile = format!(
        "### record agent_words_record\n\n{fence}\n---\ngenseq: 7\nodd: [1.50, no]\n---\n\n{body}\n{fence}\n"
    );
    let every = every.replacen("applicableMemberIds", "wasFor", 1);
    for script in [PROBE, &every, &hostile] {
        shared(&house, "script", script);
        let shown = house.kith(&["prime", "show", "team_shared/script"]).succeeded().stdout;
        house.kith(&["new", "--prime", "team_shared/script"]).succeeded();
        let exported = house.kith(&["prime", "export", "latest"]).succeeded().stdout;
        assert_eq!(records_of(&exported), records_of(&shown));
        // Written, read and written again, it is the same to the byte.
        house.write("once.md", &exported);
        shared(&house, "once", &exported);
        let again = house.kith(&["prime", "show", "team_shared/once"]).succeeded().stdout;
        assert_eq!(again, exported);
        // No letter of it was made visible on the way into a file.
        assert!(script != hostile || exported.contains(body), "{exported:?}");
    }
}

#[test]
fn a_bad_script_is_refused_in_one_sentence_with_file_and_line() {
    let house = House::empty();
    let bomb = "---\na: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n---\n";
    let record =
        |name: &str, inside: &str| format!("# S\n\n### record {name}\n\n```\n{inside}\n```\n");
    let cases = [
        (
            bomb.to_owned(),
            "line 2: anchors and aliases (`&`, `*`) are not allowed in front matter; write the value out",
        ),
        ("---\nkind: a\nkind: b\n---\n".to_owned(), "line 3: duplicate key `kind`"),
        (
            record("approval_record", "x"),
            "line 3: unknown record type `approval_record`; expected one of",
        ),
        (
            record("grant_record", "x"),
            "line 3: unknown record type `grant_record`; expected one of",
        ),
        (record("turn_ended", "x"), "line 3: unknown record type `turn_ended`; expected one of"),
        (
            record("func_call_record", r#"{"genseq": 1, "name": "t", "arguments": {}}"#),
            "line 3: `func_call_record` is missing `id`; expected a string that is not blank",
        ),
        (
            record(
                "func_call_record",
                r#"{"genseq": 1, "id": "c", "name": "t", "arguments": "{}"}"#,
            ),
            "line 6: `arguments` must be an object, not `\"{}\"`",
        ),
        (
            record("agent_words_record", "---\ngenseq: -1\n---\nx"),
            "line 7: `genseq` must be an integer from 0, not `-1`",
        ),
        (
            "### record agent_words_record\n\n```\n---\ngenseq: 1\n---\nx\n````\n".to_owned(),
            "line 3: the block is not closed; expected a line that is exactly ```",
        ),
        (
            "#### record agent_words_record\n".to_owned(),
            "line 1: `#### record agent_words_record` is not",
        ),
    ];
    for (script, sentence) in cases {
        house.write("bad.md", &script);
        let ran = house.kith(&["prime", "parse", "bad.md"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{script}");
        let expected = format!("error: `bad.md`, {sentence}");
        assert!(ran.stderr.starts_with(&expected), "{}\n{expected}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
        let json = house.json(&["prime", "parse", "bad.md", "--json"]);
        let line: u64 = sentence[5..].split(':').next().unwrap().parse().unwrap();
        assert_eq!(json["error"]["line"], line);
        assert_eq!(json["error"]["code"], "invalid_request");
    }
    house.write("latin.md", b"ok\n\xe9\n");
    let ran = house.kith(&["prime", "parse", "latin.md"]);
    let expected =
        "error: `latin.md`, line 2: the line is not UTF-8 text; save the file as UTF-8\n";
    assert_eq!(ran.stderr, expected);
}

#[test]
fn a_name_that_could_lead_elsewhere_is_refused_before_a_file_is_touched() {
    let house = House::new();
    house.kith(&["ask", "say one"]).succeeded();
    let before = house.files();
    for (slug, why) in [
        ("../x", "the segment `..` is not allowed"),
        ("a/../b", "the segment `..` is not allowed"),
        ("./x", "the segment `.` is not allowed"),
        ("C:x", "':' is not allowed"),
        ("a\\b", "is not allowed"),
        ("/etc/x", "it is an absolute path"),
        ("a//b", "it has an empty segment"),
        ("a/", "it ends with `/`"),
        ("探针", "is not allowed"),
        ("a b", "' ' is not allowed"),
        ("", "it is empty"),
    ] {
        let ran = house.kith(&["prime", "save", "latest", slug]);
        assert_eq!(ran.code, 2, "{slug}: {}", ran.shown());
        assert!(ran.stderr.contains(why), "{slug}: {}", ran.stderr);
        assert_eq!(ran.stderr.matches("error: ").count(), 1, "{}", ran.stderr);
        let show = house.kith(&["prime", "show", &format!("team_shared/{slug}")]);
        assert_eq!(show.code, 2, "{slug}: {}", show.shown());
    }
    assert_eq!(house.files(), before);
}

#[test]
fn names_that_differ_only_in_capitals_and_links_that_lead_out_are_not_saved_to() {
    let house = House::new();
    house.kith(&["ask", "say one"]).succeeded();
    house.kith(&["prime", "save", "latest", "probe"]).succeeded();
    let ran = house.kith(&["prime", "save", "latest", "Probe", "--overwrite", "--json"]);
    assert_eq!(ran.json()["error"]["code"], "conflict");
    let outside = tempfile::tempdir().unwrap();
    fs::create_dir_all(house.path(".minds/priming/team_shared")).unwrap();
    let link = house.path(".minds/priming/team_shared/out");
    std::os::unix::fs::symlink(outside.path(), link).unwrap();
    let ran = house.kith(&["prime", "save", "latest", "out/x", "--shared"]);
    assert_eq!(
        ran.stderr,
        "error: `.minds/priming/team_shared/out/x.md` is a link that points outside the priming folder\n"
    );
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn a_script_is_chosen_by_its_name_where_only_one_has_it() {
    let house = House::new();
    house.kith(&["ask", "say one", "--model", "demo"]).succeeded();
    house.kith(&["prime", "save", "current", "team/probe"]).succeeded();
    for name in ["probe", "team/probe", "team/probe.md", "individual/main/team/probe"] {
        let made = house.json(&["new", "--prime", name, "--json"]);
        assert_eq!(made["primed"], 2, "{name}: {made}");
        house.kith(&["prime", "show", name]).succeeded();
    }
    let made = house.kith(&["new", "--prime", "robe"]);
    assert_eq!((made.code, made.stderr.contains("there is no script `robe`")), (1, true));
    house.kith(&["prime", "save", "current", "probe", "--shared"]).succeeded();
    check!(house.kith(&["new", "--prime", "probe"]), @"
    exit 1
    --- stderr
    error: several scripts match `probe`: individual/main/team/probe, team_shared/probe
    hint: use a whole reference
    ");
}

#[test]
fn a_script_has_a_title_in_any_language_and_a_name_in_ascii() {
    let house = House::new();
    house.kith(&["ask", "say one", "--model", "demo"]).succeeded();
    check!(house.kith(&["prime", "save", "current", "问候"]), @"
    exit 2
    --- stderr
    error: `问候` is not a slug (segments of letters, digits, `.`, `_` and `-`, joined by `/`): '问' is not allowed; use `A` to `Z`, `a` to `z`, digits, `.`, `_` and `-`
    hint: names of scripts are file names in ASCII; `--title` takes any language
    ");
    house.kith(&["prime", "save", "current", "a/b/c.md", "--title", "问候 🌻"]).succeeded();
    assert!(house.path(".minds/priming/individual/main/a/b/c.md").exists());
    let listed = house.json(&["prime", "ls", "--json"]);
    assert_eq!(listed["scripts"][0]["scriptRef"], "individual/main/a/b/c");
    assert_eq!(listed["scripts"][0]["title"], "问候 🌻");
}

#[test]
fn a_new_script_can_be_used_at_once_and_is_never_overwritten() {
    let house = House::new();
    let made = house.json(&["prime", "new", "greeting", "--title", "问候", "--json"]);
    assert_eq!(made["scriptRef"], "individual/main/greeting");
    house.kith(&["prime", "check"]).succeeded();
    assert_eq!(house.json(&["new", "--prime", "greeting", "--json"])["primed"], 2);
    let again = house.kith(&["prime", "new", "greeting"]);
    assert_eq!(again.code, 1, "{}", again.shown());
}

#[test]
fn misspelt_headings_and_keys_are_told_what_was_meant() {
    let house = House::new();
    for heading in ["### Human", "### 用户", "### user:"] {
        house.write("x.md", format!("{heading}\n\n```\nhello\n```\n"));
        let ran = house.kith(&["prime", "parse", "x.md"]);
        assert!(ran.stderr.contains("### record human_text_record"), "{}", ran.stderr);
    }
    house.write(
        "x.md",
        "### record human_text_record\n\n``````\n---\ngenseq: 1\nmsgid: a\n---\nhi\n``````\n",
    );
    let ran = house.kith(&["prime", "parse", "x.md"]);
    assert!(ran.stderr.contains("did you mean `msgId`?"), "{}", ran.stderr);
    house.write(
        "x.md",
        "### record func_result_record\n\n``````\n---\ngenseq: 1\nID: a\nname: x\n---\nhi\n``````\n",
    );
    let ran = house.kith(&["prime", "parse", "x.md"]);
    assert!(ran.code == 1 && ran.stderr.contains("did you mean `id`?"), "{}", ran.stderr);
}
