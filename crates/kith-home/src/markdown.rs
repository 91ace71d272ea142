//! Whether a Markdown file says anything.
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

/// A comment that is never closed is text: a missing mark must not swallow the rest of a file.
pub(crate) fn without_comments(text: &str) -> Cow<'_, str> {
    if !text.contains(COMMENT_START) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once(COMMENT_START) {
        let Some((_, after)) = comment.split_once(COMMENT_END) else { break };
        kept.push_str(before);
        rest = after;
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}

pub(crate) fn is_heading(line: &str) -> bool {
    let line = line.trim_start();
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    (1..=6).contains(&level) && (title.is_empty() || title.starts_with(char::is_whitespace))
}

#[cfg(test)]
mod tests;
