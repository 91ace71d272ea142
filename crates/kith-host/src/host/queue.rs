//! Edits waiting messages: changes, removes, moves and takes them.

use std::sync::Arc;

use kith_engine::command::{CommandAction, QueueEdit};
use kith_engine::state::State;
use kith_vocab::block::{Block, plain_text};
use kith_vocab::event::Event;
use kith_vocab::event::control::{Queue, QueueItem};
use kith_vocab::event::messages::{IngressRef, Trust};
use kith_vocab::ids::{EventId, SessionId};
use kith_vocab::ingress::MESSAGE_BYTES_MAX;

use super::Host;
use crate::call::{Reply, Response};
use crate::caller::Caller;
use crate::calls::queue::{
    EditQueue, QueueChange, QueueView, QueuedMessage, TakeNext, TakenMessage,
};
use crate::error::{CallError, ErrorCode};

/// Maximum length of a message in a list of waiting ones, so that the whole list fits into an answer.
const QUEUED_CHARS_SHOWN_MAX: usize = 10_000;

pub async fn edit_queue(host: Arc<Host>, caller: Caller, call: EditQueue) -> Reply<QueueView> {
    let session_id = host.reads.resolve(&call.session).await?;
    let edited = |state: &State| {
        let items = match call.queue {
            Queue::FollowUp => &state.follow_ups,
            Queue::Steer => &state.steers,
        };
        items.iter().find(|item| item.id == call.change.item_id()).cloned()
    };
    host.require_author(&caller, session_id, call.edit_id, edited).await?;
    let (queue, edit) = (call.queue, edit_of(call.change)?);
    let action = CommandAction::EditQueue { queue, edit };
    let answer = host.command(&caller, session_id, call.edit_id, action).await?;
    let items = match queue {
        Queue::FollowUp => &answer.follow_ups,
        Queue::Steer => &answer.steers,
    };
    let queue = items.iter().map(queued_message).collect();
    Ok(Response::new(QueueView { session_id, queue }))
}

pub async fn take_next(host: Arc<Host>, caller: Caller, call: TakeNext) -> Reply<TakenMessage> {
    let session_id = host.reads.resolve(&call.session).await?;
    let first = |state: &State| state.steers.iter().chain(&state.follow_ups).next().cloned();
    host.require_author(&caller, session_id, call.take_id, first).await?;
    let answer = host.command(&caller, session_id, call.take_id, CommandAction::TakeNext).await?;
    let has_begun = answer.event_id.is_some();
    let waiting = answer.steers.iter().chain(&answer.follow_ups);
    let queue = waiting.map(queued_message).collect();
    Ok(Response::new(TakenMessage { session_id, has_begun, queue }))
}

impl Host {
    /// An item keeps its author and how far they are trusted, so nobody else but the owner may put
    /// words into it or have it said.
    async fn require_author(
        &self,
        caller: &Caller,
        session_id: SessionId,
        command_id: EventId,
        find_item: impl FnOnce(&State) -> Option<QueueItem>,
    ) -> Result<(), CallError> {
        if caller.trust == Trust::Owner {
            return Ok(());
        }
        let (mut state, mut is_done) = (State::default(), false);
        let each = &mut |event: Event| {
            is_done |= event.id == command_id;
            state.fold(&event);
        };
        self.reads.each(session_id, each).await?;
        // What was done already is only answered again, and one that is not there is told by the
        // engine.
        let Some(item) = find_item(&state).filter(|_| !is_done) else { return Ok(()) };
        if is_author(caller, &item) {
            return Ok(());
        }
        let message = "only its author or the owner of the house can change or continue a waiting \
                       message";
        Err(CallError::request(ErrorCode::AuthFailed, message))
    }
}

/// A user id tells people apart on their own platform only.
fn is_author(caller: &Caller, item: &QueueItem) -> bool {
    let is_from_there = |ingress: &IngressRef| {
        ingress.platform == caller.platform && ingress.account == caller.account
    };
    item.author.user_id == caller.user.user_id
        && item.trust == caller.trust
        && item.ingress.as_ref().is_some_and(is_from_there)
}

fn edit_of(change: QueueChange) -> Result<QueueEdit, CallError> {
    Ok(match change {
        QueueChange::Replace { item_id, updated_at, text } => {
            check_text(&text)?;
            QueueEdit::Replace { item_id, updated_at, content: vec![Block::text(text)] }
        }
        QueueChange::Remove { item_id, updated_at } => QueueEdit::Remove { item_id, updated_at },
        QueueChange::Move { item_id, updated_at, to } => {
            let to = usize::try_from(to).unwrap_or(usize::MAX);
            QueueEdit::Move { item_id, updated_at, to }
        }
    })
}

fn check_text(text: &str) -> Result<(), CallError> {
    if text.trim().is_empty() {
        return Err(CallError::invalid("the new text is empty").hint("remove the message instead"));
    }
    if text.len() > MESSAGE_BYTES_MAX {
        let n_bytes = text.len();
        let message =
            format!("the new text has {n_bytes} bytes, and the maximum is {MESSAGE_BYTES_MAX}");
        return Err(CallError::invalid(message));
    }
    Ok(())
}

pub(crate) fn queued_message(item: &QueueItem) -> QueuedMessage {
    QueuedMessage {
        id: item.id.clone(),
        content: plain_text(&item.content).chars().take(QUEUED_CHARS_SHOWN_MAX).collect(),
        created_at: item.created_at,
        updated_at: item.updated_at,
    }
}
