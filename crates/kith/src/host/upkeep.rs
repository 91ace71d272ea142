//! What is done to sessions other than speaking in them: naming, repairing, finishing.

use std::collections::HashMap;
use std::path::PathBuf;

use kith_engine::lane::Run;
use kith_engine::session::Watcher;
use kith_sessions::damage::{Damage, DamageCode};
use kith_sessions::desk::{Accepted, InboxRow};
use kith_sessions::log::LogError;
use kith_sessions::read::Tail;
use kith_sessions::store::SessionStore;
use kith_vocab::event::control::{SessionTitleUpdated, TitleSource};
use kith_vocab::event::{Body, Event};
use kith_vocab::header::{HeaderMeta, LOG_FORMAT_VERSION, SessionHeader};
use kith_vocab::ids::{SessionId, ThreadId};
use kith_vocab::provider::{Delta, Provider, Tap};
use tokio_util::sync::CancellationToken;

use super::Host;
use crate::client::{DamageView, Removed, Renamed, RepairView, Told};
use crate::reading::{Read, short};
use crate::report::{Blame, Report, damage_in_words};

/// Of a title given by hand.
const TITLE_CHARS_MAX: usize = 200;

/// The title as it is kept.
pub(crate) fn checked_title(title: &str) -> Result<String, Report> {
    let title = title.trim();
    let refuse = |what: String| Err(Report::new(Blame::Request, "invalid_request", what));
    if title.is_empty() {
        return refuse("the title is empty".to_owned());
    }
    if title.chars().any(char::is_control) {
        return refuse("the title must be one line, without control characters".to_owned());
    }
    let n_chars = title.chars().count();
    if n_chars > TITLE_CHARS_MAX {
        return refuse(format!(
            "the title has {n_chars} characters and may have {TITLE_CHARS_MAX}"
        ));
    }
    Ok(title.to_owned())
}

impl Host {
    pub(super) async fn rename(
        &self,
        session: &str,
        title: &str,
        watcher: &dyn Watcher,
    ) -> Result<Told<Renamed>, Report> {
        let title = checked_title(title)?;
        let id = self.reader.resolve(session).await?;
        let Read { reading, state } = self.reader.read(id).await?;
        // A request that is repeated because its host was lost says the same thing twice.
        if state.title != Some((title.clone(), TitleSource::User)) {
            let SessionHeader { agent_id, thread_id, .. } = &reading.header;
            let source = TitleSource::User;
            let body =
                Body::SessionTitleUpdated(SessionTitleUpdated { title: title.clone(), source });
            self.engine.note(agent_id, thread_id, id, body, watcher).await?;
            self.threads.note(id, None).await;
        }
        Ok(Told { form: Renamed { session_id: id, title }, notes: Vec::new() })
    }

