//! A regular expression that is safe to run, or the sentence that says what is wrong with it.
//!
//! The engine takes no more steps than bytes times places, a place being one character of the
//! expression with its repetitions written out. So the places are counted before it is built, and
//! [`Pattern::n_places`] tells the search how many bytes it can afford.

use std::iter::Peekable;
use std::str::CharIndices;

use grep_regex::{Error, ErrorKind, RegexMatcher, RegexMatcherBuilder};

use crate::shown;

pub(super) const SEARCH_PATTERN_BYTES_MAX: usize = 1024;
/// `[0-9a-f]{64}` has 64.
pub(super) const SEARCH_PATTERN_PLACES_MAX: u64 = 1000;
/// The memory of a compiled pattern: about 80 times `\w`, which knows every alphabet.
const COMPILED_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The memory in which the engine keeps what it has worked out so far.
const ENGINE_CACHE_BYTES_MAX: usize = 8 * 1024 * 1024;
const GROUP_DEPTH_MAX: u32 = 50;

/// What the builder puts in front of the pattern before it parses it.
const WRAP_CHARS: usize = "(?:".len();
/// What stands before the pattern where the parser quotes it.
const QUOTE_INDENT: &str = "    ";

#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) matcher: RegexMatcher,
    /// At least one.
    pub(super) n_places: u64,
}

#[derive(Clone, Copy)]
pub(super) enum Case {
    Counts,
    Ignored,
}

impl Pattern {
    pub(super) fn parse(text: &str, case: Case) -> Result<Pattern, String> {
        if text.is_empty() {
            return Err("the pattern is empty; list_files lists files".to_owned());
        }
        if text.len() > SEARCH_PATTERN_BYTES_MAX {
            return Err(format!("the pattern is longer than {SEARCH_PATTERN_BYTES_MAX} bytes"));
        }
        let name = shown::name(text);
        // Asked before the parser is, which quotes a pattern of several lines in another form.
        if text.contains(['\n', '\r']) {
            return Err(across_lines(&name));
        }
        let n_places =
            Places::count(text).map_err(|reason| format!("{} {reason}", wrong(&name)))?;
        if n_places > SEARCH_PATTERN_PLACES_MAX {
            let n_places = shown::number(n_places);
            return Err(format!(
                "the pattern `{name}` is too large: with its repetitions written out it has \
                 {n_places} characters, at most {SEARCH_PATTERN_PLACES_MAX} are searched for"
            ));
        }
        let matcher = RegexMatcherBuilder::new()
            .case_insensitive(matches!(case, Case::Ignored))
            .multi_line(true)
            .crlf(true)
            .nest_limit(GROUP_DEPTH_MAX)
            .size_limit(COMPILED_BYTES_MAX)
            .dfa_size_limit(ENGINE_CACHE_BYTES_MAX)
            .build(text)
            .map_err(|error| in_words(&name, &error))?;
        Ok(Pattern { matcher, n_places: n_places.max(1) })
    }
}

fn in_words(name: &str, error: &Error) -> String {
    match error.kind() {
        ErrorKind::NotAllowed(_) => across_lines(name),
        ErrorKind::Regex(text) if text.starts_with("compiled regex exceeds") => format!(
            "the pattern `{name}` is too large; repeat less, or use `[a-z]` in place of `\\w`"
        ),
        ErrorKind::Regex(text) => {
            let reason = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
            format!("{}{} {reason}", wrong(name), place_in(text))
        }
        _ => format!("{} {error}", wrong(name)),
    }
}

fn wrong(name: &str) -> String {
    format!("the pattern `{name}` is not a valid regex (Rust syntax):")
}

fn across_lines(name: &str) -> String {
    format!(
        "the pattern `{name}` asks for the end of a line, but lines are searched one by one: \
         nothing matches across lines; search for a part of one line, `$` is its end"
    )
}

/// ` at character 3:`, if the parser's message points at one. It quotes the pattern in its second
/// line and points at a character of it in the third.
fn place_in(message: &str) -> String {
    let pointer = message.lines().nth(2).and_then(|line| line.strip_prefix(QUOTE_INDENT));
    let column = pointer.and_then(|line| line.find('^'));
    let place = column.and_then(|column| (column + 1).checked_sub(WRAP_CHARS));
    place.filter(|&place| place > 0).map_or_else(String::new, at)
}

fn at(place: usize) -> String {
    format!(" at character {place}:")
}

/// Reads an expression as far as needed to count its places and to pair its parentheses.
///
/// The builder wraps the pattern in a group, so it takes `a)(b` for two groups and cannot say where
/// in `f(x` the group begins that does not end.
struct Places<'a> {
    chars: Peekable<CharIndices<'a>>,
    text: &'a str,
    /// Where the open groups begin, and what their parts had before.
    open: Vec<(usize, u64)>,
    /// Of the finished parts of the innermost open group.
    sum: u64,
    /// Of the part read last, which a repetition would multiply.
    last: u64,
}

