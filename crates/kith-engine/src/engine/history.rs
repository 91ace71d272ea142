//! Sessions that begin with a history instead of a message: primed, cloned, repaired.
//!
//! Their events carry a source tag, so no call runs and no message is answered because of them.

use std::collections::BTreeSet;

use kith_sessions::damage::{Damage, DamageCode};
use kith_sessions::desk::ThreadRow;
use kith_sessions::journal::{Batch, RepairedSession};
use kith_sessions::line::LogHead;
use kith_sessions::read::Tail;
use kith_sessions::storage::{StorageError, StorageErrorKind};
use kith_vocab::event::control::Level;
use kith_vocab::event::{Event, SourceTag};
use kith_vocab::header::{CloneOrigin, HeaderMeta, LOG_FORMAT_VERSION, SessionHeader};
use kith_vocab::ids::{EventId, LeafId, SessionId, ThreadId};
use kith_vocab::ingress::IngressEvent;
use kith_vocab::validate::validate;

use super::{Engine, EngineError, EngineShared};
use crate::command::{CommandAction, DriverCommand};
use crate::failure::SessionFailure;
use crate::feed::ThreadKey;
use crate::registry::Reservation;
use crate::report::RowReader;
use crate::session::Session;
use crate::survey::{PlaceError, Survey};
use crate::words::NoticeText;

/// Events of a history in one batch; opening the session later holds one batch at a time.
const HISTORY_BATCH_EVENTS: usize = 256;
/// Maximum size of such a batch, unless it has only one event.
const HISTORY_BATCH_BYTES: usize = 1024 * 1024;

/// A session as far as it can be read, with its whole tree.
pub struct SurveyedSession {
    pub header: SessionHeader,
    pub survey: Survey,
    pub damage: Option<Damage>,
}

/// A session that was made from another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClonedSession {
    pub session_id: SessionId,
    pub thread_id: ThreadId,
    pub leaf: LeafId,
    /// The damage of the source, if a part of it could not be read.
    pub damage: Option<Damage>,
    /// The source has a turn open, which was left out.
    pub leaves_a_turn_out: bool,
}

/// A request to move the leaf: the client, and the leaf that it saw.
#[derive(Clone, Debug)]
pub struct BranchCommand {
    /// The id that its `leaf_moved` will have.
    pub id: EventId,
    pub client_id: String,
    pub user_id: String,
    /// Where the conversation must end now. While a turn runs, its own progress is no conflict.
    pub expected_leaf: Option<LeafId>,
}

impl Engine {
    /// Writes the session whole and makes it its thread's current one.
    ///
    /// The log is made before the desk knows of it, so a crash between the two leaves a session
    /// that is listed and that no thread is in; [`Engine::place`] puts it there.
    pub async fn adopt(
        &self,
        header: &SessionHeader,
        events: Vec<Event>,
    ) -> Result<(), EngineError> {
        let shared = &self.shared;
        let id = header.session_id;
        let batches = in_batches(&events);
        let head = shared.journal.create(header, batches).await?;
        shared.journal.close(id);
        // Before its thread is in it: from then on a driver may write and publish.
        let feed = shared.feed.session(id);
        feed.publish_history(events.clone());
        if let Err(error) = shared.make_current(header, head).await {
            // It was never acknowledged, and another attempt makes it anew.
            shared.journal.remove(id).await.ok();
            return Err(error.into());
        }
        shared.checkpoints.list_new(header, &events).await;
        Ok(())
    }

    /// Makes a session that was written before its thread's current one.
    pub async fn place(&self, header: &SessionHeader) -> Result<(), EngineError> {
        Ok(self.shared.make_current(header, None).await?)
    }

    /// The whole tree of a session, as far as it can be read. Writes nothing.
    pub async fn survey(&self, id: SessionId) -> Result<SurveyedSession, EngineError> {
        let head = self.shared.desk.head(id).await?;
        let mut survey = Survey::default();
        let each = &mut |event: Event| survey.read(&event);
        let reading = self.shared.journal.read(id, head, 0, each).await?;
        let damage = match reading.tail {
            Tail::Damaged(damage) => Some(damage),
            Tail::Clean | Tail::Torn { .. } => None,
        };
        Ok(SurveyedSession { header: reading.header, survey, damage })
    }

