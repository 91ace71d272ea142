//! The events on the path of the conversation, and the forks along it.
//!
//! Events on other branches are not shown, as the model does not get them either. Only their number
//! is.

use std::collections::{HashMap, HashSet};

use kith_vocab::event::{Body, Event};
use kith_vocab::ids::EventId;

/// One entry of a transcript.
pub(crate) enum TranscriptPart<'a> {
    Event(&'a Event),
    /// The number of other branches from here.
    Fork {
        n_others: usize,
    },
}

/// The events from root to leaf, the control events written along that path, and the forks.
pub(crate) fn along(events: &[Event], leaf: Option<EventId>) -> Vec<TranscriptPart<'_>> {
    let mut n_children: HashMap<Option<EventId>, usize> = HashMap::new();
    let mut parents: HashMap<EventId, Option<EventId>> = HashMap::new();
    for event in events.iter().filter(|event| event.is_tree()) {
        *n_children.entry(event.parent_id).or_default() += 1;
        parents.insert(event.id, event.parent_id);
    }
    let mut path = HashSet::new();
    let mut at = leaf;
    while let Some(id) = at {
        // A parent stands before its child, so this ends; the check is for logs that break this rule.
        if !path.insert(id) {
            break;
        }
        at = parents.get(&id).copied().flatten();
    }
    let n_ways = |from: Option<EventId>| n_children.get(&from).copied().unwrap_or_default();
    let mut shown = Vec::new();
    let mut at = None;
    for event in events {
        match &event.body {
            Body::LeafMoved(moved) => at = moved.to,
            _ if event.is_tree() => {
                at = Some(event.id);
                if !path.contains(&event.id) {
                    continue;
                }
                if n_ways(event.parent_id) > 1 {
                    shown.push(TranscriptPart::Fork { n_others: n_ways(event.parent_id) - 1 });
                }
                shown.push(TranscriptPart::Event(event));
            }
            _ if at.is_none_or(|id| path.contains(&id)) => shown.push(TranscriptPart::Event(event)),
            _ => (),
        }
    }
    if n_ways(leaf) > 0 {
        shown.push(TranscriptPart::Fork { n_others: n_ways(leaf) });
    }
    shown
}
