//! A call without its types, for code that is the same for every call.
//!
//! Finding a host, becoming one, waiting for it and reading its frames needs only the name and the
//! text of a call. With the types in it, the compiler would make one copy of all that for each call
//! there is, which is what the program would mostly consist of.

use std::any::Any;
use std::sync::Arc;

use kith_vocab::clock::BoxFuture;
use kith_vocab::json::Json;
use tokio_util::sync::CancellationToken;

use crate::call::{Access, Call, Follower, Payload, Reply, Response, Undelivered};
use crate::caller::Caller;
use crate::error::CallError;
use crate::host::Host;
use crate::routes;

/// The [`Response`] to a call, of the type that only the call knows.
pub(crate) type AnyResponse = Box<dyn Any + Send>;

/// A call and who takes its items, without their types.
pub(crate) trait AnyCall: Send {
    fn name(&self) -> &'static str;
    fn access(&self) -> Access;
    /// Whoever made the call wants no more of it.
    fn cancel(&self) -> &CancellationToken;
    fn body(&self) -> Json;
    fn note_asked(&mut self);
    /// Notes an item that came as text, and hands it on when there is room.
    fn take_item(
        &mut self,
        item: &Json,
    ) -> serde_json::Result<BoxFuture<'_, Result<(), Undelivered>>>;
    /// Reads a response that came as text.
    fn read_response(&self, data: &Json, notes: Vec<String>) -> serde_json::Result<AnyResponse>;
    /// Has the host in this process answer.
    fn answer_by(
        &self,
        host: &Arc<Host>,
        caller: Caller,
    ) -> BoxFuture<'static, Result<AnyResponse, CallError>>;
}

/// A call with its types. `I` is the item of a follow, else `()`.
pub(crate) struct TypedCall<'a, C, I> {
    pub(crate) call: &'a mut C,
    pub(crate) follower: &'a Follower<I>,
}

impl<C: Call, I: Payload> TypedCall<'_, C, I> {
    /// The response with its type.
    pub(crate) fn typed(response: AnyResponse) -> Reply<C::Answer> {
        let typed = response.downcast::<Response<C::Answer>>();
        typed.map(|it| *it).map_err(|_| {
            CallError::bug(format!("`{}` was answered with the type of another call", C::NAME))
        })
    }
}

impl<C: Call, I: Payload> AnyCall for TypedCall<'_, C, I> {
    fn name(&self) -> &'static str {
        C::NAME
    }

    fn access(&self) -> Access {
        C::ACCESS
    }

    fn cancel(&self) -> &CancellationToken {
        &self.follower.cancel
    }

    fn body(&self) -> Json {
        Json::of(&*self.call)
    }

    fn note_asked(&mut self) {
        self.call.note_asked();
    }

    fn take_item(
        &mut self,
        item: &Json,
    ) -> serde_json::Result<BoxFuture<'_, Result<(), Undelivered>>> {
        let item: I = item.read()?;
        self.call.note_item(&item);
        Ok(Box::pin(self.follower.send(item)))
    }

    fn read_response(&self, data: &Json, notes: Vec<String>) -> serde_json::Result<AnyResponse> {
        Ok(Box::new(Response { data: data.read::<C::Answer>()?, notes }))
    }

    fn answer_by(
        &self,
        host: &Arc<Host>,
        caller: Caller,
    ) -> BoxFuture<'static, Result<AnyResponse, CallError>> {
        let answer = routes::answer(host, caller, self.call.clone(), self.follower.clone());
        Box::pin(async move {
            let response: AnyResponse = Box::new(answer.await?);
            Ok(response)
        })
    }
}
