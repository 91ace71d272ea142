//! Cancels and retries turns.

use std::sync::Arc;

use kith_engine::command::CommandAction;
use kith_engine::engine::EngineError;

use super::Host;
use crate::call::{Follower, Reply, Response};
use crate::caller::Caller;
use crate::calls::control::{CancelTurn, CancelledTurn, RetryTurn};
use crate::calls::feed::TurnItem;
use crate::calls::message::MessageReply;

pub async fn cancel_turn(
    host: Arc<Host>,
    caller: Caller,
    call: CancelTurn,
) -> Reply<CancelledTurn> {
    let session_id = host.reads.resolve(&call.session).await?;
    let action = CommandAction::Cancel { key: None };
    let answer = host.command(&caller, session_id, call.cancel_id, action).await?;
    Ok(Response::new(CancelledTurn { session_id, was_running: answer.event_id.is_some() }))
}

pub async fn retry_turn(
    host: Arc<Host>,
    caller: Caller,
    call: RetryTurn,
    follower: Follower<TurnItem>,
) -> Reply<MessageReply> {
    let session_id = host.reads.resolve(&call.session).await?;
    let has_open_rows = !host.desk.open_rows(session_id).await?.is_empty();
    let action = CommandAction::Retry { key: None, attended: caller.attended };
    let key = match host.command(&caller, session_id, call.retry_id, action).await {
        Ok(answer) => answer.message_key,
        // What was cut short goes on by itself once the session is open.
        Err(EngineError::TurnRunning { .. }) => None,
        Err(EngineError::NothingToRetry { .. }) if has_open_rows => None,
        Err(error) => return Err(error.into()),
    };
    let row = match key {
        Some(key) => Some(host.engine.follow_key(session_id, &key).await?),
        None => host.engine.follow_last_row(session_id).await?,
    };
    let Some(row) = row else {
        return Err(EngineError::NothingToRetry { session_id }.into());
    };
    host.engine.wake(session_id);
    let notes = host.take_start_notes();
    host.answer_for(&caller, row, notes, follower).await
}
