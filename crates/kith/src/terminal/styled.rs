//! Styled text: spans, lines, how lines are wrapped at words, and how they become terminal codes.

use std::fmt::Write;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::program::ui::visible;

/// How a span looks. The terminal's own colours are used, so that every theme stays readable.
#[expect(clippy::struct_excessive_bools, reason = "a terminal has these five, each on or off")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Style {
    pub(crate) bold: bool,
    pub(crate) dim: bool,
    pub(crate) italic: bool,
    pub(crate) underlined: bool,
    pub(crate) struck: bool,
    pub(crate) colour: Option<Colour>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    Red,
    Green,
    Yellow,
    Cyan,
}

impl Style {
    pub(crate) const PLAIN: Style = Style {
        bold: false,
        dim: false,
        italic: false,
        underlined: false,
        struck: false,
        colour: None,
    };
    pub(crate) const DIM: Style = Style { dim: true, ..Style::PLAIN };
    pub(crate) const BOLD: Style = Style { bold: true, ..Style::PLAIN };

    pub(crate) const fn coloured(colour: Colour) -> Style {
        Style { colour: Some(colour), ..Style::PLAIN }
    }

    fn codes(self) -> Vec<&'static str> {
        let flags = [
            (self.bold, "1"),
            (self.dim, "2"),
            (self.italic, "3"),
            (self.underlined, "4"),
            (self.struck, "9"),
        ];
        let mut codes: Vec<&str> =
            flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, code)| code).collect();
        codes.extend(self.colour.map(|colour| match colour {
            Colour::Red => "31",
            Colour::Green => "32",
            Colour::Yellow => "33",
            Colour::Cyan => "36",
        }));
        codes
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) text: String,
    pub(crate) style: Style,
}

/// One row, or one paragraph before it is wrapped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) spans: Vec<Span>,
}

impl Line {
    /// Control characters of the text are made visible.
    pub(crate) fn styled(text: &str, style: Style) -> Line {
        let mut line = Line::default();
        line.push(text, style);
        line
    }

    pub(crate) fn plain(text: &str) -> Line {
        Line::styled(text, Style::PLAIN)
    }

    /// Adds text without line ends.
    pub(crate) fn push(&mut self, text: &str, style: Style) {
        let text = visible(text).replace('\t', "    ").replace('\n', " ");
        if text.is_empty() {
            return;
        }
        match self.spans.last_mut() {
            Some(last) if last.style == style => last.text.push_str(&text),
            _ => self.spans.push(Span { text, style }),
        }
    }

    pub(crate) fn extend(&mut self, other: Line) {
        for span in other.spans {
            match self.spans.last_mut() {
                Some(last) if last.style == span.style => last.text.push_str(&span.text),
                _ => self.spans.push(span),
            }
        }
    }

    pub(crate) fn width(&self) -> usize {
        self.spans.iter().map(|span| columns_of(&span.text)).sum()
    }

    pub(crate) fn text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    /// With terminal codes, if colours are wanted.
    pub(crate) fn with_codes(&self, is_coloured: bool) -> String {
        let mut printed = String::new();
        for span in &self.spans {
            let codes = if is_coloured { span.style.codes() } else { Vec::new() };
            if codes.is_empty() {
                printed.push_str(&span.text);
            } else {
                // Writing to a string cannot fail.
                write!(printed, "\x1b[{}m{}\x1b[0m", codes.join(";"), span.text)
                    .unwrap_or_default();
            }
        }
        printed
    }

    /// The beginning of the line that takes so many columns.
    pub(crate) fn beginning(&self, columns: usize) -> Line {
        let (mut beginning, mut used) = (Line::default(), 0);
        for span in &self.spans {
            for grapheme in span.text.graphemes(true) {
                used += columns_of(grapheme);
                if used > columns {
                    return beginning;
                }
                beginning.push(grapheme, span.style);
            }
        }
        beginning
    }

    /// The line in rows of at most `width` columns, broken at spaces where there are any, and between
    /// characters of scripts without spaces. Rows after the first begin with `indent` spaces.
    pub(crate) fn wrapped(&self, width: usize, indent: usize) -> Vec<Line> {
        let indent = if indent * 2 >= width { 0 } else { indent };
        let mut rows =
            Wrapping { rows: vec![Line::default()], used: 0, width: width.max(1), indent };
        let mut word: Vec<(&str, Style)> = Vec::new();
        for span in &self.spans {
            for grapheme in span.text.graphemes(true) {
                if word.last().is_some_and(|(last, _)| may_break(last, grapheme)) {
                    rows.add(&std::mem::take(&mut word));
                }
                word.push((grapheme, span.style));
            }
        }
        rows.add(&word);
        rows.rows
    }
}

/// The columns that a text takes at most. Terminals differ about characters made of several, such as a
/// family or a flag: some join them, some show the parts. A row that is too short harms nobody.
pub(crate) fn columns_of(text: &str) -> usize {
    if text.is_ascii() {
        return text.width();
    }
    let columns = |grapheme: &str| {
        let parts: usize = grapheme.chars().filter_map(UnicodeWidthChar::width).sum();
        parts.max(grapheme.width())
    };
    text.graphemes(true).map(columns).sum()
}

