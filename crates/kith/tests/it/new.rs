//! `kith new`: a session that begins before anything is said, empty or with a history.

use std::fs;

use kith_testkit::server::ServerReply;
use serde_json::{Value, json};

use crate::check;
use crate::house::{House, Vendor, lines_of, types};
use crate::many::{Staying, told};

/// A question, a call that the agent could make, its result, and the last word a person's.
pub(crate) const PROBE: &str = r#"---
title: 环境探针
---

### record human_text_record

```markdown
---
genseq: 5
msgId: priming-1
---

先做环境探针。
```

### record func_call_record

```json
{"genseq": 5, "id": "call_1", "name": "list_files", "arguments": {"path": ".", "n": 1.50}}
```

### record func_result_record

```markdown
---
genseq: 5
id: call_1
name: list_files
---

Agent.md
```

### record human_text_record

```markdown
---
genseq: 2
msgId: priming-2
---

好的。
```
"#;

pub(crate) const RECENT: &str = ".dialogs/recent-priming/main.json";

pub(crate) fn words(text: &str) -> String {
    format!("### record agent_words_record\n\n```\n---\ngenseq: 1\n---\n\n{text}\n```\n")
}

pub(crate) fn shared(house: &House, slug: &str, text: &str) {
    house.write(&format!(".minds/priming/team_shared/{slug}.md"), text);
}

/// The log of a session by its id.
fn log_of(house: &House, session_id: &Value) -> Vec<Value> {
    let name = format!(".kith/sessions/{}.jsonl", session_id.as_str().unwrap());
    lines_of(&house.path(&name))
}

