//! `label: value` lines as people write them in Markdown.
//!
//! With or without a bullet, bold, or quotes; in any case of letters; with either colon. Comments
//! and headings are not fields, and a placeholder of a template counts as absent.

use crate::markdown::{is_heading, without_comments};
use crate::rendering::one_line;

/// A prompt file has a handful of fields; what comes after this many is not looked at.
const FIELDS_MAX: usize = 1000;
const LABEL_CHARS_MAX: usize = 40;
pub(crate) const VALUE_CHARS_MAX: usize = 500;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    /// In lower case.
    pub(crate) label: String,
    /// Not blank, no placeholder, one line.
    pub(crate) value: String,
}

/// The fields that have a value, in the order of the file.
pub(crate) fn fields(text: &str) -> Vec<Field> {
    without_comments(text).lines().filter_map(field).take(FIELDS_MAX).collect()
}

/// The value of the last field with one of these labels.
pub(crate) fn last_of(fields: &[Field], labels: &[&str]) -> Option<String> {
    let field = fields.iter().rev().find(|field| labels.contains(&field.label.as_str()))?;
    Some(field.value.clone())
}

fn field(line: &str) -> Option<Field> {
    if is_heading(line) {
        return None;
    }
    let (label, value) = without_bullet(line.trim()).split_once([':', '：'])?;
    let bold = &label[..label.len() - label.trim_start_matches(is_mark).len()];
    // `**Name:** Luna` ends the bold in the value, `**Name: Luna**` after it.
    let value = value.trim();
    let value = value.strip_prefix(bold).unwrap_or(value).trim();
    let value =
        if label.ends_with(is_mark) { value } else { value.strip_suffix(bold).unwrap_or(value) };

    let label = label.trim_matches(|ch: char| is_mark(ch) || ch.is_whitespace()).to_lowercase();
    let value = without_marks(value);
    let fits = !label.is_empty() && label.chars().count() <= LABEL_CHARS_MAX;
    if !fits || value.is_empty() || is_placeholder(value) {
        return None;
    }
    Some(Field { label, value: one_line(value, VALUE_CHARS_MAX) })
}

fn without_bullet(line: &str) -> &str {
    match line.strip_prefix(['-', '*', '+']) {
        Some(rest) if rest.starts_with(char::is_whitespace) => rest.trim_start(),
        _ => line,
    }
}

/// Drops pairs only: the star of `C*` belongs to the value.
fn without_marks(value: &str) -> &str {
    let mut value = value.trim();
    while let Some(mark) = value.chars().next().filter(|&ch| is_mark(ch)) {
        let inside = value[mark.len_utf8()..].strip_suffix(mark);
        match inside {
            Some(inside) => value = inside.trim(),
            // Nothing but one mark.
            None if value.len() == mark.len_utf8() => return "",
            None => return value,
        }
    }
    value
}

fn is_mark(ch: char) -> bool {
    matches!(ch, '*' | '_' | '`' | '"')
}

/// `(pick a name)`, `<name>`, `[your name]`, `{{name}}`, `…`: a template's question, no answer.
/// A face like `(^_^)` has no letters and is one.
fn is_placeholder(value: &str) -> bool {
    const PAIRS: [(char, char); 5] = [('(', ')'), ('（', '）'), ('<', '>'), ('[', ']'), ('{', '}')];
    let enclosed = PAIRS.iter().any(|&(open, close)| {
        value.starts_with(open) && value.ends_with(close) && value.chars().any(char::is_alphabetic)
    });
    enclosed || matches!(value, "..." | "…" | "TBD" | "TODO")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_read_however_it_is_marked() {
        for line in [
            "Name: Luna",
            "- name: Luna",
            "* NAME : Luna  ",
            "+ **Name:** Luna",
            "**Name**: Luna",
            "**Name: Luna**",
            "- __Name:__ *Luna*",
            "Name: **Luna**",
            "Name：`Luna`",
            "name: \"Luna\"",
        ] {
            check(line, &[("name", "Luna")]);
        }
    }

    #[test]
    fn only_whole_pairs_of_marks_are_dropped() {
        check("name: C*", &[("name", "C*")]);
        check("name: *", &[]);
        check("name: **", &[]);
        check("name: Luna (they/them)", &[("name", "Luna (they/them)")]);
        check("at: 10:30", &[("at", "10:30")]);
    }

    #[test]
    fn questions_of_a_template_are_absent() {
        check("name: _(pick a name)_\nname: <name>\nname: [you]\nname: {{x}}\nname: …", &[]);
        check("emoji: (^_^)", &[("emoji", "(^_^)")]);
    }

    #[test]
    fn headings_comments_and_prose_are_no_fields() {
        check("# Name: x\n## name: y\n<!-- name: z\nrole: w -->", &[]);
        check("Whatever the weather in the north of the country may be like: rain", &[]);
        check(": x\n**: y\nplain", &[]);
    }

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str)]) {
        let fields = fields(text);
        let found: Vec<(&str, &str)> =
            fields.iter().map(|it| (it.label.as_str(), it.value.as_str())).collect();
        assert_eq!(found, expected, "{text:?}");
    }
}
