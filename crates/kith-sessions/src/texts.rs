//! Long texts of events, and how a line does without them.
//!
//! A line that carries megabytes cannot be looked at, so a long text goes to a blob and the line
//! names it. All other bytes must stay: the JSON is not parsed into values and written again, which
//! would round numbers in what we do not look into, but cut where [`TextShape`] says; what stands beside
//! that is copied as it is.

mod shared;

use kith_vocab::digest::sha256_hex;
use kith_vocab::event::texts::TextShape;
use kith_vocab::json::JsonMembers;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::damage::{BadLine, DamageCode, Flaw};

pub(crate) use shared::SharedTexts;

/// A longer text stands in a blob.
pub const INLINE_TEXT_BYTES_MAX: usize = 64 * 1024;
/// Characters of a text in a blob that the line shows, for people; a reader does not need them.
const PREVIEW_CHARS_MAX: usize = 200;

/// The reference to a blob that stands in a line instead of a long text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BlobRef {
    /// SHA-256 of the text, in lower-case hex.
    pub(crate) blob: String,
    pub(crate) bytes: u64,
    pub(crate) preview: String,
}

/// A text that was taken out of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LongText {
    pub(crate) sha256: String,
    pub(crate) text: String,
}

const INPUT: &str = "input";
const INPUT_BLOB: &str = "inputBlob";
/// Stands in every line that names a blob, and in no text: there its quotes are escaped.
const BLOB_KEY: &[u8] = b"\"blob\":";

/// Takes those long texts out of an event's JSON whose hashes are wanted; `None` if there are none.
pub(crate) fn take_out(
    json: &str,
    is_wanted: &mut dyn FnMut(&str) -> bool,
) -> Option<(String, Vec<LongText>)> {
    let mut taken = Vec::new();
    let rewritten = rewrite_event(json, RewriteDirection::Out, &mut |found| {
        let text = match found {
            LongValue::Text(raw) if raw.len() > INLINE_TEXT_BYTES_MAX => {
                serde_json::from_str::<String>(raw).ok()
            }
            LongValue::Input(raw) if raw.len() > INLINE_TEXT_BYTES_MAX => Some(raw.to_owned()),
            LongValue::Text(_) | LongValue::Input(_) => None,
        };
        // A text may be shorter than its JSON.
        let Some(text) = text.filter(|text| text.len() > INLINE_TEXT_BYTES_MAX) else {
            return Ok::<_, NeverFails>(None);
        };
        let sha256 = sha256_hex(text.as_bytes());
        if !is_wanted(&sha256) {
            return Ok(None);
        }
        let preview = text.chars().take(PREVIEW_CHARS_MAX).collect();
        let named = BlobRef { blob: sha256.clone(), bytes: text.len() as u64, preview };
        taken.push(LongText { sha256, text });
        // A struct of texts and a number is always JSON.
        Ok(serde_json::to_string(&named).ok())
    });
    let Ok(rewritten) = rewritten;
    (!taken.is_empty()).then_some((rewritten, taken))
}

/// Puts texts back in place of the blobs that a line names; `None` when it names none.
pub(crate) fn put_back(
    json: &str,
    text_of: &mut dyn FnMut(&BlobRef) -> Result<String, BadLine>,
) -> Result<Option<String>, BadLine> {
    let mut is_changed = false;
    let rewritten = rewrite_event(json, RewriteDirection::Back, &mut |found| {
        let (LongValue::Text(raw) | LongValue::Input(raw)) = found;
        // What is no reference stays, and is judged with the event it stands in.
        let Ok(named) = serde_json::from_str::<BlobRef>(raw) else { return Ok(None) };
        let text = text_of(&named)?;
        is_changed = true;
        match found {
            LongValue::Text(_) => Ok(serde_json::to_string(&text).ok()),
            LongValue::Input(_) if is_one_object(&text) => Ok(Some(text)),
            LongValue::Input(_) => {
                let detail = format!("the blob `{}` is not a JSON object on one line", named.blob);
                Err(BadLine::Flaw(Flaw::wrong(DamageCode::BadBlob, detail)))
            }
        }
    })?;
    Ok(is_changed.then_some(rewritten))
}