#[test]
fn nothing_is_primed_unless_a_script_is_named() {
    let house = House::new();
    shared(&house, "probe", PROBE);
    house.write(".minds/priming/individual/main/own.md", words("I am ready."));
    check!(house.kith(&["new"]), @"
    exit 0
    --- stdout
    [short]  cli:room:[cwd]  empty
    ");
    let log = house.log();
    assert_eq!(types(&log), "session_header instruction_snapshot toolset_snapshot");
    assert_eq!(log[0]["meta"], json!({}));
    let answer = house.json(&["ask", "hello", "--json"]);
    assert_eq!(answer["sessionId"], log[0]["sessionId"]);
    let log = house.log();
    assert!(log.iter().all(|line| line.get("sourceTag").is_none()), "{log:#?}");
    assert!(!house.path(RECENT).exists());
}

#[test]
fn a_primed_session_is_written_whole_before_its_first_message() {
    let house = House::new();
    shared(&house, "probe", PROBE);
    let created = house.json(&["new", "--prime", "team_shared/probe", "--json"]);
    let log = house.log();
    let expected = json!({
        "ok": true, "sessionId": log[0]["sessionId"], "threadId": log[0]["threadId"], "primed": 4
    });
    assert_eq!(created, expected);
    assert_eq!(
        types(&log),
        "session_header instruction_snapshot toolset_snapshot user_message assistant_message \
         tool_result user_message"
    );
    let priming = json!({ "scriptRefs": ["team_shared/probe"], "showInUi": true });
    assert_eq!(log[0]["meta"], json!({ "priming": priming }));
    for (place, line) in (1..).zip(&log[1..]) {
        assert_eq!(line["batch"], json!([place, 6]));
        let is_primed = place > 2;
        assert_eq!(line.get("sourceTag").is_some(), is_primed, "{line}");
        if is_primed {
            assert_eq!(line["sourceTag"], "priming_script");
            let parent = if place == 3 { Value::Null } else { log[place - 1]["id"].clone() };
            assert_eq!(line["parentId"], parent);
        }
    }
    // The order in which they are first seen, beside what the script says.
    let generations: Vec<_> = log[3..]
        .iter()
        .map(|line| json!([line["primed"]["generation"], line["primed"]["genseq"]]))
        .collect();
    assert_eq!(generations, [json!([1, 5]), json!([1, 5]), json!([1, 5]), json!([2, 2])]);
    assert_eq!(log[4]["primed"]["id"], "call_1");
    assert_eq!(log[4]["primed"]["arguments"], log[4]["message"]["content"][0]["input"]);
}

#[test]
fn a_primed_history_starts_nothing_and_is_sent_with_the_first_message() {
    let vendor = Vendor::new([ServerReply::text("I see.")]);
    let house = House::asking(&vendor);
    shared(&house, "probe", PROBE);
    house.kith(&["new", "--prime", "team_shared/probe"]).succeeded();
    // A conversation that opens it and says nothing.
    house.kith(&[]).succeeded();
    assert!(vendor.requests().is_empty());
    assert_eq!(house.log().len(), 7, "{:#?}", house.log());

    house.kith(&["ask", "继续"]).succeeded();
    assert_eq!(vendor.requests().len(), 1);
    let log = house.log();
    assert_eq!(
        types(&log[7..]),
        "user_message turn_started model_requested assistant_message turn_ended"
    );
    let messages = vendor.bodies()[0]["messages"].clone();
    let call_id = &log[4]["message"]["content"][0]["callId"];
    let roles: Vec<&str> =
        messages.as_array().unwrap().iter().map(|it| it["role"].as_str().unwrap()).collect();
    assert_eq!(roles[..4], ["system", "user", "assistant", "tool"]);
    assert_eq!(messages[1]["content"], "先做环境探针。");
    let call = &messages[2]["tool_calls"][0];
    assert_eq!(call["id"], *call_id);
    assert_eq!(call["function"]["name"], "list_files");
    assert_eq!(call["function"]["arguments"], r#"{"path":".","n":1.50}"#);
    assert_eq!(messages[3]["tool_call_id"], *call_id);
    assert_eq!(messages[3]["content"], "Agent.md");
    let rest = messages.as_array().unwrap()[4..].iter().map(|it| it["content"].to_string());
    let rest: String = rest.collect();
    assert!(rest.find("好的。").unwrap() < rest.find("继续").unwrap(), "{rest}");
    assert_eq!(house.json(&["session", "verify", "latest", "--json"])["ok"], true);
}

/// The events without what is different in every session.
fn timeless(log: &[Value]) -> String {
    let call_id = log[4]["message"]["content"][0]["callId"].as_str().unwrap();
    let mut lines = log[3..].to_vec();
    for line in &mut lines {
        for key in ["id", "ts", "parentId", "ingressKey", "prev", "crc", "ingress", "requestId"] {
            line.as_object_mut().unwrap().shift_remove(key);
        }
        line.as_object_mut().unwrap().shift_remove("bodySha256");
    }
    serde_json::to_string(&lines).unwrap().replace(call_id, "[call]")
}

#[test]
fn a_hidden_history_is_not_shown_and_is_still_sent() {
    let vendor = Vendor::new(["One.", "One."].map(ServerReply::text));
    let house = House::asking(&vendor);
    shared(&house, "probe", PROBE);
    let seen = house.json(&["new", "--prime", "team_shared/probe", "--json"]);
    house.kith(&["ask", "hello"]).succeeded();
    let hidden = house.json(&["new", "--prime", "team_shared/probe", "--hide-primed", "--json"]);
    house.kith(&["ask", "hello"]).succeeded();

    let (seen, hidden) = (&seen["sessionId"], &hidden["sessionId"]);
    let logs = [log_of(&house, seen), log_of(&house, hidden)];
    assert_eq!(timeless(&logs[0]), timeless(&logs[1]));
    assert_eq!(logs[0][0]["meta"]["priming"]["showInUi"], true);
    assert_eq!(logs[1][0]["meta"]["priming"]["showInUi"], false);
    let sent = |n: usize| {
        let call_id = logs[n][4]["message"]["content"][0]["callId"].as_str().unwrap();
        let body = String::from_utf8(vendor.requests()[n].body.clone()).unwrap();
        // The system prompt, which comes first, tells the time at which each of them began.
        body[body.find("先做环境探针。").unwrap()..].replace(call_id, "[call]")
    };
    assert_eq!(sent(0), sent(1));

    check!(house.kith(&["session", "show", seen.as_str().unwrap()]), @r#"
    exit 0
    --- stdout
    owner (primed):
      先做环境探针。

    agent (primed):
      -> list_files {"path":".","n":1.50}

      list_files done (primed):
        Agent.md

    owner (primed):
      好的。

    owner:
      hello

    agent:
      One.
    "#);
    check!(house.kith(&["session", "show", hidden.as_str().unwrap()]), @"
    exit 0
    --- stdout
    owner:
      hello

    agent:
      One.
    --- stderr
    note: 4 primed events are hidden; `kith session show --all` shows every event
    ");
    let markdown = |id: &Value| {
        let ran = house.kith(&["session", "export", id.as_str().unwrap(), "--format", "markdown"]);
        ran.succeeded().stdout
    };
    let (whole, short) = (markdown(seen), markdown(hidden));
    assert!(whole.contains("## owner (primed)\n\n先做环境探针。"), "{whole}");
    assert!(whole.contains("**list_files** done (primed):"), "{whole}");
    assert!(!short.contains("探针") && !short.contains("list_files"), "{short}");
    assert!(short.contains("## owner\n\nhello"), "{short}");
    for id in [seen, hidden] {
        let all = house.kith(&["session", "show", id.as_str().unwrap(), "--all"]).succeeded();
        assert!(all.stdout.contains("先做环境探针。"), "{}", all.stdout);
        let json = house.json(&["session", "show", id.as_str().unwrap(), "--json"]);
        assert_eq!(json["events"].as_array().unwrap().len(), logs[0].len() - 1);
    }
}

#[test]
fn a_hidden_history_stays_hidden_in_a_repaired_copy() {
    let house = House::new();
    shared(&house, "probe", PROBE);
    house.kith(&["new", "--prime", "team_shared/probe", "--hide-primed"]).succeeded();
    house.kith(&["ask", "hello"]).succeeded();
    crate::house::spoil(&house.session_file(), "turn_ended");
    house.kith(&["session", "repair", "latest"]).succeeded();
    let shown = house.kith(&["session", "show", "latest"]).succeeded();
    assert!(!shown.stdout.contains("探针") && shown.stdout.contains("hello"), "{}", shown.stdout);
    assert!(shown.stderr.contains("4 primed events are hidden"), "{}", shown.stderr);
}

#[test]
fn records_that_are_not_sent_to_the_model_are_marked_in_the_transcript() {
    let house = House::new();
    let record = |name: &str, fields: &str, body: &str| {
        format!("### record {name}\n\n```\n---\n{fields}\n---\n\n{body}\n```\n\n")
    };
    let script = [
        record("agent_thought_record", "genseq: 1", "not for people"),
        record("ui_only_markdown_record", "genseq: 1", "只给人看"),
        record("gen_finish_record", "genseq: 1", ""),
        record(
            "harness_item_record",
            "genseq: 1\nkind: date_change\norigin: system\nvisibility: compact",
            "Tomorrow.",
        ),
    ];
    shared(&house, "odd", &script.concat());
    house.kith(&["new", "--prime", "team_shared/odd"]).succeeded();
    check!(house.kith(&["session", "show", "latest"]), @"
    exit 0
    --- stdout
    (ui only markdown, primed)
      只给人看

    (gen finish, primed)

    (primed) (date change: Tomorrow.)
    ");
    let markdown = house.kith(&["session", "export", "latest", "--format", "markdown"]);
    assert!(
        markdown.stdout.ends_with(
            "> (ui only markdown, primed)\n> 只给人看\n\n> (gen finish, primed)\n\n> (primed) (date \
             change: Tomorrow.)\n\n"
        ),
        "{}",
        markdown.stdout
    );
}

#[test]
fn records_without_a_counterpart_are_shown_and_not_sent() {
    let vendor = Vendor::new([ServerReply::text("well")]);
    let house = House::asking(&vendor);
    let script = include_str!("../../../kith-home/testdata/priming/every-type.md");
    let script = script.replace("applicableMemberIds:\n  - ux\n  - pm\n", "");
    shared(&house, "every", &script);
    house.kith(&["new", "--prime", "team_shared/every"]).succeeded();
    let shown = house.kith(&["session", "show", "latest"]).succeeded().stdout;
    house.kith(&["ask", "go"]).succeeded();
    let sent = String::from_utf8(vendor.requests()[0].body.clone()).unwrap();
    for (name, text) in [
        ("ui only markdown", "Only for people."),
        ("gen start", "gen_start"),
        ("gen finish", "gen_finish"),
        ("web search call", "item-1"),
        ("quest for sup", "May I?"),
        ("teammate call result", "Nobody answered."),
        ("teammate response", "The second."),
        ("teammate call anchor", "assignment"),
    ] {
        assert!(shown.contains(&format!("({name}, primed)")), "{name} in {shown}");
        assert!(!sent.contains(text), "{text} in {sent}");
    }
    for text in ["先做环境探针。", "I look first.", "Looking:", "uname -a", "Darwin"] {
        assert!(sent.contains(text), "{text} in {sent}");
    }
}

#[test]
fn primed_thinking_is_sent_before_its_text() {
    let vendor = Vendor::new([ServerReply::text("well")]);
    let house = House::asking(&vendor);
    let record = |name: &str, fields: &str, body: &str| {
        format!("### record {name}\n\n```\n---\ngenseq: 1{fields}\n---\n\n{body}\n```\n\n")
    };
    let script = [
        record("human_text_record", "\nmsgId: a", "在吗？"),
        record("agent_thought_record", "", "先想一想。"),
        record("agent_words_record", "", "在。"),
        record("ui_only_markdown_record", "", "只给人看"),
    ];
    shared(&house, "thought", &script.concat());
    house.kith(&["new", "--prime", "team_shared/thought"]).succeeded();
    house.kith(&["ask", "go"]).succeeded();
    let body = &vendor.bodies()[0];
    assert_eq!(
        body["messages"].as_array().unwrap()[1..],
        [
            json!({"role": "user", "content": "在吗？"}),
            json!({"role": "assistant", "content": "<thought>先想一想。</thought>\n\n在。"}),
            json!({"role": "user", "content": "go"}),
        ]
    );
    assert_eq!(house.json(&["session", "verify", "latest", "--json"])["ok"], true);
}

#[test]
fn several_scripts_are_told_in_the_order_they_were_named() {
    let house = House::new();
    shared(&house, "one", &words("one"));
    shared(&house, "two", &words("two"));
    let args = ["new", "--prime", "team_shared/two", "--prime", "team_shared/one", "--json"];
    assert_eq!(house.json(&args)["primed"], 2);
    let log = house.log();
    let told: Vec<&Value> =
        log[3..].iter().map(|line| &line["message"]["content"][0]["text"]).collect();
    assert_eq!(told, ["two", "one"]);
    let generations: Vec<&Value> = log[3..].iter().map(|it| &it["primed"]["generation"]).collect();
    assert_eq!(generations, [1, 2]);
    let recent: Value =
        serde_json::from_str(&fs::read_to_string(house.path(RECENT)).unwrap()).unwrap();
    assert_eq!(recent["version"], 1);
    assert_eq!(recent["entries"][0]["scriptRef"], "team_shared/two");
    assert_eq!(recent["entries"][1]["scriptRef"], "team_shared/one");
    assert_eq!(recent["entries"].as_array().unwrap().len(), 2);
}

#[test]
fn a_script_that_cannot_be_primed_leaves_no_session() {
    let house = House::new();
    shared(&house, "probe", PROBE);
    shared(&house, "old", "Hello.\n\n### user\n");
    let foreign = format!("---\napplicableMemberIds: [ux]\n---\n{}", words("x"));
    shared(&house, "foreign", &foreign);
    house.write(".minds/priming/individual/ux/own.md", words("x"));
    house.write(".minds/priming/team_shared/sub/README.txt", "no script");
    std::os::unix::fs::symlink("/etc/passwd", house.path(".minds/priming/team_shared/out.md"))
        .unwrap();
    let before = house.files();
    let many: Vec<&str> = ["--prime", "team_shared/probe"].repeat(17);
    let many = [&["new"], many.as_slice()].concat();
    let cases: [(&[&str], i32, &str); 12] = [
        (
            &["new", "--prime", "team_shared/none"],
            1,
            "the script `team_shared/none` does not exist at `.minds/priming/team_shared/none.md`",
        ),
        (
            &["new", "--prime", "team_shared/probe", "--prime", "team_shared/old"],
            1,
            "`.minds/priming/team_shared/old.md`, line 3: `### user` is not a record heading; write \
             `### record human_text_record`",
        ),
        (
            &["new", "--prime", "team_shared/foreign"],
            1,
            "the script `team_shared/foreign` is not for agent `main`",
        ),
        (
            &["new", "--prime", "individual/ux/own"],
            1,
            "the script `individual/ux/own` is not for agent `main`",
        ),
        (
            &["new", "--prime", "team_shared/out"],
            1,
            "`.minds/priming/team_shared/out.md` is a link that points outside the priming folder",
        ),
        (&["new", "--prime", "nobody"], 1, "there is no script `nobody` for this agent"),
        (&["new", "--prime", "team_shared/../../etc"], 2, "the segment `..` is not allowed"),
        (&["new", "--prime", "team_shared/a/../b"], 2, "the segment `..` is not allowed"),
        (&["new", "--prime", "team_shared/C:x"], 2, "':' is not allowed"),
        (&many, 2, "a conversation can start with at most 16 scripts"),
        (&["new", "--cwd", "nowhere"], 1, "cannot use the folder `nowhere`"),
        (&["new", "--thread", "x"], 2, "x"),
    ];
    for (args, code, message) in cases {
        let ran = house.kith(args);
        assert_eq!(ran.code, code, "{args:?}: {}", ran.shown());
        assert!(ran.stderr.contains(message), "{args:?}: {}", ran.shown());
        assert!(ran.stderr.lines().filter(|it| it.starts_with("error: ")).count() == 1);
        assert_eq!(house.files(), before, "{args:?}");
    }
}

#[test]
fn a_failed_creation_leaves_the_recent_scripts_as_they_were() {
    let house = House::new();
    shared(&house, "probe", PROBE);
    house.kith(&["new", "--prime", "team_shared/probe"]).succeeded();
    let recent = fs::read(house.path(RECENT)).unwrap();
    shared(&house, "old", "### user\n");
    let scripts = ["--prime", "team_shared/probe", "--prime", "team_shared/old"];
    assert_eq!(house.kith(&[&["new"], scripts.as_slice()].concat()).code, 1);
    house.kith(&["prime", "ls", "probe"]).succeeded();
    house.kith(&["prime", "show", "team_shared/probe"]).succeeded();
    house.kith(&["prime", "save", "latest", "saved"]).succeeded();
    house.kith(&["new"]).succeeded();
    assert_eq!(fs::read(house.path(RECENT)).unwrap(), recent);
    assert_eq!(house.session_files().len(), 2);
}

#[test]
fn a_disk_that_takes_no_session_leaves_the_recent_scripts_as_they_were() {
    let house = House::new();
    shared(&house, "probe", PROBE);
    house.write(".kith/sessions", "a file where a folder should be");
    let ran = house.kith(&["new", "--prime", "team_shared/probe", "--json"]);
    assert_eq!((ran.code, &ran.json()["error"]["code"]), (3, &json!("filesystem_error")));
    assert!(!house.path(RECENT).exists());
}

#[test]
fn a_malformed_request_starts_no_session() {
    let house = House::new();
    shared(&house, "probe", PROBE);
    let mut host = Staying::new(&house, &["--model", "demo"], "say one");
    assert_eq!(host.hear(), "one");
    let hello = json!({ "type": "hello", "protocol": 3, "clientId": "test" });
    for priming in [
        json!({ "scriptRefs": "team_shared/probe", "showInUi": true }),
        json!({ "scriptRefs": ["team_shared/probe"] }),
        json!({ "scriptRefs": [7], "showInUi": true }),
        json!({ "scriptRefs": ["team_shared/probe"], "showInUi": "no" }),
        json!({ "scriptRefs": ["team_shared/probe"], "showInUi": true, "grant": "all" }),
        json!(["team_shared/probe"]),
    ] {
        let asked = json!({
            "requestId": "1", "type": "create_dialog", "body": {
                "cwd": "/", "threadId": "web:room:a", "priming": priming,
                "sessionId": "01a1e11b-9858-75e6-b081-4c1ec49881c0",
            },
        });
        let told = told(&house, format!("{hello}\n{asked}\n").as_bytes());
        assert!(told.contains(r#""code":"invalid_request""#), "{priming}: {told}");
    }
    assert_eq!(host.end().0, 0);
    assert_eq!(house.session_files().len(), 1);
    assert!(!house.path(RECENT).exists());
}

#[test]
fn a_session_starts_even_if_the_recent_scripts_cannot_be_written() {
    let house = House::new();
    shared(&house, "probe", PROBE);
    house.write(".dialogs", "a file where a folder should be");
    let ran = house.kith(&["new", "--prime", "team_shared/probe"]).succeeded();
    assert!(ran.stdout.ends_with("4 events primed\n"), "{}", ran.shown());
    assert!(
        ran.stderr.starts_with("note: cannot read the recently used scripts"),
        "{}",
        ran.shown()
    );
    assert_eq!(house.session_files().len(), 1);
}

#[test]
fn a_session_begins_in_the_folder_and_thread_that_were_named() {
    let house = House::new();
    fs::create_dir(house.path("notes")).unwrap();
    let there = house.json(&["new", "--cwd", "notes", "--json"]);
    let mut ask = house.command(&["ask", "hello", "--json"]);
    let asked = ask.current_dir(house.path("notes")).output().unwrap();
    let asked: Value = serde_json::from_slice(&asked.stdout).unwrap();
    assert_eq!(asked["sessionId"], there["sessionId"]);
    assert_eq!(
        log_of(&house, &there["sessionId"])[0]["cwd"],
        house.path("notes").to_str().unwrap()
    );
    let room = house.json(&["new", "--thread", "web:room:notes", "--json"]);
    assert_eq!(room["threadId"], "web:room:notes");
    let asked = house.json(&["ask", "hello", "--thread", "web:room:notes", "--json"]);
    assert_eq!(asked["sessionId"], room["sessionId"]);
}

#[test]
fn a_host_elsewhere_begins_the_session_and_its_conversation_goes_on_in_it() {
    let house = House::new();
    shared(&house, "probe", PROBE);
    let mut other = Staying::new(&house, &["--model", "demo"], "say one");
    assert_eq!(other.hear(), "one");
    let created = house.json(&["new", "--prime", "team_shared/probe", "--json"]);
    assert_eq!(created["primed"], 4);
    let wrong = house.json(&["new", "--prime", "team_shared/none", "--json"]);
    assert_eq!(wrong["error"]["code"], "invalid_request");
    other.say("what did I say first?");
    assert!(other.hear().contains("先做环境探针。"));
    assert_eq!(other.end().0, 0);
    assert_eq!(house.session_files().len(), 2);
}

#[test]
fn a_question_can_begin_a_session_with_a_script() {
    let house = House::new();
    shared(&house, "probe", PROBE);
    let before = house.json(&["ask", "hello", "--json"]);
    let ran = house.kith(&["ask", "--prime", "probe", "what now?"]).succeeded();
    assert!(ran.stderr.contains("with 4 events primed"), "{}", ran.stderr);
    let view = house.json(&["session", "show", "current", "--json"]);
    assert_ne!(view["header"]["sessionId"], before["sessionId"]);
    assert_eq!(view["header"]["threadId"], before["threadId"]);
    let events = view["events"].as_array().unwrap();
    assert_eq!(events.iter().filter(|it| it.get("sourceTag").is_some()).count(), 4);
    // It is this folder's conversation now, and the one before is kept.
    let after = house.json(&["ask", "and now?", "--json"]);
    assert_eq!(after["sessionId"], view["header"]["sessionId"]);
    assert_eq!(house.session_files().len(), 2);

    // What cannot be used leaves nothing behind.
    let ran = house.kith(&["ask", "--prime", "prob", "what now?"]);
    assert_eq!((ran.code, house.session_files().len()), (1, 2), "{}", ran.stderr);
    for option in ["--session", "--message-id", "--expected-leaf"] {
        let ran = house.kith(&["ask", "--prime", "probe", option, "x", "what now?"]);
        assert_eq!(ran.code, 2, "{option}: {}", ran.stderr);
    }
}
