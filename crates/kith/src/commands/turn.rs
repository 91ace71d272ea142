//! `kith retry`, `kith cancel` and `kith compact`: continue a turn that failed or was interrupted; stop
//! a running one; summarise a conversation.

use std::sync::Arc;

use kith_host::calls::message::{CancelTurn, RetryTurn};
use kith_host::calls::session::CompactSession;
use kith_host::clock::SystemClock;
use kith_host::error::{Blame, CallError, ErrorCode};
use kith_host::words::short;
use kith_vocab::clock::Clock as _;
use kith_vocab::ids::EventId;

use super::ask::{TurnDisplay, follow_until_stopped, print, send};
use super::session::rerun;
use super::session_name::named_session;
use super::{CommandResult, call, client_of, house_of, leave, print_answer};
use crate::program::args::{GlobalArgs, ModelArg, Retry};
use crate::program::screen::Quiet;
use crate::program::signals::StopSignal;
use crate::program::ui;

pub(crate) async fn retry(shared: &GlobalArgs, model: ModelArg, args: Retry) -> CommandResult {
    if let Some(model) = args.model.model.or(model.model) {
        // A turn goes on only with the model it began with, so another one is asked anew.
        let model = ModelArg { model: Some(model) };
        return rerun(shared, args.session, None, model, args.stream_json).await;
    }
    let session = named_session(shared, args.session).await?;
    let client = client_of(shared, house_of(shared)?);
    let retry_id = EventId::from_uuid(SystemClock.new_id());
    let shown = TurnDisplay::new(shared.json, args.stream_json);
    let mut stop = StopSignal::listen()?;
    let sent = send(&client, RetryTurn { session, retry_id }, shown.screen(), &mut stop).await;
    shown.end_line();
    let printed = sent.and_then(|told| print(&told, &shown, &stop));
    leave(client, &mut stop).await;
    printed
}

pub(crate) async fn cancel(shared: &GlobalArgs, session: Option<String>) -> CommandResult {
    let session = named_session(shared, session).await?;
    let cancel_id = EventId::from_uuid(SystemClock.new_id());
    let told = call(shared, CancelTurn { session, cancel_id }).await?;
    Ok(print_answer(shared, &told, |turn| {
        let id = short(turn.session_id);
        if turn.was_running {
            ui::line(&format!("stopping the turn in session {id}"));
        } else {
            ui::note(&format!("no turn is running in session {id}"));
        }
    }))
}

pub(crate) async fn compact(
    shared: &GlobalArgs,
    model: ModelArg,
    session: Option<String>,
) -> CommandResult {
    let session = named_session(shared, session).await?;
    let compact_id = EventId::from_uuid(SystemClock.new_id());
    let client = client_of(shared, house_of(shared)?);
    let mut stop = StopSignal::listen()?;
    let call = CompactSession { session, compact_id, model: model.model };
    let told = follow_until_stopped(&client, call, Arc::new(Quiet::default()), &mut stop).await;
    let told = told
        .unwrap_or_else(|| Err(CallError::stopped("quit without waiting for the summary to stop")));
    leave(client, &mut stop).await;
    // A summary that this person stopped ends with the exit code of Ctrl-C.
    let told = told.map_err(|error| match error.code {
        ErrorCode::Cancelled if stop.was_received() => CallError { blame: Blame::Stopped, ..error },
        _ => error,
    })?;
    Ok(print_answer(shared, &told, |compacted| {
        let id = short(compacted.session_id);
        let (before, after) = (compacted.tokens_before, compacted.tokens_after);
        ui::line(&format!("session {id} is summarised: about {before} tokens before, {after} now"));
    }))
}
