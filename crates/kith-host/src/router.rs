//! Finds the function that answers a call.
//!
//! A call of this process is handed over as it is; one that came as text is read by its own type
//! first, and its answer written by its own type.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use kith_vocab::clock::BoxFuture;
use kith_vocab::json::Json;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::call::{Access, Call, Follow, Follower, Payload, Reply, Response};
use crate::caller::Caller;
use crate::error::CallError;

/// What calls of one kind of access are answered with.
pub trait Side: Send + Sync + 'static {
    const ACCESS: Access;
}

type Answering<T> = BoxFuture<'static, Reply<T>>;

type RawRoute<S> =
    Box<dyn Fn(Arc<S>, Caller, &Json, Follower<Json>) -> Answering<Json> + Send + Sync>;

type TypedAnswer<S, C, I> =
    Box<dyn Fn(Arc<S>, Caller, C, Follower<I>) -> Answering<<C as Call>::Answer> + Send + Sync>;

/// A route with its types, for calls of this process.
struct TypedRoute<S, C: Call, I> {
    answer: TypedAnswer<S, C, I>,
}

struct Route<S> {
    raw: RawRoute<S>,
    /// A [`TypedRoute`] behind an `Arc`.
    typed: Box<dyn Any + Send + Sync>,
    schemas: fn(&mut SchemaGenerator) -> CallSchema,
}

/// The forms of a call.
#[derive(Clone, Debug)]
pub struct CallSchema {
    pub name: &'static str,
    pub access: Access,
    pub body: Schema,
    pub item: Option<Schema>,
    pub answer: Schema,
}

pub struct Router<S> {
    routes: BTreeMap<&'static str, Route<S>>,
}

impl<S> Default for Router<S> {
    fn default() -> Router<S> {
        Router { routes: BTreeMap::new() }
    }
}

impl<S: Side> Router<S> {
    /// Answers a call with this function, whoever makes it.
    #[must_use]
    pub fn on<C, F, Fut>(self, answer: F) -> Router<S>
    where
        C: Call,
        F: Fn(Arc<S>, C) -> Fut + Send + Sync + Copy + 'static,
        Fut: Future<Output = Reply<C::Answer>> + Send + 'static,
    {
        self.on_caller(move |side, _, call| answer(side, call))
    }

    /// Answers a call with this function.
    #[must_use]
    pub fn on_caller<C, F, Fut>(self, answer: F) -> Router<S>
    where
        C: Call,
        F: Fn(Arc<S>, Caller, C) -> Fut + Send + Sync + Copy + 'static,
        Fut: Future<Output = Reply<C::Answer>> + Send + 'static,
    {
        let schemas = |generator: &mut SchemaGenerator| schemas::<C>(generator, None);
        self.add::<C, ()>(
            Box::new(move |side, caller, call, _| Box::pin(answer(side, caller, call))),
            schemas,
        )
    }

    /// Answers a call that has items with this function.
    #[must_use]
    pub fn on_follow<C, F, Fut>(self, answer: F) -> Router<S>
    where
        C: Follow,
        F: Fn(Arc<S>, Caller, C, Follower<C::Item>) -> Fut + Send + Sync + Copy + 'static,
        Fut: Future<Output = Reply<C::Answer>> + Send + 'static,
    {
        let schemas = |generator: &mut SchemaGenerator| {
            let item = <C::Item as JsonSchema>::json_schema(generator);
            schemas::<C>(generator, Some(item))
        };
        self.add::<C, C::Item>(
            Box::new(move |side, caller, call, follower| {
                Box::pin(answer(side, caller, call, follower))
            }),
            schemas,
        )
    }

    fn add<C: Call, I: Payload>(
        mut self,
        answer: TypedAnswer<S, C, I>,
        schemas: fn(&mut SchemaGenerator) -> CallSchema,
    ) -> Router<S> {
        const { assert!(C::ACCESS.is(S::ACCESS), "the call is answered by the other side") };
        let typed = Arc::new(TypedRoute { answer });
        let same = Arc::clone(&typed);
        let raw: RawRoute<S> = Box::new(move |side, caller, body, follower| {
            let call = read_call::<C>(body);
            let typed = Arc::clone(&same);
            Box::pin(async move {
                let call = call?;
                let answer = (typed.answer)(side, caller, call, follower.taking());
                let Response { data, notes } = answer.await?;
                Ok(Response { data: Json::of(&data), notes })
            })
        });
        self.routes.insert(C::NAME, Route { raw, typed: Box::new(typed), schemas });
        self
    }

    /// Answers a call that came as text; `None` if there is no such call here.
    pub fn dispatch(
        &self,
        side: &Arc<S>,
        caller: Caller,
        name: &str,
        body: &Json,
        follower: Follower<Json>,
    ) -> Option<Answering<Json>> {
        let route = self.routes.get(name)?;
        Some((route.raw)(Arc::clone(side), caller, body, follower))
    }

    /// Answers a call of this process. `I` is the item of a follow, else `()`.
    pub(crate) fn answer<C: Call, I: Payload>(
        &self,
        side: &Arc<S>,
        caller: Caller,
        call: C,
        follower: Follower<I>,
    ) -> Answering<C::Answer> {
        let route = self.routes.get(C::NAME);
        let typed = route.and_then(|it| it.typed.downcast_ref::<Arc<TypedRoute<S, C, I>>>());
        let Some(typed) = typed else {
            let bug = CallError::bug(format!("`{}` cannot be called in this way", C::NAME));
            return Box::pin(std::future::ready(Err(bug)));
        };
        (typed.answer)(Arc::clone(side), caller, call, follower)
    }

    pub fn has(&self, name: &str) -> bool {
        self.routes.contains_key(name)
    }

    /// The forms of every call there is.
    pub fn schemas(&self, generator: &mut SchemaGenerator) -> Vec<CallSchema> {
        self.routes.values().map(|route| (route.schemas)(generator)).collect()
    }
}

fn schemas<C: Call>(generator: &mut SchemaGenerator, item: Option<Schema>) -> CallSchema {
    CallSchema {
        name: C::NAME,
        access: C::ACCESS,
        body: C::json_schema(generator),
        item,
        answer: <C::Answer as JsonSchema>::json_schema(generator),
    }
}

/// Reads a call that came as text. Its body must be an object: serde would also take an array for one,
/// value by value.
fn read_call<C: Call>(body: &Json) -> Result<C, CallError> {
    let name = C::NAME;
    if !body.is_object() {
        return Err(CallError::invalid(format!("`{name}`: the body must be a JSON object")));
    }
    body.read().map_err(|error| CallError::invalid(format!("`{name}`: {error}")))
}

#[cfg(test)]
mod tests;
