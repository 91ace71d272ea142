use super::*;
use crate::priming::export::export;

mod edits;
mod refusals;

pub(crate) const SEED_EXAMPLE: &str = r#"---
kind: agent_priming_script
version: 3
title: 环境探针启动
applicableMemberIds:
  - ux
---

### record human_text_record

```markdown
---
genseq: 1
msgId: priming-1
grammar: markdown
---

先做环境探针。
```

### record func_call_record

```json
{
  "type": "func_call_record",
  "genseq": 1,
  "id": "call_probe_1",
  "name": "exec_command",
  "arguments": {
    "cmd": "uname -a"
  }
}
```

### record func_result_record

```markdown
---
genseq: 1
id: call_probe_1
name: exec_command
---

Darwin ...
```
"#;

/// One record of every type, with every field it may have.
pub(crate) const EVERY_TYPE: &str = include_str!("../../../testdata/priming/every-type.md");

#[test]
fn the_example_of_the_seed_is_three_records() {
    let parsed = parse(SEED_EXAMPLE).unwrap();
    assert_eq!(parsed.warnings, []);
    let script = parsed.script;
    assert_eq!(script.title().as_deref(), Some("环境探针启动"));
    assert_eq!(script.applicable_member_ids(), Some(vec!["ux".to_owned()]));
    insta::assert_snapshot!(in_words(&script), @r#"
    9 {"type":"human_text_record","genseq":1,"msgId":"priming-1","grammar":"markdown","content":"先做环境探针。"}
    21 {"type":"func_call_record","genseq":1,"id":"call_probe_1","name":"exec_command","arguments":{"cmd":"uname -a"}}
    35 {"type":"func_result_record","genseq":1,"id":"call_probe_1","name":"exec_command","content":"Darwin ..."}
    "#);
}

#[test]
fn every_type_with_every_field_is_read_without_a_warning() {
    let parsed = parse(EVERY_TYPE).unwrap();
    assert_eq!(parsed.warnings, []);
    for record_type in RecordType::all() {
        let records = parsed.script.records.iter().filter(|it| it.record_type == record_type);
        for rule in record_type.fields() {
            assert!(records.clone().any(|it| it.get(rule.name).is_some()), "{}", rule.name);
        }
    }
    assert_eq!(export(&parsed.script), EVERY_TYPE);
}

#[test]
fn the_front_matter_may_be_missing_or_empty() {
    for front_matter in ["", "---\n---\n", "\n\n", "---\n# nothing\n---\n", "Some prose.\n\n---\n"]
    {
        let script = parse(&format!("{front_matter}{}", words("hi"))).unwrap().script;
        assert_eq!(script.front_matter, [], "{front_matter:?}");
        assert_eq!(script.records[0].body, "hi");
        assert!(script.applies_to("anyone"));
    }
}

#[test]
fn a_list_of_members_is_all_who_may_use_it() {
    for (list, applies_to_ux) in [("[ux]", true), ("[pm]", false), ("[]", false)] {
        let text = format!("---\napplicableMemberIds: {list}\n---\n{}", words("hi"));
        assert_eq!(parse(&text).unwrap().script.applies_to("ux"), applies_to_ux, "{list}");
    }
}

#[test]
fn a_title_is_trimmed_and_a_word_is_no_boolean() {
    let title = |title: &str| {
        parse(&format!("---\ntitle: {title}\n---\n{}", words("hi"))).unwrap().script.title()
    };
    assert_eq!(title("'  no  '").as_deref(), Some("no"));
    assert_eq!(title("no").as_deref(), Some("no"));
    assert_eq!(title("'  '"), None);
}

#[test]
fn a_byte_order_mark_is_dropped() {
    let text = format!("\u{feff}{SEED_EXAMPLE}");
    assert_eq!(parse(&text).unwrap(), parse(SEED_EXAMPLE).unwrap());
}

#[test]
fn crlf_throughout_is_lf_and_elsewhere_a_cr_is_content() {
    let crlf = SEED_EXAMPLE.replace('\n', "\r\n");
    assert_eq!(parse(&crlf).unwrap(), parse(SEED_EXAMPLE).unwrap());
    // The last line may lack its end.
    assert_eq!(parse(crlf.trim_end()).unwrap(), parse(SEED_EXAMPLE).unwrap());
    assert_eq!(body_of(&words("a\r\nb\r")), "a\r\nb\r");
    assert_eq!(body_of(&words("a\rb").replace('\n', "\r\n")), "a\rb");
}

#[test]
fn a_block_ends_only_at_the_fence_that_opened_it() {
    for (open, close) in [
        ("```", "```"),
        ("``````markdown", "``````"),
        ("~~~markdown", "~~~"),
        ("~~~~ any word", "  ~~~~  "),
        ("  ```", "```"),
        ("````````````", "````````````\r"),
    ] {
        let fence = close.trim();
        let mark = &fence[..1];
        let other = if mark == "`" { "~" } else { "`" };
        let longer = format!("{fence}{mark}");
        let same_length = other.repeat(fence.len());
        let body =
            format!("``\n{longer}\n{same_length}\n{fence} x\n\n### record human_text_record");
        let text = format!(
            "### record agent_words_record\n{open}\n---\ngenseq: 1\n---\n\n{body}\n{close}\n"
        );
        assert_eq!(body_of(&text), body, "{open}");
    }
}

#[test]
fn one_blank_line_after_the_front_matter_is_a_separator() {
    for (inside, body) in [
        ("---\ngenseq: 1\n---\ntext", "text"),
        ("---\ngenseq: 1\n---\n\ntext", "text"),
        ("---\ngenseq: 1\n---\n  \ntext", "text"),
        ("---\ngenseq: 1\n---\n\n\ntext", "\ntext"),
        ("---\ngenseq: 1\n---\n\ntext\n", "text\n"),
        ("---\ngenseq: 1\n---\n\n---\na: 1\n---", "---\na: 1\n---"),
        ("---\ngenseq: 1\n---", ""),
        ("---\ngenseq: 1\n---\n", ""),
        ("---\ngenseq: 1\n---\n\n", ""),
    ] {
        let text = format!("### record agent_words_record\n\n```\n{inside}\n```\n");
        assert_eq!(body_of(&text), body, "{inside:?}");
    }
}

#[test]
fn unknown_keys_are_kept_and_warned_about() {
    let text = "---\nmood: calm\n---\n### record agent_words_record\n```\n---\ngenseq: 1\ngrant: all\n---\nhi\n```\n";
    let parsed = parse(text).unwrap();
    let warnings: Vec<String> = parsed.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "line 2: `mood` is not a key of the front matter (kept, ignored)",
            "line 8: `grant` is not a key of agent_words_record (kept, ignored)",
        ]
    );
    let again = export(&parsed.script);
    assert!(again.contains("mood: calm\n") && again.contains("grant: all\n"), "{again}");
}

