//! No text of an event gets into a record, whichever field it stands in.

use std::collections::BTreeSet;

use kith_engine::feed::ThreadKey;
use kith_testkit::events::{any_event_log, fixed_cases};
use proptest::prelude::*;
use serde_json::Value;

use super::*;

const MARKER: &str = "MARKER-7f3a";

/// Fields that hold a name the owner chose.
const NAMES: [&str; 3] =
    ["turn_started/model", "model_requested/provider", "model_requested/model"];

fn record_of(event: &Event) -> String {
    let thread =
        ThreadKey { agent_id: "main".to_owned(), thread_id: "cli:room:x".parse().unwrap() };
    let events = std::slice::from_ref(event);
    let what = Observation::Published { thread: Some(&thread), events };
    format!("{:?}", SessionRecord::of(what))
}

/// The places of all texts in a value.
fn texts(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::String(_) => found.push(at.to_owned()),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                texts(item, &format!("{at}/{index}"), found);
            }
        }
        Value::Object(fields) => {
            for (key, value) in fields {
                texts(value, &format!("{at}/{key}"), found);
            }
        }
        _ => (),
    }
}

/// Puts the marker into each text of the event in turn, and returns the places that a record repeats.
fn repeated(event: &Event) -> BTreeSet<String> {
    let whole = serde_json::to_value(event).unwrap();
    let kind = whole["type"].as_str().unwrap();
    let mut places = Vec::new();
    texts(&whole, "", &mut places);
    let mut repeated = BTreeSet::new();
    for place in places {
        let mut marked = whole.clone();
        *marked.pointer_mut(&place).unwrap() = MARKER.into();
        // An id, a hash or a word of ours cannot be a marker.
        let Ok(event) = serde_json::from_str::<Event>(&marked.to_string()) else { continue };
        if record_of(&event).contains(MARKER) {
            repeated.insert(format!("{kind}{place}"));
        }
    }
    repeated
}

proptest! {
    #![proptest_config(fixed_cases(64))]

    #[test]
    fn a_record_holds_no_text_of_any_event(log in any_event_log(24)) {
        for event in &log {
            for place in repeated(event) {
                prop_assert!(NAMES.contains(&place.as_str()), "{place} is in a record");
            }
        }
    }
}

#[test]
fn a_tool_that_a_model_invented_has_no_name() {
    assert_eq!(tool_name("exec_shell"), "exec_shell");
    for name in ["", "EXEC_SHELL", MARKER, "read_file "] {
        assert_eq!(tool_name(name), OTHER);
    }
}
