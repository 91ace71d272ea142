//! Text as words to be found by.
//!
//! Messages and queries are split in the same way, so that they match. Latin and
//! other spaced scripts fall apart into words without case and accents. Chinese, Japanese and
//! Korean have no spaces to rely on: a run of them becomes its characters and its pairs, so that a
//! word of two characters is found wherever it stands.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Characters of a word that are compared; longer words are cut.
const WORD_CHARS_MAX: usize = 64;
/// More pieces than a person types; the others are left out.
pub const QUERY_PIECES_MAX: usize = 32;
/// Characters of an excerpt on each side of the match.
const EXCERPT_CHARS: usize = 60;
/// A shorter beginning of a word is not taken for the word.
const PREFIX_CHARS_MIN: usize = 3;

/// A search query; it matches texts that hold every piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    /// Found at the beginning of a word, a short one only as the whole word.
    Word(String),
    /// Found anywhere.
    Run(String),
}

impl Query {
    /// `None` if there is nothing in it to look for.
    pub fn parse(text: &str) -> Option<Query> {
        let mut pieces = Vec::new();
        for piece in pieces_of(&FoldedText::of(text)) {
            if !pieces.contains(&piece) && pieces.len() < QUERY_PIECES_MAX {
                pieces.push(piece);
            }
        }
        (!pieces.is_empty()).then_some(Query { pieces })
    }

    /// An excerpt around the first thing found, if the text holds every piece.
    pub fn excerpt(&self, text: &str) -> Option<String> {
        let folded = FoldedText::of(text);
        let mut first = usize::MAX;
        for piece in &self.pieces {
            first = first.min(folded.find(piece)?);
        }
        let at = folded.origins.get(first).copied().unwrap_or_default();
        Some(cut_out(text, at))
    }

    /// The query in SQLite's words.
    pub(crate) fn for_fts5(&self) -> String {
        let mut terms = Vec::new();
        for piece in &self.pieces {
            match piece {
                // Letters and digits only, so nothing needs an escape.
                Piece::Word(word) if is_prefix(word) => terms.push(format!("\"{word}\"*")),
                Piece::Word(word) => terms.push(format!("\"{word}\"")),
                Piece::Run(run) => {
                    let chars: Vec<char> = run.chars().collect();
                    let pairs = chars.windows(2).map(|pair| pair.iter().collect::<String>());
                    let pairs: Vec<String> = pairs.map(|pair| format!("\"{pair}\"")).collect();
                    if pairs.is_empty() {
                        terms.push(format!("\"{run}\""));
                    }
                    terms.extend(pairs);
                }
            }
        }
        terms.join(" ")
    }
}

/// The words a text is found by, in order, divided by spaces.
pub(crate) fn for_index(text: &str) -> String {
    let mut words = Vec::new();
    for piece in pieces_of(&FoldedText::of(text)) {
        match piece {
            Piece::Word(word) => words.push(word),
            Piece::Run(run) => {
                let chars: Vec<char> = run.chars().collect();
                words.extend(chars.iter().map(char::to_string));
                words.extend(chars.windows(2).map(|pair| pair.iter().collect()));
            }
        }
    }
    words.join(" ")
}

/// A text without case, accents and other forms of the same letter, and where each byte came from.
struct FoldedText {
    text: String,
    origins: Vec<usize>,
}

impl FoldedText {
    fn of(text: &str) -> FoldedText {
        let mut folded =
            FoldedText { text: String::with_capacity(text.len()), origins: Vec::new() };
        for (at, c) in text.char_indices() {
            if c.is_ascii() {
                folded.push(at, c.to_ascii_lowercase());
            } else if has_parts(c) {
                std::iter::once(c).nfkc().for_each(|it| folded.push(at, it));
            } else {
                let parts = std::iter::once(c).nfkd().filter(|it| !is_combining_mark(*it));
                parts.flat_map(char::to_lowercase).for_each(|it| folded.push(at, it));
            }
        }
        folded
    }

    fn push(&mut self, at: usize, c: char) {
        self.text.push(c);
        self.origins.resize(self.text.len(), at);
    }

    fn find(&self, piece: &Piece) -> Option<usize> {
        match piece {
            Piece::Run(run) => self.text.find(run.as_str()),
            Piece::Word(word) => {
                let mut hits = self.text.match_indices(word.as_str()).map(|(at, _)| at);
                hits.find(|&at| self.is_word_at(at, word))
            }
        }
    }

    fn is_word_at(&self, at: usize, word: &str) -> bool {
        let is_inner = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() && !is_unspaced(c));
        let (before, after) = (self.text.get(..at), self.text.get(at + word.len()..));
        let before = before.and_then(|it| it.chars().next_back());
        let after = after.and_then(|it| it.chars().next());
        !is_inner(before) && (is_prefix(word) || !is_inner(after))
    }
}

fn pieces_of(folded: &FoldedText) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let is_between = |c: char| !c.is_alphanumeric();
    for stretch in folded.text.split(is_between).filter(|it| !it.is_empty()) {
        let mut rest = stretch;
        while let Some(first) = rest.chars().next() {
            let kind = is_unspaced(first);
            let end = rest.find(|c| is_unspaced(c) != kind).unwrap_or(rest.len());
            let (piece, after) = rest.split_at(end);
            pieces.push(if kind {
                Piece::Run(piece.to_owned())
            } else {
                Piece::Word(piece.chars().take(WORD_CHARS_MAX).collect())
            });
            rest = after;
        }
    }
    pieces
}

fn is_prefix(word: &str) -> bool {
    word.chars().count() >= PREFIX_CHARS_MIN
}

/// Whether the character is of a script that is written without spaces between words.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{3005}' | '\u{3007}'
        | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{ac00}'..='\u{d7af}'
        | '\u{20000}'..='\u{3ffff}')
}

/// Whether decomposing the character would give other letters instead of accents.
fn has_parts(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{ff65}'..='\u{ff9f}' | '\u{ac00}'..='\u{d7af}')
}

/// One line around a place, with a mark where something was left out.
fn cut_out(text: &str, at: usize) -> String {
    let (before, after) = text.split_at_checked(at).unwrap_or((text, ""));
    let start = before.char_indices().rev().nth(EXCERPT_CHARS - 1).map_or(0, |(at, _)| at);
    let end = after.char_indices().nth(EXCERPT_CHARS * 2).map_or(after.len(), |(at, _)| at);
    let around = [before.get(start..), after.get(..end)];
    let around: String = around.into_iter().flatten().collect();
    let line = around.split_whitespace().collect::<Vec<_>>().join(" ");
    let head = if start > 0 { "…" } else { "" };
    let tail = if end < after.len() { "…" } else { "" };
    format!("{head}{line}{tail}")
}

#[cfg(test)]
mod tests;
