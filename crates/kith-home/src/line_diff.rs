//! The lines by which two texts differ, as a unified diff.
//!
//! What `similar` does with two texts in one call brings every algorithm it has, each compiled for
//! every kind of text and once for each crate that asks: 1 MB of the program. Here lines become
//! numbers first, and one algorithm compares those. The result is the same.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::udiff::UnifiedHunkHeader;
use similar::{ChangeTag, DiffOp, DiffTag, DiffableStr, group_diff_ops};

/// Lines around a change.
const CONTEXT_LINES: usize = 3;

/// What stands where a text has no line break at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinalLineBreak {
    /// Nothing: it is not worth a line.
    AsIs,
    /// A line that says so.
    Marked,
}

/// The difference in lines, empty if there is none. After `time_max`, a longer one than necessary may
/// come of it.
pub fn unified(
    old: &str,
    new: &str,
    last_line: FinalLineBreak,
    time_max: Option<Duration>,
) -> String {
    let (old, new) = (old.tokenize_lines(), new.tokenize_lines());
    let mut text = String::new();
    for hunk in group_diff_ops(changes(&old, &new, time_max), CONTEXT_LINES) {
        if hunk.is_empty() {
            continue;
        }
        // Writing to a string cannot fail.
        writeln!(text, "{}", UnifiedHunkHeader::new(&hunk)).unwrap_or_default();
        for op in &hunk {
            let (tag, old_range, new_range) = op.as_tag_tuple();
            let (removed, added) = (&old[old_range], &new[new_range]);
            match tag {
                DiffTag::Equal => put(&mut text, ChangeTag::Equal, removed, last_line),
                DiffTag::Delete | DiffTag::Insert | DiffTag::Replace => {
                    put(&mut text, ChangeTag::Delete, removed, last_line);
                    put(&mut text, ChangeTag::Insert, added, last_line);
                }
            }
        }
    }
    text
}

fn put(text: &mut String, tag: ChangeTag, lines: &[&str], last_line: FinalLineBreak) {
    for line in lines {
        // Writing to a string cannot fail.
        write!(text, "{tag}{line}").unwrap_or_default();
        match (line.ends_with_newline(), last_line) {
            (true, _) => (),
            (false, FinalLineBreak::AsIs) => text.push('\n'),
            (false, FinalLineBreak::Marked) => text.push_str("\n\\ No newline at end of file\n"),
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long to look for a short diff decides nothing but its length"
)]
fn changes(old: &[&str], new: &[&str], time_max: Option<Duration>) -> Vec<DiffOp> {
    let mut numbers = HashMap::new();
    let (old, new) = (numbered(&mut numbers, old), numbered(&mut numbers, new));
    let deadline = time_max.and_then(|it| Instant::now().checked_add(it));
    let mut capture = Compact::new(Replace::new(Capture::new()), &old[..], &new[..]);
    let (n_old, n_new) = (old.len(), new.len());
    let compared: Result<(), Infallible> =
        myers::diff_deadline(&mut capture, &old[..], 0..n_old, &new[..], 0..n_new, deadline);
    match compared {
        Ok(()) => capture.into_inner().into_inner().into_ops(),
    }
}

/// A number for each line; equal lines have the same.
fn numbered<'a>(numbers: &mut HashMap<&'a str, usize>, lines: &[&'a str]) -> Vec<usize> {
    let number = |line: &&'a str| {
        let next = numbers.len();
        *numbers.entry(line).or_insert(next)
    };
    lines.iter().map(number).collect()
}

#[cfg(test)]
mod tests;
