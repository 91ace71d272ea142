//! The specification and the fixtures, held against the code.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use kith_vocab::event::texts::TextShape;
use kith_vocab::event::{Body, Event};
use kith_vocab::ids::SessionId;

use crate::damage::DamageCode;
use crate::line::{
    BATCH_BYTES_MAX, BATCH_EVENTS_MAX, Decoder, LINE_BYTES_MAX, LineHash, encode_batch,
};
use crate::read::{ReadError, Reading, Tail, read_events};
use crate::samples::{event, every_type, file_of, user};
use crate::{BLOB_BYTES_MAX, INLINE_TEXT_BYTES_MAX};

#[test]
fn format_table_lists_every_event_type() {
    let specification = specification();
    let rows = table(&specification, "| type | fields | tree/ctrl | in/out | model | screen |");
    let types: Vec<&str> = rows.iter().map(|row| row[0].trim_matches('`')).collect();
    assert_eq!(types, Body::TYPES);
    for row in &rows {
        assert!(row.len() == 6 && row.iter().all(|cell| !cell.is_empty()), "{row:?}");
    }
}

#[test]
fn format_table_says_which_events_are_of_the_tree_and_what_they_hold() {
    let specification = specification();
    let rows = table(&specification, "| type | fields | tree/ctrl | in/out | model | screen |");
    for event in every_type() {
        let row = rows.iter().find(|row| row[0].trim_matches('`') == event.body.type_name());
        let row = row.unwrap();
        assert_eq!(row[2], if event.is_tree() { "tree" } else { "ctrl" }, "{}", row[0]);
        let json: serde_json::Value = serde_json::to_value(&event.body).unwrap();
        for key in json.as_object().unwrap().keys().filter(|&key| key != "type") {
            let names = |cell: &str| cell.contains(&format!("`{key}"));
            assert!(names(&row[1]), "{} does not list `{key}`", row[0]);
        }
    }
}

#[test]
fn format_table_lists_every_error() {
    let specification = specification();
    let rows = table(&specification, "| name | meaning |");
    let names: Vec<&str> = rows.iter().map(|row| row[0].trim_matches('`')).collect();
    let codes: Vec<&str> = DamageCode::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(names, codes);
}

/// The places of long texts as the specification writes them.
fn paths(shape: &TextShape, before: &str) -> Vec<String> {
    match shape {
        TextShape::Text | TextShape::Input => vec![before.to_owned()],
        TextShape::Each(shape) => paths(shape, &format!("{before}[]")),
        TextShape::Fields(fields) => {
            let path = |name: &str| match before {
                "" => name.to_owned(),
                before => format!("{before}.{name}"),
            };
            fields.iter().flat_map(|(name, shape)| paths(shape, &path(name))).collect()
        }
    }
}

#[test]
fn format_table_lists_every_field_that_may_be_long() {
    let specification = specification();
    let listed = table(&specification, "| type | long fields |").into_iter();
    let listed: Vec<_> = listed.map(|row| (row[0].clone(), row[1].clone())).collect();
    let shapes = Body::TYPES.iter().filter_map(|name| Some((name, TextShape::of_event(name)?)));
    let in_code = shapes.map(|(name, shape)| {
        let paths = paths(&shape, "");
        let blocks = "text, signature, redacted, input, rawInput";
        let blocks: Vec<&str> = blocks.split(", ").collect();
        let (block_paths, others): (Vec<String>, Vec<String>) = paths
            .into_iter()
            .partition(|path| blocks.iter().any(|it| path.ends_with(&format!("content[].{it}"))));
        let cell = match block_paths.first() {
            None => others.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", "),
            Some(first) => {
                assert_eq!((block_paths.len(), others.len()), (blocks.len(), 0));
                format!("`{}`: see below", first.strip_suffix(".text").unwrap())
            }
        };
        (format!("`{name}`"), cell)
    });
    assert_eq!(listed, in_code.collect::<Vec<_>>());
}

#[test]
fn the_specification_states_the_limits() {
    let specification = specification();
    let texts = INLINE_TEXT_BYTES_MAX as u64;
    let lines = [LINE_BYTES_MAX as u64, BATCH_BYTES_MAX, u64::from(BATCH_EVENTS_MAX)];
    for limit in lines.into_iter().chain([BLOB_BYTES_MAX, texts]) {
        assert!(specification.contains(&limit.to_string()), "{limit}");
    }
}

