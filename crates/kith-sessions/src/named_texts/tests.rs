use kith_vocab::digest::sha256_hex;
use kith_vocab::event::Event;
use kith_vocab::json::Json;

use super::*;
use crate::samples::{every_type, long, notice, user};

/// Names the texts of what is sent, and puts them back.
#[track_caller]
fn check(sent: &str, expected: &[&str]) {
    let texts: BTreeMap<String, String> =
        expected.iter().map(|text| (sha256_hex(text.as_bytes()), (*text).to_owned())).collect();
    let Some(named) = name_long_texts(sent, &mut |_| true) else {
        assert!(expected.is_empty(), "nothing is named");
        return;
    };
    assert!(named.len() <= sent.len() - expected.iter().map(|it| it.len()).sum::<usize>() + 4096);
    let found: BTreeMap<String, u64> =
        named_texts(&named).into_iter().map(|it| (it.sha256, it.bytes)).collect();
    let lengths: BTreeMap<String, u64> =
        texts.iter().map(|(sha256, text)| (sha256.clone(), text.len() as u64)).collect();
    assert_eq!(found, lengths);
    assert_eq!(put_back_texts(&named, &texts).as_deref(), Some(sent));
    assert_eq!(put_back_texts(&named, &BTreeMap::new()), None);
}

fn json(event: &Event) -> String {
    Json::of(event).as_str().to_owned()
}

#[test]
fn a_long_text_of_an_event_is_named_wherever_the_event_stands() {
    let text = long('a');
    for event in [notice(1, &text), user(1, None, &text)] {
        let event = json(&event);
        check(&event, &[&text]);
        check(&format!("{{\"event\":{event}}}"), &[&text]);
        check(&format!("{{\"turn\":{{\"event\":{event}}}}}"), &[&text]);
        check(&format!("{{\"events\":[{event}],\"n\":1.50}}"), &[&text]);
    }
}

#[test]
fn only_a_text_that_stands_in_a_blob_is_named() {
    let (kept, inline) = (long('a'), long('b'));
    let sent = format!("[{},{}]", json(&notice(1, &kept)), json(&notice(2, &inline)));
    let sha256 = sha256_hex(kept.as_bytes());
    let named = name_long_texts(&sent, &mut |it| it == sha256).unwrap();
    assert_eq!(named_texts(&named), [NamedText { sha256, bytes: kept.len() as u64 }]);
    assert!(named.contains(&inline) && !named.contains(&kept));
    assert_eq!(name_long_texts(&sent, &mut |_| false), None);
}

#[test]
fn what_is_short_and_what_is_no_event_stays_as_it_is() {
    for event in every_type() {
        check(&format!("{{\"event\":{}}}", json(&event)), &[]);
    }
    let text = long('a');
    check(&format!("{{\"text\":\"{text}\"}}"), &[]);
    check(&format!("{{\"type\":\"notice\",\"text\":\"{text}\"}}"), &[]);
    // Deeper than anything that is sent.
    let event = json(&notice(1, &text));
    check(&format!("[[[[[{event}]]]]]"), &[]);
    assert_eq!(named_texts("{\"blob\":1}"), []);
}