    /// Moves the leaf to the turn boundary at or before a place, and says where it is now. A turn
    /// that runs is stopped first, and ends in the same batch. What is refused leaves everything as
    /// it was; asked again under the same id, it moves nothing.
    pub async fn branch(
        &self,
        session_id: SessionId,
        place: LeafId,
        command: BranchCommand,
    ) -> Result<LeafId, EngineError> {
        let SurveyedSession { survey, damage, .. } = self.survey(session_id).await?;
        if let Some(damage) = damage {
            let message = format!("session `{session_id}` is read-only: {damage}");
            let kind = StorageErrorKind::Damaged(damage);
            return Err(StorageError::new(kind, message).into());
        }
        if let Some(leaf) = survey.moved_by(command.id)? {
            return Ok(leaf);
        }
        survey.check(place)?;
        let BranchCommand { id, client_id, user_id, expected_leaf } = command;
        let action = CommandAction::Branch { to: survey.boundary(place), expected_leaf };
        let command = DriverCommand { id, client_id, user_id, action };
        Ok(self.command(session_id, command).await?.leaf)
    }

    /// Makes session `id` from the path of `source` up to the turn boundary at or before `at`, or
    /// up to where it waits. Asked again under the same id, it makes no second one.
    ///
    /// Prompt files are not read again: the clone gets the snapshot of the source. Queues, approvals
    /// and turns stay with the source, and the clone has the same audience.
    pub async fn clone_session(
        &self,
        source: SessionId,
        at: Option<LeafId>,
        id: SessionId,
    ) -> Result<ClonedSession, EngineError> {
        let SurveyedSession { header, survey, damage } = self.survey(source).await?;
        if self.shared.journal.exists(id).await? {
            return self.cloned_before(source, id, damage).await;
        }
        let leaf = match at {
            None => survey.resting_leaf(),
            Some(place) => {
                survey.check(place)?;
                survey.boundary(place)
            }
        };
        let events = self.inherited_events(source, &survey, leaf).await?;
        let last = leaf.event().or_else(|| events.last().map(|event| event.id));
        let Some(event_id) = last else { return Err(PlaceError::NothingToClone.into()) };
        // One that somebody gave; otherwise it is called by its own first words.
        let given = survey.state().title.as_ref().map(|(title, _)| title.clone());
        let title = given.or_else(|| header.meta.title.clone());
        let header = SessionHeader {
            v: LOG_FORMAT_VERSION,
            session_id: id,
            device_id: self.shared.desk.device_id().to_owned(),
            created_at: self.shared.clock.now(),
            thread_id: ThreadId::room_of(id),
            cloned_from: Some(CloneOrigin { session_id: source, event_id }),
            parent: None,
            meta: HeaderMeta { title, priming: header.meta.priming.clone() },
            ..header
        };
        self.adopt(&header, events).await?;
        let leaves_a_turn_out = at.is_none() && survey.open_turn().is_some();
        let thread_id = header.thread_id;
        Ok(ClonedSession { session_id: id, thread_id, leaf, damage, leaves_a_turn_out })
    }

    /// The events that the clone begins with, in the order of the log.
    async fn inherited_events(
        &self,
        source: SessionId,
        survey: &Survey,
        leaf: LeafId,
    ) -> Result<Vec<Event>, EngineError> {
        let path: BTreeSet<EventId> = survey.up_from(leaf).map(|event| event.id).collect();
        let mut events = Vec::new();
        let each = &mut |mut event: Event| {
            // Primed events stay marked as such: whether they are shown depends on it.
            event.source_tag.get_or_insert(SourceTag::Clone);
            let is_wanted = !event.is_tree() || path.contains(&event.id);
            // It was valid without the tag, so this asks only whether it may carry it.
            if is_wanted && validate(&event).is_ok() {
                event.seq = events.len() as u64 + 1;
                events.push(event);
            }
        };
        self.shared.journal.read(source, None, 0, each).await?;
        Ok(events)
    }

    /// A request that is repeated because its host was lost, perhaps before the thread was known.
    async fn cloned_before(
        &self,
        source: SessionId,
        id: SessionId,
        damage: Option<Damage>,
    ) -> Result<ClonedSession, EngineError> {
        let SurveyedSession { header, survey, .. } = self.survey(id).await?;
        if header.cloned_from.as_ref().is_none_or(|origin| origin.session_id != source) {
            return Err(EngineError::Taken { session_id: id });
        }
        let desk = &self.shared.desk;
        if desk.current_session(&header.agent_id, &header.thread_id).await?.is_none() {
            self.place(&header).await?;
        }
        let (thread_id, leaf) = (header.thread_id, survey.leaf());
        Ok(ClonedSession { session_id: id, thread_id, leaf, damage, leaves_a_turn_out: false })
    }

