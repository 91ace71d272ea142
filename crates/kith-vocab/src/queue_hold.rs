//! Whether what is queued waits until a person acts.

use serde::{Deserialize, Serialize};

use crate::event::control::EndReason;
use crate::event::{Body, Event};

/// After a turn that did not end well, nothing of the queue is taken until a person acts: they speak
/// and are answered, retry the turn, or let the queue go on. A turn that nobody attends releases
/// nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueHold {
    is_held: bool,
    /// Whether a person began the open turn, or spoke while it ran.
    has_person: bool,
    turn_start: u64,
}

impl QueueHold {
    pub fn is_held(&self) -> bool {
        self.is_held
    }

    /// Reads an event that was lived.
    pub fn read(&mut self, event: &Event) {
        match &event.body {
            Body::TurnStarted(it) => {
                (self.has_person, self.turn_start) = (it.attended, event.ts);
            }
            // From a queue that is held only a person's command takes an item.
            Body::UserMessage(it) if it.queue_item_id.is_some() => self.is_held = false,
            Body::QueueUpdate(it) => {
                let is_new_word = |created_at: u64| created_at >= self.turn_start;
                self.has_person |=
                    it.items.iter().any(|item| item.attended && is_new_word(item.created_at));
            }
            Body::TurnEnded(it) => {
                let ended_well = it.reason == EndReason::Done;
                self.is_held = !ended_well || self.is_held && !self.has_person;
            }
            _ => (),
        }
    }
}
