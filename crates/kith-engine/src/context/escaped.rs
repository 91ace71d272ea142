//! Long texts that had to be escaped, each kept once.
//!
//! A text with nothing to escape is shown as it is, and shared with the event it came from. One that
//! was escaped is a text of its own; where many events name the same one, they share that too.

use std::borrow::Cow;

use kith_vocab::text::Text;

use super::marks::{self, Marks};

/// A shorter text is not worth looking for.
const LOOKED_FOR_BYTES_MIN: usize = 64 * 1024;

/// What was escaped and is still shown. It follows from the events, so it is neither compared nor
/// stored.
#[derive(Clone, Debug, Default)]
pub struct EscapedTexts(Vec<EscapedText>);

#[derive(Clone, Debug)]
struct EscapedText {
    marks: Marks,
    text: Text,
    escaped: Text,
}

impl EscapedTexts {
    pub(crate) fn escape(&mut self, text: &Text, marks: Marks) -> Text {
        let is_it = |it: &&EscapedText| it.marks == marks && it.text.is_same(text);
        if let Some(known) = self.0.iter().find(is_it) {
            return known.escaped.clone();
        }
        let Cow::Owned(escaped) = marks::escape(text, &marks) else { return text.clone() };
        let escaped = Text::from(escaped);
        if text.len() > LOOKED_FOR_BYTES_MIN {
            self.0.retain(|it| it.escaped.is_shared());
            self.0.push(EscapedText { marks, text: text.clone(), escaped: escaped.clone() });
        }
        escaped
    }
}

impl PartialEq for EscapedTexts {
    fn eq(&self, _: &EscapedTexts) -> bool {
        true
    }
}

impl Eq for EscapedTexts {}
