//! Sessions as lists, pages and whole logs.

use std::path::Path;
use std::sync::Arc;

use kith_engine::checkpoints::row_of;
use kith_engine::reading::state_of;
use kith_engine::replay::Replayer;
use kith_engine::verify::{Verifier, blobs_of};
use kith_sessions::catalog::{CatalogRow, LogStamp};
use kith_sessions::line::LogHead;
use kith_sessions::read::{Reading, Tail};
use kith_sessions::storage::{StorageError, StorageErrorKind};
use kith_vocab::event::Event;
use kith_vocab::ids::SessionId;
use kith_vocab::json::Json;
use kith_vocab::secret::filter::SecretFilter;

use super::{FoldedSession, ReadReporter, ReadSide};
use crate::call::{Delivery, Follower, Reply, Response};
use crate::caller::Caller;
use crate::calls::session::{
    DamageView, DescribeSession, EventPage, ExportItem, ExportSession, ExportSummary, ListSessions,
    MismatchView, ReadEvents, ReadProgress, ReplayDifference, ReplayReport, ReplaySession,
    SessionDescription, SessionList, SessionRow, SessionState, SessionView, ShowSession,
    Verification, VerifyProgress, VerifySession,
};
use crate::error::{CallError, ErrorCode};
use crate::projects::ProjectFolders;
use crate::secrets::secret_filter;
use crate::words::{damaged_session, rfc3339, short, tail_in_words};

/// Maximum number of events in a page.
const PAGE_EVENTS_MAX: u32 = 10_000;
/// Maximum size of a page's events: with its envelope it must fit into an answer.
const PAGE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// How often a verification reports its progress.
const PROGRESS_EVERY_EVENTS: u64 = 10_000;
/// The note of an answer without the desk, which knows where each log should end.
pub(super) const WITHOUT_DESK: &str = "only the session files were read";

pub async fn list_sessions(
    side: Arc<ReadSide>,
    _: Caller,
    call: ListSessions,
    follower: Follower<ReadProgress>,
) -> Reply<SessionList> {
    let mut list = side.list_reporting(&progress_of(follower)).await?;
    if let Some(named) = &call.agent_id {
        let settings = side.settings()?;
        let id = &settings.team.member(named)?.id;
        list.data.sessions.retain(|row| row.agent_id.as_ref() == Some(id));
    }
    Ok(list.with_notes(side.desk_note(WITHOUT_DESK)))
}

pub async fn show_session(side: Arc<ReadSide>, call: ShowSession) -> Reply<SessionView> {
    let id = side.resolve(&call.session).await?;
    let head = side.head(id).await?;
    let mut events = Vec::new();
    let each = &mut |event: Event| {
        if event.seq == 1 {
            events.clear();
        }
        events.push(event);
    };
    let read = state_of(&*side.journal, id, head, each).await;
    let (reading, state) = read.map_err(|error| CallError::of_session(id, error))?;
    let damaged = damage_view(&reading.tail);
    let notes = tail_in_words(&reading.tail);
    let view = SessionView { header: reading.header, events, leaf: state.leaf(), damaged };
    Ok(Response::new(view).with_notes(notes).with_notes(side.desk_note(WITHOUT_DESK)))
}

pub async fn read_events(side: Arc<ReadSide>, call: ReadEvents) -> Reply<EventPage> {
    if call.limit == 0 || call.limit > PAGE_EVENTS_MAX {
        return Err(CallError::invalid(format!("`limit` must be between 1 and {PAGE_EVENTS_MAX}")));
    }
    let id = side.resolve(&call.session).await?;
    let limit = usize::try_from(call.limit).unwrap_or(usize::MAX);
    let (mut events, mut n_bytes, mut next_after) = (Vec::<Event>::new(), 0, None);
    let each = &mut |event: Event| {
        if event.seq <= call.after || next_after.is_some() {
            return;
        }
        n_bytes += Json::of(&event).as_str().len();
        match events.last() {
            Some(last) if events.len() == limit || n_bytes > PAGE_BYTES_MAX => {
                next_after = Some(last.seq);
            }
            _ => events.push(event),
        }
    };
    let tail = side.each(id, each).await?.tail;
    let notes = if next_after.is_none() { tail_in_words(&tail) } else { Vec::new() };
    Ok(Response::new(EventPage { events, next_after }).with_notes(notes))
}

pub async fn describe_session(
    side: Arc<ReadSide>,
    call: DescribeSession,
) -> Reply<SessionDescription> {
    let session_id = match side.resolve(&call.session).await {
        Ok(id) => id,
        Err(error) => {
            let Some(session_id) = side.resolve_gone(&call.session).await? else {
                return Err(error);
            };
            return Ok(Response::new(SessionDescription {
                session_id,
                agent_id: None,
                title: None,
                is_gone: true,
                files: 0,
                bytes: 0,
            }));
        }
    };
    let belongings = side.journal.belongings(session_id).await?;
    let files = u64::try_from(belongings.parts.len()).unwrap_or(u64::MAX);
    let (_, SessionRow { agent_id, title, .. }, _) = side.row(session_id).await?;
    let (bytes, is_gone) = (belongings.bytes, false);
    let described = SessionDescription { session_id, agent_id, title, is_gone, files, bytes };
    Ok(Response::new(described).with_notes(side.desk_note(WITHOUT_DESK)))
}

