//! Creates a session before its first message: empty, or with the history of priming scripts.
//!
//! What can be refused is refused before anything is made, and the session is made whole, so a
//! script that is wrong leaves no conversation behind. The list of recently used scripts is written
//! last: it tells of conversations that exist.

use std::path::Path;
use std::sync::Arc;

use kith_engine::session::CLIENT_ID;
use kith_home::priming::replay::{Draft, Speaker, replay};
use kith_home::priming::script::Script;
use kith_home::priming::store::PrimingStore;
use kith_vocab::event::{Body, Event};
use kith_vocab::header::{HeaderMeta, HeaderType, LOG_FORMAT_VERSION, Priming, SessionHeader};
use kith_vocab::ids::{EventId, SessionId, ThreadId};

use super::Host;
use crate::call::{Reply, Response};
use crate::caller::{Caller, WEB};
use crate::calls::session::{CreateDialog, CreatedDialog};
use crate::error::{CallError, ErrorCode};
use crate::priming;
use crate::projects::whole_path_text;

pub async fn create_dialog(
    host: Arc<Host>,
    caller: Caller,
    mut call: CreateDialog,
) -> Reply<CreatedDialog> {
    // Without a script nothing is primed, whatever was asked for besides.
    call.priming = call.priming.filter(|it| !it.script_refs.is_empty());
    let session_id = call.session_id.unwrap_or_else(|| SessionId::from_uuid(host.clock.new_id()));
    let thread_id = call.thread_id.take().map_or_else(|| new_room(session_id), Ok)?;
    if host.journal.exists(session_id).await? {
        return host.created_before(session_id, &thread_id, call.priming).await;
    }
    let names = call.priming.as_ref().map_or(&[] as &[String], |it| &it.script_refs);
    let script_refs = priming::script_refs(names)?;
    let settings = host.settings.current()?;
    let member = settings.team.choose(call.agent_id.as_deref())?;
    let agent_id = member.id.clone();
    let scripts = priming::load_scripts(&host.house, &agent_id, &script_refs)?;
    let thread_id = host.reads.thread_in_use(&agent_id, thread_id).await?;
    let audience = host.audience(&agent_id, &thread_id).await?;
    let cwd = match &call.cwd {
        Some(cwd) => whole_path_text(cwd)?,
        None => host.house.dir.to_string_lossy().into_owned(),
    };
    host.setup.check(member, Path::new(&cwd), audience, host.clock.now())?;
    let header = SessionHeader {
        v: LOG_FORMAT_VERSION,
        line_type: HeaderType::SessionHeader,
        session_id,
        agent_id,
        device_id: host.desk.device_id().to_owned(),
        created_at: host.clock.now(),
        thread_id,
        audience,
        cwd,
        cloned_from: None,
        parent: None,
        meta: HeaderMeta { title: None, priming: call.priming },
    };
    let speaker = Speaker { author: caller.user, trust: caller.trust };
    let events = host.first_events(&header, &scripts, &speaker)?;
    let primed = events.iter().filter(|event| event.is_primed()).count();
    host.engine.adopt(&header, events).await?;

    let problems = host.setup.take_problems();
    let store = PrimingStore::new(&host.house.dir);
    let used = store.record_use(&header.agent_id, &script_refs, header.created_at);
    // The conversation is there; a list that lacks it costs a search.
    let unrecorded = used.err().map(|error| CallError::from(error).message());
    let SessionHeader { session_id, thread_id, .. } = header;
    let created = CreatedDialog { session_id, thread_id, primed };
    Ok(Response::new(created).with_notes(problems).with_notes(unrecorded))
}

/// A thread of the page in which nothing was said yet.
fn new_room(session_id: SessionId) -> Result<ThreadId, CallError> {
    let name = format!("{WEB}:room:{session_id}");
    name.parse().map_err(|_| CallError::bug("a session's id names a room"))
}

impl Host {
    /// A request that is repeated because its host was lost must not make a second session.
    async fn created_before(
        &self,
        session_id: SessionId,
        thread_id: &ThreadId,
        priming: Option<Priming>,
    ) -> Reply<CreatedDialog> {
        let mut primed = 0;
        let each = &mut |event: Event| primed += usize::from(event.is_primed());
        let header = self.reads.each(session_id, each).await?.header;
        if header.thread_id != *thread_id || header.meta.priming != priming {
            let message = format!("another session `{session_id}` already exists");
            return Err(CallError::request(ErrorCode::Conflict, message));
        }
        self.engine.place(&header).await?;
        let thread_id = header.thread_id;
        Ok(Response::new(CreatedDialog { session_id, thread_id, primed }))
    }

    /// Snapshot and tool list, then what the scripts tell, each event the child of the one before.
    fn first_events(
        &self,
        header: &SessionHeader,
        scripts: &[Script],
        speaker: &Speaker,
    ) -> Result<Vec<Event>, CallError> {
        let new_id = || EventId::from_uuid(self.clock.new_id());
        let event = |id, body| Event {
            seq: 0,
            id,
            ts: header.created_at,
            client_id: CLIENT_ID.to_owned(),
            ingress_key: None,
            parent_id: None,
            source_tag: None,
            body,
        };
        let opening = self.setup.first_events(header)?;
        let mut events: Vec<Event> =
            opening.into_iter().map(|body: Body| event(new_id(), body)).collect();
        let drafts = replay(scripts, speaker, &mut || new_id());
        events.extend(drafts.into_iter().map(|Draft { id, body, .. }| {
            let source_tag = Some(Draft::SOURCE_TAG);
            Event { source_tag, ..event(id, body) }
        }));
        let mut leaf = None;
        for (seq, event) in (1..).zip(&mut events) {
            event.seq = seq;
            if event.is_tree() {
                event.parent_id = leaf.replace(event.id);
            }
        }
        Ok(events)
    }
}

#[cfg(test)]
mod tests;
