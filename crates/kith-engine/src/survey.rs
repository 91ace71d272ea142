//! The whole tree of a session: every branch of the conversation, and where it may go on from.
//!
//! The state keeps what the next decision needs. A branch must start where a turn began or ended,
//! never in the middle of one, so the survey reads these boundaries from the whole log.

use std::collections::{HashMap, HashSet};
use std::iter;

use kith_vocab::event::{Body, Event};
use kith_vocab::ids::{EventId, LeafId};

use crate::state::State;
use crate::turn_tracker::{TurnChange, TurnTracker};

#[derive(Debug, Default)]
pub struct Survey {
    state: State,
    turns: TurnTracker,
    /// The messages that began a turn.
    beginnings: HashSet<EventId>,
    /// Where a turn ended, or the conversation was when one began.
    rests: HashSet<EventId>,
    /// Events that are not part of the conversation, with their types.
    controls: HashMap<EventId, &'static str>,
    /// Where each `leaf_moved` went.
    moves: HashMap<EventId, LeafId>,
}

/// Why one cannot go on from there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    #[error("the session has no event `{text}`")]
    NoEvent { text: String },
    #[error("several events of the session match `{text}`")]
    SeveralEvents { text: String },
    #[error("event `{id}` is of type `{type_name}`, which is not part of the conversation")]
    NotInTheTree { id: EventId, type_name: &'static str },
    #[error("the id `{id}` already belongs to another event")]
    IdInUse { id: EventId },
    #[error("the session has nothing to clone yet")]
    NothingToClone,
}

impl Survey {
    pub fn read(&mut self, event: &Event) {
        self.state.fold(event);
        if !event.is_tree() {
            self.controls.insert(event.id, event.body.type_name());
        }
        match self.turns.read(event) {
            Some(TurnChange::Begun) => {
                self.beginnings.insert(event.id);
                self.rests.extend(event.parent_id);
            }
            Some(TurnChange::Ended { .. }) => self.rests.extend(self.state.leaf()),
            _ => (),
        }
        if let Body::LeafMoved(_) = event.body {
            self.moves.insert(event.id, self.leaf());
        }
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    pub fn leaf(&self) -> LeafId {
        self.state.leaf().into()
    }

    /// The message that began the turn that is open.
    pub fn open_turn(&self) -> Option<EventId> {
        self.state.turn.as_ref().map(|turn| turn.began_with)
    }

    /// Where the `leaf_moved` of this id went, if the log holds it. Refuses the id of anything else.
    pub fn moved_by(&self, id: EventId) -> Result<Option<LeafId>, PlaceError> {
        match self.moves.get(&id) {
            Some(leaf) => Ok(Some(*leaf)),
            None if self.controls.contains_key(&id) || self.state.tree.get(id).is_some() => {
                Err(PlaceError::IdInUse { id })
            }
            None => Ok(None),
        }
    }

    /// The place that is meant by `start`, an event's id, or the beginning or end of one.
    pub fn find(&self, text: &str) -> Result<LeafId, PlaceError> {
        if let Ok(named) = text.parse::<LeafId>() {
            return self.check(named).map(|()| named);
        }
        let fitting = EventId::named_by(text, self.state.tree.events().map(|event| event.id));
        let shown = || text.chars().take(80).collect();
        match fitting.as_slice() {
            [id] => Ok(LeafId::Event(*id)),
            [_, _, ..] => Err(PlaceError::SeveralEvents { text: shown() }),
            [] => {
                let controls = EventId::named_by(text, self.controls.keys().copied());
                let control = controls.first().and_then(|id| self.controls.get_key_value(id));
                match control {
                    Some((&id, &type_name)) => Err(PlaceError::NotInTheTree { id, type_name }),
                    None => Err(PlaceError::NoEvent { text: shown() }),
                }
            }
        }
    }

    /// Refuses a place that is not in the tree.
    pub fn check(&self, place: LeafId) -> Result<(), PlaceError> {
        let LeafId::Event(id) = place else { return Ok(()) };
        if self.state.tree.get(id).is_some() {
            return Ok(());
        }
        Err(match self.controls.get(&id) {
            Some(&type_name) => PlaceError::NotInTheTree { id, type_name },
            None => PlaceError::NoEvent { text: id.to_string() },
        })
    }

    /// The turn boundary at or before the place. For a message that began a turn it is the boundary
    /// before it: naming a message means replacing it.
    pub fn boundary(&self, place: LeafId) -> LeafId {
        for event in self.up_from(place) {
            if self.beginnings.contains(&event.id) {
                return event.parent_id.into();
            }
            let waits_here = self.open_turn().is_none() && self.state.leaf() == Some(event.id);
            if waits_here || self.rests.contains(&event.id) {
                return LeafId::Event(event.id);
            }
        }
        LeafId::Start
    }

    /// Where the conversation waits; with a turn open, where it waited before that.
    pub fn resting_leaf(&self) -> LeafId {
        match self.open_turn() {
            None => self.leaf(),
            Some(began_with) => self.boundary(LeafId::Event(began_with)),
        }
    }

    /// The event at the place and those before it on its path, up to the root.
    // A parent stands before its child, so this ends.
    pub fn up_from(&self, place: LeafId) -> impl Iterator<Item = &Event> {
        let get = |id: Option<EventId>| id.and_then(|id| self.state.tree.get(id));
        iter::successors(get(place.event()), move |event| get(event.parent_id))
    }
}

#[cfg(test)]
mod tests;
