//! A session that begins before anything is said in it: empty, or with a history that scripts tell.
//!
//! What can be refused is refused before anything is made, and the session is made whole, so a
//! script that is wrong leaves no conversation behind. The list of recently used scripts is written
//! last: it tells of conversations that exist.

use kith_engine::lane::{EngineError, Opening};
use kith_engine::session::CLIENT_ID;
use kith_home::priming::replay::{Draft, Speaker, replay};
use kith_home::priming::script::Script;
use kith_home::priming::store::PrimingStore;
use kith_vocab::event::messages::{Author, Trust};
use kith_vocab::event::{Body, Event};
use kith_vocab::header::{
    Audience, HeaderMeta, HeaderType, LOG_FORMAT_VERSION, Priming, SessionHeader,
};
use kith_vocab::ids::{EventId, SessionId};

use super::{Host, OWNER_ID};
use crate::client::Told;
use crate::client::dialog::{CreateDialog, Created};
use crate::reading::short;
use crate::report::{Blame, Report};
use crate::{priming, transcript};

/// Entries of a primed history that the conversation shows when it begins.
const SHOWN_ENTRIES_MAX: usize = 20;

impl Host {
    pub(super) async fn create_dialog(
        &self,
        mut wanted: CreateDialog,
    ) -> Result<Told<Created>, Report> {
        // Without a script nothing is primed, whatever was asked for besides.
        wanted.priming = wanted.priming.filter(|it| !it.script_refs.is_empty());
        if self.store.exists(wanted.session_id)? {
            return self.created_before(&wanted).await;
        }
        let names = wanted.priming.as_ref().map_or(&[] as &[String], |it| &it.script_refs);
        let script_refs = priming::script_refs(names)?;
        let agent_id = self.config.team.choose(wanted.agent_id.as_deref())?.id.clone();
        let scripts = priming::load(&self.house, &agent_id, &script_refs)?;
        let audience = self.audience(&agent_id, &wanted.thread_id).await?;
        let header = self.header_of(agent_id, audience, wanted);
        let events = self.first_events(&header, &scripts)?;
        let n_primed = events.iter().filter(|event| event.is_primed()).count();
        self.engine.adopt(&header, &events).await?;
        self.threads.note(header.session_id, None).await;

        let mut notes = self.opening.take_problems();
        let used = PrimingStore::new(&self.house.dir).record_use(
            &header.agent_id,
            &script_refs,
            header.created_at,
        );
        // The conversation is there; a list that lacks it costs a search.
        notes.extend(used.err().map(|error| Report::from(error).message()));
        let SessionHeader { session_id, thread_id, .. } = header;
        Ok(Told { form: Created { session_id, thread_id, primed: n_primed }, notes })
    }

    /// A request that is repeated because its host was lost must not make a second session.
    async fn created_before(&self, wanted: &CreateDialog) -> Result<Told<Created>, Report> {
        let mut events = Vec::new();
        let each = &mut |event: Event| events.push(event);
        let header = self.reader.each(wanted.session_id, each).await?.header;
        if header.thread_id != wanted.thread_id || header.meta.priming != wanted.priming {
            let message = format!("there is another session `{}` already", wanted.session_id);
            return Err(Report::new(Blame::Request, "conflict", message));
        }
        let n_primed = events.iter().filter(|event| event.is_primed()).count();
        self.engine.place(&header).await?;
        let (session_id, thread_id) = (wanted.session_id, header.thread_id);
        Ok(Told { form: Created { session_id, thread_id, primed: n_primed }, notes: Vec::new() })
    }

    fn header_of(
        &self,
        agent_id: String,
        audience: Audience,
        wanted: CreateDialog,
    ) -> SessionHeader {
        SessionHeader {
            v: LOG_FORMAT_VERSION,
            line_type: HeaderType::SessionHeader,
            session_id: wanted.session_id,
            agent_id,
            device_id: self.desk.device_id().to_owned(),
            created_at: self.clock.now(),
            thread_id: wanted.thread_id,
            audience,
            cwd: wanted.cwd,
            cloned_from: None,
            parent: None,
            meta: HeaderMeta { title: None, priming: wanted.priming },
        }
    }

    /// Snapshot and tool list, then what the scripts tell, each event the child of the one before.
    fn first_events(
        &self,
        header: &SessionHeader,
        scripts: &[Script],
    ) -> Result<Vec<Event>, Report> {
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
        let opening = self.opening.first_events(header).map_err(EngineError::from)?;
        let mut events: Vec<Event> =
            opening.into_iter().map(|body: Body| event(new_id(), body)).collect();
        let author = Author { user_id: OWNER_ID.to_owned(), display_name: OWNER_ID.to_owned() };
        let speaker = Speaker { author, trust: Trust::Owner };
        let drafts = replay(scripts, &speaker, &mut || new_id());
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

    /// The history that a session begins with, for someone who is about to say the first thing in
    /// it. `None` where something was said already, and where the history is not to be seen.
    pub(crate) async fn told_before(&self, id: SessionId) -> Result<Option<String>, Report> {
        let mut entries = Vec::new();
        let mut is_spoken_in = false;
        let header = self
            .reader
            .each(id, &mut |event| {
                is_spoken_in |= event.is_tree() && event.is_lived();
                entries.extend(transcript::entry(&event).map(|it| it.trim_end().to_owned()));
            })
            .await?
            .header;
        let is_shown = matches!(&header.meta.priming, Some(Priming { show_in_ui: true, .. }));
        if is_spoken_in || !is_shown || entries.is_empty() {
            return Ok(None);
        }
        let n_earlier = entries.len().saturating_sub(SHOWN_ENTRIES_MAX);
        let mut shown = entries.split_off(n_earlier);
        if n_earlier > 0 {
            let whole = format!("`kith session show {}`", short(id));
            shown.insert(0, format!("({n_earlier} earlier entries: {whole})"));
        }
        Ok(Some(shown.join("\n\n")))
    }
}

#[cfg(test)]
mod tests;
