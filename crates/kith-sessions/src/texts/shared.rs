//! The long texts of one reading, so that lines that name the same blob share it in memory.

use std::collections::HashSet;

use kith_vocab::event::Event;
use kith_vocab::event::texts::TextPlace;
use kith_vocab::json::Json;
use kith_vocab::text::Text;

use super::INLINE_TEXT_BYTES_MAX;

/// Holds a text for as long as one of the events does that were given out.
#[derive(Debug, Default)]
pub(crate) struct SharedTexts {
    texts: HashSet<Text>,
    inputs: HashSet<Json>,
}

impl SharedTexts {
    /// Puts texts that were read before in the place of equal ones.
    pub(crate) fn share(&mut self, event: &mut Event) {
        self.texts.retain(Text::is_shared);
        self.inputs.retain(Json::is_shared);
        event.body.each_text(&mut |place| match place {
            TextPlace::Text(text) if text.len() > INLINE_TEXT_BYTES_MAX => {
                match self.texts.get(&*text) {
                    Some(known) => *text = known.clone(),
                    None => _ = self.texts.insert(text.clone()),
                }
            }
            TextPlace::Json(input) if input.as_str().len() > INLINE_TEXT_BYTES_MAX => {
                match self.inputs.get(&*input) {
                    Some(known) => *input = known.clone(),
                    None => _ = self.inputs.insert(input.clone()),
                }
            }
            TextPlace::Text(_) | TextPlace::Json(_) => (),
        });
    }

    #[cfg(test)]
    pub(super) fn n_held(&self) -> usize {
        self.texts.len() + self.inputs.len()
    }
}
