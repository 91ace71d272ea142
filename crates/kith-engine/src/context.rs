//! The context of the next request: a pure function of the log.
//!
//! The conversation is kept up to date by [`crate::state`]; here it becomes the parts of a request.
//! Nothing is looked up and nothing depends on when it is asked, so the request of any moment can
//! be built again from the log alone.

pub(crate) mod escaped;
mod marks;
pub(crate) mod summary;
pub mod untrusted;
pub mod words;

use std::borrow::Cow;

use kith_vocab::conversation::{Message, ModelRequest};
use kith_vocab::event::models::{ModelRequested, Purpose};
use kith_vocab::json::Json;
use kith_vocab::snapshot::ToolSpec;

use crate::state::State;

/// System prompt, tools and messages of the next request.
#[derive(Clone, Debug)]
pub struct Context<'a> {
    pub system: String,
    pub tools: &'a [ToolSpec],
    finished: Cow<'a, [Message]>,
    tail: Message,
}

pub fn context(state: &State) -> Context<'_> {
    Context {
        system: state.snapshot.as_ref().map(|it| it.system_prompt()).unwrap_or_default(),
        tools: state.toolset.as_ref().map_or(&[], |it| it.tools.as_slice()),
        finished: Cow::Borrowed(state.conversation.finished()),
        tail: state.conversation.tail_message(),
    }
}

/// The context of the request that was logged.
pub fn context_of<'a>(state: &'a State, requested: &ModelRequested) -> Context<'a> {
    match requested.purpose {
        Purpose::Turn => context(state),
        Purpose::Compact => summary::context(state, requested.scope.as_ref()),
    }
}

impl Context<'_> {
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.finished.iter().chain([&self.tail])
    }

    pub fn request<'a>(
        &'a self,
        provider: &'a str,
        model: &'a str,
        parameters: &'a Json,
    ) -> ModelRequest<'a> {
        ModelRequest {
            provider,
            model,
            parameters,
            system: &self.system,
            tools: self.tools,
            messages: self.messages().collect(),
        }
    }
}

#[cfg(test)]
mod tests;
