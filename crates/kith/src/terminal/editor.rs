//! The line editor: a text of any length with a cursor, edited by whole characters as people see them.
//!
//! A long paste stands as one placeholder and is put back when the text is taken, so that what is
//! shown and edited stays small.

use std::ops::Range;

use super::styled::columns_of;
use super::words::{ScreenLanguage, ScreenText};
use crate::program::ui::visible;
use unicode_segmentation::UnicodeSegmentation;

/// A longer paste is shown as a placeholder.
const PASTE_SHOWN_BYTES_MAX: usize = 2_000;
const PASTE_SHOWN_LINES_MAX: usize = 12;
/// How many states of the text `undo` can go back to.
const UNDO_MAX: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Editor {
    language: ScreenLanguage,
    text: String,
    /// A byte offset, always between two characters.
    cursor: usize,
    /// What was cut last.
    cut: String,
    /// Placeholders in the text, and what they stand for.
    pastes: Vec<(String, String)>,
    undo: Vec<(String, usize)>,
    /// The last change was a typed character: what is typed together is undone together.
    is_typing: bool,
}

/// The text in rows, and where the cursor is in them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EditorRows {
    pub(crate) rows: Vec<String>,
    pub(crate) cursor_row: usize,
    pub(crate) cursor_column: usize,
}