    /// Copies what can be read of a damaged session into a new one of the same thread. If the thread
    /// was in it, the thread goes on in the copy. Asked again, it makes no second copy: `None` then.
    pub async fn repair(
        &self,
        id: SessionId,
    ) -> Result<(SessionId, Option<RepairedSession>), EngineError> {
        let reserved = self.shared.registry.reserve(id);
        let reservation = reserved.ok_or(EngineError::InUse { session_id: id })?;
        self.shared.journal.close(id);
        let head = self.shared.desk.head(id).await?;
        let Repair { copy, repaired, reserved } = self.shared.repair(id, head).await?;
        drop((reservation, reserved));
        // Messages that came meanwhile wait for the copy, and found no driver to wake.
        self.shared.feed.moved(id, copy);
        self.wake(copy);
        // One that came when the rows had moved already waits for the damaged session.
        if self.shared.desk.open_rows(id).await.map_or(true, |rows| !rows.is_empty()) {
            self.wake(id);
        }
        Ok((copy, repaired))
    }
}

/// A copy of a damaged session.
struct Repair<'a> {
    copy: SessionId,
    /// `None` if it was made before.
    repaired: Option<RepairedSession>,
    /// Keeps drivers away from a copy that is new.
    reserved: Option<Reservation<'a>>,
}

impl EngineShared {
    async fn make_current(
        &self,
        header: &SessionHeader,
        head: Option<LogHead>,
    ) -> Result<(), StorageError> {
        self.desk.place_session(ThreadRow::of(header, self.clock.now()), head).await?;
        self.feed.thread_changed(ThreadKey::of(header), header.session_id);
        Ok(())
    }

