//! The conversation tree: every message that was ever part of the session, and where it now ends.

use std::collections::HashMap;
use std::iter;

use kith_vocab::event::Event;
use kith_vocab::ids::EventId;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    nodes: Vec<Node>,
    places: HashMap<EventId, usize>,
    leaf: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub event: Event,
    /// Decided when the event was read; a path that is walked again must not decide it anew.
    pub admission: Admission,
    parent: Option<usize>,
}

/// How an event entered the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// As a message, or not at all when there is nothing in it for the model.
    Plain,
    /// A reminder that joined the text of a tool result.
    Joined,
    /// A result that came too late: the model had been told something else.
    Late,
}

impl Tree {
    /// Adds the event as the new leaf. An id that is there already is not added again.
    pub(super) fn add(&mut self, event: &Event) -> bool {
        let place = self.nodes.len();
        if self.places.contains_key(&event.id) {
            return false;
        }
        self.places.insert(event.id, place);
        let parent = event.parent_id.and_then(|id| self.places.get(&id).copied());
        self.nodes.push(Node { event: event.clone(), admission: Admission::Plain, parent });
        self.leaf = Some(place);
        true
    }

    pub(super) fn settle_leaf(&mut self, admission: Admission) {
        if let Some(node) = self.leaf.and_then(|leaf| self.nodes.get_mut(leaf)) {
            node.admission = admission;
        }
    }

    /// False if there is no such event.
    pub(super) fn move_leaf(&mut self, to: Option<EventId>) -> bool {
        match to.map(|id| self.places.get(&id).copied()) {
            None => self.leaf = None,
            Some(Some(place)) => self.leaf = Some(place),
            Some(None) => return false,
        }
        true
    }

    pub fn leaf(&self) -> Option<EventId> {
        self.leaf.and_then(|leaf| self.nodes.get(leaf)).map(|node| node.event.id)
    }

    /// The nodes from root to leaf.
    pub fn path(&self) -> Vec<&Node> {
        let mut path: Vec<&Node> = self.climb().collect();
        path.reverse();
        path
    }

    /// The events from leaf to root.
    pub fn from_leaf(&self) -> impl Iterator<Item = &Event> {
        self.climb().map(|node| &node.event)
    }

    // A parent stands before its child, so the climb ends.
    fn climb(&self) -> impl Iterator<Item = &Node> {
        let at = |place: Option<usize>| place.and_then(|place| self.nodes.get(place));
        iter::successors(at(self.leaf), move |node| at(node.parent))
    }

    /// Every event there ever was, in the order of the log.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.nodes.iter().map(|node| &node.event)
    }
}
