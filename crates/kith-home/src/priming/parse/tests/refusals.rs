//! Everything that is refused, with the exact line and words.

use super::*;

#[test]
fn the_front_matter_of_a_script_is_checked() {
    let check = |front_matter: &str, expected: &str| {
        check(&format!("---\ntitle: x\n{front_matter}\n---\n{}", words("hi")), expected);
    };
    check("kind: other", "line 3: `kind` must be `agent_priming_script`, not `\"other\"`");
    check("version: 2", "line 3: `version` must be `3`, not `2`");
    check("version: '3'", "line 3: `version` must be `3`, not `\"3\"`");
    check("title: y", "line 3: duplicate key `title`");
    check(
        "trust: full",
        "line 3: `trust` must be one of `owner`, `paired`, `shared`, `peer`, `untrusted`, not `\"full\"`",
    );
    check("sourceDialog: x", "line 3: `sourceDialog` must be an object, not `\"x\"`");
    let names = "`applicableMemberIds` must be a list of strings that are not blank";
    check("applicableMemberIds: ux", &format!("line 3: {names}, not `\"ux\"`"));
    check("applicableMemberIds:", &format!("line 3: {names}, not `null`"));
    check("applicableMemberIds: [1]", &format!("line 3: {names}, not `[1]`"));
    check(
        "applicableMemberIds:\n  - ux\n  - ' '",
        &format!("line 3: {names}, not `[\"ux\",\" \"]`"),
    );
}

#[test]
fn a_title_is_a_string() {
    for (title, found) in [
        ("5", "`5`; put it in quotes"),
        ("true", "`true`; put it in quotes"),
        ("[a]", "`[\"a\"]`"),
        ("", "`null`"),
    ] {
        let text = format!("---\ntitle: {title}\n---\n{}", words("hi"));
        check(&text, &format!("line 2: `title` must be a string, not {found}"));
    }
}

#[test]
fn a_script_without_records_is_refused() {
    let none = "the script has no records; add a heading `### record <type>` and a fenced block";
    check("", &format!("line 1: {none}"));
    check("---\ntitle: x\n---\n\nwords\n\n", &format!("line 5: {none}"));
    let lost = "is outside the front matter, which goes between two lines `---` at the top";
    check("kind: agent_priming_script\n---\n", &format!("line 1: `kind` {lost}"));
    check(
        "---\n---\napplicableMemberIds:\n- ux\n---\n",
        &format!("line 3: `applicableMemberIds` {lost}"),
    );
    check(
        "---\ntitle: x\n",
        "line 1: the front matter that begins here is not closed; add a line `---`",
    );
}

#[test]
fn old_and_misspelt_headings_are_refused() {
    let after = |heading: &str| format!("{}\n{heading}\n\n```\nhello\n```\n", words("hi"));
    check(
        &after("### user"),
        "line 10: `### user` is not a record heading; write `### record human_text_record`",
    );
    check(
        &after("### assistant"),
        "line 10: `### assistant` is not a record heading; write `### record agent_words_record`",
    );
    check(
        &after("#### record func_call_record"),
        "line 10: `#### record func_call_record` is not a record heading; write `### record func_call_record`",
    );
    check(
        &after("###record func_call_record"),
        "line 10: `###record func_call_record` is not a record heading; write `### record func_call_record`",
    );
    let types = RecordType::names();
    for word in ["approval_decided", "grant_record", "leaf_moved", "humantext"] {
        let expected = format!("line 10: unknown record type `{word}`; expected one of {types}");
        check(&after(&format!("### record {word}")), &expected);
    }
    assert!(
        types.starts_with("`human_text_record`, ") && types.ends_with(", `harness_item_record`")
    );
}

#[test]
fn a_record_has_exactly_one_block() {
    let heading = "\n### record agent_words_record\n";
    let no_block =
        "`agent_words_record` has no block; expected a fence (``` or ~~~) after its heading";
    check(heading, &format!("line 2: {no_block}"));
    check(&format!("{heading}\nwords\n"), &format!("line 4: {no_block}"));
    check(&format!("{heading}\n{}", words("x")), &format!("line 4: {no_block}"));
    let open = format!("{heading}```\n---\ngenseq: 1\n---\nhi\n````\n");
    check(&open, "line 3: the block is not closed; expected a line that is exactly ```");
    let stray = "fence outside a record: each record has one block, and a block whose text contains fences needs a longer fence around it";
    check(&format!("{}\n```\nsecond\n```\n", words("x")), &format!("line 10: {stray}"));
    check(&format!("~~~\nx\n~~~\n{}", words("x")), &format!("line 1: {stray}"));
    // A short fence around text with fences of its own.
    check(&words("a\n```\ncode\n```\nb"), &format!("line 10: {stray}"));
}

