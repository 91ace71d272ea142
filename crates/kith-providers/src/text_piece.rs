//! A piece of a streamed text, which may begin or end in the middle of a character.
//!
//! JSON can hold half of a character beyond U+FFFF (`"\ud83d"`), and servers that cut an answer by
//! UTF-16 units send the halves in two events. serde_json refuses such a string as text but gives its
//! bytes, with three bytes for each half (WTF-8). The halves are joined here; one that stays alone
//! becomes U+FFFD, so that it costs a character and not the answer.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};

/// Text as a server sent it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TextPiece(Vec<u8>);

/// The first half of a character; the second may come with the next piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FirstHalf(u16);

impl TextPiece {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text of a piece that nothing follows.
    pub(crate) fn into_whole(self) -> String {
        let (text, half) = self.after(None);
        let mut text = text.into_owned();
        text.extend(half.map(|_| char::REPLACEMENT_CHARACTER));
        text
    }

    /// The text that follows a piece which ended with this half, and the half that this one ends with.
    pub(crate) fn after(&self, half: Option<FirstHalf>) -> (Cow<'_, str>, Option<FirstHalf>) {
        match str::from_utf8(&self.0) {
            Ok("") => return (Cow::Borrowed(""), half),
            Ok(text) if half.is_none() => return (Cow::Borrowed(text), None),
            _ => (),
        }
        let mut joiner = HalfJoiner { text: String::with_capacity(self.0.len()), half };
        let mut rest = self.0.as_slice();
        // Each turn takes at least a byte.
        while !rest.is_empty() {
            let n_valid = match str::from_utf8(rest) {
                Ok(text) => text.len(),
                Err(error) => error.valid_up_to(),
            };
            let (valid, after) = rest.split_at(n_valid);
            joiner.push_text(&String::from_utf8_lossy(valid));
            rest = match after {
                [0xed, second @ 0xa0..=0xbf, third @ 0x80..=0xbf, more @ ..] => {
                    joiner.push_half(half_of(*second, *third));
                    more
                }
                [_, more @ ..] => {
                    joiner.push_text("\u{fffd}");
                    more
                }
                [] => after,
            };
        }
        (Cow::Owned(joiner.text), joiner.half)
    }
}

impl From<&str> for TextPiece {
    fn from(text: &str) -> TextPiece {
        TextPiece(text.as_bytes().to_vec())
    }
}

impl FromIterator<TextPiece> for TextPiece {
    fn from_iter<I: IntoIterator<Item = TextPiece>>(pieces: I) -> TextPiece {
        TextPiece(pieces.into_iter().flat_map(|piece| piece.0).collect())
    }
}

/// The surrogate that WTF-8 writes as `ed`, `second`, `third`.
fn half_of(second: u8, third: u8) -> u16 {
    0xd000 | u16::from(second & 0x3f) << 6 | u16::from(third & 0x3f)
}

/// Text that grows, and a half that waits for the other.
struct HalfJoiner {
    text: String,
    half: Option<FirstHalf>,
}

impl HalfJoiner {
    fn push_text(&mut self, text: &str) {
        if !text.is_empty() {
            self.give_up_half();
            self.text.push_str(text);
        }
    }

    fn push_half(&mut self, unit: u16) {
        if unit < 0xdc00 {
            self.give_up_half();
            self.half = Some(FirstHalf(unit));
            return;
        }
        let units = self.half.take().map(|FirstHalf(first)| first).into_iter().chain([unit]);
        for character in char::decode_utf16(units) {
            self.text.push(character.unwrap_or(char::REPLACEMENT_CHARACTER));
        }
    }

    fn give_up_half(&mut self) {
        self.text.extend(self.half.take().map(|_| char::REPLACEMENT_CHARACTER));
    }
}

impl<'de> Deserialize<'de> for TextPiece {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TextPiece, D::Error> {
        deserializer.deserialize_bytes(PieceVisitor)
    }
}

struct PieceVisitor;

impl Visitor<'_> for PieceVisitor {
    type Value = TextPiece;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<TextPiece, E> {
        Ok(TextPiece(bytes.to_vec()))
    }
}

#[cfg(test)]
mod tests;
