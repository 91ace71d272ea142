//! Front matter: YAML in, JSON values out, and back.
//!
//! Only what a front matter needs is taken: no anchors, aliases or tags, so nothing can grow when
//! it is read and nothing means more than it says. Plain words are read by the core schema of YAML
//! 1.2, where `no` is a word. Values keep the digits they were written with.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::{Arguments, Write};

use kith_vocab::json::Json;
use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, ScanError, StrInput};

use super::form::entries_of;
use super::script::{
    FIELD_NAME_CHARS_MAX, FRONT_MATTER_BYTES_MAX, FRONT_MATTER_DEPTH_MAX, FRONT_MATTER_NODES_MAX,
    ScriptError, ScriptField, ScriptProblem, excerpt,
};

/// A key of a front matter or of a call's JSON, with its value and line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct YamlEntry {
    pub(crate) name: String,
    pub(crate) value: Json,
    pub(crate) line: usize,
}

/// Reads a mapping. `first_line` is where its text begins in the file.
pub(crate) fn read(text: &str, first_line: usize) -> Result<Vec<YamlEntry>, ScriptError> {
    if text.len() > FRONT_MATTER_BYTES_MAX {
        return Err(ScriptError::new(first_line, ScriptProblem::FrontMatterTooLong));
    }
    let parser = Parser::new_from_str(text);
    let last_line = first_line + text.lines().count().saturating_sub(1);
    let mut reader = YamlReader { parser, first_line, last_line, line: first_line, n_nodes: 0 };
    reader.document()
}

/// Writes fields as lines that [`read`] reads as the same fields.
pub(crate) fn write(fields: &[ScriptField]) -> String {
    let mut text = String::new();
    for ScriptField { name, value } in fields {
        let name = scalar(name);
        if is_scalar(value) {
            put(&mut text, format_args!("{name}: {}\n", scalar_of(value)));
        } else if let Some(lines) = block_lines(value) {
            put(&mut text, format_args!("{name}:\n{lines}"));
        } else {
            put(&mut text, format_args!("{name}: "));
            write_flow(&mut text, value);
            text.push('\n');
        }
    }
    text
}

/// A list or a map of plain values, one on each line; `None` for what is empty or nested.
fn block_lines(value: &Json) -> Option<String> {
    let mut lines = String::new();
    if let Some(entries) = entries_of(value) {
        for (key, item) in entries.iter().filter(|(_, item)| is_scalar(item)) {
            put(&mut lines, format_args!("  {}: {}\n", scalar(key), scalar_of(item)));
        }
        return (!entries.is_empty() && entries.iter().all(|it| is_scalar(&it.1))).then_some(lines);
    }
    let items: Vec<Json> = value.read().ok()?;
    for item in items.iter().filter(|item| is_scalar(item)) {
        put(&mut lines, format_args!("  - {}\n", scalar_of(item)));
    }
    (!items.is_empty() && items.iter().all(is_scalar)).then_some(lines)
}

struct YamlReader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    first_line: usize,
    last_line: usize,
    /// Of the event that was read last.
    line: usize,
    n_nodes: usize,
}

impl<'a> YamlReader<'a> {
    fn document(&mut self) -> Result<Vec<YamlEntry>, ScriptError> {
        let mut entries = Vec::new();
        // The events around the one mapping; a second document is refused.
        loop {
            match self.next()? {
                Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd => (),
                Event::StreamEnd => return Ok(entries),
                Event::MappingStart(_, anchor, tag) if self.n_nodes == 0 => {
                    self.refuse_features(anchor, tag.is_some())?;
                    self.mapping(1, &mut |entry| entries.push(entry))?;
                }
                // A front matter of comments only.
                Event::Scalar(text, ScalarStyle::Plain, 0, None)
                    if self.n_nodes == 0 && text.is_empty() =>
                {
                    self.n_nodes += 1;
                }
                _ => return Err(self.error(ScriptProblem::NotAMapping)),
            }
        }
    }

