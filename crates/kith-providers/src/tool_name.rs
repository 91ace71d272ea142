//! Any tool name in the alphabet of the vendors, and back.
//!
//! Vendors take `[A-Za-z0-9_-]{1,64}`; tools of other servers are called `files/read` or 读文件. A
//! name the vendors take stays as it is. Any other becomes `esc-` and its bytes, where letters,
//! digits and `_` stand for themselves and every other byte is `-` and two hex digits. A plain
//! name that begins with `esc-` is escaped too, so no two names share a form and the form alone
//! tells the name.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The longest name that vendors accept. A name in their alphabet has one byte per letter.
pub(crate) const TOOL_NAME_BYTES_MAX: usize = 64;

const ESCAPED: &str = "esc-";

/// The name as vendors take it, or `None` if that would be too long.
pub(crate) fn escape(name: &str) -> Option<Cow<'_, str>> {
    let form = form_of(name);
    (form.len() <= TOOL_NAME_BYTES_MAX).then_some(form)
}

/// The name of a call that was made. A model may have made up any name, and its call must stay
/// in the conversation with the result that says so; a form that is too long is cut, because no
/// tool of the list can have it.
pub(crate) fn escape_called(name: &str) -> Cow<'_, str> {
    let form = form_of(name);
    if form.len() <= TOOL_NAME_BYTES_MAX {
        return form;
    }
    // A form is ASCII, so any byte is a character.
    Cow::Owned(form[..TOOL_NAME_BYTES_MAX].to_owned())
}

/// The name that has this form. Anything else is a name that the model made up.
pub(crate) fn unescape(form: &str) -> Cow<'_, str> {
    match form.strip_prefix(ESCAPED).and_then(decode) {
        Some(name) if form_of(&name) == form => Cow::Owned(name),
        _ => Cow::Borrowed(form),
    }
}

fn form_of(name: &str) -> Cow<'_, str> {
    let stands_for_itself = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_plain = !name.is_empty()
        && !name.starts_with(ESCAPED)
        && name.len() <= TOOL_NAME_BYTES_MAX
        && name.bytes().all(|byte| stands_for_itself(byte) || byte == b'-');
    if is_plain {
        return Cow::Borrowed(name);
    }
    let mut form = String::from(ESCAPED);
    for byte in name.bytes() {
        if stands_for_itself(byte) {
            form.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            write!(form, "-{byte:02x}").unwrap_or_default();
        }
    }
    Cow::Owned(form)
}

fn decode(escaped: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(escaped.len());
    let mut rest = escaped.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first != b'-' {
            bytes.push(first);
            rest = after;
            continue;
        }
        let (digits, after) = after.split_at_checked(2)?;
        let digits = str::from_utf8(digits).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests;
