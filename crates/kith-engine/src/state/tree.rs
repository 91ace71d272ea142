//! The conversation tree: the messages of the session, and where it now ends.
//!
//! After a compaction the model no longer sees what came before the kept tail, so an open session
//! need not hold it: trimming drops it. If the conversation then moves to a dropped event, the tree
//! says that it cannot follow, and the log is read again.

use std::collections::HashMap;
use std::iter;

use kith_vocab::event::messages::Trust;
use kith_vocab::event::{Body, Event};
use kith_vocab::ids::EventId;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredTree", into = "StoredTree")]
pub struct Tree {
    nodes: Vec<Node>,
    places: HashMap<EventId, usize>,
    leaf: Option<usize>,
    /// Earlier events were dropped.
    trimmed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    pub event: Event,
    /// Decided when the event was read; a path that is walked again must not decide it anew.
    pub admission: Admission,
    parent: Option<usize>,
    /// The lowest trust from the root to here. It stays when what it came from is compacted or let
    /// go: a summary of a stranger's words is no more the owner's than the words were.
    trust: Trust,
}

/// How an event entered the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Admission {
    /// As a message, or not at all when there is nothing in it for the model.
    Plain,
    /// A reminder that joined the text of a tool result.
    Joined,
    /// A result that came too late: the model had been told something else.
    Late,
}

/// The result of moving to an event of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    Done,
    /// There is no such place.
    Nowhere,
    /// There may be one, but it was dropped.
    Unknown,
}

impl Tree {
    /// Adds the event as the new leaf. An id that is there already is not added again.
    pub(super) fn add(&mut self, event: &Event) -> Move {
        let place = self.nodes.len();
        if self.places.contains_key(&event.id) {
            return Move::Nowhere;
        }
        let parent = event.parent_id.and_then(|id| self.places.get(&id).copied());
        if self.trimmed && parent.is_none() && event.parent_id.is_some() {
            return Move::Unknown;
        }
        self.places.insert(event.id, place);
        let before = parent.and_then(|place| self.nodes.get(place));
        let trust = before.map_or(Trust::Owner, |node| node.trust).max(trust_in(&event.body));
        self.nodes.push(Node { event: event.clone(), admission: Admission::Plain, parent, trust });
        // Growing at the leaf needs nothing that was not there before, unless it is compacted anew.
        let grows = self.leaf == parent && !matches!(event.body, Body::Compact(_));
        self.leaf = Some(place);
        if grows || self.suffices() { Move::Done } else { Move::Unknown }
    }

    pub(super) fn set_leaf_admission(&mut self, admission: Admission) {
        if let Some(node) = self.leaf.and_then(|leaf| self.nodes.get_mut(leaf)) {
            node.admission = admission;
        }
    }

    pub(super) fn move_leaf(&mut self, to: Option<EventId>) -> Move {
        match to.map(|id| self.places.get(&id).copied()) {
            None => self.leaf = None,
            Some(Some(place)) => self.leaf = Some(place),
            Some(None) if self.trimmed => return Move::Unknown,
            Some(None) => return Move::Nowhere,
        }
        if self.suffices() { Move::Done } else { Move::Unknown }
    }

    /// Drops the events before the tail that the last compaction kept.
    pub(super) fn trim(&mut self) {
        let first = self.first_kept().and_then(|id| self.places.get(&id).copied());
        let Some(first) = first.filter(|first| *first > 0) else { return };
        self.nodes.drain(..first);
        let moved = |place: usize| place.checked_sub(first);
        for node in &mut self.nodes {
            node.parent = node.parent.and_then(moved);
        }
        self.leaf = self.leaf.and_then(moved);
        self.trimmed = true;
        self.places = places_of(&self.nodes);
    }

    /// The event at which the last compaction's kept tail begins, if the path holds it.
    fn first_kept(&self) -> Option<EventId> {
        let wanted = self.from_leaf().find_map(|event| match &event.body {
            Body::Compact(it) => Some(it.first_kept_event_id),
            _ => None,
        })?;
        self.from_leaf().map(|event| event.id).find(|id| *id == wanted)
    }

    /// Whether the held part of the path is all the conversation needs.
    fn suffices(&self) -> bool {
        let top = self.climb().last();
        let begins_here = top.is_none_or(|node| node.event.parent_id.is_none());
        !self.trimmed || begins_here || self.first_kept().is_some()
    }

    pub fn leaf(&self) -> Option<EventId> {
        self.leaf.and_then(|leaf| self.nodes.get(leaf)).map(|node| node.event.id)
    }

    /// The lowest trust of anything from root to leaf.
    pub(super) fn lowest_trust(&self) -> Trust {
        self.climb().next().map_or(Trust::Owner, |node| node.trust)
    }

    /// Every event that is held, in the order of the log, whichever way the conversation took.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.nodes.iter().map(|node| &node.event)
    }

    pub fn get(&self, id: EventId) -> Option<&Event> {
        self.places.get(&id).and_then(|place| self.nodes.get(*place)).map(|node| &node.event)
    }

    /// The nodes from root to leaf, as far as they are held.
    pub fn path(&self) -> Vec<&Node> {
        let mut path: Vec<&Node> = self.climb().collect();
        path.reverse();
        path
    }

    /// The events from leaf to root, as far as they are held.
    pub fn from_leaf(&self) -> impl Iterator<Item = &Event> {
        self.climb().map(|node| &node.event)
    }

    // A parent stands before its child, so the climb ends.
    fn climb(&self) -> impl Iterator<Item = &Node> {
        let at = |place: Option<usize>| place.and_then(|place| self.nodes.get(place));
        iter::successors(at(self.leaf), move |node| at(node.parent))
    }
}

fn trust_in(body: &Body) -> Trust {
    match body {
        Body::UserMessage(it) => it.trust,
        Body::ToolResult(it) => it.trust,
        Body::HarnessItem(it) => it.trust,
        _ => Trust::Owner,
    }
}

fn places_of(nodes: &[Node]) -> HashMap<EventId, usize> {
    nodes.iter().enumerate().map(|(place, node)| (node.event.id, place)).collect()
}

/// A tree as it is stored: the places follow from the nodes.
#[derive(Serialize, Deserialize)]
struct StoredTree {
    nodes: Vec<Node>,
    leaf: Option<usize>,
    trimmed: bool,
}

impl From<Tree> for StoredTree {
    fn from(tree: Tree) -> StoredTree {
        StoredTree { nodes: tree.nodes, leaf: tree.leaf, trimmed: tree.trimmed }
    }
}

impl From<StoredTree> for Tree {
    fn from(kept: StoredTree) -> Tree {
        let places = places_of(&kept.nodes);
        Tree { nodes: kept.nodes, places, leaf: kept.leaf, trimmed: kept.trimmed }
    }
}
