//! What waits in a session.

use std::sync::Arc;

use kith_engine::reading::state_of;

use super::ReadSide;
use crate::call::{Reply, Response};
use crate::calls::queue::{ListQueue, WaitingMessages};
use crate::error::CallError;
use crate::host::queue::queued_message;

pub async fn list_queue(side: Arc<ReadSide>, call: ListQueue) -> Reply<WaitingMessages> {
    let session_id = side.resolve(&call.session).await?;
    let head = side.head(session_id).await?;
    let read = state_of(&*side.journal, session_id, head, &mut |_| ()).await;
    let (_, state) = read.map_err(|error| CallError::of_session(session_id, error))?;
    Ok(Response::new(WaitingMessages {
        session_id,
        steers: state.steers.iter().map(queued_message).collect(),
        follow_ups: state.follow_ups.iter().map(queued_message).collect(),
        is_held: state.turn.is_none() && state.queue_hold.is_held(),
    }))
}