    fn mapping(
        &mut self,
        depth: usize,
        take: &mut dyn FnMut(YamlEntry),
    ) -> Result<(), ScriptError> {
        let mut names: BTreeSet<String> = BTreeSet::new();
        loop {
            self.n_nodes += 1;
            let name = match self.next()? {
                Event::MappingEnd => return Ok(()),
                Event::Scalar(name, _, anchor, tag) => {
                    self.refuse_features(anchor, tag.is_some())?;
                    name.into_owned()
                }
                Event::Alias(_) => return Err(self.error(ALIASES)),
                _ => return Err(self.error(ScriptProblem::NotAMapping)),
            };
            let line = self.line;
            if name.trim().is_empty() || name.chars().count() > FIELD_NAME_CHARS_MAX {
                return Err(self.error(ScriptProblem::KeyForm { key: excerpt(&name) }));
            }
            if !names.insert(name.clone()) {
                return Err(self.error(ScriptProblem::DuplicateKey { key: excerpt(&name) }));
            }
            let mut json = String::new();
            let event = self.next()?;
            self.value(event, depth, &mut json)?;
            // A number may still be too large for JSON: `1e999`.
            let value = Json::parse(&json).map_err(|_| {
                ScriptError::new(line, ScriptProblem::OddNumber { text: excerpt(&json) })
            })?;
            take(YamlEntry { name, value, line });
        }
    }

    fn value(
        &mut self,
        event: Event<'a>,
        depth: usize,
        out: &mut String,
    ) -> Result<(), ScriptError> {
        self.n_nodes += 1;
        if self.n_nodes > FRONT_MATTER_NODES_MAX {
            return Err(self.error(ScriptProblem::FrontMatterTooWide));
        }
        if depth > FRONT_MATTER_DEPTH_MAX {
            return Err(self.error(ScriptProblem::FrontMatterTooDeep));
        }
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse_features(anchor, tag.is_some())?;
                let plain = style == ScalarStyle::Plain;
                match if plain { resolve(&text) } else { PlainScalar::Text } {
                    PlainScalar::Text => out.push_str(Json::of(&text).as_str()),
                    PlainScalar::Token(token) => out.push_str(token),
                    PlainScalar::Odd => {
                        return Err(self.error(ScriptProblem::OddNumber { text: excerpt(&text) }));
                    }
                }
                Ok(())
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.refuse_features(anchor, tag.is_some())?;
                self.sequence(depth, out)
            }
            Event::MappingStart(_, anchor, tag) => {
                self.refuse_features(anchor, tag.is_some())?;
                let mut object: Vec<YamlEntry> = Vec::new();
                self.mapping(depth + 1, &mut |entry| object.push(entry))?;
                out.push('{');
                for (index, entry) in object.iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    let name = Json::of(&entry.name);
                    put(out, format_args!("{comma}{}:{}", name.as_str(), entry.value.as_str()));
                }
                out.push('}');
                Ok(())
            }
            Event::Alias(_) => Err(self.error(ALIASES)),
            _ => Err(self.error(ScriptProblem::NotAMapping)),
        }
    }

    fn sequence(&mut self, depth: usize, out: &mut String) -> Result<(), ScriptError> {
        out.push('[');
        let mut is_first = true;
        loop {
            match self.next()? {
                Event::SequenceEnd => break,
                event => {
                    if !is_first {
                        out.push(',');
                    }
                    is_first = false;
                    self.value(event, depth + 1, out)?;
                }
            }
        }
        out.push(']');
        Ok(())
    }

    fn next(&mut self) -> Result<Event<'a>, ScriptError> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => {
                self.line = self.first_line + span.start.line().saturating_sub(1);
                Ok(event)
            }
            Some(Err(error)) => Err(self.scan_error(&error)),
            None => Ok(Event::StreamEnd),
        }
    }

    fn scan_error(&self, error: &ScanError) -> ScriptError {
        // An error at the end may point behind the last line.
        let line = self.first_line + error.marker().line().saturating_sub(1);
        let line = line.min(self.last_line);
        ScriptError::new(line, ScriptProblem::Yaml { reason: excerpt(&error.info()) })
    }

    fn refuse_features(&self, anchor: usize, is_tagged: bool) -> Result<(), ScriptError> {
        if anchor != 0 {
            return Err(self.error(ALIASES));
        }
        if is_tagged {
            return Err(self.error(ScriptProblem::YamlFeature { what: "tags (`!…`)" }));
        }
        Ok(())
    }

    fn error(&self, problem: ScriptProblem) -> ScriptError {
        ScriptError::new(self.line, problem)
    }
}

const ALIASES: ScriptProblem =
    ScriptProblem::YamlFeature { what: "anchors and aliases (`&`, `*`)" };

