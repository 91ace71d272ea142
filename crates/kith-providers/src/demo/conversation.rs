//! The conversation as the rules see it: who said what, without reminders.

const REMINDER_BEGIN: &str = "<system-reminder>";
const REMINDER_END: &str = "</system-reminder>";
/// How a block of untrusted text begins and ends; its id follows.
const BLOCK_BEGIN: &str = "<untrusted-";
const BLOCK_END: &str = "</untrusted-";

#[derive(Debug, Default)]
pub(super) struct DemoRequest {
    pub(super) system: String,
    pub(super) tools: Vec<DemoTool>,
    pub(super) messages: Vec<DemoMessage>,
    /// What the last reminder since the model's own last words says: it may be a person's steer.
    pub(super) reminder: Option<String>,
    /// How many calls were made so far.
    pub(super) n_calls: usize,
}

#[derive(Debug)]
pub(super) struct DemoTool {
    pub(super) name: String,
    /// The inputs it cannot do without.
    pub(super) required: Vec<String>,
}

#[derive(Debug)]
pub(super) enum DemoMessage {
    User(String),
    Model,
    Tool { tool: String, text: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    English,
    Chinese,
}

impl DemoRequest {
    /// What people said, first to last.
    pub(super) fn user_words(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.messages.iter().filter_map(|message| match message {
            DemoMessage::User(words) => Some(words.as_str()),
            DemoMessage::Model | DemoMessage::Tool { .. } => None,
        })
    }

    pub(super) fn language(&self) -> Language {
        Language::of(self.user_words().next_back().unwrap_or_default())
    }
}

impl DemoMessage {
    /// `None` when the text holds reminders only.
    pub(super) fn by_user(text: &str) -> Option<DemoMessage> {
        let words = without_reminders(text).trim().to_owned();
        (!words.is_empty()).then_some(DemoMessage::User(words))
    }

    pub(super) fn by_tool(tool: String, text: &str) -> DemoMessage {
        let text = without_reminders(text);
        DemoMessage::Tool { tool, text: without_block(text.trim()).to_owned() }
    }
}

impl Language {
    pub(super) fn of(words: &str) -> Language {
        if words.chars().any(is_ideograph) { Language::Chinese } else { Language::English }
    }
}

pub(super) fn is_ideograph(ch: char) -> bool {
    matches!(ch, '\u{3000}'..='\u{303f}' | '\u{3400}'..='\u{9fff}' | '\u{ff00}'..='\u{ffef}')
}

/// At most so many characters, with a mark where something is missing.
pub(super) fn shortened(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The inside of a block of untrusted text: its marks are for models, and the demo quotes for people.
fn without_block(text: &str) -> &str {
    let inside = || {
        let (first, rest) = text.strip_prefix(BLOCK_BEGIN)?.split_once('\n')?;
        let id = first.split([' ', '>']).next()?;
        rest.strip_suffix(&format!("\n{BLOCK_END}{id}>"))
    };
    inside().unwrap_or(text)
}

/// The last reminder in a text.
pub(super) fn last_reminder(text: &str) -> Option<String> {
    let (_, after) = text.rsplit_once(REMINDER_BEGIN)?;
    let (reminder, _) = after.split_once(REMINDER_END)?;
    Some(reminder.trim().to_owned())
}

fn without_reminders(text: &str) -> String {
    let mut words = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(REMINDER_BEGIN) {
        words.push_str(before);
        rest = after.split_once(REMINDER_END).map_or("", |(_, after)| after);
    }
    words.push_str(rest);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_of_untrusted_text_is_quoted_without_its_marks() {
        let block =
            "<untrusted-8c6 trust=\"untrusted\" source=\"exec_shell\">\none\ntwo\n</untrusted-8c6>";
        assert_eq!(without_block(block), "one\ntwo");
        for other in ["plain", "<untrusted-1>\nopen", "<untrusted-1>\nx\n</untrusted-2>", "<b>\nx"]
        {
            assert_eq!(without_block(other), other);
        }
    }
}