    async fn repair(
        &self,
        id: SessionId,
        head: Option<LogHead>,
    ) -> Result<Repair<'_>, StorageError> {
        let header = self.journal.read(id, head, 0, &mut |_| ()).await?.header;
        self.repair_as(&header, head).await
    }

    /// Repairs the session with this header, which may be known although it cannot be read.
    async fn repair_as<'a>(
        &'a self,
        header: &SessionHeader,
        head: Option<LogHead>,
    ) -> Result<Repair<'a>, StorageError> {
        let id = header.session_id;
        let mut keys = Vec::new();
        let (copy, repaired, reserved) = if let Some(copy) = self.copy_of(header).await? {
            for id in [id, copy] {
                let each = &mut |event: Event| keys.extend(event.ingress_key);
                // What cannot be read at all names no message.
                self.journal.read(id, None, 0, each).await.ok();
            }
            (copy, None, None)
        } else {
            let header = self.header_of_copy(header);
            let copy = header.session_id;
            let reserved = self.registry.reserve(copy);
            let repaired = self.journal.repair(id, head, header, &*self.clock).await?;
            keys.clone_from(&repaired.keys);
            (copy, Some(repaired), reserved)
        };
        let (agent_id, thread_id) = (&header.agent_id, &header.thread_id);
        let was_current = self.desk.current_session(agent_id, thread_id).await? == Some(id);
        let now = self.clock.now();
        // Also if the thread is elsewhere by now: messages may wait for the session.
        self.desk.replace_session(agent_id, thread_id, (id, copy), keys, now).await?;
        if was_current {
            self.feed.thread_changed(ThreadKey::of(header), copy);
        }
        Ok(Repair { copy, repaired, reserved })
    }

    /// The newest copy that was made of a damaged session. A clone is in a thread of its own. A copy is
    /// always newer, so that following copies of copies comes to an end.
    async fn copy_of(&self, damaged: &SessionHeader) -> Result<Option<SessionId>, StorageError> {
        let mut copy = None;
        for id in self.journal.list().await? {
            // A session without a good header is no copy.
            let Ok(header) = self.journal.header(id).await else { continue };
            let origin = header.cloned_from.as_ref().map(|origin| origin.session_id);
            let is_copy = origin == Some(damaged.session_id) && id > damaged.session_id;
            if is_copy && header.thread_id == damaged.thread_id {
                copy = Some(id);
            }
        }
        Ok(copy)
    }

    /// What became of a message whose answer stands behind the damage of its session, so that only
    /// a copy tells it.
    pub(super) async fn answer_in_copy(
        &self,
        damaged: SessionId,
        reader: &RowReader,
    ) -> Result<Option<RowReader>, StorageError> {
        let mut id = damaged;
        // One without a good first line has a copy that nothing leads to.
        while let Ok(header) = self.journal.header(id).await {
            let Some(copy) = self.copy_of(&header).await? else { break };
            let mut reader = reader.in_copy(copy);
            self.journal.read(copy, None, 0, &mut |event| reader.read_copied(&event)).await?;
            if reader.settled().is_some() {
                return Ok(Some(reader));
            }
            id = copy;
        }
        Ok(None)
    }

    fn header_of_copy(&self, damaged: &SessionHeader) -> SessionHeader {
        SessionHeader {
            v: LOG_FORMAT_VERSION,
            session_id: SessionId::from_uuid(self.clock.new_id()),
            device_id: self.desk.device_id().to_owned(),
            created_at: self.clock.now(),
            cloned_from: None,
            meta: HeaderMeta { title: None, ..damaged.meta.clone() },
            ..damaged.clone()
        }
    }

    /// Lets the rows of a session that cannot be written to any more go on in a copy of it, and says
    /// so there. Where nothing can be read, or a newer version wrote it, the thread begins anew.
    pub(crate) async fn repair_for_driver(
        &self,
        id: SessionId,
        head: Option<LogHead>,
        event: &IngressEvent,
        error: &StorageError,
    ) -> Result<SessionId, SessionFailure> {
        let is_newer = matches!(
            &error.kind,
            StorageErrorKind::Damaged(damage) if damage.code == DamageCode::NewerVersion
        );
        let mut repair = if is_newer { Err(error.clone()) } else { self.repair(id, head).await };
        if repair.as_ref().is_err_and(|it| !is_newer && is_header_lost(it)) {
            // The desk still knows whose it is.
            repair = self.repair_as(&self.header_for(id, event), head).await;
        }
        let problem = &error.to_string();
        let (session, _reserved, text) = match repair {
            // If the copy is damaged as well, its own driver finds out.
            Ok(Repair { copy, repaired: None, .. }) => return Ok(copy),
            Ok(Repair { copy, reserved, .. }) => {
                let Ok(session) = self.load_copy(copy).await else { return Ok(copy) };
                (session, reserved, NoticeText::ContinuesFromCopy { problem })
            }
            Err(error) if matches!(error.kind, StorageErrorKind::Damaged(_)) => {
                let fresh = SessionId::from_uuid(self.clock.new_id());
                let reserved = self.registry.reserve(fresh);
                let header = self.header_for(fresh, event);
                let (agent_id, thread_id) = (&event.agent_id, &event.thread_id);
                let (keys, now) = (Vec::new(), self.clock.now());
                self.desk.replace_session(agent_id, thread_id, (id, fresh), keys, now).await?;
                let session = Session::new(self.parts_of(fresh), header);
                (session, reserved, NoticeText::StartsOver { problem })
            }
            // A copy that could not be written now is made later.
            Err(error) => return Err(error.into()),
        };
        let text = text.in_language(event.language.as_deref().unwrap_or_default());
        Ok(self.write_notice(session, text, id).await)
    }

    async fn load_copy(&self, copy: SessionId) -> Result<Session, StorageError> {
        let head = self.desk.head(copy).await?;
        self.load(copy, head).await
    }

    /// Writes the notice, and says to which session. The rows wait for that one by now, so whatever
    /// goes wrong is left to its own driver.
    async fn write_notice(&self, mut session: Session, text: String, of: SessionId) -> SessionId {
        let id = session.id();
        session.stage_notice(text, Level::Warn, Some(of.to_string()));
        // Without the notice the conversation goes on all the same.
        session.commit().await.ok();
        self.journal.close(id);
        id
    }
}

/// A history as it is written: in batches of which each fits into memory with ease.
fn in_batches(events: &[Event]) -> Vec<Batch> {
    let mut batches: Vec<Batch> = Vec::new();
    let mut room = 0;
    for event in events {
        // What cannot be written is refused when it is.
        let n_bytes = serde_json::to_vec(&event.body).map_or(0, |bytes| bytes.len());
        match batches.last_mut() {
            Some(batch) if batch.events.len() < HISTORY_BATCH_EVENTS && n_bytes <= room => {
                batch.events.push(event.clone());
            }
            _ => {
                batches.push(Batch { events: vec![event.clone()], blobs: Vec::new() });
                room = HISTORY_BATCH_BYTES;
            }
        }
        room = room.saturating_sub(n_bytes);
    }
    batches
}

fn is_header_lost(error: &StorageError) -> bool {
    error.damage().is_some_and(|damage| damage.line == 1)
}
