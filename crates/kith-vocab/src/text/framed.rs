//! A text between words of our own, without a copy of it.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Text;

/// It reads, compares and serialises as the three in one.
#[derive(Clone, Default)]
pub struct FramedText {
    before: Box<str>,
    text: Text,
    after: Box<str>,
}

impl FramedText {
    pub fn new(before: &str, text: Text, after: &str) -> FramedText {
        FramedText { before: before.into(), text, after: after.into() }
    }

    /// What, one after the other, is the whole.
    pub fn pieces(&self) -> [&str; 3] {
        [&self.before, &self.text, &self.after]
    }

    /// The text in the frame.
    pub fn text(&self) -> &Text {
        &self.text
    }

    pub fn len(&self) -> usize {
        self.pieces().iter().map(|it| it.len()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it is nothing but white space.
    pub fn is_blank(&self) -> bool {
        self.pieces().iter().all(|it| it.trim().is_empty())
    }
}

impl<T: Into<Text>> From<T> for FramedText {
    fn from(text: T) -> FramedText {
        FramedText { text: text.into(), ..FramedText::default() }
    }
}

impl PartialEq for FramedText {
    fn eq(&self, other: &FramedText) -> bool {
        self.pieces() == other.pieces()
            || (self.len() == other.len() && self.pieces().concat() == other.pieces().concat())
    }
}

impl Eq for FramedText {}

impl fmt::Display for FramedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pieces().into_iter().try_for_each(|it| f.write_str(it))
    }
}

impl fmt::Debug for FramedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.pieces().concat(), f)
    }
}

impl Serialize for FramedText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.pieces() {
            ["", text, ""] => serializer.serialize_str(text),
            _ => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for FramedText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<FramedText, D::Error> {
        Text::deserialize(deserializer).map(FramedText::from)
    }
}

/// A stored text that keeps its frame: what was said is still told from words of our own.
pub mod in_pieces {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{FramedText, Text};

    pub fn serialize<S: Serializer>(it: &FramedText, serializer: S) -> Result<S::Ok, S::Error> {
        (&it.before, &it.text, &it.after).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<FramedText, D::Error> {
        let (before, text, after) = <(Box<str>, Text, Box<str>)>::deserialize(from)?;
        Ok(FramedText { before, text, after })
    }
}
