//! Requests as types.
//!
//! A request is declared once, as a type that implements [`Call`], and handled once, by the
//! function registered for it in [`crate::routes`]. The command line and the socket both go
//! through the same router, so a new request needs no change to either.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use kith_vocab::clock::BoxFuture;
use kith_vocab::json::Json;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::error::{CallError, ErrorCode};

/// What travels: a request, an item of a follow, or an answer.
pub trait Payload: Serialize + DeserializeOwned + JsonSchema + Send + 'static {}

impl<T: Serialize + DeserializeOwned + JsonSchema + Send + 'static> Payload for T {}

/// A request that is answered once.
pub trait Call: Payload + Clone + Sync {
    /// The name on the wire.
    const NAME: &'static str;
    const ACCESS: Access;
    type Answer: Payload;

    /// Notes that a host has the call: another one that gets it is asked again.
    fn note_asked(&mut self) {}

    /// Notes an item that came, so that the call, asked again of another host, goes on after it.
    fn note_item(&mut self, _item: &dyn Any) {}
}

/// A call whose answer comes after any number of items.
pub trait Follow: Call {
    type Item: Payload;
}

/// Makes a type a call: its access, its name on the wire, its answer and, of a follow, its items.
macro_rules! call {
    ($access:ident $name:literal, $call:ty => $answer:ty $(, items $item:ty)?) => {
        impl crate::call::Call for $call {
            const NAME: &'static str = $name;
            const ACCESS: crate::call::Access = crate::call::Access::$access;
            type Answer = $answer;
        }
        $(impl crate::call::Follow for $call {
            type Item = $item;
        })?
    };
}
pub(crate) use call;

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

/// What a call comes to.
pub type Reply<T> = Result<Response<T>, CallError>;

/// How an item that is not waited for reaches a client that is slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It must arrive: a client without room for it is let go.
    Certain,
    /// It is lost on a client without room for it.
    IfRoom,
    /// The sender's thread waits until there is room.
    Paced,
}

/// Why an item was not delivered.
#[derive(Debug)]
pub enum Undelivered {
    /// The client took nothing for so long that its connection is being closed.
    Stalled,
    /// The client has left.
    Gone,
    /// It can never arrive.
    Refused(CallError),
}

impl From<Undelivered> for CallError {
    fn from(why: Undelivered) -> CallError {
        match why {
            Undelivered::Stalled => {
                let message = "the client stopped reading";
                CallError::request(ErrorCode::RuntimeBusy, message).hint("try again")
            }
            Undelivered::Gone => CallError::stopped("the client disconnected"),
            Undelivered::Refused(error) => error,
        }
    }
}

type Push<I> = dyn Fn(I, Delivery) -> Result<(), CallError> + Send + Sync;
type SendPaced<I> = dyn Fn(I) -> BoxFuture<'static, Result<(), Undelivered>> + Send + Sync;

/// Takes the items of a follow, and may stop it. A clone is the same client.
pub struct Follower<I> {
    push: Arc<Push<I>>,
    send: Arc<SendPaced<I>>,
    /// The client wants no more of it.
    pub cancel: CancellationToken,
    /// The client has left, which stops nothing but what is only for it.
    pub gone: CancellationToken,
}

impl<I> Clone for Follower<I> {
    fn clone(&self) -> Follower<I> {
        let (push, send) = (Arc::clone(&self.push), Arc::clone(&self.send));
        Follower { push, send, cancel: self.cancel.clone(), gone: self.gone.clone() }
    }
}

impl<I: 'static> Follower<I> {
    /// Takes every item at once.
    pub fn new(
        take: impl Fn(I, Delivery) -> Result<(), CallError> + Send + Sync + 'static,
        cancel: CancellationToken,
    ) -> Follower<I> {
        let push: Arc<Push<I>> = Arc::new(take);
        let take = Arc::clone(&push);
        let send = move |item| -> BoxFuture<'static, _> {
            let taken = take(item, Delivery::Certain).map_err(Undelivered::Refused);
            Box::pin(std::future::ready(taken))
        };
        Follower { push, send: Arc::new(send), cancel, gone: CancellationToken::new() }
    }

    /// Wants no items and never stops anything.
    pub fn none() -> Follower<I> {
        Follower::new(|_, _| Ok(()), CancellationToken::new())
    }

    /// The same client, who may have no room for an item and may leave.
    #[must_use]
    pub(crate) fn with_room(
        mut self,
        send: impl Fn(I) -> BoxFuture<'static, Result<(), Undelivered>> + Send + Sync + 'static,
        gone: CancellationToken,
    ) -> Follower<I> {
        (self.send, self.gone) = (Arc::new(send), gone);
        self
    }

    /// Hands over an item without waiting; refused if it can never arrive.
    pub fn push(&self, item: I, delivery: Delivery) -> Result<(), CallError> {
        (self.push)(item, delivery)
    }

    /// Hands over an item when the client has room for it.
    pub async fn send(&self, item: I) -> Result<(), Undelivered> {
        (self.send)(item).await
    }
}

impl Follower<Json> {
    /// The same client as one who takes items of this type.
    pub(crate) fn taking<I: Payload>(self) -> Follower<I> {
        let Follower { push, send, cancel, gone } = self;
        Follower::new(move |item, delivery| push(Json::of(&item), delivery), cancel)
            .with_room(move |item| send(Json::of(&item)), gone)
    }
}

impl<I> fmt::Debug for Follower<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follower").finish_non_exhaustive()
    }
}
