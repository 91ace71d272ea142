#![allow(clippy::print_stdout, reason = "the counts are what one of these tests is run for")]

use std::cell::RefCell;
use std::collections::BTreeSet;

use kith_vocab::event::messages::Trust;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::*;
use crate::priming::history::from_events;
use crate::priming::history::tests::source;
use crate::priming::parse::parse;
use crate::priming::parse::tests::{EVERY_TYPE, SEED_EXAMPLE};
use crate::priming::record_type::RecordType;
use crate::priming::replay::tests::events_of;

const SCRIPTS: u32 = 10_000;
const FENCE_LEN_MAX: usize = 64;

#[test]
fn a_script_has_one_text() {
    let script = parse(SEED_EXAMPLE).unwrap().script;
    insta::assert_snapshot!(export(&script), @r#"
    ---
    kind: agent_priming_script
    version: 3
    title: 环境探针启动
    applicableMemberIds:
      - ux
    ---

    ### record human_text_record

    ``````markdown
    ---
    genseq: 1
    msgId: priming-1
    grammar: markdown
    ---

    先做环境探针。
    ``````

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

    ``````markdown
    ---
    genseq: 1
    id: call_probe_1
    name: exec_command
    ---

    Darwin ...
    ``````
    "#);
}

#[test]
fn the_fence_is_longer_than_any_in_the_body() {
    for (body, n_backticks) in [
        ("", 6),
        ("```\ncode\n```", 6),
        ("`````", 6),
        ("``````", 7),
        ("  ``````\t\r", 7),
        ("``````\n```````", 8),
        ("``````markdown", 6),
        ("~~~~~~~", 6),
        ("x ``````", 6),
    ] {
        assert_eq!(fence_len(body), n_backticks, "{body:?}");
    }
}

#[test]
fn exporting_what_was_exported_changes_nothing() {
    for text in [SEED_EXAMPLE, EVERY_TYPE] {
        let once = export(&parse(text).unwrap().script);
        let script = parse(&once).unwrap().script;
        assert_eq!(export(&script), once);
    }
}

#[test]
fn any_script_is_parsed_back_and_exported_byte_for_byte() {
    let config = Config { cases: SCRIPTS, failure_persistence: None, ..Config::default() };
    // A fixed seed: the same scripts in every run, so that a failure is found again.
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let seen = RefCell::new(Seen::default());
    let checked = runner.run(&scripts(), |script| {
        let text = export(&script);
        seen.borrow_mut().look_at(&script);
        let read = match parse(&text) {
            Ok(parsed) => parsed.script,
            Err(error) => return Err(TestCaseError::fail(format!("{error} in\n{text}"))),
        };
        prop_assert_eq!(&read.front_matter, &script.front_matter);
        prop_assert_eq!(without_lines(&read), without_lines(&script));
        prop_assert_eq!(export(&read), text);
        // And so does what comes back from a conversation that began with it.
        let events = events_of(std::slice::from_ref(&script), Trust::Owner);
        let told = from_events(&events, &source()).unwrap();
        prop_assert_eq!(without_lines(&told), without_lines(&script));
        Ok(())
    });
    checked.unwrap();
    let seen = seen.into_inner();
    println!(
        "scripts = {}, records = {}, fence lengths = {}, with CRLF = {}, with `---` = {}, \
         in Chinese = {}, types = {}",
        seen.n_scripts,
        seen.n_records,
        seen.fence_lengths.len(),
        seen.n_crlf,
        seen.n_marks,
        seen.n_chinese,
        seen.types.len()
    );
    assert_eq!(seen.n_scripts, SCRIPTS);
    assert_eq!(seen.types.len(), RecordType::all().len());
    assert_eq!(seen.fence_lengths, (3..=FENCE_LEN_MAX).collect());
    for n in [seen.n_crlf, seen.n_marks, seen.n_chinese] {
        assert!(n > SCRIPTS / 100, "{n} is too few to mean anything");
    }
}

/// What the generated bodies held, so that nobody believes in scripts that were never tried.
#[derive(Default)]
struct Seen {
    n_scripts: u32,
    n_records: usize,
    n_crlf: u32,
    n_marks: u32,
    n_chinese: u32,
    fence_lengths: BTreeSet<usize>,
    types: BTreeSet<&'static str>,
}

impl Seen {
    fn look_at(&mut self, script: &Script) {
        self.n_scripts += 1;
        self.n_records += script.records.len();
        let holds = |part: &str| u32::from(script.records.iter().any(|it| it.body.contains(part)));
        self.n_crlf += holds("\r\n");
        self.n_marks += holds("---\n");
        self.n_chinese += holds("先做环境探针。");
        self.types.extend(script.records.iter().map(|it| it.record_type.name()));
        for line in script.records.iter().flat_map(|it| it.body.lines()) {
            let is_fence = line.len() >= 3 && line.bytes().all(|it| it == b'`');
            self.fence_lengths.extend(is_fence.then_some(line.len()));
        }
    }
}

/// Most of these are refused. Whatever is not must say the same after a round trip.
#[test]
fn no_slip_of_one_key_makes_a_script_that_reads_differently_afterwards() {
    let mut n_read = 0;
    for (at, ch) in SEED_EXAMPLE.char_indices() {
        let (before, after) = (&SEED_EXAMPLE[..at], &SEED_EXAMPLE[at + ch.len_utf8()..]);
        for slip in ["", "`", "\r", ":", "#", "\"", " ", "-", "\n", "\0", "\u{85}"] {
            let Ok(parsed) = parse(&format!("{before}{slip}{after}")) else { continue };
            n_read += 1;
            let text = export(&parsed.script);
            let again = parse(&text).unwrap_or_else(|error| panic!("{error} in\n{text}")).script;
            assert_eq!(again.front_matter, parsed.script.front_matter, "{slip:?} at {at}");
            assert_eq!(without_lines(&again), without_lines(&parsed.script), "{slip:?} at {at}");
        }
    }
    assert!(n_read > 1000, "only {n_read} of the slips were read at all");
}

fn without_lines(script: &Script) -> Vec<PrimingRecord> {
    script.records.iter().map(|record| PrimingRecord { line: 0, ..record.clone() }).collect()
}

fn scripts() -> impl Strategy<Value = Script> {
    let title = prop::option::of(text());
    (title, prop::collection::vec(records(), 1..3)).prop_map(|(title, parts)| {
        let mut records = Vec::new();
        for (n, record) in parts.into_iter().enumerate() {
            let id = ScriptField::text("id", &format!("call-{n}"));
            match record.record_type {
                // Ids of calls are unique in a script.
                RecordType::FuncCall => records.push(with_field(record, 1, id)),
                // And a result has its call.
                RecordType::FuncResult => {
                    let arguments = ScriptField::new("arguments", Json::empty_object());
                    let mut fields = record.fields[..3].to_vec();
                    fields.push(arguments);
                    let call = PrimingRecord {
                        record_type: RecordType::FuncCall,
                        fields,
                        body: String::new(),
                        line: 0,
                    };
                    records.push(with_field(call, 1, id.clone()));
                    records.push(with_field(record, 1, id));
                }
                _ => records.push(record),
            }
        }
        let title = title.map(|title| ScriptField::text("title", title.trim()));
        Script { front_matter: title.into_iter().collect(), records }
    })
}

fn with_field(mut record: PrimingRecord, place: usize, field: ScriptField) -> PrimingRecord {
    record.fields[place] = field;
    record
}

fn records() -> impl Strategy<Value = PrimingRecord> {
    let types = prop::sample::select(RecordType::all().to_vec());
    (types, any::<u32>(), text(), text()).prop_map(|(record_type, genseq, odd, body)| {
        let names = |names: &[(&str, &str)]| -> Vec<ScriptField> {
            names.iter().map(|(name, text)| ScriptField::text(*name, text)).collect()
        };
        let mut fields = vec![ScriptField::count("genseq", genseq.into())];
        fields.extend(match record_type {
            RecordType::HumanText => names(&[("msgId", "m")]),
            RecordType::QuestForSup => names(&[("subDialogId", "d")]),
            RecordType::FuncResult => names(&[("id", "c"), ("name", "t")]),
            RecordType::FuncCall => {
                let arguments = Json::of(&serde_json::json!({"x": [&odd]}));
                let mut fields = names(&[("id", "c"), ("name", "t")]);
                fields.push(ScriptField::new("arguments", arguments));
                fields
            }
            RecordType::WebSearchCall => names(&[("phase", "done")]),
            RecordType::TeammateCallResult | RecordType::TeammateResponse => {
                let mut fields = names(&[
                    ("responderId", "r"),
                    ("callName", "tellask"),
                    ("tellaskContent", &odd),
                    ("status", "failed"),
                    ("callId", "c"),
                ]);
                if record_type == RecordType::TeammateResponse {
                    fields.extend(names(&[("agentId", "a"), ("originMemberId", "o")]));
                }
                fields
            }
            RecordType::TeammateCallAnchor => names(&[("anchorRole", "response"), ("callId", "c")]),
            RecordType::HarnessItem => {
                names(&[("kind", "memory"), ("origin", "system"), ("visibility", "hidden")])
            }
            RecordType::AgentWords
            | RecordType::AgentThought
            | RecordType::UiOnlyMarkdown
            | RecordType::GenStart
            | RecordType::GenFinish => Vec::new(),
        });
        fields.push(ScriptField::text("odd", &odd));
        let has_text = matches!(record_type.body(), BodyRule::Text(_));
        PrimingRecord {
            record_type,
            fields,
            body: if has_text { body } else { String::new() },
            line: 0,
        }
    })
}

/// Lines that could be taken for something else.
fn text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        4 => prop::sample::select(vec![
            "", " ", "---", "--- ", "...", "### record human_text_record", "### user", "```", "```json",
            "~~~", "\r", "---\r", "\u{feff}", "先做环境探针。", "genseq: 1", "- a", "a: b #c", "\0", "no", "\\",
            "\u{85}", "\u{2028}x", "<system-reminder>", "\"quoted\"", "5",
        ]).prop_map(str::to_owned),
        2 => (1..=FENCE_LEN_MAX, prop::sample::select(vec!["`", "~"]), prop::sample::select(vec!["", "", " ", "\r", "x"]))
            .prop_map(|(n, mark, end)| format!("{}{end}", mark.repeat(n))),
        1 => prop::collection::vec(any::<char>(), 0..6).prop_map(|chars| chars.into_iter().collect()),
    ];
    prop::collection::vec(line, 0..5).prop_map(|lines| lines.join("\n"))
}