impl<'a> Places<'a> {
    fn count(text: &'a str) -> Result<u64, String> {
        let chars = text.char_indices().peekable();
        let mut places = Places { chars, text, open: Vec::new(), sum: 0, last: 0 };
        while let Some((at, ch)) = places.chars.next() {
            places.take(at, ch)?;
        }
        match places.open.last() {
            Some(&(begin, _)) => Err(places.alone(begin, '(')),
            None => Ok(places.sum.saturating_add(places.last)),
        }
    }

    fn take(&mut self, at: usize, ch: char) -> Result<(), String> {
        match ch {
            '(' => self.open_group(at)?,
            ')' => {
                let Some((_, before)) = self.open.pop() else {
                    return Err(self.alone(at, ')'));
                };
                let group = self.sum.saturating_add(self.last);
                (self.sum, self.last) = (before, group);
            }
            '[' => {
                self.skip_class();
                self.part();
            }
            '\\' => {
                self.escape(at)?;
                self.part();
            }
            '{' => self.last = self.last.saturating_mul(self.repetitions(at)),
            '|' => (self.sum, self.last) = (self.sum.saturating_add(self.last), 0),
            '*' | '+' | '?' => (),
            _ => self.part(),
        }
        Ok(())
    }

    fn part(&mut self) {
        self.sum = self.sum.saturating_add(self.last);
        self.last = 1;
    }

    fn open_group(&mut self, at: usize) -> Result<(), String> {
        let flags = self.text[at..].strip_prefix("(?").unwrap_or_default();
        let end = flags.find(|ch: char| ch != '-' && !ch.is_ascii_alphabetic());
        let flags = &flags[..end.unwrap_or(flags.len())];
        let (on, off) = flags.split_once('-').unwrap_or((flags, ""));
        // With `x` a parenthesis may stand in a comment; without `m` lines have no ends.
        for (flag, is_set) in [("x", on.contains('x')), ("-m", off.contains('m'))] {
            if is_set {
                return Err(format!("{} the flag `{flag}` is not supported", self.place_of(at)));
            }
        }
        self.open.push((at, self.sum.saturating_add(self.last)));
        (self.sum, self.last) = (0, 0);
        Ok(())
    }

    /// What follows `\\`.
    fn escape(&mut self, at: usize) -> Result<(), String> {
        match self.chars.next() {
            // The engine sees many lines at once and would take the first and the last for all.
            Some((_, ch @ ('A' | 'z'))) => {
                let line_end = if ch == 'A' { '^' } else { '$' };
                Err(format!("{} `\\{ch}` is not supported, use `{line_end}`", self.place_of(at)))
            }
            Some((_, 'p' | 'P' | 'x' | 'u' | 'U' | 'b')) => {
                self.skip_braces();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Up to the end of a class, `[` having been read.
    fn skip_class(&mut self) {
        let mut depth = 1;
        self.skip_class_begin();
        while depth > 0
            && let Some((_, ch)) = self.chars.next()
        {
            match ch {
                '[' => {
                    depth += 1;
                    self.skip_class_begin();
                }
                ']' => depth -= 1,
                '\\' => {
                    self.chars.next();
                }
                _ => (),
            }
        }
    }

    /// A `]` at the very front of a class is a character of it.
    fn skip_class_begin(&mut self) {
        self.chars.next_if(|&(_, ch)| ch == '^');
        self.chars.next_if(|&(_, ch)| ch == ']');
    }

    fn skip_braces(&mut self) {
        if self.chars.next_if(|&(_, ch)| ch == '{').is_some() {
            self.chars.by_ref().find(|&(_, ch)| ch == '}');
        }
    }

    /// The most that `{…}` repeats; 1 if it is no repetition, which the parser will say.
    fn repetitions(&mut self, at: usize) -> u64 {
        let inner = self.text[at + 1..].split('}').next().unwrap_or_default();
        self.chars.by_ref().find(|&(_, ch)| ch == '}');
        let counts = inner.split(',').filter_map(|count| count.trim().parse().ok());
        counts.max().unwrap_or(1).max(1)
    }

    fn alone(&self, at: usize, parenthesis: char) -> String {
        format!(
            "{} `{parenthesis}` stands alone; write `\\{parenthesis}` to search for it",
            self.place_of(at)
        )
    }

    fn place_of(&self, byte: usize) -> String {
        at(1 + self.text[..byte].chars().count()).trim_start().to_owned()
    }
}

#[cfg(test)]
mod tests;
