//! A log in the making: numbers, ids, times and parents are filled in as on a real one.

use kith_vocab::event::messages::{Author, Trust};
use kith_vocab::event::{Body, Event, SourceTag};
use kith_vocab::ids::EventId;

use crate::clock::{START, numbered_id};

/// Invariant: the events have consecutive numbers and unique ids, and the parent of each is an
/// earlier event of the tree.
#[derive(Clone, Debug)]
pub(crate) struct Sheet {
    pub(crate) events: Vec<Event>,
    pub(crate) leaf: Option<EventId>,
    pub(crate) now: u64,
    next_id: u64,
}

/// What an event has besides its body.
#[derive(Clone, Debug, Default)]
pub(crate) struct Envelope {
    /// A fresh one unless given.
    pub(crate) id: Option<EventId>,
    pub(crate) ingress_key: Option<String>,
    pub(crate) source_tag: Option<SourceTag>,
}

impl Sheet {
    pub(crate) fn new() -> Sheet {
        Sheet { events: Vec::new(), leaf: None, now: START, next_id: 1 }
    }

    pub(crate) fn new_id(&mut self) -> EventId {
        let id = EventId::from_uuid(numbered_id(START, self.next_id));
        self.next_id += 1;
        id
    }

    pub(crate) fn push_as(&mut self, envelope: Envelope, body: Body) -> EventId {
        let id = envelope.id.unwrap_or_else(|| self.new_id());
        let is_tree = body.is_tree();
        self.now += 1;
        self.events.push(Event {
            seq: self.events.len() as u64 + 1,
            id,
            ts: self.now,
            client_id: "test".to_owned(),
            ingress_key: envelope.ingress_key,
            parent_id: if is_tree { self.leaf } else { None },
            source_tag: envelope.source_tag,
            body,
        });
        if is_tree {
            self.leaf = Some(id);
        }
        id
    }
}

pub(crate) fn owner() -> Author {
    Author { user_id: "owner".to_owned(), display_name: "Owner".to_owned() }
}

pub(crate) const OWNER_TRUST: Trust = Trust::Owner;