#[test]
fn a_record_inside_a_block_is_its_text_and_is_warned_about() {
    let text = words("a\n### record agent_words_record\n### user");
    let parsed = parse(&text).unwrap();
    assert_eq!(parsed.script.records.len(), 1);
    let warnings: Vec<String> = parsed.warnings.iter().map(ToString::to_string).collect();
    let at = text.lines().position(|line| line == "a").unwrap() + 2;
    assert_eq!(
        warnings,
        [format!(
            "line {at}: `### record agent_words_record` is inside the block that begins in line {}; \
             is a fence missing above it?",
            text.lines().position(|line| line.starts_with("```")).unwrap() + 1
        )]
    );
}

#[test]
fn prose_between_records_is_a_comment() {
    let text =
        format!("# Title\n\nWords.\n\n{}\nMore words.\n\n## Next\n\n{}", words("a"), words("b"));
    let bodies: Vec<String> =
        parse(&text).unwrap().script.records.into_iter().map(|it| it.body).collect();
    assert_eq!(bodies, ["a", "b"]);
}

#[test]
fn numbers_of_a_call_keep_their_digits() {
    let arguments = r#"{"a":123456789012345678901234567890,"b":1.10,"c":1E+5,"d":"\u00e9"}"#;
    let call = format!(
        "### record func_call_record\n```json\n{{\"genseq\": 1, \"id\": \"c\", \"name\": \"t\", \"arguments\": {arguments}}}\n```\n"
    );
    let script = parse(&call).unwrap().script;
    assert_eq!(script.records[0].get("arguments").unwrap().as_str(), arguments);
    let again = parse(&export(&script)).unwrap().script;
    assert_eq!(again.records[0].get("arguments").unwrap().as_str(), arguments);
}

