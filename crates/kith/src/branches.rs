//! The tree of a session as a person at a terminal sees it: a line for each turn.
//!
//! The current branch stays at the margin; every other branch is drawn beside the turn it starts
//! from. The id on a line names the end of its turn: a branch to it continues after that turn.

use std::collections::HashMap;

use kith_host::calls::tree::{TreeNode, TreeView};
use kith_host::words::short_event;
use kith_vocab::ids::EventId;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Maximum width of a line, in columns.
const LINE_COLUMNS_MAX: usize = 100;
/// Maximum depth to which branches of branches are indented; deeper ones stand below each other.
const DEPTH_MAX: usize = 12;

/// A stretch of the conversation without a fork: one turn, or a part of one.
struct Stretch<'a> {
    nodes: Vec<&'a TreeNode>,
    next: Vec<usize>,
}

/// A stretch that is still to be drawn.
struct PendingStretch {
    stretch: usize,
    /// The prefix of its lines, and of its first line.
    margin: String,
    lead: String,
    depth: usize,
}

/// The lines of the tree, from its beginning.
pub(crate) fn drawn(view: &TreeView) -> Vec<String> {
    let (stretches, beginnings) = stretches_of(view);
    let mut lines = vec![line("", view.leaf.is_none(), true, "start", "")];
    let mut waiting = Vec::new();
    push_ways(&mut waiting, &stretches, &beginnings, "", 0);
    while let Some(PendingStretch { stretch, margin, lead, depth }) = waiting.pop() {
        let stretch = &stretches[stretch];
        let (Some(last), words) = (stretch.nodes.last(), words_of(&stretch.nodes)) else {
            continue;
        };
        let is_here = view.leaf == Some(last.event_id);
        lines.push(line(&lead, is_here, last.on_path, &short_event(last.event_id), &words));
        push_ways(&mut waiting, &stretches, &stretch.next, &margin, depth);
    }
    lines
}

/// Adds the branches from a place. The one that stays at the margin comes last.
fn push_ways(
    waiting: &mut Vec<PendingStretch>,
    stretches: &[Stretch<'_>],
    next: &[usize],
    margin: &str,
    depth: usize,
) {
    let on_path = |way: &&usize| stretches[**way].nodes.first().is_some_and(|node| node.on_path);
    let Some(&main) = next.iter().find(on_path).or(next.last()) else { return };
    let (margin, lead) = (margin.to_owned(), margin.to_owned());
    let beside = if depth < DEPTH_MAX { format!("{margin}│ ") } else { margin.clone() };
    let lead_beside = if depth < DEPTH_MAX { format!("{margin}├─") } else { margin.clone() };
    waiting.push(PendingStretch { stretch: main, margin, lead, depth });
    for &way in next.iter().rev().filter(|way| **way != main) {
        let (margin, lead) = (beside.clone(), lead_beside.clone());
        waiting.push(PendingStretch { stretch: way, margin, lead, depth: depth + 1 });
    }
}

fn line(lead: &str, is_here: bool, on_path: bool, name: &str, words: &str) -> String {
    let mark = if on_path { "●" } else { "○" };
    let here = if is_here { "  <- here" } else { "" };
    let begin = format!("{lead}{mark} {name}");
    let gap = if words.is_empty() { "" } else { "  " };
    let taken = begin.width() + gap.width() + here.width();
    format!("{begin}{gap}{}{here}", fitted(words, LINE_COLUMNS_MAX.saturating_sub(taken)))
}

/// The question and the outcome of a turn.
fn words_of(nodes: &[&TreeNode]) -> String {
    let said = |node: &&&TreeNode, kind: &str| node.kind == kind && !node.text.is_empty();
    let asked = nodes.iter().find(|node| said(node, USER_MESSAGE));
    let answered = nodes.iter().rev().find(|node| said(node, "assistant_message"));
    match (asked, answered) {
        (Some(asked), Some(answered)) => {
            // Half of the width for each, so that both are seen.
            let asked = fitted(&asked.text, LINE_COLUMNS_MAX / 2);
            format!("{asked} -> {}", answered.text)
        }
        (Some(only), None) | (None, Some(only)) => only.text.clone(),
        (None, None) => {
            let kind = nodes.first().map(|node| node.kind.replace('_', " "));
            format!("({})", kind.unwrap_or_default())
        }
    }
}

const USER_MESSAGE: &str = "user_message";

/// The stretches in the order of the log, and those that begin at the start.
fn stretches_of(view: &TreeView) -> (Vec<Stretch<'_>>, Vec<usize>) {
    let mut n_children: HashMap<Option<EventId>, usize> = HashMap::new();
    for node in &view.nodes {
        *n_children.entry(node.parent_id).or_default() += 1;
    }
    let mut stretches: Vec<Stretch<'_>> = Vec::new();
    let mut beginnings = Vec::new();
    let mut place_of: HashMap<EventId, (usize, &str)> = HashMap::new();
    for node in &view.nodes {
        let before = node.parent_id.and_then(|id| place_of.get(&id)).copied();
        let begins_a_turn =
            node.kind == USER_MESSAGE && before.is_none_or(|(_, kind)| kind != USER_MESSAGE);
        let is_fork = n_children.get(&node.parent_id).is_some_and(|n| *n > 1);
        let place = match before {
            Some((place, _)) if !begins_a_turn && !is_fork && view.leaf != node.parent_id => {
                stretches[place].nodes.push(node);
                place
            }
            _ => {
                let place = stretches.len();
                match before {
                    Some((before, _)) => stretches[before].next.push(place),
                    None => beginnings.push(place),
                }
                stretches.push(Stretch { nodes: vec![node], next: Vec::new() });
                place
            }
        };
        place_of.insert(node.event_id, (place, &node.kind));
    }
    (stretches, beginnings)
}

/// The beginning of the text that fits, with `…` if something is left out.
pub(crate) fn fitted(text: &str, columns_max: usize) -> String {
    if text.width() <= columns_max {
        return text.to_owned();
    }
    let mut fitted = String::new();
    let mut taken = 1;
    for ch in text.chars() {
        taken += ch.width().unwrap_or(1);
        if taken > columns_max {
            break;
        }
        fitted.push(ch);
    }
    format!("{}…", fitted.trim_end())
}

#[cfg(test)]
mod tests;
