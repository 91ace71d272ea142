//! Which session is meant: `current`, `latest`, or a part of its id.

use kith_host::calls::session::ListSessions;
use kith_host::calls::thread::FindCurrentSession;
use kith_host::error::{CallError, ErrorCode};
use kith_vocab::ids::SessionId;

use super::{call, follow, house_of};
use crate::program::args::GlobalArgs;

/// The session that is named, as the host understands it. Without a name, and as `current`, it is the
/// one in which this folder's conversation goes on; the latest one of an agent is its own.
pub(super) async fn named_session(
    shared: &GlobalArgs,
    session: Option<String>,
) -> Result<String, CallError> {
    match session.as_deref() {
        None | Some("current") => match current_session(shared).await? {
            Some(id) => Ok(id.to_string()),
            None => Err(not_found("no conversation in this folder yet")
                .hint("name a session; `kith session ls` lists them")),
        },
        Some("latest") if shared.agent().is_some() => {
            let all = ListSessions { agent_id: shared.agent_id() };
            let listed = follow(shared, all, |_| ()).await?;
            let newest = listed.data.sessions.into_iter().next();
            newest
                .map(|row| row.session_id.to_string())
                .ok_or_else(|| not_found("this agent has no sessions yet"))
        }
        Some(session) => Ok(session.to_owned()),
    }
}

/// The session in which this folder's conversation goes on.
pub(super) async fn current_session(shared: &GlobalArgs) -> Result<Option<SessionId>, CallError> {
    let thread_id = house_of(shared)?.thread_of_cwd()?;
    let find = FindCurrentSession { agent_id: shared.agent_id(), thread_id };
    Ok(call(shared, find).await?.data.session_id)
}

fn not_found(message: &str) -> CallError {
    CallError::request(ErrorCode::SessionNotFound, message)
}