#[test]
fn a_file_that_is_no_text_is_refused_with_its_line() {
    let error = parse_bytes(b"# fine\n# \xff\n").unwrap_err();
    assert_eq!(error.to_string(), "line 2: the line is not UTF-8 text; save the file as UTF-8");
}

#[test]
fn length_and_number_of_records_are_limited() {
    let long = " ".repeat(SCRIPT_BYTES_MAX + 1);
    assert_eq!(parse(&long).unwrap_err().problem, ScriptProblem::TooLong);
    assert_eq!(parse_bytes(long.as_bytes()).unwrap_err().problem, ScriptProblem::TooLong);
    let many = words("x").repeat(RECORDS_MAX + 1);
    assert_eq!(parse(&many).unwrap_err().problem, ScriptProblem::TooManyRecords);
}

/// A record of words.
pub(crate) fn words(body: &str) -> String {
    format!("### record agent_words_record\n```\n---\ngenseq: 1\n---\n\n{body}\n```\n")
}

#[test]
fn the_body_becomes_the_text_field_of_its_record() {
    let script = parse(EVERY_TYPE).unwrap().script;
    let field = |name: &str, field: &str| {
        let record = script.records.iter().find(|it| it.record_type.name() == name).unwrap();
        let json: serde_json::Value = serde_json::from_str(record.to_json().as_str()).unwrap();
        json[field].as_str().unwrap().to_owned()
    };
    assert_eq!(field("human_text_record", "content"), "先做环境探针。");
    assert_eq!(field("agent_thought_record", "content"), "I look first.");
    assert_eq!(field("func_result_record", "content"), "Darwin");
    assert_eq!(field("quest_for_sup_record", "tellaskContent"), "May I?");
    assert_eq!(field("teammate_call_result_record", "result"), "Nobody answered.");
    assert_eq!(field("teammate_response_record", "response"), "The second.");
}

#[test]
fn the_front_matter_of_a_block_may_be_missing() {
    let words = ["human_text_record", "agent_words_record", "agent_thought_record"];
    for name in words.into_iter().chain(["ui_only_markdown_record"]) {
        let text = format!("### record {name}\n\n```markdown\n- hi\n```\n");
        let script = parse(&text).unwrap().script;
        let expected = format!(r#"1 {{"type":"{name}","content":"- hi"}}"#);
        assert_eq!(in_words(&script), expected);
        let again = parse(&export(&script)).unwrap().script;
        assert_eq!(again.records[0].to_json(), script.records[0].to_json());
    }
    for lost in ["genseq: 1\n---\n\nhi", "---\n---\ngenseq: 1\n---\n\nhi"] {
        let text = format!("### record agent_words_record\n```\n{lost}\n```\n");
        let warnings = parse(&text).unwrap().warnings;
        assert_eq!(warnings.len(), 1, "{lost}");
        assert!(warnings[0].message.ends_with("above it missing or repeated?"), "{warnings:?}");
    }
}

pub(crate) fn in_words(script: &Script) -> String {
    let lines = script.records.iter().map(|it| format!("{} {}", it.line, it.to_json().as_str()));
    lines.collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn body_of(text: &str) -> String {
    let script = parse(text).unwrap().script;
    assert_eq!(script.records.len(), 1);
    script.records[0].body.clone()
}
