use std::collections::HashMap;

use kith_vocab::event::Event;
use kith_vocab::event::texts::TextPlace;
use kith_vocab::json::Json;
use serde_json::Value;

use super::*;
use crate::line::{Decoder, LineHash, encode_batch};
use crate::samples::{event, every_type, long};

const N_TYPES_WITH_LONG_TEXTS: usize = 13;

#[test]
fn every_long_text_is_taken_out_and_put_back() {
    let mut n_taken = HashMap::new();
    for event in every_type() {
        let name = event.body.type_name();
        let Some(shape) = TextShape::of_event(name) else { continue };
        let mut json = serde_json::to_value(&event.body).unwrap();
        let mut n_long = 0;
        lengthen(&mut json, &shape, &mut n_long);
        let long = Event { body: serde_json::from_value(json).unwrap(), ..event };
        assert_eq!(check(&long), n_long, "{name}");
        *n_taken.entry(name).or_insert(0) += n_long;
    }
    assert_eq!(n_taken.len(), N_TYPES_WITH_LONG_TEXTS);
    for (name, n) in n_taken {
        assert!(n > 0, "`{name}` has no such field");
    }
}

#[test]
fn every_text_that_is_visited_is_taken_out() {
    for event in every_type() {
        let (mut long_event, mut n_long) = (event, 0);
        long_event.body.each_text(&mut |place| {
            n_long += 1;
            match place {
                TextPlace::Text(text) => *text = format!("{n_long} {}", long('x')).into(),
                TextPlace::Json(json) => {
                    *json = Json::of(&serde_json::json!({ "n": n_long, "text": long('y') }));
                }
            }
        });
        assert_eq!(check(&long_event), n_long, "{}", long_event.body.type_name());
    }
}

fn lengthen(json: &mut Value, shape: &TextShape, n_long: &mut usize) {
    match shape {
        TextShape::Text => {
            *json = Value::String(format!("{n_long} \"{}", long('x')));
            *n_long += 1;
        }
        TextShape::Input => {
            *json = serde_json::json!({ "n": *n_long, "text": long('y') });
            *n_long += 1;
        }
        TextShape::Each(shape) => {
            json.as_array_mut().unwrap().iter_mut().for_each(|it| lengthen(it, shape, n_long));
        }
        TextShape::Fields(fields) => {
            for (name, shape) in *fields {
                if let Some(field) = json.get_mut(name) {
                    lengthen(field, shape, n_long);
                }
            }
        }
    }
}