impl Editor {
    pub(crate) fn new(language: ScreenLanguage) -> Editor {
        Editor {
            language,
            text: String::new(),
            cursor: 0,
            cut: String::new(),
            pastes: Vec::new(),
            undo: Vec::new(),
            is_typing: false,
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(crate) fn before_cursor(&self) -> &str {
        &self.text[..self.cursor]
    }

    pub(crate) fn set(&mut self, text: &str) {
        self.remember();
        text.clone_into(&mut self.text);
        self.cursor = self.text.len();
    }

    /// Takes the whole text out, with what the placeholders stand for.
    pub(crate) fn take(&mut self) -> String {
        let mut text = std::mem::take(&mut self.text);
        for (shown, pasted) in std::mem::take(&mut self.pastes) {
            text = text.replace(&shown, &pasted);
        }
        self.cursor = 0;
        self.undo.clear();
        text
    }

    pub(crate) fn insert(&mut self, text: &str) {
        self.remember();
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        self.text.insert_str(self.cursor, &text);
        self.cursor += text.len();
    }

    /// Inserts a character that was typed.
    pub(crate) fn type_char(&mut self, ch: char) {
        if !self.is_typing || ch.is_whitespace() {
            self.remember();
        }
        self.text.insert(self.cursor, ch);
        self.cursor += ch.len_utf8();
        self.is_typing = true;
    }

    pub(crate) fn paste(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let n_lines = text.lines().count();
        if text.len() <= PASTE_SHOWN_BYTES_MAX && n_lines <= PASTE_SHOWN_LINES_MAX {
            return self.insert(&text);
        }
        let n_pastes = self.pastes.len() + 1;
        let lines = if n_lines == 1 { ScreenText::Line } else { ScreenText::Lines };
        let words =
            [ScreenText::Paste, ScreenText::Colon, lines, ScreenText::Comma, ScreenText::Bytes];
        let [paste, colon, lines, comma, bytes] = words.map(|word| self.language.say(word));
        let n_bytes = text.len();
        let shown = format!("[{paste} {n_pastes}{colon}{n_lines} {lines}{comma}{n_bytes} {bytes}]");
        self.insert(&shown);
        self.pastes.push((shown, text));
    }

    /// Replaces what stands before the cursor from this byte on.
    pub(crate) fn replace_before_cursor(&mut self, from: usize, text: &str) {
        self.remember();
        self.text.replace_range(from..self.cursor, text);
        self.cursor = from + text.len();
    }

    pub(crate) fn backspace(&mut self) {
        self.remove(self.previous(), self.cursor);
    }

    pub(crate) fn delete(&mut self) {
        self.remove(self.cursor, self.next());
    }

    pub(crate) fn left(&mut self) {
        self.cursor = self.previous();
    }

    pub(crate) fn right(&mut self) {
        self.cursor = self.next();
    }

    pub(crate) fn word_left(&mut self) {
        self.cursor = self.previous_word();
    }

    pub(crate) fn word_right(&mut self) {
        let rest = &self.text[self.cursor..];
        let words = rest.split_word_bound_indices();
        let word = words.into_iter().find(|(_, word)| !word.trim().is_empty());
        let end = word.map_or(self.text.len(), |(at, word)| self.cursor + at + word.len());
        self.cursor = self.outside(end).end;
    }

    pub(crate) fn line_start(&mut self) {
        self.cursor = self.start_of_line();
    }

    pub(crate) fn line_end(&mut self) {
        self.cursor = self.end_of_line();
    }

    pub(crate) fn cut_to_line_start(&mut self) {
        let start = self.start_of_line();
        self.cut(start, self.cursor);
    }

    pub(crate) fn cut_to_line_end(&mut self) {
        let end = self.end_of_line();
        // At the end of a line it is joined with the next.
        let end = if end == self.cursor { self.next() } else { end };
        self.cut(self.cursor, end);
    }

    pub(crate) fn cut_word(&mut self) {
        self.cut(self.previous_word(), self.cursor);
    }

    pub(crate) fn insert_cut(&mut self) {
        let cut = self.cut.clone();
        self.insert(&cut);
    }

    pub(crate) fn undo(&mut self) {
        if let Some((text, cursor)) = self.undo.pop() {
            (self.text, self.cursor) = (text, cursor);
        }
    }

    /// Moves to the line above. False in the first line.
    pub(crate) fn up(&mut self) -> bool {
        let start = self.start_of_line();
        if start == 0 {
            return false;
        }
        let column = columns_of(&self.text[start..self.cursor]);
        let above = self.text[..start - 1].rfind('\n').map_or(0, |at| at + 1);
        self.cursor = self.at_column(above, start - 1, column);
        true
    }

    /// Moves to the line below. False in the last line.
    pub(crate) fn down(&mut self) -> bool {
        let end = self.end_of_line();
        if end == self.text.len() {
            return false;
        }
        let column = columns_of(&self.text[self.start_of_line()..self.cursor]);
        let below = end + 1;
        let below_end = self.text[below..].find('\n').map_or(self.text.len(), |at| below + at);
        self.cursor = self.at_column(below, below_end, column);
        true
    }

    /// The text in rows of at most `width` columns.
    pub(crate) fn rows(&self, width: usize) -> EditorRows {
        let mut shown = EditorRows { rows: vec![String::new()], cursor_row: 0, cursor_column: 0 };
        let (width, mut used) = (width.max(2), 0);
        for (at, grapheme) in self.text.grapheme_indices(true) {
            let printed = if grapheme == "\t" { "    ".to_owned() } else { visible(grapheme) };
            let n_columns = if grapheme == "\n" { 0 } else { columns_of(&printed) };
            if used + n_columns > width {
                shown.rows.push(String::new());
                used = 0;
            }
            if at == self.cursor {
                (shown.cursor_row, shown.cursor_column) = (shown.rows.len() - 1, used);
            }
            if grapheme == "\n" {
                shown.rows.push(String::new());
                used = 0;
            } else if let Some(row) = shown.rows.last_mut() {
                row.push_str(&printed);
                used += n_columns;
            }
        }
        if self.cursor == self.text.len() {
            if used >= width {
                shown.rows.push(String::new());
                used = 0;
            }
            (shown.cursor_row, shown.cursor_column) = (shown.rows.len() - 1, used);
        }
        shown
    }

    fn previous(&self) -> usize {
        let ends = |shown: &&String| self.before_cursor().ends_with(shown.as_str());
        if let Some(shown) = self.pastes.iter().map(|(shown, _)| shown).find(ends) {
            return self.cursor - shown.len();
        }
        let before = self.before_cursor().grapheme_indices(true).next_back();
        // A mark that follows a placeholder is one character with its last letter.
        self.outside(before.map_or(0, |(at, _)| at)).start
    }

    fn next(&self) -> usize {
        let begins = |shown: &&String| self.text[self.cursor..].starts_with(shown.as_str());
        if let Some(shown) = self.pastes.iter().map(|(shown, _)| shown).find(begins) {
            return self.cursor + shown.len();
        }
        let after = self.text[self.cursor..].graphemes(true).next();
        self.outside(self.cursor + after.map_or(0, str::len)).end
    }

    fn previous_word(&self) -> usize {
        let words = self.before_cursor().split_word_bound_indices();
        let word = words.rev().find(|(_, word)| !word.trim().is_empty());
        self.outside(word.map_or(0, |(at, _)| at)).start
    }

    /// The place itself, or the placeholder that it stands in.
    fn outside(&self, place: usize) -> Range<usize> {
        let shown = self.pastes.iter().map(|(shown, _)| shown.as_str());
        let mut placeholders = shown.flat_map(|shown| {
            self.text.match_indices(shown).map(|(start, shown)| start..start + shown.len())
        });
        let found = placeholders.find(|it| it.start < place && place < it.end);
        found.unwrap_or(place..place)
    }

    fn start_of_line(&self) -> usize {
        self.before_cursor().rfind('\n').map_or(0, |at| at + 1)
    }

    fn end_of_line(&self) -> usize {
        self.text[self.cursor..].find('\n').map_or(self.text.len(), |at| self.cursor + at)
    }

    /// The offset in a line at which so many columns stand before it.
    fn at_column(&self, start: usize, end: usize, column: usize) -> usize {
        let mut used = 0;
        for (at, grapheme) in self.text[start..end].grapheme_indices(true) {
            if used >= column {
                return self.outside(start + at).end;
            }
            used += columns_of(grapheme);
        }
        end
    }

    fn remove(&mut self, from: usize, to: usize) {
        if from < to {
            self.remember();
            self.text.replace_range(from..to, "");
            self.cursor = from;
        }
    }

    fn cut(&mut self, from: usize, to: usize) {
        if from < to {
            self.text[from..to].clone_into(&mut self.cut);
            self.remove(from, to);
        }
    }

    fn remember(&mut self) {
        self.is_typing = false;
        if self.undo.len() == UNDO_MAX {
            self.undo.remove(0);
        }
        self.undo.push((self.text.clone(), self.cursor));
    }
}

#[cfg(test)]
mod tests;
