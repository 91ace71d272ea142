//! The forms in which a secret may stand in a text.
//!
//! Letters are compared without case, because hosts and hex digits have none; `-` and `_` are `+`
//! and `/`, as in base64 for URLs; white space does not count, because encoders break lines. URL
//! encoding is none of these forms: the filter reads a text also with `%41` as `A`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use crate::digest::hex;

/// A shorter value is a placeholder such as `none`, or so short that it stands in ordinary text.
pub const SECRET_CHARS_MIN: usize = 8;
/// Of a longer secret only so much is looked for.
pub const SECRET_BYTES_MAX: usize = 16 * 1024;
/// A long secret is looked for in parts of this length, which bounds what a stream must hold back.
const PART_BYTES_MAX: usize = 1024;
/// A value of fewer different characters is a placeholder such as `xxxxxxxx`.
const DISTINCT_CHARS_MIN: usize = 3;

/// Whether the filter looks for this value at all.
pub(super) fn is_looked_for(value: &str) -> bool {
    let mut chars: Vec<char> = value.chars().filter(|ch| !ch.is_whitespace()).collect();
    let n_chars = chars.len();
    chars.sort_unstable();
    chars.dedup();
    n_chars >= SECRET_CHARS_MIN && chars.len() >= DISTINCT_CHARS_MIN
}

/// A character as it is compared; `None` if it does not count.
pub(super) fn folded(byte: u8) -> Option<u8> {
    match byte {
        b' ' | b'\t' | b'\r' | b'\n' => None,
        b'-' => Some(b'+'),
        b'_' => Some(b'/'),
        _ => Some(byte.to_ascii_lowercase()),
    }
}

/// The forms of a secret, folded.
pub(super) fn forms(value: &str) -> Vec<Vec<u8>> {
    let mut forms: Vec<Vec<u8>> = Vec::new();
    for part in parts(&value[..value.floor_char_boundary(SECRET_BYTES_MAX)]) {
        let bytes = part.as_bytes();
        forms.push(bytes.to_vec());
        forms.push(percent_decoded(bytes));
        forms.push(part.replace(' ', "+").into_bytes());
        forms.push(in_json(part).into_bytes());
        forms.push(hex(bytes).into_bytes());
        forms.extend((0..3).map(|before| base64_after(before, bytes)));
    }
    for form in &mut forms {
        *form = form.iter().filter_map(|byte| folded(*byte)).collect();
    }
    forms.retain(|form| form.len() >= SECRET_CHARS_MIN);
    forms.sort_unstable();
    forms.dedup();
    forms
}

/// Parts of about the same length, each long enough to be looked for.
fn parts(value: &str) -> Vec<&str> {
    let n_parts = value.len().div_ceil(PART_BYTES_MAX).max(1);
    let cut = |n: usize| value.floor_char_boundary(value.len() * n / n_parts);
    (0..n_parts).map(|n| &value[cut(n)..cut(n + 1)]).collect()
}

/// The characters of base64 that depend on the secret alone, when so many bytes (modulo 3) stand
/// before it. The characters at either end also hold bits of its neighbours.
fn base64_after(before: usize, secret: &[u8]) -> Vec<u8> {
    let bytes = [&[0; 3][..before], secret].concat();
    let whole = STANDARD_NO_PAD.encode(&bytes);
    let (begin, end) = ((before * 8).div_ceil(6), bytes.len() * 8 / 6);
    whole.as_bytes()[begin..end].to_vec()
}

/// The secret inside a string of JSON.
fn in_json(text: &str) -> String {
    // Writing a string cannot fail, and a form that is missing falls back to the plain one.
    let quoted = serde_json::to_string(text).unwrap_or_default();
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or(text).to_owned()
}

/// A secret that itself looks URL-encoded, as a reader that decodes finds it.
fn percent_decoded(bytes: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let [first, after @ ..] = rest {
        if let Some(byte) = percent_value(rest) {
            decoded.push(byte);
            rest = &rest[3..];
        } else {
            decoded.push(*first);
            rest = after;
        }
    }
    decoded
}

/// The byte that `%XX` at the start of the text stands for.
pub(super) fn percent_value(text: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = text else { return None };
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|it| u8::try_from(it).ok());
    Some(digit(high)? << 4 | digit(low)?)
}
