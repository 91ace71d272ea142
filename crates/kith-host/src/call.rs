//! Requests as types.
//!
//! A request is declared once, as a type that implements [`Call`], and handled once, by the
//! function registered for it in [`crate::routes`]. The command line and the socket both go
//! through the same router, so a new request needs no change to either.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::error::CallError;

/// What travels: a request, an item of a follow, or an answer.
pub trait Payload: Serialize + DeserializeOwned + JsonSchema + Send + 'static {}

impl<T: Serialize + DeserializeOwned + JsonSchema + Send + 'static> Payload for T {}

/// A request that is answered once.
pub trait Call: Payload + Clone + Sync {
    /// The name on the wire.
    const NAME: &'static str;
    const ACCESS: Access;
    type Answer: Payload;
}

/// A call whose answer comes after any number of items.
pub trait Follow: Call {
    type Item: Payload;
}

/// Whether a call can be answered without becoming the writer of the house.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
}

impl Access {
    pub const fn is(self, other: Access) -> bool {
        matches!((self, other), (Access::Read, Access::Read) | (Access::Write, Access::Write))
    }
}

/// The answer to a call, and what a person should know besides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Response<T> {
    pub data: T,
    pub notes: Vec<String>,
}

impl<T> Response<T> {
    pub fn new(data: T) -> Response<T> {
        Response { data, notes: Vec::new() }
    }

    #[must_use]
    pub fn with_notes(mut self, notes: impl IntoIterator<Item = String>) -> Response<T> {
        self.notes.extend(notes);
        self
    }
}

/// How an item reaches a client that is slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It must arrive: a client without room for it is let go.
    Certain,
    /// It is lost on a client without room for it.
    IfRoom,
    /// The sender waits until there is room.
    Paced,
}

/// Takes the items of a follow, and may stop it.
#[derive(Clone)]
pub struct Follower<I> {
    take: Arc<dyn Fn(I, Delivery) -> Result<(), CallError> + Send + Sync>,
    pub cancel: CancellationToken,
}

impl<I> Follower<I> {
    pub fn new(
        take: impl Fn(I, Delivery) -> Result<(), CallError> + Send + Sync + 'static,
        cancel: CancellationToken,
    ) -> Follower<I> {
        Follower { take: Arc::new(take), cancel }
    }

    /// Wants no items and never stops anything.
    pub fn none() -> Follower<I> {
        Follower::new(|_, _| Ok(()), CancellationToken::new())
    }

    /// Hands over an item; refused if it can never arrive.
    pub fn push(&self, item: I, delivery: Delivery) -> Result<(), CallError> {
        (self.take)(item, delivery)
    }
}

impl<I> fmt::Debug for Follower<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follower").finish_non_exhaustive()
    }
}
