//! A list to choose from: arrow keys move, what is typed filters.

use super::keys::{Key, KeyPress, TerminalInput};
use super::live_area::LiveRows;
use super::open_block::BlockStep;
use super::styled::{Colour, Line, Style, fitted};
use super::words::{ScreenLanguage, ScreenText};

/// Entries that are shown at once.
const SHOWN_MAX: usize = 10;
/// Rows besides the entries: title, filter and keys.
const OTHER_ROWS: usize = 3;
/// More is no filter.
const FILTER_BYTES_MAX: usize = 200;
/// In fewer columns a session is shown without its id.
const NARROW_COLUMNS: usize = 50;
const CHOSEN_MARK: &str = "❯ ";

/// What is chosen from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum PickList {
    Sessions,
    /// Messages of one's own, to go on after one of them.
    Messages,
    Models,
    Scripts,
    Calls,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PickEntry {
    /// As the command takes it.
    pub(crate) value: String,
    /// What stands beside it.
    pub(crate) about: String,
    /// It is in use now.
    pub(crate) is_current: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Picker {
    language: ScreenLanguage,
    pub(crate) list: PickList,
    entries: Vec<PickEntry>,
    filter: String,
    /// Among those that the filter leaves.
    chosen: usize,
}

impl Picker {
    pub(crate) fn new(language: ScreenLanguage, list: PickList, entries: Vec<PickEntry>) -> Picker {
        let chosen = entries.iter().position(|entry| entry.is_current).unwrap_or_default();
        Picker { language, list, entries, filter: String::new(), chosen }
    }

    pub(crate) fn take(&mut self, input: &TerminalInput) -> BlockStep {
        let n_found = self.found().len();
        let press = match input {
            TerminalInput::Key(press) => *press,
            TerminalInput::Paste(text) => {
                self.filter_by(text.lines().next().unwrap_or_default());
                return BlockStep::Stays;
            }
            TerminalInput::Resized | TerminalInput::Gone => return BlockStep::Stays,
        };
        let last = n_found.saturating_sub(1);
        match press {
            KeyPress { key: Key::Escape, .. } => return BlockStep::Closed,
            KeyPress { key: Key::Char('c' | 'd' | 'g'), ctrl: true, .. } => {
                return BlockStep::Closed;
            }
            KeyPress { key: Key::Enter | Key::Tab, .. } => {
                let found = self.found();
                let Some(entry) = found.get(self.chosen) else { return BlockStep::Stays };
                return BlockStep::Picked(self.list, entry.value.clone());
            }
            KeyPress { key: Key::Up | Key::BackTab, .. }
            | KeyPress { key: Key::Char('p'), ctrl: true, .. } => {
                self.chosen = self.chosen.checked_sub(1).unwrap_or(last);
            }
            KeyPress { key: Key::Down, .. } | KeyPress { key: Key::Char('n'), ctrl: true, .. } => {
                self.chosen = if self.chosen >= last { 0 } else { self.chosen + 1 };
            }
            KeyPress { key: Key::PageUp, .. } => {
                self.chosen = self.chosen.saturating_sub(SHOWN_MAX);
            }
            KeyPress { key: Key::PageDown, .. } => {
                self.chosen = (self.chosen + SHOWN_MAX).min(last);
            }
            KeyPress { key: Key::Home, .. } => self.chosen = 0,
            KeyPress { key: Key::End, .. } => self.chosen = last,
            KeyPress { key: Key::Backspace, .. } => {
                self.filter.pop();
                self.chosen = 0;
            }
            KeyPress { key: Key::Char('u' | 'w'), ctrl: true, .. } => {
                self.filter.clear();
                self.chosen = 0;
            }
            KeyPress { key: Key::Char(ch), ctrl: false, alt: false, .. } => {
                self.filter_by(ch.encode_utf8(&mut [0; 4]));
            }
            _ => (),
        }
        BlockStep::Stays
    }

    fn filter_by(&mut self, more: &str) {
        if self.filter.len() + more.len() <= FILTER_BYTES_MAX {
            self.filter.push_str(more);
            self.chosen = 0;
        }
    }

    /// The entries that have all words of the filter.
    fn found(&self) -> Vec<&PickEntry> {
        let filter = self.filter.to_lowercase();
        let words: Vec<&str> = filter.split_whitespace().collect();
        let has_all = |entry: &&PickEntry| {
            let text = format!("{} {}", entry.value, entry.about).to_lowercase();
            words.iter().all(|word| text.contains(word))
        };
        self.entries.iter().filter(has_all).collect()
    }

    /// The list, the filter with the cursor in it, and the keys.
    pub(crate) fn rows(&self, columns: usize, rows_max: usize) -> LiveRows {
        let found = self.found();
        let n_shown = SHOWN_MAX.min(rows_max.saturating_sub(OTHER_ROWS)).max(1);
        let first = (self.chosen + 1).saturating_sub(n_shown);
        let title = match self.list {
            PickList::Sessions => ScreenText::PickSession,
            PickList::Messages => ScreenText::PickMessage,
            PickList::Models => ScreenText::PickModel,
            PickList::Scripts => ScreenText::PickScript,
            PickList::Calls => ScreenText::PickCall,
        };
        let title = match found.len() {
            0 => format!(
                "{} · {}",
                self.language.say(title),
                self.language.say(ScreenText::NoneFound)
            ),
            n => format!("{} · {}/{n}", self.language.say(title), self.chosen + 1),
        };
        // A blank row keeps the list apart from the conversation, where there is room.
        let n_apart = usize::from(rows_max > OTHER_ROWS + 4);
        let mut rows = vec![Line::default(); n_apart];
        rows.push(Line::styled(&fitted(&title, columns), Style::BOLD));
        let width = found.iter().map(|entry| entry.value.chars().count()).max().unwrap_or_default();
        for (n, entry) in found.iter().enumerate().skip(first).take(n_shown) {
            let is_chosen = n == self.chosen;
            let mark = if is_chosen { CHOSEN_MARK } else { "  " };
            let current = if entry.is_current { "*" } else { " " };
            // Calls are numbered for us, not for people.
            let text = match self.list {
                PickList::Calls => format!("{mark}{}", entry.about),
                // What a session is about says more than its id.
                PickList::Sessions if columns < NARROW_COLUMNS => {
                    format!("{mark}{}{}", current.trim(), entry.about)
                }
                _ => format!("{mark}{:<width$} {current} {}", entry.value, entry.about),
            };
            let style = if is_chosen {
                Style { bold: true, ..Style::coloured(Colour::Cyan) }
            } else {
                Style::PLAIN
            };
            rows.push(Line::styled(&fitted(text.trim_end(), columns), style));
        }
        let label = self.language.labelled(ScreenText::Filter, "");
        let mut filter = Line::styled(&label, Style::DIM);
        filter.push(&self.filter, Style::PLAIN);
        let (cursor_row, cursor_column) = (rows.len(), filter.width().min(columns.max(1) - 1));
        rows.push(filter);
        let keys = self.language.say(ScreenText::KeysPicker);
        rows.push(Line::styled(&fitted(keys, columns), Style::DIM));
        LiveRows { rows, cursor_row, cursor_column }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picker() -> Picker {
        let entry = |(value, about): &(&str, &str)| PickEntry {
            value: (*value).to_owned(),
            about: (*about).to_owned(),
            is_current: *value == "b2",
        };
        let entries = [("a1", "Fix the parser"), ("b2", "写一首诗"), ("c3", "fix the tests")];
        let entries = entries.iter().map(entry).collect();
        Picker::new(ScreenLanguage::English, PickList::Sessions, entries)
    }

    fn press(picker: &mut Picker, keys: &[Key]) -> BlockStep {
        let keys = keys.iter().map(|key| TerminalInput::Key(KeyPress::plain(*key)));
        keys.map(|key| picker.take(&key)).last().unwrap()
    }

    fn picked(value: &str) -> BlockStep {
        BlockStep::Picked(PickList::Sessions, value.to_owned())
    }

    #[test]
    fn arrows_move_and_go_round_from_the_one_in_use() {
        assert_eq!(press(&mut picker(), &[Key::Enter]), picked("b2"));
        assert_eq!(press(&mut picker(), &[Key::Down, Key::Enter]), picked("c3"));
        assert_eq!(press(&mut picker(), &[Key::Down, Key::Down, Key::Enter]), picked("a1"));
        assert_eq!(press(&mut picker(), &[Key::Up, Key::Up, Key::Enter]), picked("c3"));
        assert_eq!(press(&mut picker(), &[Key::End, Key::Enter]), picked("c3"));
        assert_eq!(press(&mut picker(), &[Key::Escape]), BlockStep::Closed);
    }

    #[test]
    fn what_is_typed_filters_by_all_words() {
        let typed =
            |text: &str| text.chars().map(Key::Char).chain([Key::Enter]).collect::<Vec<_>>();
        assert_eq!(press(&mut picker(), &typed("FIX")), picked("a1"));
        assert_eq!(press(&mut picker(), &typed("fix te")), picked("c3"));
        assert_eq!(press(&mut picker(), &typed("诗")), picked("b2"));
        assert_eq!(press(&mut picker(), &typed("nothing")), BlockStep::Stays);
        let mut open = picker();
        press(&mut open, &typed("nothing"));
        assert_eq!(press(&mut open, &[Key::Backspace; 7]), BlockStep::Stays);
        assert_eq!(press(&mut open, &[Key::Enter]), picked("a1"));
    }

    #[test]
    fn a_list_fits_into_a_small_terminal() {
        let mut open = picker();
        press(&mut open, &[Key::End]);
        for (columns, rows_max) in [(10, 1), (20, 4), (3, 12)] {
            let shown = open.rows(columns, rows_max);
            assert!(shown.rows.iter().all(|row| row.width() <= columns.max(8)), "{shown:?}");
            assert!(shown.rows.len() <= rows_max.max(OTHER_ROWS + 1), "{shown:?}");
            assert!(shown.rows.iter().any(|row| row.text().starts_with('❯')), "{shown:?}");
        }
    }
}