/// The meaning of a scalar without quotes.
enum PlainScalar<'a> {
    Text,
    /// A token of JSON.
    Token(&'a str),
    /// A number that JSON cannot write like this.
    Odd,
}

fn resolve(text: &str) -> PlainScalar<'_> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return PlainScalar::Token("null"),
        "true" | "True" | "TRUE" => return PlainScalar::Token("true"),
        "false" | "False" | "FALSE" => return PlainScalar::Token("false"),
        _ => (),
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_word = matches!(unsigned, ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN");
    let is_prefixed = unsigned.strip_prefix("0x").is_some_and(|it| all(it, u8::is_ascii_hexdigit))
        || unsigned.strip_prefix("0o").is_some_and(|it| all(it, u8::is_ascii_digit));
    if is_word || is_prefixed {
        return PlainScalar::Odd;
    }
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let are_digits = |it: &str| it.bytes().all(|byte| byte.is_ascii_digit());
    let is_number = are_digits(whole)
        && are_digits(part)
        && all(exponent, u8::is_ascii_digit)
        && !(whole.is_empty() && part.is_empty())
        && mantissa != ".";
    if !is_number {
        return PlainScalar::Text;
    }
    let is_json = !text.starts_with('+')
        && !whole.is_empty()
        && !part.is_empty()
        && (whole == "0" || !whole.starts_with('0'));
    if is_json { PlainScalar::Token(text) } else { PlainScalar::Odd }
}

fn all(text: &str, is: impl Fn(&u8) -> bool) -> bool {
    !text.is_empty() && text.as_bytes().iter().all(is)
}

fn is_scalar(value: &Json) -> bool {
    !value.as_str().starts_with(['[', '{'])
}

fn scalar_of(value: &Json) -> Cow<'_, str> {
    match value.read::<String>() {
        Ok(text) => Cow::Owned(scalar(&text)),
        Err(_) => Cow::Borrowed(value.as_str()),
    }
}

/// A string as it is written in a front matter: without quotes where no reader could misread it.
fn scalar(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { quoted(text) }
}

fn is_plain(text: &str) -> bool {
    // Other readers of YAML take these for booleans.
    const NOT_EVERYWHERE: [&str; 6] = ["yes", "no", "on", "off", "y", "n"];
    let is_word = |ch: char| ch.is_alphanumeric() || matches!(ch, '_' | '-' | '.' | '/' | ' ');
    // A colon inside a word, as in a time, does not begin a mapping.
    let fits = |(at, ch): (usize, char)| {
        is_word(ch)
            || (ch == ':' && text[at + 1..].chars().next().is_some_and(|ch| ch.is_ascii_digit()))
    };
    text.chars().next().is_some_and(char::is_alphanumeric)
        && !text.ends_with(' ')
        && text.char_indices().all(fits)
        && matches!(resolve(text), PlainScalar::Text)
        && !NOT_EVERYWHERE.iter().any(|word| word.eq_ignore_ascii_case(text))
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for ch in text.chars() {
        match ch {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\0'..='\x1f' | '\x7f'..='\u{a0}' => {
                put(&mut out, format_args!("\\x{:02x}", ch as u32));
            }
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                put(&mut out, format_args!("\\u{:04x}", ch as u32));
            }
            _ => out.push(ch),
        }
    }
    out.push('"');
    out
}

/// Writes lists and maps inside lists and maps on one line, as in JSON.
fn write_flow(out: &mut String, value: &Json) {
    if let Ok(items) = value.read::<Vec<Json>>() {
        out.push('[');
        for (index, item) in items.iter().enumerate() {
            out.push_str(if index == 0 { "" } else { ", " });
            write_flow(out, item);
        }
        out.push(']');
    } else if let Some(entries) = entries_of(value) {
        out.push('{');
        for (index, (name, item)) in entries.iter().enumerate() {
            out.push_str(if index == 0 { "" } else { ", " });
            put(out, format_args!("{}: ", quoted(name)));
            write_flow(out, item);
        }
        out.push('}');
    } else if let Ok(text) = value.read::<String>() {
        out.push_str(&quoted(&text));
    } else {
        out.push_str(value.as_str());
    }
}

fn put(out: &mut String, text: Arguments<'_>) {
    // Writing to a string cannot fail.
    out.write_fmt(text).unwrap_or_default();
}

#[cfg(test)]
mod tests;