#[test]
fn the_fields_of_a_record_are_checked() {
    let check = |fields: &str, expected: &str| {
        let block = format!("```\n---\n{fields}\n---\n\nhi\n```\n");
        check(&format!("### record human_text_record\n{block}"), expected);
    };
    for (genseq, found) in [
        ("-1", "`-1`"),
        ("1.0", "`1.0`"),
        ("'1'", "`\"1\"`"),
        ("", "`null`"),
        ("9007199254740992", "`9007199254740992`"),
    ] {
        let fields = format!("msgId: a\ngenseq: {genseq}");
        check(&fields, &format!("line 5: `genseq` must be an integer from 0, not {found}"));
    }
    check(
        "genseq: 1\nmsgId: 5",
        "line 5: `msgId` must be a string that is not blank, not `5`; put it in quotes",
    );
    check(
        "genseq: 1\nmsgId: ' '",
        "line 5: `msgId` must be a string that is not blank, not `\" \"`",
    );
    let rest = |field: &str| format!("genseq: 1\nmsgId: a\n{field}");
    check(&rest("grammar: html"), "line 6: `grammar` must be `markdown`, not `\"html\"`");
    check(
        &rest("userLanguageCode: de"),
        "line 6: `userLanguageCode` must be one of `en`, `zh`, not `\"de\"`",
    );
    check(
        &rest("q4hAnswerCallIds: x"),
        "line 6: `q4hAnswerCallIds` must be a list of strings that are not blank, not `\"x\"`",
    );
    check(
        &rest("type: human_text_record"),
        "line 6: `type` is given by the heading; remove it from the block's front matter",
    );
    check(
        &rest("content: x"),
        "line 6: `content` is the text of the block; remove it from the front matter",
    );
    check(
        &rest("sourceTag: lived"),
        "line 6: `sourceTag` must be `priming_script`, not `\"lived\"`",
    );
    check(&rest("genseq: 2"), "line 6: duplicate key `genseq`");
    check(&rest("a: [1"), "line 6: the front matter is not YAML: unclosed bracket '['");
}

#[test]
fn a_block_without_front_matter_lacks_the_fields_it_cannot_do_without() {
    let text = "### record gen_start_record\n```\n```\n";
    check(text, "line 1: `gen_start_record` is missing `genseq`; expected an integer from 0");
    let text = "\n### record human_text_record\n```\n---\ngenseq: 1\n```\n";
    check(text, "line 4: the front matter that begins here is not closed; add a line `---`");
}

#[test]
fn types_without_text_have_none() {
    for (name, fields) in [
        ("gen_start_record", "genseq: 1"),
        ("gen_finish_record", "genseq: 1"),
        ("web_search_call_record", "genseq: 1\nphase: done"),
        ("teammate_call_anchor_record", "genseq: 1\ncallId: c\nanchorRole: response"),
    ] {
        let text =
            |body: &str| format!("### record {name}\n```\n---\n{fields}\n---\n{body}\n```\n");
        let n_fields = fields.lines().count();
        assert_eq!(body_of(&text("\n \n")), "");
        let expected = format!(
            "line {}: `{name}` has no text; remove what follows its front matter",
            n_fields + 7
        );
        check(&text("\n\nwords"), &expected);
    }
}