    pub(super) async fn remove(&self, session: &str) -> Result<Told<Removed>, Report> {
        let id = match self.reader.resolve(session).await {
            Ok(id) => id,
            Err(report) => {
                let Some(gone) = self.reader.resolve_gone(session).await? else {
                    return Err(report);
                };
                self.engine.forget(gone).await?;
                let notes = self.forget_in_threads(None).await;
                return Ok(Told { form: Removed { removed: Vec::new() }, notes });
            }
        };
        let header = match self.store.read(id, None, &mut |_| ()) {
            Ok(reading) => Some(reading.header),
            // One that cannot be read can be removed all the same.
            Err(LogError::Damaged { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        let whose = header.as_ref().map(|it| (it.agent_id.as_str(), &it.thread_id));
        let belongings = self.engine.remove(whose, id).await?;
        let kith_dir = self.house.kith_dir();
        let name = |path: &PathBuf| {
            path.strip_prefix(&kith_dir).unwrap_or(path).to_string_lossy().into_owned()
        };
        let removed = belongings.files.iter().map(name).collect();
        let notes = self.forget_in_threads(header.as_ref()).await;
        Ok(Told { form: Removed { removed }, notes })
    }

    /// Copies what can be read of a damaged session into a new one. If the thread was in it, the
    /// thread goes on in the new one.
    pub(super) async fn repair(&self, session: &str) -> Result<Told<RepairView>, Report> {
        let id = self.reader.resolve(session).await?;
        let mut keys = Vec::new();
        let reading = self.reader.each(id, &mut |event| keys.extend(event.ingress_key)).await?;
        let damage = match reading.tail {
            Tail::Damaged(damage) => damage,
            Tail::Clean | Tail::Torn { .. } => return Err(nothing_to_repair(id)),
        };
        if damage.code == DamageCode::NewerVersion {
            return Err(written_by_a_newer_one(id, &damage));
        }
        let (header, clock) = (reading.header, &*self.clock);
        let (agent_id, thread_id) = (header.agent_id.clone(), header.thread_id.clone());
        let current = self.desk.current_session(&agent_id, &thread_id).await?;
        if let Some(done) = self.repaired_before(&header, &damage).await? {
            return Ok(done);
        }
        let header = SessionHeader {
            v: LOG_FORMAT_VERSION,
            session_id: SessionId::from_uuid(clock.new_id()),
            device_id: self.desk.device_id().to_owned(),
            created_at: clock.now(),
            cloned_from: None,
            meta: HeaderMeta { title: None, ..header.meta.clone() },
            ..header
        };
        let head = self.desk.head(id).await?;
        let repaired = self.store.repair(id, head.as_ref(), header, clock)?;
        let new = repaired.session_id;
        self.threads.note(new, None).await;
        let note = if current == Some(id) {
            let now = clock.now();
            self.desk.replace_session(&agent_id, &thread_id, (id, new), keys, now).await?;
            "the conversation goes on in it; the damaged file stays as it is".to_owned()
        } else {
            let short = short(new);
            format!("`kith ask --session {short} …` goes on in it; the damaged file stays as it is")
        };
        let lost_from =
            DamageView { line: repaired.lost_from_line, code: repaired.code.as_str().to_owned() };
        let form = RepairView { session_id: new, events: repaired.events, lost_from };
        Ok(Told { form, notes: vec![note] })
    }

    /// A request that is repeated because its host was lost must not make a second copy.
    async fn repaired_before(
        &self,
        damaged: &SessionHeader,
        damage: &Damage,
    ) -> Result<Option<Told<RepairView>>, Report> {
        let Some(copy) = copies(&self.store)?.remove(&damaged.session_id) else { return Ok(None) };
        let mut n_copied = 0;
        let count = &mut |event: Event| n_copied += u64::from(event.source_tag.is_some());
        self.reader.each(copy, count).await?;
        let lost_from = DamageView { line: damage.line, code: damage.code.as_str().to_owned() };
        let form = RepairView { session_id: copy, events: n_copied, lost_from };
        let notes = vec![format!(
            "it had been repaired before; `kith session rm {}` removes the damaged one",
            short(damaged.session_id)
        )];
        Ok(Some(Told { form, notes }))
    }

    /// The newest message of each session whose turn has not ended.
    pub(crate) async fn left_by_others(&self) -> Result<Vec<Accepted>, Report> {
        let mut left = Vec::new();
        for session_id in self.desk.unclosed_sessions().await? {
            let rows = self.desk.unclosed(session_id).await?;
            // The last one brings those before it along.
            let Some(InboxRow { event, .. }) = rows.into_iter().next_back() else { continue };
            left.push(Accepted { first: false, session_id, closed: false, is_next: false, event });
        }
        Ok(left)
    }

    /// Brings a session that an earlier host left to its rest, and says how that went.
    pub(crate) async fn take_up(&self, left: &Accepted, provider: &dyn Provider) -> String {
        let cancel = CancellationToken::new();
        let run = Run { provider, watcher: &Unwatched, cancel: &cancel };
        let report = self.engine.run(left, run).await;
        let session_id = report.as_ref().map_or(left.session_id, |it| it.session_id);
        self.threads.note(session_id, None).await;
        match report {
            Ok(report) => {
                let id = short(report.session_id);
                format!(
                    "session {id} had been cut short and is at rest now: `kith session show {id}`"
                )
            }
            Err(error) => {
                let (id, why) = (short(left.session_id), Report::from(error).message());
                format!("session {id} had been cut short and could not be brought to rest: {why}")
            }
        }
    }
}

/// The newest copy of each session that was repaired. A clone is in a thread of its own.
pub(crate) fn copies(store: &SessionStore) -> Result<HashMap<SessionId, SessionId>, LogError> {
    let mut copies = HashMap::new();
    let mut threads: HashMap<SessionId, ThreadId> = HashMap::new();
    for id in store.list()? {
        // One without a good first line is nobody's copy.
        let Ok(header) = store.header(id) else { continue };
        if let Some(origin) = &header.cloned_from
            && threads.get(&origin.session_id) == Some(&header.thread_id)
        {
            copies.insert(origin.session_id, id);
        }
        threads.insert(id, header.thread_id);
    }
    Ok(copies)
}

fn nothing_to_repair(id: SessionId) -> Report {
    let message = format!("session {} is whole; there is nothing to repair", short(id));
    Report::new(Blame::Request, "invalid_request", message)
}

fn written_by_a_newer_one(id: SessionId, damage: &Damage) -> Report {
    let message = format!("session {} {}", short(id), damage_in_words(damage));
    Report::new(Blame::Request, "newer_version", message)
        .at_line(damage.line)
        .hint("it is not damaged: a newer kith reads all of it")
}

/// Nobody waits for what is taken up.
struct Unwatched;

impl Tap for Unwatched {
    fn delta(&self, _: Delta<'_>) {}
}

impl Watcher for Unwatched {
    fn written(&self, _: &[Event]) {}
}
