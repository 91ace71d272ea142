//! The rows at the bottom of the terminal that change: the end of a growing answer, what runs, the
//! queue and the input. Everything above them is printed once and stays in the terminal's own
//! scrollback.
//!
//! The area is as high as it has to be, and nothing is asked of the terminal: where it stands is known
//! from what was drawn.

use std::fmt::Write;

use super::styled::{Line, is_width_disputed};

/// Between these a terminal that knows them shows nothing, so a change is never seen half-done.
const BEGIN_CHANGE: &str = "\x1b[?2026h\x1b[?25l";
const END_CHANGE: &str = "\x1b[?25h\x1b[?2026l";

#[derive(Default)]
pub(crate) struct LiveArea {
    /// The widths of the rows that stand on the screen.
    widths: Vec<usize>,
    cursor_row: usize,
    cursor_column: usize,
    drawn: String,
}

/// What the area shows, and where the cursor stands in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LiveRows {
    pub(crate) rows: Vec<Line>,
    pub(crate) cursor_row: usize,
    pub(crate) cursor_column: usize,
}

impl LiveArea {
    /// The bytes that print `lines` above the area and show the area anew; none if nothing changed.
    pub(crate) fn change(
        &mut self,
        lines: &[Line],
        area: &LiveRows,
        is_coloured: bool,
    ) -> Option<String> {
        let rows: Vec<String> = area.rows.iter().map(|row| row.with_codes(is_coloured)).collect();
        let drawn = rows.join("\r\n");
        let is_same_place =
            (area.cursor_row, area.cursor_column) == (self.cursor_row, self.cursor_column);
        if lines.is_empty() && is_same_place && drawn == self.drawn && !self.widths.is_empty() {
            return None;
        }
        let mut bytes = BEGIN_CHANGE.to_owned();
        bytes.push_str(&self.erase());
        for line in lines {
            bytes.push_str(&line.with_codes(is_coloured));
            bytes.push_str("\r\n");
        }
        bytes.push_str(&drawn);
        let n_below = area.rows.len().saturating_sub(area.cursor_row + 1);
        if n_below > 0 {
            // Writing to a string cannot fail.
            write!(bytes, "\x1b[{n_below}A").unwrap_or_default();
        }
        bytes.push('\r');
        let before = area.rows.get(area.cursor_row).map(|row| row.beginning(area.cursor_column));
        if let Some(before) = before.filter(|before| is_width_disputed(&before.text())) {
            // Only the terminal knows where that ends.
            bytes.push_str(&before.with_codes(is_coloured));
        } else if area.cursor_column > 0 {
            write!(bytes, "\x1b[{}C", area.cursor_column).unwrap_or_default();
        }
        bytes.push_str(END_CHANGE);
        self.widths = area.rows.iter().map(Line::width).collect();
        (self.cursor_row, self.cursor_column) = (area.cursor_row, area.cursor_column);
        self.drawn = drawn;
        Some(bytes)
    }

    /// The bytes that take the area from the screen and leave the cursor where it began.
    pub(crate) fn erase(&mut self) -> String {
        let n_above = std::mem::take(&mut self.cursor_row);
        self.widths.clear();
        self.drawn.clear();
        self.cursor_column = 0;
        let up = if n_above > 0 { format!("\x1b[{n_above}A") } else { String::new() };
        // Not all at once from the first column: in the top row tmux takes that for clearing the screen,
        // and keeps the rows in its scrollback.
        format!("{up}\r\x1b[K\x1b[C\x1b[J\r")
    }

    /// The terminal has another width now, and has broken rows that are wider anew.
    pub(crate) fn resized(&mut self, columns: usize) {
        let columns = columns.max(1);
        let above = self.widths.iter().take(self.cursor_row);
        let n_above: usize = above.map(|width| width.div_ceil(columns).max(1)).sum();
        self.cursor_row = n_above + self.cursor_column / columns;
        self.drawn.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen(parts: &[String]) -> String {
        let mut parser = vt100::Parser::new(10.try_into().unwrap(), 20.try_into().unwrap(), 0);
        for part in parts {
            parser.process(part.as_bytes());
        }
        parser.screen().contents()
    }

    fn area(rows: &[&str], cursor: (usize, usize)) -> LiveRows {
        let rows = rows.iter().map(|row| Line::plain(row)).collect();
        LiveRows { rows, cursor_row: cursor.0, cursor_column: cursor.1 }
    }

    #[test]
    fn what_is_printed_stays_and_the_area_moves_below_it() {
        let mut live = LiveArea::default();
        let first = live.change(&[], &area(&["busy", "> a", "hint"], (1, 3)), false).unwrap();
        let lines = [Line::plain("one"), Line::plain("two")];
        let second = live.change(&lines, &area(&["> ab"], (0, 4)), false).unwrap();
        assert_eq!(screen(std::slice::from_ref(&first)), "busy\n> a\nhint");
        assert_eq!(screen(&[first.clone(), second.clone()]), "one\ntwo\n> ab");
        assert_eq!(live.change(&[], &area(&["> ab"], (0, 4)), false), None);
        let third = live.erase();
        assert_eq!(screen(&[first, second, third]), "one\ntwo");
    }

    #[test]
    fn no_erasing_begins_at_the_first_column_of_the_screen() {
        let mut live = LiveArea::default();
        let first = live.change(&[], &area(&["> a", "hint"], (0, 3)), false).unwrap();
        let erased = live.erase();
        assert_eq!(screen(&[first, erased.clone()]), "");
        assert!(!erased.contains("\r\x1b[J"), "{erased:?}");
    }

    #[test]
    fn rows_that_became_too_wide_are_erased_where_they_went() {
        let mut live = LiveArea::default();
        live.change(&[], &area(&["0123456789012345", "> a"], (1, 3)), false);
        live.resized(10);
        assert!(live.erase().starts_with("\x1b[2A"));
    }
}
