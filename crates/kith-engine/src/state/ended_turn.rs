//! A turn that has ended.

use kith_vocab::event::Event;
use kith_vocab::event::messages::{Author, Trust, UserMessage};
use kith_vocab::event::models::ModelRef;
use kith_vocab::ids::EventId;
use serde::{Deserialize, Serialize};

/// A turn that has ended, with everything that a retry needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedTurn {
    pub began_with: EventId,
    /// The inbox row of that message.
    pub message_key: Option<String>,
    pub author: Author,
    pub trust: Trust,
    pub models: Vec<ModelRef>,
    /// The tag of the language in which people were told of it.
    pub language: String,
}

impl EndedTurn {
    pub(super) fn begun_by(event: &Event, message: &UserMessage) -> EndedTurn {
        EndedTurn {
            began_with: event.id,
            message_key: event.ingress_key.clone(),
            author: message.author.clone(),
            trust: message.trust,
            models: Vec::new(),
            language: String::new(),
        }
    }
}
