//! Frames text that is not from the owner before the model sees it.
//!
//! The text stands in a block that says how far its author is trusted, where it came from and who
//! wrote it. The name of the block ends in digits of the event's id, which the author could not
//! know; and anything that looks like a mark of ours is escaped, so the text can neither close its
//! block nor open another.

use std::fmt::Write;

use kith_vocab::event::messages::{Author, Trust};
use kith_vocab::ids::EventId;
use kith_vocab::invisible::is_invisible;
use kith_vocab::text::{FramedText, Text};

use super::escaped::EscapedTexts;
use super::marks::{self, UNTRUSTED};

/// A longer name is cut.
const NAME_CHARS_MAX: usize = 80;
/// The random end of an id.
const ID_DIGITS: usize = 16;

/// The author and source of a text.
#[derive(Clone, Copy, Debug)]
pub struct TextOrigin<'a> {
    pub event: EventId,
    pub trust: Trust,
    /// A platform, a tool, the kind of a reminder.
    pub source: &'a str,
    pub author: Option<&'a Author>,
}

/// The text as it may enter a request: the owner's as it is, anyone else's in a block.
pub fn quoted(origin: &TextOrigin<'_>, text: &Text, escaped: &mut EscapedTexts) -> FramedText {
    match origin.trust {
        Trust::Owner => text.clone().into(),
        _ => block(origin, text, escaped),
    }
}

/// The text of a tool result. Whatever its trust, it never speaks as the runtime: a file that the
/// owner wrote may quote a reminder, and must not become one.
pub fn quoted_result(
    origin: &TextOrigin<'_>,
    text: &Text,
    escaped: &mut EscapedTexts,
) -> FramedText {
    match origin.trust {
        Trust::Owner => escaped.escape(text, marks::RUNTIME).into(),
        _ => block(origin, text, escaped),
    }
}

fn block(origin: &TextOrigin<'_>, text: &Text, escaped: &mut EscapedTexts) -> FramedText {
    let name = block_name(origin.event);
    let trust = match origin.trust {
        Trust::Owner => "owner",
        Trust::Paired => "paired",
        Trust::Shared => "shared",
        Trust::Peer => "peer",
        Trust::Untrusted => "untrusted",
    };
    let mut begin = format!("<{name} trust=\"{trust}\" source=\"{}\"", attribute(origin.source));
    if let Some(author) = origin.author {
        let (name, user_id) = (attribute(&author.display_name), attribute(&author.user_id));
        // Writing to a string cannot fail.
        write!(begin, " author=\"{name}\" user=\"{user_id}\"").unwrap_or_default();
    }
    begin.push_str(">\n");
    FramedText::new(&begin, escaped.escape(text, marks::ALL), &format!("\n</{name}>"))
}

fn block_name(event: EventId) -> String {
    let digits: String = event.to_string().chars().filter(|ch| *ch != '-').collect();
    let end = digits.len().saturating_sub(ID_DIGITS);
    format!("{UNTRUSTED}-{}", &digits[end..])
}

/// A name as a part of one line: it ends neither the line nor its quotes, and hides nothing.
fn attribute(name: &str) -> String {
    let mut line = String::with_capacity(name.len());
    for (n_chars, ch) in name.chars().enumerate() {
        if n_chars == NAME_CHARS_MAX {
            line.push('…');
            break;
        }
        match ch {
            '&' => line.push_str("&amp;"),
            '<' => line.push_str("&lt;"),
            '>' => line.push_str("&gt;"),
            '"' => line.push_str("&quot;"),
            _ if ch.is_control() || is_invisible(ch) => line.extend(ch.escape_unicode()),
            _ => line.push(ch),
        }
    }
    line
}

#[cfg(test)]
mod tests;
