//! The display name and description of a skill, from its `SKILL.md`.
//!
//! Both are in the front matter; without a description there, the first paragraph is used. A skill
//! with neither is not listed: the model could only guess.

use std::borrow::Cow;

use kith_vocab::invisible::is_deceptive;
use kith_vocab::json::Json;

use super::SKILL_NAME_CHARS_MAX;
use crate::markdown::{is_heading, without_comments};
use crate::priming::script::ScriptProblem;
use crate::priming::yaml;

/// Of a `SKILL.md`. Longer text belongs below the front matter.
pub const SKILL_FRONT_MATTER_BYTES_MAX: usize = 16 * 1024;
/// A longer description is cut.
pub const SKILL_DESCRIPTION_CHARS_MAX: usize = 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    pub display_name: Option<String>,
    /// One line, never empty.
    pub description: String,
    /// A problem that does not prevent its use.
    pub issue: Option<ManifestIssue>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestIssue {
    /// From 1.
    pub line: usize,
    pub problem: ManifestProblem,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestProblem {
    #[error("is not UTF-8 text, so it is ignored; save it as UTF-8")]
    NotUtf8,
    #[error("has a front matter that is not closed, so it is ignored; close it with a line `---`")]
    FrontMatterOpen,
    #[error(
        "has a front matter of more than {SKILL_FRONT_MATTER_BYTES_MAX} bytes, so it is ignored; \
         move text below it"
    )]
    FrontMatterTooLong,
    #[error("is ignored: {0}{hint}", hint = hint(.0))]
    FrontMatter(ScriptProblem),
    #[error("is ignored: `{key}` must be text; put it in quotes")]
    NotText { key: &'static str },
    #[error(
        "is ignored: `name` must be one line of at most {SKILL_NAME_CHARS_MAX} visible characters"
    )]
    Name,
    #[error("has no description, so it is not listed; add `description: …` to its front matter")]
    NoDescription,
    #[error(
        "has a description of more than {SKILL_DESCRIPTION_CHARS_MAX} characters, which was cut"
    )]
    DescriptionTooLong,
}

/// A sentence with a colon in it is the usual reason why YAML cannot be read.
fn hint(problem: &ScriptProblem) -> &'static str {
    match problem {
        ScriptProblem::Yaml { .. } => "; quote a text that contains `: `",
        _ => "",
    }
}

/// Reads the bytes of a `SKILL.md`.
///
/// Refuses what is not UTF-8, a front matter that is open, too long or not plain YAML, a `name` or
/// `description` that is not text, and a file without a description.
pub fn manifest(bytes: &[u8]) -> Result<Manifest, ManifestIssue> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let n_lines = before.split(|&byte| byte == b'\n').count();
        ManifestIssue { line: n_lines, problem: ManifestProblem::NotUtf8 }
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (front_matter, body) = split(text)?;
    let found = read_front_matter(front_matter)?;
    let n_before = text[..text.len() - body.len()].lines().count();
    let missing = || ManifestIssue { line: 1, problem: ManifestProblem::NoDescription };
    let paragraph = || first_paragraph(body).map(|text| (text, n_before + 1));
    let (description, line) = found.description.or_else(paragraph).ok_or_else(missing)?;
    let (description, is_cut) = cut(&description, SKILL_DESCRIPTION_CHARS_MAX);
    let problem = ManifestProblem::DescriptionTooLong;
    let issue = is_cut.then_some(ManifestIssue { line, problem });
    Ok(Manifest { display_name: found.name, description: description.into_owned(), issue })
}

/// The front matter between its marks, and what follows.
fn split(text: &str) -> Result<(&str, &str), ManifestIssue> {
    let is_mark = |line: &str| line.trim_end() == "---";
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| is_mark(line)) else { return Ok(("", text)) };
    let inside = &text[first.len()..];
    let mut at = 0;
    for line in lines {
        if is_mark(line) {
            return Ok((&inside[..at], &inside[at + line.len()..]));
        }
        at += line.len();
        if at > SKILL_FRONT_MATTER_BYTES_MAX {
            let problem = ManifestProblem::FrontMatterTooLong;
            return Err(ManifestIssue { line: 1, problem });
        }
    }
    Err(ManifestIssue { line: 1, problem: ManifestProblem::FrontMatterOpen })
}

#[derive(Default)]
struct FrontMatter {
    name: Option<String>,
    /// With its line.
    description: Option<(String, usize)>,
}

/// Unknown keys are ignored: other programs may use them.
fn read_front_matter(front_matter: &str) -> Result<FrontMatter, ManifestIssue> {
    let mut found = FrontMatter::default();
    // The first line of the file is the mark.
    let entries = yaml::read(front_matter, 2).map_err(|error| ManifestIssue {
        line: error.line,
        problem: ManifestProblem::FrontMatter(error.problem),
    })?;
    for entry in entries {
        let refuse = |problem| ManifestIssue { line: entry.line, problem };
        match entry.name.as_str() {
            "name" => {
                let name = text_of("name", &entry.value).map_err(refuse)?;
                let is_good =
                    name.chars().count() <= SKILL_NAME_CHARS_MAX && !name.chars().any(is_deceptive);
                if !is_good {
                    return Err(refuse(ManifestProblem::Name));
                }
                found.name = Some(name).filter(|name| !name.is_empty());
            }
            "description" => {
                let text = text_of("description", &entry.value).map_err(refuse)?;
                let text = one_line(&text);
                found.description = (!text.is_empty()).then_some((text, entry.line));
            }
            _ => (),
        }
    }
    Ok(found)
}

/// A key without a value is read as empty text.
fn text_of(key: &'static str, value: &Json) -> Result<String, ManifestProblem> {
    let text: Option<String> = value.read().map_err(|_| ManifestProblem::NotText { key })?;
    Ok(text.unwrap_or_default().trim().to_owned())
}

/// The first lines that are neither blank, heading nor comment, up to the next such.
fn first_paragraph(body: &str) -> Option<String> {
    let body = without_comments(body);
    let is_text = |line: &&str| !line.trim().is_empty() && !is_heading(line);
    let lines = body.lines().skip_while(|line| !is_text(line)).take_while(is_text);
    // No more is taken than can be of use: a file may be one long paragraph.
    let mut text = String::new();
    for line in lines {
        text.push_str(line);
        text.push(' ');
        if text.len() > 4 * SKILL_DESCRIPTION_CHARS_MAX {
            break;
        }
    }
    let text = one_line(&text);
    (!text.is_empty()).then_some(text)
}

/// White space becomes single spaces, and what a reader could miss is spelled out.
fn one_line(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        for ch in word.chars() {
            if is_deceptive(ch) { line.extend(ch.escape_unicode()) } else { line.push(ch) }
        }
    }
    line
}

/// At most so many characters, and whether some are missing.
pub(super) fn cut(text: &str, chars_max: usize) -> (Cow<'_, str>, bool) {
    if text.char_indices().nth(chars_max).is_none() {
        return (Cow::Borrowed(text), false);
    }
    let kept: String = text.chars().take(chars_max.saturating_sub(1)).collect();
    (Cow::Owned(format!("{}…", kept.trim_end())), true)
}

#[cfg(test)]
mod tests;
