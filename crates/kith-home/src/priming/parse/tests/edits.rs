//! What becomes of a valid script when one of its lines is lost or doubled.

use std::fmt::Write as _;

use super::*;

#[test]
fn a_script_that_lost_a_line_is_what_it_says_or_is_refused() {
    let table = outcomes(|lines, at| {
        lines.remove(at);
    });
    insta::assert_snapshot!(table, @r####"
    1 "---": line 1: `kind` is outside the front matter, which goes between two lines `---` at the top
    2 "kind: agent_priming_script": the same
    3 "version: 3": the same
    4 "title: 环境探针启动": front matter ["applicableMemberIds"]
    5 "applicableMemberIds:": front matter ["title"]
    6 "  - ux": line 5: `applicableMemberIds` must be a list of strings that are not blank, not `null`
    7 "---": line 10: the front matter is not YAML: unexpected character: ``'
    8 "": the same
    9 "### record human_text_record": line 10: fence outside a record: each record has one block, and a block whose text contains fences needs a longer fence around it
    10 "": the same
    11 "```markdown": line 11: `human_text_record` has no block; expected a fence (``` or ~~~) after its heading
    12 "---": {"type":"human_text_record","content":"genseq: 1\nmsgId: priming-1\ngrammar: markdown\n---\n\n先做环境探针。"}
    13 "genseq: 1": {"type":"human_text_record","msgId":"priming-1","grammar":"markdown","content":"先做环境探针。"}
    14 "msgId: priming-1": {"type":"human_text_record","genseq":1,"grammar":"markdown","content":"先做环境探针。"}
    15 "grammar: markdown": {"type":"human_text_record","genseq":1,"msgId":"priming-1","content":"先做环境探针。"}
    16 "---": line 12: the front matter that begins here is not closed; add a line `---`
    17 "": the same
    18 "先做环境探针。": {"type":"human_text_record","genseq":1,"msgId":"priming-1","grammar":"markdown","content":""}
    19 "```": line 34: the result `call_probe_1` has no call before it; expected a `func_call_record` with this id
    20 "": the same
    21 "### record func_call_record": line 22: fence outside a record: each record has one block, and a block whose text contains fences needs a longer fence around it
    22 "": the same
    23 "```json": line 23: `func_call_record` has no block; expected a fence (``` or ~~~) after its heading
    24 "{": line 24: the block of a `func_call_record` must be one JSON object: trailing characters
    25 "  \"type\": \"func_call_record\",": the same
    26 "  \"genseq\": 1,": line 21: `func_call_record` is missing `genseq`; expected an integer from 0
    27 "  \"id\": \"call_probe_1\",": line 21: `func_call_record` is missing `id`; expected a string that is not blank
    28 "  \"name\": \"exec_command\",": line 21: `func_call_record` is missing `name`; expected a string that is not blank
    29 "  \"arguments\": {": line 31: the block of a `func_call_record` must be one JSON object: trailing characters
    30 "    \"cmd\": \"uname -a\"": {"type":"func_call_record","genseq":1,"id":"call_probe_1","name":"exec_command","arguments":{}}
    31 "  }": line 31: the block of a `func_call_record` must be one JSON object: EOF while parsing an object
    32 "}": line 31: the block of a `func_call_record` must be one JSON object: EOF while parsing an object
    33 "```": line 34: the block of a `func_call_record` must be one JSON object: trailing characters
    34 "": the same
    35 "### record func_result_record": line 36: fence outside a record: each record has one block, and a block whose text contains fences needs a longer fence around it
    36 "": the same
    37 "```markdown": line 37: `func_result_record` has no block; expected a fence (``` or ~~~) after its heading
    38 "---": line 35: `func_result_record` is missing `genseq`; expected an integer from 0
    39 "genseq: 1": line 35: `func_result_record` is missing `genseq`; expected an integer from 0
    40 "id: call_probe_1": line 35: `func_result_record` is missing `id`; expected a string that is not blank
    41 "name: exec_command": line 35: `func_result_record` is missing `name`; expected a string that is not blank
    42 "---": line 38: the front matter that begins here is not closed; add a line `---`
    43 "": the same
    44 "Darwin ...": {"type":"func_result_record","genseq":1,"id":"call_probe_1","name":"exec_command","content":""}
    45 "```": line 37: the block is not closed; expected a line that is exactly ```
    "####);
}

#[test]
fn a_script_with_a_line_twice_is_what_it_says_or_is_refused() {
    let table = outcomes(|lines, at| lines.insert(at, lines[at]));
    insta::assert_snapshot!(table, @r####"
    1 "---": line 3: `kind` is outside the front matter, which goes between two lines `---` at the top
    2 "kind: agent_priming_script": line 3: duplicate key `kind`
    3 "version: 3": line 4: duplicate key `version`
    4 "title: 环境探针启动": line 5: duplicate key `title`
    5 "applicableMemberIds:": line 6: duplicate key `applicableMemberIds`
    6 "  - ux": front matter ["title", "applicableMemberIds"]
    7 "---": the same
    8 "": the same
    9 "### record human_text_record": line 10: `human_text_record` has no block; expected a fence (``` or ~~~) after its heading
    10 "": the same
    11 "```markdown": {"type":"human_text_record","content":"```markdown\n---\ngenseq: 1\nmsgId: priming-1\ngrammar: markdown\n---\n\n先做环境探针。"}
    12 "---": {"type":"human_text_record","content":"genseq: 1\nmsgId: priming-1\ngrammar: markdown\n---\n\n先做环境探针。"}
    13 "genseq: 1": line 14: duplicate key `genseq`
    14 "msgId: priming-1": line 15: duplicate key `msgId`
    15 "grammar: markdown": line 16: duplicate key `grammar`
    16 "---": {"type":"human_text_record","genseq":1,"msgId":"priming-1","grammar":"markdown","content":"---\n\n先做环境探针。"}
    17 "": {"type":"human_text_record","genseq":1,"msgId":"priming-1","grammar":"markdown","content":"\n先做环境探针。"}
    18 "先做环境探针。": {"type":"human_text_record","genseq":1,"msgId":"priming-1","grammar":"markdown","content":"先做环境探针。\n先做环境探针。"}
    19 "```": line 20: fence outside a record: each record has one block, and a block whose text contains fences needs a longer fence around it
    20 "": the same
    21 "### record func_call_record": line 22: `func_call_record` has no block; expected a fence (``` or ~~~) after its heading
    22 "": the same
    23 "```json": line 24: the block of a `func_call_record` must be one JSON object: expected value
    24 "{": line 25: the block of a `func_call_record` must be one JSON object: key must be a string
    25 "  \"type\": \"func_call_record\",": line 26: duplicate key `type`
    26 "  \"genseq\": 1,": line 27: duplicate key `genseq`
    27 "  \"id\": \"call_probe_1\",": line 28: duplicate key `id`
    28 "  \"name\": \"exec_command\",": line 29: duplicate key `name`
    29 "  \"arguments\": {": line 33: the block of a `func_call_record` must be one JSON object: EOF while parsing an object
    30 "    \"cmd\": \"uname -a\"": line 31: the block of a `func_call_record` must be one JSON object: expected `,` or `}`
    31 "  }": line 33: the block of a `func_call_record` must be one JSON object: trailing characters
    32 "}": line 33: the block of a `func_call_record` must be one JSON object: trailing characters
    33 "```": line 34: fence outside a record: each record has one block, and a block whose text contains fences needs a longer fence around it
    34 "": the same
    35 "### record func_result_record": line 36: `func_result_record` has no block; expected a fence (``` or ~~~) after its heading
    36 "": the same
    37 "```markdown": line 35: `func_result_record` is missing `genseq`; expected an integer from 0
    38 "---": line 35: `func_result_record` is missing `genseq`; expected an integer from 0
    39 "genseq: 1": line 40: duplicate key `genseq`
    40 "id: call_probe_1": line 41: duplicate key `id`
    41 "name: exec_command": line 42: duplicate key `name`
    42 "---": {"type":"func_result_record","genseq":1,"id":"call_probe_1","name":"exec_command","content":"---\n\nDarwin ..."}
    43 "": {"type":"func_result_record","genseq":1,"id":"call_probe_1","name":"exec_command","content":"\nDarwin ..."}
    44 "Darwin ...": {"type":"func_result_record","genseq":1,"id":"call_probe_1","name":"exec_command","content":"Darwin ...\nDarwin ..."}
    45 "```": line 46: fence outside a record: each record has one block, and a block whose text contains fences needs a longer fence around it
    "####);
}

/// A record of every type there is; too many outcomes to read, so what must hold of each is said.
#[test]
fn in_any_script_an_edited_line_changes_its_own_record_or_is_refused_or_warned_about() {
    let (mut n_refused, mut n_warned_of) = (0, 0);
    let lines: Vec<&str> = EVERY_TYPE.lines().collect();
    let whole = parse(EVERY_TYPE).unwrap().script;
    for at in 0..lines.len() {
        let without = [&lines[..at], &lines[at + 1..]].concat();
        let doubled = [&lines[..=at], &lines[at..]].concat();
        for edited in [without, doubled] {
            let own = whole.records.iter().rposition(|record| record.line <= at + 1);
            match parse(&edited.join("\n")) {
                Err(error) => {
                    n_refused += 1;
                    let from = own.map_or(1, |own| whole.records[own].line);
                    // The line of a heading that is gone is where its block now stands alone.
                    assert!(
                        error.line >= from.min(at + 1) && error.line <= edited.len() + 1,
                        "line {}: {error}",
                        at + 1
                    );
                }
                Ok(parsed) => {
                    let text = export(&parsed.script);
                    assert_eq!(export(&parse(&text).unwrap().script), text);
                    // Without its closing fence a block takes the next record in, and that is said.
                    let n_swallowed = whole.records.len() - parsed.script.records.len();
                    if n_swallowed > 0 {
                        let is_said = parsed.warnings.iter().any(|it| it.line > at);
                        assert!(is_said, "line {}: {n_swallowed} records are gone", at + 1);
                        n_warned_of += 1;
                        continue;
                    }
                    for (index, (before, after)) in
                        whole.records.iter().zip(&parsed.script.records).enumerate()
                    {
                        let is_same = before.to_json() == after.to_json();
                        assert!(is_same || own == Some(index), "line {}: {after:?}", at + 1);
                    }
                }
            }
        }
    }
    assert!(n_refused > lines.len(), "only {n_refused} edits were refused");
    assert!(n_warned_of > 0, "no edit made a block take the next record in");
}

/// One line for each edit: what was read, as far as it differs, or why nothing was.
fn outcomes(edit: impl Fn(&mut Vec<&str>, usize)) -> String {
    let whole = parse(SEED_EXAMPLE).unwrap().script;
    let lines: Vec<&str> = SEED_EXAMPLE.lines().collect();
    let mut table = String::new();
    for at in 0..lines.len() {
        let mut edited = lines.clone();
        edit(&mut edited, at);
        let outcome = match parse(&edited.join("\n")) {
            Err(error) => error.to_string(),
            Ok(parsed) => {
                let text = export(&parsed.script);
                assert_eq!(export(&parse(&text).unwrap().script), text);
                difference(&whole, &parsed.script)
            }
        };
        writeln!(table, "{} {:?}: {outcome}", at + 1, lines[at]).unwrap();
    }
    table
}

fn difference(whole: &Script, read: &Script) -> String {
    let mut words = Vec::new();
    if read.front_matter != whole.front_matter {
        let names: Vec<&str> = read.front_matter.iter().map(|it| it.name.as_str()).collect();
        words.push(format!("front matter {names:?}"));
    }
    if read.records.len() != whole.records.len() {
        words.push(format!("{} records", read.records.len()));
    }
    for (before, after) in whole.records.iter().zip(&read.records) {
        if before.to_json() != after.to_json() {
            words.push(after.to_json().as_str().to_owned());
        }
    }
    if words.is_empty() { "the same".to_owned() } else { words.join(", ") }
}
