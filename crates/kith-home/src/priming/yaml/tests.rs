use super::*;

/// Texts that some reader of YAML would take for something else.
const AWKWARD: &[&str] = &[
    "",
    " ",
    "a",
    "no",
    "Yes",
    "null",
    "~",
    "5",
    "1.10",
    "0x1F",
    "true",
    "a: b",
    "a #b",
    "#a",
    "- a",
    "---",
    "...",
    "'",
    "\"",
    "\\",
    "a\nb",
    "\r\n",
    "\t",
    "\0",
    "\u{7f}",
    "\u{85}",
    "\u{a0}",
    "\u{2028}",
    "\u{feff}x",
    "\u{ffff}",
    "环境探针",
    "😀",
    "2026-11-15T22:00:00Z",
    "a ",
    " a",
    "a:",
    "12:30",
    "x,y",
    "[x",
    "{x",
    "&x",
    "*x",
    "!x",
    "|",
    ">",
    "@x",
    "`x`",
    "%x",
    "?",
    "? a",
    "é",
    "web:room:1",
    "<<",
    "=",
    "\u{1b}[0m",
    "a\u{301}",
    "ⅷ",
    "²",
];

#[test]
fn plain_words_are_read_as_yaml_1_2_reads_them() {
    check(
        "a: no\nb: yes\nc: on\nd: null\ne: ~\nf:\ng: True\nh: 1.10\ni: -5\nj: 12:30\nk: 1_000\n",
        r#"a="no" b="yes" c="on" d=null e=null f=null g=true h=1.10 i=-5 j="12:30" k="1_000""#,
    );
    check(
        "a: 123456789012345678901234567890\nb: 1e5\nc: 2026-11-15\nd: 1.2.3\n",
        r#"a=123456789012345678901234567890 b=1e5 c="2026-11-15" d="1.2.3""#,
    );
}