pub async fn verify_session(
    side: Arc<ReadSide>,
    _: Caller,
    call: VerifySession,
    follower: Follower<VerifyProgress>,
) -> Reply<Verification> {
    // Without the desk nobody can tell whether the end of a log was lost.
    side.require_desk()?;
    let id = side.resolve(&call.session).await?;
    let _reading = side.whole_read(&follower.gone).await?;
    let head = side.head(id).await?;
    let blobs = || blobs_of(Arc::clone(&side.journal));
    let mut verifier = Verifier::trimming().with_blobs(blobs());
    let mut read = side.verify(id, head, &mut verifier, &follower).await;
    if verifier.needs_full_read() {
        verifier = Verifier::default().with_blobs(blobs());
        read = side.verify(id, head, &mut verifier, &follower).await;
    }
    let tail = match read {
        Ok(reading) => reading.tail,
        // A file without a good first line is damaged like any other.
        Err(StorageError { kind: StorageErrorKind::Damaged(damage), .. }) => Tail::Damaged(damage),
        Err(error) => return Err(error.into()),
    };
    let mismatches = verifier.mismatches.iter().map(|it| MismatchView {
        request_id: it.request_id,
        expected: it.expected.clone(),
        rebuilt: it.rebuilt.clone(),
    });
    let verification = Verification {
        events: verifier.state().n_events,
        requests: verifier.n_requests,
        damaged: damage_view(&tail),
        mismatches: mismatches.collect(),
        other_renderer: verifier.other_renderer.clone(),
    };
    Ok(Response::new(verification).with_notes(tail_in_words(&tail)))
}

pub async fn replay_session(side: Arc<ReadSide>, call: ReplaySession) -> Reply<ReplayReport> {
    let id = side.resolve(&call.session).await?;
    let mut replayer = Replayer::default().with_blobs(blobs_of(Arc::clone(&side.journal)));
    let tail = side.each(id, &mut |event: Event| replayer.read(&event)).await?.tail;
    if let Tail::Damaged(damage) = &tail {
        return Err(CallError::request(ErrorCode::Damaged, damaged_session(id, damage)));
    }
    let difference = replayer.difference.map(|it| ReplayDifference {
        seq: it.seq,
        event_id: it.event_id,
        event_type: it.event_type.to_owned(),
        what: it.what,
    });
    Ok(Response::new(ReplayReport {
        events: replayer.n_events,
        compared: replayer.n_compared,
        other_renderer: replayer.n_other_renderer,
        difference,
    }))
}

pub async fn export_session(
    side: Arc<ReadSide>,
    _: Caller,
    call: ExportSession,
    follower: Follower<ExportItem>,
) -> Reply<ExportSummary> {
    let session_id = side.resolve(&call.session).await?;
    let _reading = side.whole_read(&follower.gone).await?;
    // Twice, so that nothing is kept: the title stands at the end of the log.
    let (header, title) = {
        let FoldedSession { reading, state } = side.read(session_id).await?;
        (reading.header, state.title.map(|(title, _)| title))
    };
    let title = title.or_else(|| header.meta.title.clone());
    follower.push(ExportItem::Header { header, title }, Delivery::Paced)?;
    let secrets = secret_filter(&*side.settings()?);
    let (mut events, mut refused) = (0, None);
    let each = &mut |event| {
        events += 1;
        if refused.is_none() {
            let event = without_secrets(event, &secrets);
            let push = |event| follower.push(ExportItem::Event(event), Delivery::Paced);
            refused = event.and_then(push).err();
        }
    };
    let tail = side.each(session_id, each).await?.tail;
    if let Some(error) = refused {
        return Err(error);
    }
    let summary = ExportSummary { session_id, events };
    let notes = tail_in_words(&tail);
    Ok(Response::new(summary).with_notes(notes).with_notes(side.desk_note(WITHOUT_DESK)))
}

/// An export is for use elsewhere.
fn without_secrets(event: Event, secrets: &SecretFilter) -> Result<Event, CallError> {
    if secrets.is_empty() {
        return Ok(event);
    }
    let json = Json::of(&event);
    let filtered = secrets.filtered_json(&json);
    if filtered == json {
        return Ok(event);
    }
    filtered.read().map_err(|_| {
        let message = format!("event `{}` holds a secret where none can be removed", event.id);
        CallError::invalid(message)
    })
}

