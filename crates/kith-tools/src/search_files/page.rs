//! Search results as the model reads them.
//!
//! Lines of files begin with their number and paths never do, so nothing in a file or in its name
//! passes for a line of our own. What no longer fits is counted, and once something did not fit
//! nothing more is shown: a list with a hole in it looks whole.

use std::mem;

use crate::display;

/// Shown in a result; the rest is counted. With `filesOnly` it is files that are shown.
pub(super) const SEARCH_MATCHES_MAX: u64 = 200;
/// Longer lines are shortened around their match.
pub(super) const SEARCH_LINE_CHARS_MAX: usize = 240;
/// Characters shown before a match in a shortened line, unless there is room for more.
const BEFORE_MATCH_CHARS: usize = 60;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    Lines,
    Files,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Around {
    Before,
    After,
}

pub(super) struct SearchPage {
    detail: Detail,
    bytes_max: usize,
    pub(super) body: String,
    pub(super) n_matches: u64,
    /// Files with a match.
    pub(super) n_files: u64,
    n_shown: u64,
    /// Nothing more is shown.
    is_full: bool,
    path: String,
    n_in_file: u64,
    /// Lines that are shown if the match fits for which they were found.
    before: String,
    pub(super) has_shortened: bool,
    pub(super) has_invalid_utf8: bool,
}

impl SearchPage {
    pub(super) fn new(detail: Detail, bytes_max: usize) -> SearchPage {
        SearchPage {
            detail,
            bytes_max,
            body: String::new(),
            n_matches: 0,
            n_files: 0,
            n_shown: 0,
            is_full: false,
            path: String::new(),
            n_in_file: 0,
            before: String::new(),
            has_shortened: false,
            has_invalid_utf8: false,
        }
    }

    pub(super) fn begin_file(&mut self, path: &str) {
        // Not cut: half a path names something else.
        self.path = display::words(path, usize::MAX);
        if path.starts_with(|first: char| first.is_ascii_digit() || first == '…') {
            self.path.insert_str(0, "./");
        }
        self.n_in_file = 0;
        self.before.clear();
    }

    pub(super) fn end_file(&mut self) {
        if self.detail == Detail::Files && self.n_in_file > 0 {
            let line = format!("{} ({})\n", self.path, self.n_in_file);
            self.show(&line);
        }
    }

    /// Counts a matching line. `place` tells where in it the match begins; it is asked only if the
    /// line is shown.
    pub(super) fn matched(&mut self, number: u64, line: &[u8], place: impl FnOnce(&[u8]) -> usize) {
        self.n_matches += 1;
        self.n_in_file += 1;
        self.n_files += u64::from(self.n_in_file == 1);
        if self.detail == Detail::Files || self.is_full {
            return;
        }
        let line = without_end(line);
        let heading = if self.n_in_file == 1 { format!("{}\n", self.path) } else { String::new() };
        let before = mem::take(&mut self.before);
        let text = self.excerpt(line, place(line));
        self.show(&format!("{heading}{before}{number}: {text}\n"));
    }

    pub(super) fn context(&mut self, around: Around, number: u64, line: &[u8]) {
        if self.is_full {
            return;
        }
        let text = self.excerpt(without_end(line), 0);
        let line = format!("{number}- {text}\n");
        match around {
            Around::Before => self.before.push_str(&line),
            Around::After if self.body.len() + line.len() > self.bytes_max => self.is_full = true,
            Around::After => self.body.push_str(&line),
        }
    }

    /// A line about matches that were counted but not shown; empty if there are none.
    pub(super) fn footer(&self, at_least: &str) -> String {
        let n_found = match self.detail {
            Detail::Lines => self.n_matches,
            Detail::Files => self.n_files,
        };
        let n_more = display::number(n_found - self.n_shown);
        match self.detail {
            _ if n_found == self.n_shown && self.is_full => {
                "… without the last lines around".into()
            }
            _ if n_found == self.n_shown => String::new(),
            Detail::Lines => {
                format!("… {at_least}{n_more} more; narrow pattern, path or glob, or set filesOnly")
            }
            Detail::Files => format!("… {at_least}{n_more} more; narrow pattern, path or glob"),
        }
    }

    fn show(&mut self, text: &str) {
        self.is_full |=
            self.n_shown == SEARCH_MATCHES_MAX || self.body.len() + text.len() > self.bytes_max;
        if !self.is_full {
            self.body.push_str(text);
            self.n_shown += 1;
        }
    }

    /// The line, or the part of it around `place`.
    fn excerpt(&mut self, line: &[u8], place: usize) -> String {
        let shortened = shortened(line, place);
        self.has_shortened |= shortened.is_some();
        let text = shortened.unwrap_or_else(|| String::from_utf8_lossy(line).into_owned());
        // The file may hold that character by itself.
        self.has_invalid_utf8 |= text.contains('\u{fffd}') && std::str::from_utf8(line).is_err();
        display::line(&text)
    }
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// None if the line is short enough as it is.
fn shortened(line: &[u8], place: usize) -> Option<String> {
    // No more of a line of a megabyte is looked at than could be shown. A character has at most
    // four bytes; of one more than needed, those that are cut in two fall away.
    let reach = 4 * (SEARCH_LINE_CHARS_MAX + 1);
    let place = place.min(line.len());
    let chars = |bytes: &[u8]| String::from_utf8_lossy(bytes).chars().collect::<Vec<char>>();
    let before = chars(&line[place.saturating_sub(reach)..place]);
    let after = chars(&line[place..line.len().min(place + reach)]);
    if before.len() + after.len() <= SEARCH_LINE_CHARS_MAX {
        return None;
    }
    let room = SEARCH_LINE_CHARS_MAX.saturating_sub(after.len());
    let n_before = before.len().min(room.max(BEFORE_MATCH_CHARS));
    let n_after = after.len().min(SEARCH_LINE_CHARS_MAX - n_before);
    let mut text = String::new();
    if n_before < before.len() {
        text.push('…');
    }
    text.extend(&before[before.len() - n_before..]);
    text.extend(&after[..n_after]);
    if n_after < after.len() {
        text.push('…');
    }
    Some(text)
}

#[cfg(test)]
mod tests;