#[test]
fn all_forms_of_values_are_read() {
    check(
        "a: 'it''s'\nb: \"x\\ny\"\nc: |\n  one\n  two\nd: >-\n  folded\n  text\ne: [1, [x, {}]]\nf:\n  - ux\n  - k: v\n",
        r#"a="it's" b="x\ny" c="one\ntwo\n" d="folded text" e=[1,["x",{}]] f=["ux",{"k":"v"}]"#,
    );
    check("# only a comment\n", "");
    check("", "");
    check("环境: 探针 # trailing\n", r#"环境="探针""#);
}

#[test]
fn every_key_knows_its_line() {
    let entries = read("a: 1\n\n# note\nb:\n  - x\nc: |\n  y\n\nd: 1\n", 10).unwrap();
    let lines: Vec<usize> = entries.iter().map(|entry| entry.line).collect();
    assert_eq!(lines, [10, 13, 15, 18]);
}

#[test]
fn what_could_grow_or_mislead_is_refused() {
    let anchors =
        "anchors and aliases (`&`, `*`) are not allowed in front matter; write the value out";
    let tags = "tags (`!…`) are not allowed in front matter; write the value out";
    refuse("a: 1\nb: 2\na: 3\n", "line 3: duplicate key `a`");
    refuse("a: {b: 1, b: 2}\n", "line 1: duplicate key `b`");
    refuse("a: 1\n'a': 2\n", "line 2: duplicate key `a`");
    refuse("a: &x 1\n", &format!("line 1: {anchors}"));
    refuse("a: 1\nb: &x [1]\nc: *x\n", &format!("line 2: {anchors}"));
    refuse("a: !!str 1\n", &format!("line 1: {tags}"));
    refuse("!x a: 1\n", &format!("line 1: {tags}"));
    refuse("- a\n- b\n", "line 1: the front matter must be lines of `key: value`");
    refuse("just words\n", "line 1: the front matter must be lines of `key: value`");
    refuse("[a]: 1\n", "line 1: the front matter must be lines of `key: value`");
    refuse("'': 1\n", "line 1: the key `` is blank or longer than 80 characters");
    let odd = "for a number; quote it, or write it as a JSON number";
    for text in ["007", "0x1F", "0o17", "+5", ".5", "5.", ".inf", "-.inf", ".nan", "1e999"] {
        refuse(
            &format!("\nx: {text}\n"),
            &format!("line 2: some YAML readers take `{text}` {odd}"),
        );
    }
}

#[test]
fn a_bomb_is_refused_at_its_first_anchor() {
    let mut bomb = String::from("a0: &a0 [x, x]\n");
    for n in 1..100 {
        let before = n - 1;
        writeln!(bomb, "a{n}: &a{n} [*a{before}, *a{before}]").unwrap();
    }
    refuse(
        &bomb,
        "line 1: anchors and aliases (`&`, `*`) are not allowed in front matter; write the value out",
    );
}

#[test]
fn width_depth_and_length_are_limited() {
    let nested = |open: &str, close: &str| {
        format!("a: {}{}\n", open.repeat(FRONT_MATTER_DEPTH_MAX + 1), close.repeat(33))
    };
    refuse(&nested("[", "]"), "line 1: the front matter is nested more than 32 levels deep");
    refuse(&nested("{a: ", "}"), "line 1: the front matter is nested more than 32 levels deep");
    let endless = format!("a: {}\n", "[".repeat(100_000));
    assert!(read(&endless, 1).is_err());
    let wide = format!("a: [{}]\n", "1,".repeat(FRONT_MATTER_NODES_MAX));
    refuse(&wide, "line 1: the front matter has more than 10000 values");
    let long = format!("a: {}\n", "x".repeat(FRONT_MATTER_BYTES_MAX));
    refuse(&long, "line 1: the front matter is longer than 1048576 bytes; move text into the body");
}

#[test]
fn broken_yaml_is_refused_with_its_line() {
    for (text, line) in
        [("a: 1\nb: [1\n", 2), ("a: 1\n b: 2\n", 2), ("\na: \"x\n\n", 3), ("a: *x\n", 1)]
    {
        let error = read(text, 1).unwrap_err();
        assert!(matches!(error.problem, ScriptProblem::Yaml { .. }), "{error}");
        assert_eq!(error.line, line, "{text:?}: {error}");
    }
}

#[test]
fn what_is_written_is_read_as_the_same() {
    let texts = || AWKWARD.iter().copied();
    let mut fields: Vec<ScriptField> =
        texts().enumerate().map(|(n, text)| ScriptField::text(format!("k{n}"), text)).collect();
    fields.extend(
        texts().filter(|it| !it.trim().is_empty()).map(|it| ScriptField::text(it, "value")),
    );
    fields.push(ScriptField::new("list", Json::of(&AWKWARD.to_vec())));
    fields.push(ScriptField::new("nested", Json::of(&[AWKWARD.to_vec()])));
    let members = texts().filter(|it| !it.trim().is_empty()).map(|it| (it, it));
    fields.push(ScriptField::new(
        "map",
        super::super::form::object(
            members
                .map(|(name, value)| (name, Json::of(&value)))
                .collect::<Vec<_>>()
                .iter()
                .map(|(n, v)| (*n, v)),
        ),
    ));
    for json in
        ["[]", "{}", "[[]]", "[{}]", r#"{"a":[1,{"b":null}]}"#, "1.10", "-0", "1E+2", "true"]
    {
        fields.push(ScriptField::new(format!("json {json}"), Json::parse(json).unwrap()));
    }
    let text = write(&fields);
    let read_back: Vec<ScriptField> = read(&text, 1)
        .unwrap_or_else(|error| panic!("{error}: {:?}", text.lines().nth(error.line - 1)))
        .into_iter()
        .map(|entry| ScriptField::new(entry.name, entry.value))
        .collect();
    assert_eq!(read_back, fields);
    assert_eq!(write(&read_back), text);
}

#[track_caller]
fn check(yaml: &str, expected: &str) {
    let entries = read(yaml, 1).unwrap();
    let shown: Vec<String> =
        entries.iter().map(|entry| format!("{}={}", entry.name, entry.value.as_str())).collect();
    assert_eq!(shown.join(" "), expected);
}

#[track_caller]
fn refuse(yaml: &str, expected: &str) {
    assert_eq!(read(yaml, 1).unwrap_err().to_string(), expected);
}
