//! A turn that has ended.

use kith_vocab::event::messages::{Author, Trust};
use kith_vocab::event::models::ModelRef;
use kith_vocab::ids::EventId;
use serde::{Deserialize, Serialize};

/// A turn that has ended, as far as taking it up again needs it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedTurn {
    pub began_with: EventId,
    /// The inbox row of that message.
    pub message_key: Option<String>,
    pub author: Author,
    pub trust: Trust,
    pub models: Vec<ModelRef>,
}
