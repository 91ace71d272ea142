//! Has a session summarised, and waits for the summary.

use std::sync::Arc;

use kith_engine::command::CommandAction;
use kith_engine::engine::EngineError;
use kith_engine::feed::FeedItem;
use kith_vocab::event::Body;
use kith_vocab::ids::SessionId;

use super::Host;
use crate::call::{Follower, Reply, Response};
use crate::caller::Caller;
use crate::calls::feed::TurnItem;
use crate::calls::session::{CompactSession, CompactedSession};
use crate::error::{Blame, CallError, ErrorCode};

pub async fn compact_session(
    host: Arc<Host>,
    caller: Caller,
    call: CompactSession,
    follower: Follower<TurnItem>,
) -> Reply<CompactedSession> {
    let session_id = host.reads.resolve(&call.session).await?;
    let settings = host.settings.current()?;
    let chosen = host.models.choose(call.model.as_deref(), &settings)?;
    let language = host.language_for(&caller);
    let notes: Vec<_> = chosen.passed_over.iter().map(|it| it.in_language(&language)).collect();
    let models = chosen.refs;
    // Followed from where it was requested, also if an earlier host wrote that down.
    let requested = host.journal.find(session_id, call.compact_id).await?;
    let head = match requested {
        Some(event) => event.seq.saturating_sub(1),
        None => host.desk.head(session_id).await?.map_or(0, |head| head.seq),
    };
    let mut events = host.engine.follow(session_id, head);
    let action = CommandAction::Compact { models };
    host.command(&caller, session_id, call.compact_id, action).await?;
    let (mut is_requested, mut is_stopped, mut is_over) = (false, false, false);
    loop {
        let next = tokio::select! {
            biased;
            next = events.next() => next,
            () = follower.cancel.cancelled(), if !is_stopped => {
                is_stopped = true;
                is_over = !stop(&host, &caller, session_id).await?;
                continue;
            }
            // What there is to see of the summary has been published before.
            () = std::future::ready(()), if is_over => {
                return Err(CallError::stopped("stopped waiting for the summary"));
            }
        };
        let event = match next {
            Ok(FeedItem::Event(event)) => event,
            Ok(FeedItem::Failed(failure)) => {
                return Err(EngineError::Failed((*failure).clone()).into());
            }
            Ok(FeedItem::Moved { .. } | FeedItem::Removed) | Err(_) => {
                return Err(EngineError::InUse { session_id }.into());
            }
            Ok(FeedItem::Delta(_) | FeedItem::Running(_)) => continue,
        };
        if is_requested {
            // One that cannot be sent can be read in the session.
            follower.send(TurnItem::Event(Box::new((*event).clone()))).await.ok();
        }
        match &event.body {
            Body::CompactRequested(_) => is_requested |= event.id == call.compact_id,
            _ if !is_requested => (),
            Body::Compact(it) => {
                return Ok(Response::new(CompactedSession {
                    session_id,
                    compact: event.id,
                    tokens_before: it.tokens_before,
                    tokens_after: it.tokens_after,
                })
                .with_notes(notes));
            }
            Body::ModelFailed(it) if it.retry_at.is_none() => {
                let message = format!("the conversation is unchanged: {}", it.message);
                return Err(CallError::new(Blame::Environment, ErrorCode::ModelFailed, message));
            }
            Body::CancelRequested(_) => {
                let message = "the summary was cancelled; the conversation is unchanged";
                return Err(CallError::request(ErrorCode::Cancelled, message));
            }
            _ => (),
        }
    }
}

/// Stops the summary. False if none was being made.
async fn stop(host: &Host, caller: &Caller, session_id: SessionId) -> Result<bool, CallError> {
    let (id, action) = (host.new_event_id(), CommandAction::CancelCompaction);
    match host.command(caller, session_id, id, action).await {
        Ok(answer) => Ok(answer.event_id.is_some()),
        Err(EngineError::TurnRunning { .. }) => Err(left_to_turn()),
        Err(error) => Err(error.into()),
    }
}

fn left_to_turn() -> CallError {
    CallError::stopped("stopped waiting for the summary")
        .hint("it is made by the running turn; `kith cancel` stops both")
}
