//! What of a Markdown file is meant for the model, and whether it says anything.
//!
//! The files `kith init` writes are examples inside HTML comments. Until someone edits them they
//! must add nothing to a prompt, so a file of comments and headings counts as empty.

use std::borrow::Cow;

const COMMENT_START: &str = "<!--";
const COMMENT_END: &str = "-->";

/// Whether nothing but blank lines, headings and HTML comments is there.
pub(crate) fn is_effectively_empty(text: &str) -> bool {
    without_comments(text).lines().all(|line| line.trim().is_empty() || is_heading(line))
}

/// The text without HTML comments: they are notes for people. One that fills its lines takes them
/// along. A comment that is never closed is text: a missing mark must not swallow the rest of a file.
/// Neither is one in code, which is shown as it stands.
pub(crate) fn without_comments(text: &str) -> Cow<'_, str> {
    if !text.contains(COMMENT_START) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let (mut rest, mut fence) = (text, None);
    while !rest.is_empty() {
        let line = rest.split_inclusive('\n').next().unwrap_or(rest);
        let is_line_start = kept.is_empty() || kept.ends_with('\n');
        let mark = fence_of(line).filter(|_| is_line_start);
        let is_code = fence.is_some() || mark.is_some();
        match (fence, mark) {
            (None, mark) => fence = mark,
            (open, mark) if open == mark => fence = None,
            _ => (),
        }
        let comment = line.find(COMMENT_START).filter(|&at| !is_code && !is_in_code(&line[..at]));
        let end = comment.and_then(|at| {
            let inside = at + COMMENT_START.len();
            Some((at, inside + rest[inside..].find(COMMENT_END)? + COMMENT_END.len()))
        });
        let Some((at, end)) = end else {
            kept.push_str(line);
            rest = &rest[line.len()..];
            continue;
        };
        kept.push_str(&rest[..at]);
        rest = &rest[end..];
        if is_line_start && at == 0 {
            rest = rest.strip_prefix('\n').unwrap_or(rest);
        }
    }
    Cow::Owned(kept)
}

/// The mark that begins or ends a block of code.
fn fence_of(line: &str) -> Option<&'static str> {
    let line = line.trim_start();
    ["```", "~~~"].into_iter().find(|mark| line.starts_with(mark))
}

/// Whether what follows stands between backticks.
fn is_in_code(before: &str) -> bool {
    before.matches('`').count() % 2 == 1
}

pub(crate) fn is_heading(line: &str) -> bool {
    let line = line.trim_start();
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    (1..=6).contains(&level) && (title.is_empty() || title.starts_with(char::is_whitespace))
}

#[cfg(test)]
mod tests;