#[test]
fn the_other_types_check_their_fields_too() {
    let check = |name: &str, fields: &str, expected: &str| {
        check(&format!("### record {name}\n```\n---\n{fields}\n---\n```\n"), expected);
    };
    check(
        "web_search_call_record",
        "genseq: 1\nphase: begun",
        "line 5: `phase` must be one of `added`, `done`, not `\"begun\"`",
    );
    let action = "`action` must be `{type: search, query?}`, `{type: open_page, url?}` or `{type: find_in_page, url?, pattern?}`";
    for wrong in [r#"{"type":"run"}"#, r#"{"type":"search","query":1}"#, r#"{"query":"x"}"#, "[]"] {
        check(
            "web_search_call_record",
            &format!("genseq: 1\nphase: done\naction: {wrong}"),
            &format!("line 6: {action}, not `{wrong}`"),
        );
    }
    let response = "responderId: r\ntellaskContent: t\nstatus: completed\ncallId: c\nagentId: a\noriginMemberId: o\ncallName: askHuman";
    check(
        "teammate_response_record",
        response,
        "line 10: `callName` must be one of `tellaskBack`, `tellask`, `tellaskSessionless`, `freshBootsReasoning`, not `\"askHuman\"`",
    );
    check(
        "teammate_call_result_record",
        "responderId: r",
        "line 1: `teammate_call_result_record` is missing `callName`; expected one of `tellaskBack`, `tellask`, `tellaskSessionless`, `askHuman`, `freshBootsReasoning`",
    );
    check(
        "harness_item_record",
        "genseq: 1\nkind: approval\norigin: user\nvisibility: hidden",
        "line 5: `kind` must be one of `attachment`, `skill_listing`, `skill_delta`, `memory`, `date_change`, `steer`, `runtime_notice`, `channel_context`, not `\"approval\"`",
    );
    check(
        "gen_finish_record",
        "genseq: 1\ncontextHealth: good",
        "line 5: `contextHealth` must be an object, not `\"good\"`",
    );
}

#[test]
fn a_call_is_one_complete_json_object() {
    let check = |json: &str, expected: &str| {
        check(&format!("### record func_call_record\n```json\n{json}\n```\n"), expected);
    };
    let object = "the block of a `func_call_record` must be one JSON object";
    check("[]", &format!("line 3: {object}: it is `[]`"));
    check("", &format!("line 3: {object}: EOF while parsing a value"));
    check("{\n\"id\": }", &format!("line 4: {object}: expected value"));
    check("{} {}", &format!("line 3: {object}: trailing characters"));
    let deep = format!("{{\"arguments\": {}{}}}", "[".repeat(200), "]".repeat(200));
    check(&deep, &format!("line 3: {object}: recursion limit exceeded"));
    check("{\"genseq\": 1,\n\"id\": \"a\",\n\"id\": \"b\"}", "line 5: duplicate key `id`");
    let call = |rest: &str| format!("{{\"genseq\": 1, \"id\": \"a\", \"name\": \"t\",\n{rest}}}");
    check(&call("\"arguments\": \"{}\""), "line 4: `arguments` must be an object, not `\"{}\"`");
    check(&call("\"arguments\": []"), "line 4: `arguments` must be an object, not `[]`");
    check(
        &call("\"type\": \"func_result_record\", \"arguments\": {}"),
        "line 4: `type` must be `func_call_record`, not `\"func_result_record\"`",
    );
    check(
        &call("\"x\": 1"),
        "line 1: `func_call_record` is missing `arguments`; expected an object",
    );
    check(
        "{\"genseq\": 1, \"id\": 7, \"name\": \"t\", \"arguments\": {}}",
        "line 3: `id` must be a string that is not blank, not `7`; put it in quotes",
    );
}

#[test]
fn calls_and_results_belong_together() {
    let call = |id: &str| {
        format!(
            "### record func_call_record\n```json\n{{\"genseq\": 1, \"id\": \"{id}\", \"name\": \"t\", \"arguments\": {{}}}}\n```\n"
        )
    };
    let result = |id: &str, name: &str| {
        format!(
            "### record func_result_record\n```\n---\ngenseq: 1\nid: {id}\nname: {name}\n---\n```\n"
        )
    };
    check(
        &(call("a") + &call("b") + &call("a")),
        "line 9: duplicate call id `a`, first used in line 1",
    );
    let orphan = "has no call before it; expected a `func_call_record` with this id";
    check(&result("a", "t"), &format!("line 1: the result `a` {orphan}"));
    check(&(call("a") + &result("b", "t")), &format!("line 5: the result `b` {orphan}"));
    check(&(result("a", "t") + &call("a")), &format!("line 1: the result `a` {orphan}"));
    check(
        &(call("a") + &result("a", "t") + &result("a", "t")),
        "line 13: the call `a` already has a result, in line 5",
    );
    check(
        &(call("a") + &result("a", "u")),
        "line 5: the result `a` names the tool `u`, but its call in line 1 names `t`",
    );
    assert!(parse(&(call("a") + &call("b") + &result("b", "t"))).is_ok());
}

#[track_caller]
fn check(text: &str, expected: &str) {
    match parse(text) {
        Ok(parsed) => panic!("was read as {}", in_words(&parsed.script)),
        Err(error) => assert_eq!(error.to_string(), expected),
    }
}
