//! Creates a session before its first message: empty, or with the history of priming scripts.
//!
//! What can be refused is refused before anything is made, and the session is made whole, so a
//! script that is wrong leaves no conversation behind. The list of recently used scripts is written
//! last: it tells of conversations that exist.

use std::sync::Arc;

use kith_engine::session::CLIENT_ID;
use kith_home::priming::replay::{Draft, Speaker, replay};
use kith_home::priming::script::Script;
use kith_home::priming::store::PrimingStore;
use kith_vocab::event::{Body, Event};
use kith_vocab::header::{Audience, HeaderMeta, HeaderType, LOG_FORMAT_VERSION, SessionHeader};
use kith_vocab::ids::EventId;

use super::Host;
use crate::call::{Reply, Response};
use crate::caller::Caller;
use crate::calls::session::{CreateDialog, CreatedDialog};
use crate::error::{CallError, ErrorCode};
use crate::priming;

pub async fn create_dialog(
    host: Arc<Host>,
    caller: Caller,
    mut call: CreateDialog,
) -> Reply<CreatedDialog> {
    // Without a script nothing is primed, whatever was asked for besides.
    call.priming = call.priming.filter(|it| !it.script_refs.is_empty());
    if host.journal.exists(call.session_id).await? {
        return host.created_before(&call).await;
    }
    let names = call.priming.as_ref().map_or(&[] as &[String], |it| &it.script_refs);
    let script_refs = priming::script_refs(names)?;
    let agent_id = host.settings.current()?.team.choose(call.agent_id.as_deref())?.id.clone();
    let scripts = priming::load_scripts(&host.house, &agent_id, &script_refs)?;
    call.thread_id = host.reads.thread_in_use(&agent_id, call.thread_id).await?;
    let audience = host.audience(&agent_id, &call.thread_id).await?;
    let header = host.header_of(agent_id, audience, call);
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

impl Host {
    /// A request that is repeated because its host was lost must not make a second session.
    async fn created_before(&self, call: &CreateDialog) -> Reply<CreatedDialog> {
        let mut primed = 0;
        let each = &mut |event: Event| primed += usize::from(event.is_primed());
        let header = self.reads.each(call.session_id, each).await?.header;
        if header.thread_id != call.thread_id || header.meta.priming != call.priming {
            let message = format!("another session `{}` already exists", call.session_id);
            return Err(CallError::request(ErrorCode::Conflict, message));
        }
        self.engine.place(&header).await?;
        let (session_id, thread_id) = (call.session_id, header.thread_id);
        Ok(Response::new(CreatedDialog { session_id, thread_id, primed }))
    }

    fn header_of(&self, agent_id: String, audience: Audience, call: CreateDialog) -> SessionHeader {
        SessionHeader {
            v: LOG_FORMAT_VERSION,
            line_type: HeaderType::SessionHeader,
            session_id: call.session_id,
            agent_id,
            device_id: self.desk.device_id().to_owned(),
            created_at: self.clock.now(),
            thread_id: call.thread_id,
            audience,
            cwd: call.cwd,
            cloned_from: None,
            parent: None,
            meta: HeaderMeta { title: None, priming: call.priming },
        }
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