/// Anything else would stand in the event as something that the line does not say.
fn is_one_object(text: &str) -> bool {
    let is_json = serde_json::from_str::<&RawValue>(text).is_ok_and(|raw| raw.get() == text);
    is_json && text.starts_with('{') && !text.contains('\n')
}

/// Whether a line may name a blob. A free JSON object may make it look so.
pub(crate) fn may_name_a_blob(json: &[u8]) -> bool {
    json.windows(BLOB_KEY.len()).any(|it| it == BLOB_KEY)
}

enum NeverFails {}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RewriteDirection {
    Out,
    Back,
}

/// A value in a place where a long one may stand, as JSON.
#[derive(Clone, Copy)]
enum LongValue<'a> {
    Text(&'a str),
    Input(&'a str),
}

/// Gives the JSON to put in place of a value; `None` leaves it.
type Exchange<'a, E> = &'a mut dyn FnMut(LongValue<'_>) -> Result<Option<String>, E>;

fn rewrite_event<E>(
    json: &str,
    way: RewriteDirection,
    exchange: Exchange<'_, E>,
) -> Result<String, E> {
    let mut written = String::new();
    match shape_of(json) {
        Some(shape) => rewrite(json, &shape, way, exchange, &mut written)?,
        None => written.push_str(json),
    }
    Ok(written)
}

fn shape_of(json: &str) -> Option<TextShape> {
    let JsonMembers::<&RawValue>(entries) = serde_json::from_str(json).ok()?;
    let (_, raw) = entries.into_iter().find(|(key, _)| key == "type")?;
    let line_type: &str = serde_json::from_str(raw.get()).ok()?;
    TextShape::of_event(line_type)
}

/// Copies `json` to `written`, exchanging what stands where the shape says. A value that is not of
/// the shape is copied as it is.
fn rewrite<E>(
    json: &str,
    shape: &TextShape,
    way: RewriteDirection,
    exchange: Exchange<'_, E>,
    written: &mut String,
) -> Result<(), E> {
    match shape {
        TextShape::Text => {
            let replacement = exchange(LongValue::Text(json))?;
            written.push_str(replacement.as_deref().unwrap_or(json));
        }
        // Written by its key, which changes with it.
        TextShape::Input => written.push_str(json),
        TextShape::Each(shape) => {
            let Ok(elements) = serde_json::from_str::<Vec<&RawValue>>(json) else {
                written.push_str(json);
                return Ok(());
            };
            written.push('[');
            for (place, element) in elements.into_iter().enumerate() {
                if place > 0 {
                    written.push(',');
                }
                rewrite(element.get(), shape, way, exchange, written)?;
            }
            written.push(']');
        }
        TextShape::Fields(fields) => {
            let Ok(JsonMembers::<&RawValue>(entries)) = serde_json::from_str(json) else {
                written.push_str(json);
                return Ok(());
            };
            written.push('{');
            for (place, (key, value)) in entries.into_iter().enumerate() {
                if place > 0 {
                    written.push(',');
                }
                rewrite_field(&key, value.get(), fields, way, exchange, written)?;
            }
            written.push('}');
        }
    }
    Ok(())
}

fn rewrite_field<E>(
    key: &str,
    value: &str,
    fields: &[(&str, TextShape)],
    way: RewriteDirection,
    exchange: Exchange<'_, E>,
    written: &mut String,
) -> Result<(), E> {
    let (from, to) = match way {
        RewriteDirection::Out => (INPUT, INPUT_BLOB),
        RewriteDirection::Back => (INPUT_BLOB, INPUT),
    };
    let may_be_input = key == from && fields.iter().any(|(name, _)| *name == INPUT);
    if may_be_input && let Some(replacement) = exchange(LongValue::Input(value))? {
        put_key(to, written);
        written.push_str(&replacement);
        return Ok(());
    }
    put_key(key, written);
    if let Some((_, shape)) = fields.iter().find(|(name, _)| *name == key) {
        return rewrite(value, shape, way, exchange, written);
    }
    written.push_str(value);
    Ok(())
}

fn put_key(key: &str, written: &mut String) {
    // A text is always JSON.
    written.push_str(&serde_json::to_string(key).unwrap_or_default());
    written.push(':');
}

#[cfg(test)]
mod tests;
