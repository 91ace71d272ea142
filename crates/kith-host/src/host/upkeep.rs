//! Renames, removes and repairs sessions.

use std::sync::Arc;

use kith_engine::command::CommandAction;
use kith_sessions::damage::{Damage, DamageCode};
use kith_sessions::read::Tail;
use kith_vocab::blocking::blocking;
use kith_vocab::event::control::{SessionTitleUpdated, TitleSource};
use kith_vocab::event::{Body, Event};
use kith_vocab::ids::SessionId;

use super::Host;
use crate::budget::{BudgetCaps, keep_spending_of};
use crate::call::{Reply, Response};
use crate::caller::Caller;
use crate::calls::session::{
    DamageView, RemoveSession, RemovedFiles, RenameSession, RenamedSession, RepairSession,
    RepairView,
};
use crate::error::{CallError, ErrorCode};
use crate::read_side::FoldedSession;
use crate::words::{damaged_session, short};

/// Maximum length of a title given by hand.
const TITLE_CHARS_MAX: usize = 200;

/// The title as it is kept.
pub fn checked_title(title: &str) -> Result<String, CallError> {
    let title = title.trim();
    if title.is_empty() {
        return Err(CallError::invalid("the title is empty"));
    }
    if title.chars().any(char::is_control) {
        return Err(CallError::invalid("the title must be one line, without control characters"));
    }
    let n_chars = title.chars().count();
    if n_chars > TITLE_CHARS_MAX {
        let message =
            format!("the title has {n_chars} characters, and the maximum is {TITLE_CHARS_MAX}");
        return Err(CallError::invalid(message));
    }
    Ok(title.to_owned())
}

pub async fn rename_session(
    host: Arc<Host>,
    caller: Caller,
    call: RenameSession,
) -> Reply<RenamedSession> {
    let title = checked_title(&call.title)?;
    let id = host.reads.resolve(&call.session).await?;
    let FoldedSession { state, .. } = host.reads.read(id).await?;
    // A request that is repeated because its host was lost says the same thing twice.
    if state.title != Some((title.clone(), TitleSource::User)) {
        let source = TitleSource::User;
        let body = Body::SessionTitleUpdated(SessionTitleUpdated { title: title.clone(), source });
        let append = CommandAction::Append(Box::new(body));
        host.command(&caller, id, host.new_event_id(), append).await?;
    }
    Ok(Response::new(RenamedSession { session_id: id, title }))
}

pub async fn remove_session(
    host: Arc<Host>,
    caller: Caller,
    call: RemoveSession,
) -> Reply<RemovedFiles> {
    caller.require_owner()?;
    let id = match host.reads.resolve(&call.session).await {
        Ok(id) => id,
        Err(error) => {
            let Some(gone) = host.reads.resolve_gone(&call.session).await? else {
                return Err(error);
            };
            host.engine.forget(gone).await?;
            host.setup.end_background_of(gone);
            let notes = host.forget_in_threads(None).await;
            return Ok(Response { data: RemovedFiles { removed: Vec::new() }, notes });
        }
    };
    let header = match host.journal.header(id).await {
        Ok(header) => Some(header),
        // One that cannot be read can be removed all the same.
        Err(error) if error.damage().is_some() => None,
        Err(error) => return Err(error.into()),
    };
    // Before it goes: what it used today stays used. Without a budget nothing is kept of it.
    let has_budget = host.settings.last_good().budget != BudgetCaps::default();
    let keep = || keep_spending_of(&host.store, id, host.clock.now());
    let kept = if has_budget { blocking(keep) } else { Ok(()) };
    let removed = host.engine.remove(id).await?.parts;
    host.setup.end_background_of(id);
    let mut notes = host.forget_in_threads(header.as_ref()).await;
    if let Err(error) = kept {
        // A full disk must not keep anybody from making room.
        notes.push(format!("what the session used today no longer counts in budgets: {error}"));
    }
    Ok(Response { data: RemovedFiles { removed }, notes })
}

/// Copies what can be read of a damaged session into a new one. If the thread was in it, the
/// thread goes on in the new one.
pub async fn repair_session(host: Arc<Host>, call: RepairSession) -> Reply<RepairView> {
    let id = host.reads.resolve(&call.session).await?;
    let reading = host.reads.each(id, &mut |_| ()).await?;
    let damage = match reading.tail {
        Tail::Damaged(damage) => damage,
        Tail::Clean | Tail::Torn { .. } => {
            let message = format!("session {} is intact; there is nothing to repair", short(id));
            return Err(CallError::invalid(message));
        }
    };
    if damage.code == DamageCode::NewerVersion {
        return Err(written_by_a_newer_one(id, &damage));
    }
    let (agent_id, thread_id) = (&reading.header.agent_id, &reading.header.thread_id);
    let was_current = host.desk.current_session(agent_id, thread_id).await? == Some(id);
    let (copy, repaired) = host.engine.repair(id).await?;
    let lost_from = DamageView { line: damage.line, code: damage.code.into() };
    let Some(repaired) = repaired else {
        let mut n_copied = 0;
        let count = &mut |event: Event| n_copied += u64::from(event.source_tag.is_some());
        host.reads.each(copy, count).await?;
        let view = RepairView { session_id: copy, events: n_copied, lost_from };
        return Ok(Response::new(view).with_notes([format!(
            "it was already repaired; `kith session rm {}` removes the damaged one",
            short(id)
        )]));
    };
    let note = if was_current {
        "the conversation continues in the new session; the damaged file stays as it is".to_owned()
    } else {
        let short = short(copy);
        format!("continue it with `kith ask --session {short} …`; the damaged file stays as it is")
    };
    let view = RepairView { session_id: copy, events: repaired.n_events, lost_from };
    Ok(Response::new(view).with_notes([note]))
}

fn written_by_a_newer_one(id: SessionId, damage: &Damage) -> CallError {
    let message = damaged_session(id, damage);
    CallError::request(ErrorCode::NewerVersion, message)
        .at_line(damage.line)
        .hint("it is not damaged; a newer kith can read all of it")
}
