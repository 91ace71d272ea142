//! A regular expression that is safe to run, or the sentence that says what is wrong with it.
//!
//! The engine takes no more steps than bytes times places, a place being one character of the
//! expression with its repetitions written out. So the places are counted before it is built, and
//! [`Pattern::n_places`] tells the search how many bytes it can afford.

use std::fmt::Display;

use grep_regex::{Error, ErrorKind, RegexMatcher, RegexMatcherBuilder};
use regex_syntax::ast::parse::ParserBuilder;
use regex_syntax::ast::{
    self, AssertionKind, Ast, Flag, Flags, GroupKind, Position, RepetitionKind, RepetitionRange,
};
use regex_syntax::hir::translate::TranslatorBuilder;

use crate::display;

pub(super) const SEARCH_PATTERN_BYTES_MAX: usize = 1024;
/// `[0-9a-f]{64}` has 64.
pub(super) const SEARCH_PATTERN_PLACES_MAX: u64 = 1000;
/// The memory of a compiled pattern: about 80 times `\w`, which knows every alphabet.
const COMPILED_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The memory in which the engine keeps what it has worked out so far.
const ENGINE_CACHE_BYTES_MAX: usize = 8 * 1024 * 1024;
const GROUP_DEPTH_MAX: u32 = 50;

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
        let name = display::name(text);
        if text.contains(['\n', '\r']) {
            return Err(across_lines(&name));
        }
        let n_places = read(text).map_err(|reason| format!("{}{reason}", wrong(&name)))?;
        if n_places > SEARCH_PATTERN_PLACES_MAX {
            let n_places = display::number(n_places);
            return Err(format!(
                "the pattern `{name}` is too large: with its repetitions written out it has \
                 {n_places} characters, at most {SEARCH_PATTERN_PLACES_MAX} are searched for"
            ));
        }
        let matcher = RegexMatcherBuilder::new()
            .case_insensitive(matches!(case, Case::Ignored))
            .multi_line(true)
            .crlf(true)
            // The builder puts the pattern into a group of its own.
            .nest_limit(GROUP_DEPTH_MAX + 1)
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
        _ => format!("{}: {error}", wrong(name)),
    }
}

fn wrong(name: &str) -> String {
    format!("the pattern `{name}` is not a valid regex (Rust syntax)")
}

fn across_lines(name: &str) -> String {
    format!(
        "the pattern `{name}` asks for the end of a line, but lines are searched one by one: \
         nothing matches across lines; search for a part of one line, `$` is its end"
    )
}

/// Parses the pattern as the builder will, and counts its places. The builder's own errors say
/// nothing of parentheses that do not pair, and give no position.
fn read(text: &str) -> Result<u64, String> {
    let parsed = ParserBuilder::new().nest_limit(GROUP_DEPTH_MAX).build().parse(text);
    let ast = parsed.map_err(|error| {
        let parenthesis = match error.kind() {
            ast::ErrorKind::GroupUnclosed => '(',
            ast::ErrorKind::GroupUnopened => ')',
            other => return at(error.span().start, other),
        };
        let reason =
            format!("`{parenthesis}` is unmatched; write `\\{parenthesis}` to search for it");
        at(error.span().start, reason)
    })?;
    let n_places = places(&ast)?;
    // Only this finds out whether a Unicode property exists.
    let translated = TranslatorBuilder::new().utf8(false).build().translate(text, &ast);
    translated.map_err(|error| at(error.span().start, error.kind()))?;
    Ok(n_places)
}

fn at(position: Position, reason: impl Display) -> String {
    format!(" at character {}: {reason}", position.column)
}

/// The depth of the recursion is that of the groups, which the parser has bounded.
fn places(ast: &Ast) -> Result<u64, String> {
    let sum =
        |asts: &[Ast]| asts.iter().try_fold(0_u64, |sum, ast| Ok(sum.saturating_add(places(ast)?)));
    match ast {
        Ast::Empty(_) => Ok(0),
        Ast::Flags(it) => check_flags(&it.flags, it.span.start).map(|()| 0),
        Ast::Group(it) => {
            if let GroupKind::NonCapturing(flags) = &it.kind {
                check_flags(flags, it.span.start)?;
            }
            places(&it.ast)
        }
        Ast::Assertion(it) => {
            // The engine sees many lines at once and would take the first and the last for all.
            let (unsupported, instead) = match it.kind {
                AssertionKind::StartText => ('A', '^'),
                AssertionKind::EndText => ('z', '$'),
                _ => return Ok(1),
            };
            let reason = format!("`\\{unsupported}` is not supported, use `{instead}`");
            Err(at(it.span.start, reason))
        }
        Ast::Repetition(it) => {
            let times = match &it.op.kind {
                RepetitionKind::Range(
                    RepetitionRange::Exactly(n)
                    | RepetitionRange::AtLeast(n)
                    | RepetitionRange::Bounded(_, n),
                ) => *n,
                _ => 1,
            };
            Ok(places(&it.ast)?.saturating_mul(u64::from(times.max(1))))
        }
        Ast::Alternation(it) => sum(&it.asts),
        Ast::Concat(it) => sum(&it.asts),
        Ast::Literal(_)
        | Ast::Dot(_)
        | Ast::ClassUnicode(_)
        | Ast::ClassPerl(_)
        | Ast::ClassBracketed(_) => Ok(1),
    }
}

/// With `x`, a pattern may hold comments; without `m`, lines have no ends.
fn check_flags(flags: &Flags, start: Position) -> Result<(), String> {
    let unsupported = match flags {
        _ if flags.flag_state(Flag::IgnoreWhitespace) == Some(true) => "x",
        _ if flags.flag_state(Flag::MultiLine) == Some(false) => "-m",
        _ => return Ok(()),
    };
    Err(at(start, format!("the flag `{unsupported}` is not supported")))
}

#[cfg(test)]
mod tests;