/// Whether terminals may differ about the columns of a text.
pub(crate) fn is_width_disputed(text: &str) -> bool {
    let is_disputed = |grapheme: &str| {
        !grapheme.is_ascii() && grapheme.chars().count() > 1 && columns_of(grapheme) > 1
    };
    text.graphemes(true).any(is_disputed)
}

/// Whether a row may end between these two.
fn may_break(before: &str, after: &str) -> bool {
    let is_space = |it: &str| it.trim().is_empty();
    let is_wide = |it: &str| columns_of(it) >= 2;
    // Wide punctuation stays with what it follows.
    let is_sign = |it: &str| !it.chars().any(|ch| ch.is_alphanumeric() || ch.len_utf8() == 4);
    if is_space(before) || is_space(after) {
        return is_space(before) != is_space(after);
    }
    (is_wide(before) || is_wide(after)) && !(is_wide(after) && is_sign(after))
}

struct Wrapping {
    rows: Vec<Line>,
    used: usize,
    width: usize,
    indent: usize,
}

impl Wrapping {
    fn add(&mut self, word: &[(&str, Style)]) {
        let n_columns: usize = word.iter().map(|(it, _)| columns_of(it)).sum();
        let is_space = word.iter().all(|(it, _)| it.trim().is_empty());
        let is_row_begun = self.used > if self.rows.len() > 1 { self.indent } else { 0 };
        if is_space && self.used + n_columns > self.width {
            // A space at the end of a row is the break itself.
            return self.next_row();
        }
        if is_space && self.rows.len() > 1 && !is_row_begun {
            return;
        }
        if self.used + n_columns > self.width
            && is_row_begun
            && n_columns + self.indent <= self.width
        {
            self.next_row();
        }
        for (grapheme, style) in word {
            if self.used + columns_of(grapheme) > self.width && self.used > self.indent {
                self.next_row();
            }
            self.put(grapheme, *style);
        }
    }

    fn put(&mut self, text: &str, style: Style) {
        self.used += columns_of(text);
        if let Some(row) = self.rows.last_mut() {
            match row.spans.last_mut() {
                Some(last) if last.style == style => last.text.push_str(text),
                _ => row.spans.push(Span { text: text.to_owned(), style }),
            }
        }
    }

    fn next_row(&mut self) {
        let mut row = Line::default();
        row.push(&" ".repeat(self.indent), Style::PLAIN);
        self.rows.push(row);
        self.used = self.indent;
    }
}

/// The beginning of a text that fits into so many columns, with `…` where something is left out.
pub(crate) fn fitted(text: &str, columns: usize) -> String {
    // No character needs more bytes for a column than this; the rest of a long text is never looked at.
    let beginning = &text[..text.floor_char_boundary(32 * (columns + 1))];
    let is_whole = beginning.len() == text.len();
    let text = visible(beginning).replace(['\n', '\t'], " ");
    if is_whole && columns_of(&text) <= columns {
        return text;
    }
    let (mut fitted, mut used) = (String::new(), 0);
    for grapheme in text.graphemes(true) {
        used += columns_of(grapheme);
        if used + 1 > columns {
            break;
        }
        fitted.push_str(grapheme);
    }
    if columns > 0 {
        fitted.push('…');
    }
    fitted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, width: usize, indent: usize) -> Vec<String> {
        Line::plain(text).wrapped(width, indent).iter().map(Line::text).collect()
    }

    #[test]
    fn lines_are_broken_at_words_and_chinese_between_characters() {
        assert_eq!(rows("one two three", 8, 0), ["one two ", "three"]);
        assert_eq!(rows("one two three", 7, 2), ["one two", "  three"]);
        assert_eq!(rows("你好世界", 5, 0), ["你好", "世界"]);
        assert_eq!(rows("好，好。好", 6, 0), ["好，", "好。好"]);
        assert_eq!(rows("see (a link).", 12, 0), ["see (a ", "link)."]);
        assert_eq!(rows("abcdefgh", 3, 0), ["abc", "def", "gh"]);
        assert_eq!(rows("", 3, 0), [""]);
    }

    #[test]
    fn no_row_is_wider_than_the_screen() {
        let text = "👨‍👩‍👧 family, a-very-long-word-indeed 世界和平 and https://example.com/a/b/c?d=e";
        for width in 2..40 {
            for row in rows(text, width, 2) {
                assert!(row.trim_end().width() <= width, "{width}: {row:?}");
            }
            let said: String = rows(text, width, 0).concat();
            let letters = |it: &str| it.replace(' ', "");
            assert_eq!(letters(&said), letters(text), "{width}");
        }
    }

    #[test]
    fn control_characters_never_reach_the_screen() {
        let line = Line::plain("a\x1b[2Jb\nc");
        assert_eq!(line.with_codes(true), "a\\u{1b}[2Jb c");
    }

    #[test]
    fn a_text_is_cut_where_it_does_not_fit() {
        assert_eq!(fitted("hello", 5), "hello");
        assert_eq!(fitted("hello", 4), "hel…");
        assert_eq!(fitted("你好世界", 5), "你好…");
        assert_eq!(fitted("hello", 0), "");
    }
}