impl ReadSide {
    async fn verify(
        &self,
        id: SessionId,
        head: Option<LogHead>,
        verifier: &mut Verifier,
        follower: &Follower<VerifyProgress>,
    ) -> Result<Reading, StorageError> {
        let mut n_events = 0;
        let each = &mut |event: Event| {
            verifier.read(&event);
            n_events += 1;
            if n_events % PROGRESS_EVERY_EVENTS == 0 {
                // Nobody relies on it.
                follower.push(VerifyProgress { events: n_events }, Delivery::IfRoom).ok();
            }
        };
        self.journal.read(id, head, 0, each).await
    }

    pub(crate) async fn list(&self) -> Reply<SessionList> {
        self.list_reporting(&|_| ()).await
    }

    async fn list_reporting(&self, report: ReadReporter<'_>) -> Reply<SessionList> {
        let mut rows = Vec::new();
        let mut notes = Vec::new();
        let unread = match self.catalog.listing().await {
            Ok(listing) => {
                rows.extend(listing.rows.into_iter().map(session_row));
                listing.unread
            }
            // The catalog is derived; without it every session is read.
            Err(_) => self.journal.list().await?,
        };
        let total = unread.len() as u64;
        for (sessions, id) in (0..).zip(unread) {
            report(ReadProgress { sessions, total });
            let (updated, row, note) = self.row(id).await?;
            rows.push((updated, row));
            notes.extend(note);
        }
        // Newest first; ids rise with time and settle ties.
        rows.sort_by_key(|(updated, row)| std::cmp::Reverse((*updated, row.session_id)));
        let mut sessions: Vec<SessionRow> = rows.into_iter().map(|(_, row)| row).collect();
        // Without settings the sessions are listed all the same.
        if let Ok(settings) = self.settings() {
            let folders = ProjectFolders::of(&self.house, &settings);
            for row in &mut sessions {
                let project = row.cwd.as_ref().map(|cwd| folders.project_of(Path::new(cwd)));
                row.project = project.map(|it| it.to_string_lossy().into_owned());
            }
        }
        Ok(Response { data: SessionList { sessions }, notes })
    }

    /// What a session is about, for someone who goes on with it.
    pub(crate) async fn title_of(&self, id: SessionId) -> Result<Option<String>, CallError> {
        let (_, row, _) = self.row(id).await?;
        Ok(row.title)
    }

    /// The row of a session, when it last changed, and what is wrong with it.
    async fn row(&self, id: SessionId) -> Result<(u64, SessionRow, Option<String>), CallError> {
        let head = self.head(id).await?;
        let read = state_of(&*self.journal, id, head, &mut |_| ()).await;
        let (Reading { header, tail, .. }, state) = match read {
            Ok(read) => read,
            Err(error) => {
                let note = match error.damage() {
                    Some(damage) => damaged_session(id, damage),
                    None => format!("session {}: {}", short(id), CallError::from(error).message()),
                };
                return Ok((0, unreadable(id), Some(note)));
            }
        };
        let (updated, mut row) = session_row(row_of(&header, &state, LogStamp::default()));
        let note = match &tail {
            Tail::Damaged(damage) => Some(damaged_session(id, damage)),
            Tail::Clean | Tail::Torn { .. } => None,
        };
        if note.is_some() {
            row.state = SessionState::ReadOnly;
        }
        Ok((updated, row, note))
    }
}

/// Tells a client how far the reading has come, if it has room for that.
pub(super) fn progress_of(follower: Follower<ReadProgress>) -> impl Fn(ReadProgress) + Send + Sync {
    move |so_far| {
        // Nobody relies on it.
        follower.push(so_far, Delivery::IfRoom).ok();
    }
}

fn session_row(row: CatalogRow) -> (u64, SessionRow) {
    let updated = row.updated_at.unwrap_or_default();
    let state = match row.state.as_str() {
        "waiting" => SessionState::Waiting,
        "running" => SessionState::Running,
        _ => SessionState::Idle,
    };
    let row = SessionRow {
        session_id: row.session_id,
        thread_id: row.thread_id,
        agent_id: row.agent_id,
        title: row.title,
        created_at: row.created_at.map(rfc3339),
        updated_at: row.updated_at.map(rfc3339),
        events: row.events,
        leaf: row.leaf,
        cwd: row.cwd,
        project: None,
        state,
    };
    (updated, row)
}

fn unreadable(id: SessionId) -> SessionRow {
    SessionRow {
        session_id: id,
        thread_id: None,
        agent_id: None,
        title: None,
        created_at: None,
        updated_at: None,
        events: 0,
        leaf: None,
        cwd: None,
        project: None,
        state: SessionState::ReadOnly,
    }
}

fn damage_view(tail: &Tail) -> Option<DamageView> {
    let Tail::Damaged(damage) = tail else { return None };
    Some(DamageView { line: damage.line, code: damage.code.into() })
}

#[cfg(test)]
mod tests;