#[test]
fn the_worked_example_is_what_the_code_writes() {
    let turn_started = r#"{"type":"turn_started","limits":{"steps":50,"repeats":5,"wallMs":3600000},"contextWindow":200000,"model":"m-large","language":"zh","attended":true}"#;
    let (bytes, _) = file_of(&[vec![user(1, None, "你好"), event(2, None, turn_started)]]);
    let specification = specification();
    let (_, rest) = specification.split_once("```jsonl\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    assert_eq!(example, String::from_utf8(bytes).unwrap());
}

/// Files of version 1 with every type of event: of the first revision, with the models that a
/// message names and the rows that queue items came from, and with every optional field.
const VERSION_1: [&str; 4] =
    ["v1-plain.jsonl", "v1-models.jsonl", "v1-scopes.jsonl", "v1-whole.jsonl"];

#[test]
fn a_file_of_version_1_opens_for_ever() {
    for name in VERSION_1 {
        let (events, reading) = read(name).unwrap();
        assert_eq!(reading.tail, Tail::Clean, "{name}");
        assert_eq!(reading.header.v, 1);
        let types: BTreeSet<&str> = events.iter().map(|event| event.body.type_name()).collect();
        assert_eq!(types, Body::TYPES.iter().copied().collect());
    }
}

#[test]
fn the_newest_fixture_holds_what_this_revision_writes() {
    // After a change of the format: keep the file under another name among the fixtures, and write
    // a new one.
    if std::env::var_os("KITH_WRITE_FIXTURE").is_some() {
        let (bytes, _) = file_of(&[every_type()]);
        fs::write(fixture("v1-whole.jsonl"), bytes).unwrap();
    }
    let (events, _) = read("v1-whole.jsonl").unwrap();
    assert_eq!(events, every_type());
}

#[test]
fn a_file_of_version_1_is_written_again_byte_for_byte() {
    VERSION_1.into_iter().for_each(check_written_again);
}

#[track_caller]
fn check_written_again(name: &str) {
    let bytes = fs::read(fixture(name)).unwrap();
    let mut decoder = Decoder::default();
    let mut lines = bytes.split_inclusive(|&byte| byte == b'\n');
    let mut hash = LineHash::of(lines.next().unwrap().trim_ascii_end());
    let (mut prev, mut batch, mut read) = (hash, Vec::new(), Vec::new());
    for line in lines {
        let event_line = decoder.event(line.trim_ascii_end(), hash).unwrap();
        hash = LineHash::of(line.trim_ascii_end());
        batch.push(event_line.event);
        read.extend_from_slice(line);
        if event_line.batch.0 == event_line.batch.1 {
            let encoded = encode_batch(&batch, prev).unwrap();
            assert_eq!(encoded.bytes, read);
            (prev, batch, read) = (encoded.hash, Vec::new(), Vec::new());
        }
    }
    assert!(batch.is_empty());
}

#[test]
fn a_newer_file_is_refused_with_a_sentence() {
    let Err(ReadError::Damaged(damage)) = read("v2-header.jsonl") else { panic!("it was read") };
    assert_eq!(
        damage.to_string(),
        "line 1: newer_version: its format version is 2, and this kith knows versions up to 1; a \
         newer kith can read it"
    );
}

#[test]
fn an_unknown_event_is_refused_with_its_line() {
    let (events, reading) = read("v1-unknown-event.jsonl").unwrap();
    assert_eq!(events.len(), 2);
    let Tail::Damaged(damage) = reading.tail else { panic!("{:?}", reading.tail) };
    assert_eq!((damage.line, damage.code), (4, DamageCode::InvalidEvent));
    assert!(damage.detail.contains("telepathy"), "{damage}");
}

#[test]
fn a_newer_event_is_refused_with_its_line() {
    let (events, reading) = read("v1-newer-event.jsonl").unwrap();
    assert_eq!(events.len(), 2);
    let Tail::Damaged(damage) = reading.tail else { panic!("{:?}", reading.tail) };
    assert_eq!((damage.line, damage.code), (4, DamageCode::NewerVersion));
}

#[test]
fn fixtures_carry_ids_that_are_read() {
    let (_, reading) = read("v1-plain.jsonl").unwrap();
    let id: SessionId = reading.header.session_id.to_string().parse().unwrap();
    assert_eq!(id, reading.header.session_id);
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn specification() -> String {
    fs::read_to_string(workspace().join("docs/format/session-log.md")).unwrap()
}

fn fixture(name: &str) -> PathBuf {
    workspace().join("testdata/sessions").join(name)
}

fn read(name: &str) -> Result<(Vec<Event>, Reading), ReadError> {
    let mut events = Vec::new();
    let file = fs::File::open(fixture(name)).unwrap();
    let reading = read_events(Box::new(file), None, &mut |event| events.push(event))?;
    Ok((events, reading))
}

/// The cells of the table that begins with this line.
fn table(text: &str, head: &str) -> Vec<Vec<String>> {
    let (_, rest) = text.split_once(&format!("{head}\n")).unwrap();
    let rows = rest.lines().skip(1).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.trim_matches('|').split('|').map(|it| it.trim().to_owned()).collect())
        .collect()
}
