//! The lines that give a script its shape: headings of records, and fences.

use super::record_type::RecordType;
use super::script::{ScriptProblem, excerpt};

/// The kind of a line outside a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LineKind {
    Record(RecordType),
    /// It looks like a record and is none: read as a comment, it would silently lose one.
    Malformed(ScriptProblem),
    Fence,
    Comment,
}

pub(crate) fn classify(line: &str) -> LineKind {
    if open_fence(line).is_some() {
        return LineKind::Fence;
    }
    let trimmed = line.trim_start();
    let rest = trimmed.trim_start_matches('#');
    let level = trimmed.len() - rest.len();
    if level == 0 {
        return LineKind::Comment;
    }
    let words: Vec<String> = rest.split_whitespace().take(3).map(str::to_lowercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let has_form = level == 3 && trimmed.len() == line.len() && rest.starts_with([' ', '\t']);
    if has_form && let ["record", name] = words.as_slice() {
        return match RecordType::from_name(name) {
            Some(record_type) => LineKind::Record(record_type),
            None => LineKind::Malformed(ScriptProblem::UnknownType { found: excerpt(name) }),
        };
    }
    match meant(level, &words) {
        Some(expected) => {
            LineKind::Malformed(ScriptProblem::Heading { found: excerpt(line), expected })
        }
        None => LineKind::Comment,
    }
}

/// Headings of other programs for what a person says, and for what an agent does.
const HUMAN: [&str; 3] = ["user", "human", "用户"];
const AGENT: [&str; 2] = ["assistant", "助手"];

/// The heading that was meant, if a record was.
fn meant(level: usize, words: &[&str]) -> Option<String> {
    let heading = |name: &str| {
        let name = RecordType::from_name(name).map_or("<type>", RecordType::name);
        Some(format!("### record {name}"))
    };
    let is_type = |word: &str| word.ends_with("_record");
    match *words {
        [word] if level == 3 && HUMAN.contains(&word.trim_end_matches([':', '：'])) => {
            heading("human_text_record")
        }
        [word] if level == 3 && AGENT.contains(&word.trim_end_matches([':', '：'])) => {
            heading("agent_words_record")
        }
        [word] if is_type(word) => heading(word),
        [first, second, ..] if first == "record" && (level > 1 || is_type(second)) => {
            heading(second)
        }
        ["record"] if level > 1 => heading(""),
        // `### recrod func_call_record`
        [_, second] if is_type(second) => heading(second),
        _ => None,
    }
}

/// The fence that a line opens a block with: backticks or tildes, three or more.
pub(crate) fn open_fence(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|ch| matches!(ch, '`' | '~'))?;
    let rest = line.trim_start_matches(mark);
    let fence = &line[..line.len() - rest.len()];
    // "```like this```" is code inside a line, not a fence.
    let is_fence = fence.len() >= 3 && !(mark == '`' && rest.contains('`'));
    is_fence.then_some(fence)
}

#[cfg(test)]
mod tests;
