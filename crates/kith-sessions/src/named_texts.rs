//! Replaces long texts in events that are sent to clients by references to blobs.
//!
//! An event is sent as it stands in its log: a text that the journal keeps as a blob is only named,
//! and a client that needs it fetches it by that name. So events are short on the wire, however
//! long their texts.

use std::collections::BTreeMap;

use kith_vocab::json::JsonMembers;
use serde_json::value::RawValue;

use crate::damage::{BadLine, DamageCode, Flaw};
use crate::texts::{BlobRef, INLINE_TEXT_BYTES_MAX, may_name_a_blob, put_back, take_out};

/// Maximum nesting depth at which events are looked for in a message.
const EVENT_DEPTH_MAX: u32 = 4;

/// A text that stands in a blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedText {
    pub sha256: String,
    pub bytes: u64,
}

/// Names those long texts of the events in a JSON value that stand in blobs; `None` if there are
/// none. A log may also hold a long text in its line, which then stays as it is.
pub fn name_long_texts(json: &str, has_blob: &mut dyn FnMut(&str) -> bool) -> Option<String> {
    if json.len() <= INLINE_TEXT_BYTES_MAX {
        return None;
    }
    let mut is_changed = false;
    let rewritten = rewrite_events(json, &mut |event| {
        let (rewritten, _) = take_out(event, has_blob)?;
        is_changed = true;
        Some(rewritten)
    });
    is_changed.then_some(rewritten)
}

/// The texts that the events in a JSON value name.
pub fn named_texts(json: &str) -> Vec<NamedText> {
    let mut named = Vec::new();
    if may_name_a_blob(json.as_bytes()) {
        rewrite_events(json, &mut |event| {
            // What stands in its place does not matter, as long as it may stand there.
            let noting = &mut |it: &BlobRef| {
                named.push(NamedText { sha256: it.blob.clone(), bytes: it.bytes });
                Ok("{}".to_owned())
            };
            put_back(event, noting).ok().flatten()
        });
    }
    named
}

/// Puts texts back where they are named; `None` if one is missing or cannot stand there.
pub fn put_back_texts(json: &str, texts: &BTreeMap<String, String>) -> Option<String> {
    let mut is_whole = true;
    let rewritten = rewrite_events(json, &mut |event| {
        let text_of = &mut |named: &BlobRef| {
            let missing = || BadLine::Flaw(Flaw::wrong(DamageCode::BadBlob, "it is missing"));
            texts.get(&named.blob).cloned().ok_or_else(missing)
        };
        let rewritten = put_back(event, text_of);
        is_whole &= rewritten.is_ok();
        rewritten.ok().flatten()
    });
    is_whole.then_some(rewritten)
}

/// Gives the JSON to put in place of an event; `None` leaves it.
type ExchangeEvent<'a> = &'a mut dyn FnMut(&str) -> Option<String>;

fn rewrite_events(json: &str, exchange: ExchangeEvent<'_>) -> String {
    let mut written = String::new();
    rewrite(json, EVENT_DEPTH_MAX, exchange, &mut written);
    written
}

fn rewrite(json: &str, depth_left: u32, exchange: ExchangeEvent<'_>, written: &mut String) {
    let Some(depth_left) = depth_left.checked_sub(1) else {
        written.push_str(json);
        return;
    };
    if let Ok(JsonMembers::<&RawValue>(entries)) = serde_json::from_str(json) {
        let has = |name: &str| entries.iter().any(|(key, _)| key == name);
        if has("seq") && has("type") {
            written.push_str(exchange(json).as_deref().unwrap_or(json));
            return;
        }
        written.push('{');
        for (place, (key, value)) in entries.into_iter().enumerate() {
            if place > 0 {
                written.push(',');
            }
            // A text is always JSON.
            written.push_str(&serde_json::to_string(&key).unwrap_or_default());
            written.push(':');
            rewrite(value.get(), depth_left, exchange, written);
        }
        written.push('}');
    } else if let Ok(elements) = serde_json::from_str::<Vec<&RawValue>>(json) {
        written.push('[');
        for (place, element) in elements.into_iter().enumerate() {
            if place > 0 {
                written.push(',');
            }
            rewrite(element.get(), depth_left, exchange, written);
        }
        written.push(']');
    } else {
        written.push_str(json);
    }
}

#[cfg(test)]
mod tests;