#[test]
fn a_text_that_may_not_be_long_stays_in_the_line() {
    let text = long('z');
    let free = format!(r#"{{"blob":{{"blob":"{text}"}},"n":1.00}}"#);
    let call = crate::samples::event_id(1).call(0);
    let hash = "0".repeat(64);
    for body in [
        format!(r#"{{"type":"primed_record","record":{free}}}"#),
        format!(
            r#"{{"type":"harness_item","item":{{"kind":"memory","origin":"system","content":"x","visibility":"hidden","data":{free}}},"trust":"owner"}}"#
        ),
        format!(
            r#"{{"type":"harness_item","item":{{"kind":"memory","origin":"system","content":"x","visibility":"hidden"}},"trust":"owner","primed":{free}}}"#
        ),
        format!(
            r#"{{"type":"user_message","message":{{"content":[]}},"author":{{"userId":"u","displayName":"U"}},"trust":"owner","primed":{free}}}"#
        ),
        format!(
            r#"{{"type":"tool_result","callId":"{call}","tool":"t","content":[],"outcome":"done","trust":"owner","primed":{free}}}"#
        ),
        format!(
            r#"{{"type":"toolset_snapshot","tools":[{{"name":"t","description":"{text}","inputSchema":{free}}}],"sha256":"{hash}"}}"#
        ),
        format!(r#"{{"type":"session_title_updated","title":"{text}","source":"user"}}"#),
    ] {
        assert_eq!(check(&event(1, None, &body)), 0, "{}", &body[..60]);
    }
}

#[test]
fn arguments_keep_their_spelling() {
    let call = crate::samples::event_id(1).call(0);
    let input =
        format!(r#"{{"n":1.00,"big":123456789012345678901234567890,"text":"{}"}}"#, long('a'));
    let body = format!(
        r#"{{"type":"assistant_message","message":{{"content":[{{"type":"tool_call","callId":"{call}","providerCallId":"p","tool":"t","input":{input}}}]}},"stopReason":"tool_call"}}"#
    );
    let event = event(1, None, &body);
    assert_eq!(check(&event), 1);
    let encoded = encode_batch(&[event], prev()).unwrap();
    assert_eq!(encoded.long_texts[0].text, input);
    let line = String::from_utf8(encoded.bytes).unwrap();
    let expected = format!(
        r#""tool":"t","inputBlob":{{"blob":"{}","bytes":{},"preview":"{}"}}}}"#,
        sha256_hex(input.as_bytes()),
        input.len(),
        input.chars().take(200).collect::<String>().replace('"', "\\\""),
    );
    assert!(line.contains(&expected), "{line}");
}

#[test]
fn a_text_is_long_from_the_first_byte_above_the_limit() {
    let notice = |text: &str| crate::samples::notice(1, text);
    assert_eq!(check(&notice(&"x".repeat(INLINE_TEXT_BYTES_MAX))), 0);
    assert_eq!(check(&notice(&long('x'))), 1);
    // Its JSON is longer than the text.
    assert_eq!(check(&notice(&"\\n".repeat(INLINE_TEXT_BYTES_MAX))), 0);
}

#[test]
fn a_preview_ends_with_a_whole_character() {
    let encoded = encode_batch(&[crate::samples::notice(1, &long('语'))], prev()).unwrap();
    let line = String::from_utf8(encoded.bytes).unwrap();
    let preview = format!(r#""preview":"{}"}}"#, "语".repeat(PREVIEW_CHARS_MAX));
    assert!(line.contains(&preview), "{line}");
}

fn prev() -> LineHash {
    LineHash::of(b"the line before")
}

/// Writes the event and reads it again; says how many texts were taken out.
#[track_caller]
fn check(event: &Event) -> usize {
    let encoded = encode_batch(std::slice::from_ref(event), prev()).unwrap();
    let line = encoded.bytes.strip_suffix(b"\n").unwrap();
    let n_taken = encoded.long_texts.len();
    let whole = serde_json::to_string(event).unwrap();
    if n_taken == 0 {
        assert!(line.len() > whole.len());
    } else {
        assert!(line.len() < 2048 + n_taken * 1024, "{} bytes left", line.len());
        assert!(may_name_a_blob(line));
    }
    let texts: HashMap<&str, &str> =
        encoded.long_texts.iter().map(|it| (it.sha256.as_str(), it.text.as_str())).collect();
    let read = Decoder::default().whole_event(line, prev(), &mut |named| {
        let text = texts[named.blob.as_str()];
        assert_eq!(named.bytes, text.len() as u64);
        Ok(text.to_owned())
    });
    let read = read.unwrap();
    assert_eq!(read.event, *event);
    assert_eq!(read.blob_bytes, texts_len(&encoded.long_texts));
    assert_eq!(serde_json::to_string(&read.event).unwrap(), whole);
    n_taken
}

fn texts_len(texts: &[LongText]) -> u64 {
    texts.iter().map(|it| it.text.len() as u64).sum()
}

#[test]
fn lines_that_name_the_same_text_share_it() {
    let mut shared = HashMap::new();
    for event in every_type() {
        let name = event.body.type_name();
        let Some(shape) = TextShape::of_event(name) else { continue };
        let mut json = serde_json::to_value(&event.body).unwrap();
        let mut n_long = 0;
        lengthen(&mut json, &shape, &mut n_long);
        let long = Event { body: serde_json::from_value(json).unwrap(), ..event };
        let n_shared = n_shared_when_read_twice(&long);
        // A session has one snapshot of its instructions.
        let is_once = name == "instruction_snapshot";
        assert_eq!(n_shared, if is_once { 0 } else { n_long }, "{name}");
        *shared.entry(name).or_insert(0) += n_long;
    }
    assert_eq!(shared.len(), N_TYPES_WITH_LONG_TEXTS);
}

fn n_shared_when_read_twice(event: &Event) -> usize {
    let encoded = encode_batch(std::slice::from_ref(event), prev()).unwrap();
    let line = encoded.bytes.strip_suffix(b"\n").unwrap();
    let mut decoder = Decoder::default();
    let mut read = || {
        let text_of = &mut |named: &BlobRef| {
            let text = encoded.long_texts.iter().find(|it| it.sha256 == named.blob);
            Ok(text.unwrap().text.clone())
        };
        let mut read = decoder.whole_event(line, prev(), text_of).unwrap().event;
        let (mut texts, mut inputs) = (Vec::new(), Vec::new());
        read.body.each_text(&mut |place| match place {
            TextPlace::Text(it) => texts.push(it.clone()),
            TextPlace::Json(it) => inputs.push(it.clone()),
        });
        (texts, inputs)
    };
    let (first, second) = (read(), read());
    first.0.iter().zip(&second.0).filter(|(a, b)| a.is_same(b)).count()
        + first.1.iter().zip(&second.1).filter(|(a, b)| a.is_same(b)).count()
}

#[test]
fn a_text_that_no_event_has_any_longer_is_let_go() {
    let mut shared = SharedTexts::default();
    let long_notice = |letter| crate::samples::notice(1, &long(letter));
    let (mut kept, mut dropped) = (long_notice('a'), long_notice('b'));
    shared.share(&mut kept);
    shared.share(&mut dropped);
    assert_eq!(shared.n_held(), 2);
    drop(dropped);
    shared.share(&mut crate::samples::notice(1, "short"));
    assert_eq!(shared.n_held(), 1);
}
