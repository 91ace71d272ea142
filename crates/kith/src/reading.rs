//! What can be answered from the files alone: no lock is taken and nothing is created.

mod search;
mod threads;
mod tree;

use jiff::Timestamp;
use kith_engine::lane::{Inquiry, Report as TurnReport};
use kith_engine::reading::state_of;
use kith_engine::session::Watcher;
use kith_engine::shelf::row_of;
use kith_engine::state::State;
use kith_engine::verify::Verifier;
use kith_sessions::damage::Damage;
use kith_sessions::desk::Desk;
use kith_sessions::index::{Index, IndexRow};
use kith_sessions::line::Head;
use kith_sessions::log::LogError;
use kith_sessions::read::{Reading, Tail};
use kith_sessions::store::{Belongings, FileStamp, SessionStore};
use kith_vocab::clock::{BoxFuture, Clock};
use kith_vocab::event::Event;
use kith_vocab::header::Audience;
use kith_vocab::ids::{EventId, SessionId};
use kith_vocab::ingress::IngressEvent;
use tokio_util::sync::CancellationToken;

use crate::client::{
    Answer, Client, DamageView, MismatchView, PromptView, RepositoryList, RepositoryRow, Request,
    SessionList, SessionRow, SessionState, SessionView, Told, Verification,
};
use crate::clock::SystemClock;
use crate::config::Config;
use crate::house::House;
use crate::opening;
use crate::report::{Blame, Report, damage_in_words};
use crate::trust::{self, Standing};

pub(crate) use threads::resolve_thread;

/// The end of an id, as lists show it: the beginning is a time, and alike for what began together.
const SHORT_ID_CHARS: usize = 8;

pub(crate) struct Reader {
    house: House,
    store: SessionStore,
    /// Absent in a house where nothing was ever said.
    desk: Option<Desk>,
}

pub(crate) struct Read {
    pub(crate) reading: Reading,
    pub(crate) state: State,
}

impl Reader {
    pub(crate) fn new(house: House, store: SessionStore, desk: Option<Desk>) -> Reader {
        Reader { house, store, desk }
    }

    pub(crate) async fn answer(&self, request: Request) -> Result<Answer, Report> {
        match request {
            Request::ListSessions {} => self.list().await.map(Answer::Sessions),
            Request::ShowSession { session } => self.show(&session).await.map(Answer::Session),
            Request::VerifySession { session } => {
                self.verify(&session).await.map(Answer::Verification)
            }
            Request::SearchSessions { query, limit } => {
                self.search(&query, limit).await.map(Answer::Found)
            }
            Request::GetPrompt { agent_id, audience, cwd } => {
                self.prompt(agent_id.as_deref(), audience, &cwd).await.map(Answer::Prompt)
            }
            Request::ShowTree { session } => self.tree(&session).await.map(Answer::Tree),
            Request::ListRepositories {} => self.repositories().await.map(Answer::Repositories),
            Request::SendMessage(_)
            | Request::CreateDialog(_)
            | Request::RenameSession { .. }
            | Request::RepairSession { .. }
            | Request::RemoveSession { .. }
            | Request::BranchSession { .. }
            | Request::CloneSession { .. }
            | Request::WorkOnThreads { .. }
            | Request::TrustRepository { .. }
            | Request::DistrustRepository { .. } => {
                Err(Report::new(Blame::Program, "internal_error", "a reader was asked to write"))
            }
        }
    }

    async fn list(&self) -> Result<Told<SessionList>, Report> {
        let mut rows = Vec::new();
        let mut notes = Vec::new();
        let index = Index::open_read_only(&self.house.kith_dir().join("index.db")).await;
        let known = match &index {
            Some(index) => index.listing(&self.store).await.ok(),
            None => None,
        };
        let unread = match known {
            Some(listing) => {
                rows.extend(listing.rows.into_iter().map(row_of_index));
                listing.unread
            }
            None => self.store.list()?,
        };
        for id in unread {
            let (updated, row, note) = self.row(id).await?;
            rows.push((updated, row));
            notes.extend(note);
        }
        // Newest first; ids rise with time and settle ties.
        rows.sort_by_key(|(updated, row)| std::cmp::Reverse((*updated, row.session_id)));
        let sessions = rows.into_iter().map(|(_, row)| row).collect();
        Ok(Told { form: SessionList { sessions }, notes })
    }

    /// The row of a session, when it last changed, and what is wrong with it.
    async fn row(&self, id: SessionId) -> Result<(u64, SessionRow, Option<String>), Report> {
        let head = self.head(id).await?;
        let store = &self.store;
        let read = state_of(|each| store.read(id, head.as_ref(), &mut |event| each(&event)));
        let (Reading { header, tail, .. }, state) = match read {
            Ok(read) => read,
            Err(error) => {
                let note = match &error {
                    LogError::Damaged { damage, .. } => {
                        format!("session {} {}", short(id), damage_in_words(damage))
                    }
                    _ => format!("session {}: {}", short(id), Report::from(error).message()),
                };
                return Ok((0, unreadable(id), Some(note)));
            }
        };
        let stamp = FileStamp { bytes: 0, modified_ns: 0 };
        let (updated, mut row) = row_of_index(row_of(&header, &state, stamp));
        let note = match &tail {
            Tail::Damaged(damage) => {
                Some(format!("session {} {}", short(id), damage_in_words(damage)))
            }
            Tail::Clean | Tail::Torn { .. } => None,
        };
        if note.is_some() {
            row.state = SessionState::ReadOnly;
        }
        Ok((updated, row, note))
    }

    async fn show(&self, session: &str) -> Result<Told<Box<SessionView>>, Report> {
        let id = self.resolve(session).await?;
        let head = self.head(id).await?;
        let mut events = Vec::new();
        let read = state_of(|each| {
            events.clear();
            self.store.read(id, head.as_ref(), &mut |event| {
                each(&event);
                events.push(event);
            })
        });
        let (reading, state) = read?;
        let damaged = damage_view(&reading.tail);
        let form = SessionView { header: reading.header, events, leaf: state.leaf(), damaged };
        Ok(Told { form: Box::new(form), notes: tail_in_words(&reading.tail) })
    }

    async fn verify(&self, session: &str) -> Result<Told<Verification>, Report> {
        let id = self.resolve(session).await?;
        let head = self.head(id).await?;
        let mut verifier = Verifier::thrifty();
        let mut read = self.store.read(id, head.as_ref(), &mut |event| verifier.read(&event));
        if verifier.needs_all() {
            verifier = Verifier::default();
            read = self.store.read(id, head.as_ref(), &mut |event| verifier.read(&event));
        }
        let tail = match read {
            Ok(reading) => reading.tail,
            // A file without a good first line is damaged like any other.
            Err(LogError::Damaged { damage, .. }) => Tail::Damaged(damage),
            Err(error) => return Err(error.into()),
        };
        let mismatches = verifier.mismatches.iter().map(|it| MismatchView {
            request_id: it.request_id,
            expected: it.expected.clone(),
            rebuilt: it.rebuilt.clone(),
        });
        let form = Verification {
            events: verifier.state().n_events,
            requests: verifier.n_requests,
            damaged: damage_view(&tail),
            mismatches: mismatches.collect(),
            other_renderer: verifier.other_renderer.clone(),
        };
        Ok(Told { form, notes: tail_in_words(&tail) })
    }

    async fn prompt(
        &self,
        agent_id: Option<&str>,
        audience: Audience,
        cwd: &str,
    ) -> Result<Told<PromptView>, Report> {
        let now = SystemClock.now();
        let config = Config::load(&self.house)?;
        let whose = (&self.house, config.team.choose(agent_id)?);
        let trusted = trust::folders_of(&self.house, self.desk.as_ref()).await?;
        let assembled = opening::assemble(whose, cwd.as_ref(), audience, now, &trusted)?;
        let notes = opening::problems(&assembled);
        let system_prompt = assembled.snapshot.system_prompt();
        Ok(Told { form: PromptView { system_prompt, snapshot: assembled.snapshot }, notes })
    }

    pub(crate) fn belongings(&self, id: SessionId) -> Result<Belongings, Report> {
        Ok(self.store.belongings(id)?)
    }

    /// What the owner said of the house itself, then of others.
    async fn repositories(&self) -> Result<Told<RepositoryList>, Report> {
        let mut repositories = Vec::new();
        if let Standing::Remembered(own) = Standing::of(&self.house) {
            let path = own.folder.to_string_lossy().into_owned();
            repositories.push(RepositoryRow { path, trusted_at: rfc3339(own.since_ms) });
        }
        if let Some(desk) = &self.desk {
            for row in desk.repositories().await? {
                let trusted_at = rfc3339(row.trusted_at);
                repositories.push(RepositoryRow { path: row.path, trusted_at });
            }
        }
        Ok(Told { form: RepositoryList { repositories }, notes: Vec::new() })
    }

    async fn head(&self, id: SessionId) -> Result<Option<Head>, Report> {
        match &self.desk {
            Some(desk) => Ok(desk.head(id).await?),
            None => Ok(None),
        }
    }

    /// A session as far as it can be read, and what its events amount to.
    pub(crate) async fn read(&self, id: SessionId) -> Result<Read, Report> {
        let mut state = State::default();
        let reading = self.each(id, &mut |event| state.fold(&event)).await?;
        Ok(Read { reading, state })
    }

    /// Gives every event that can be read to `each`, one at a time: a session of any length fits.
    pub(crate) async fn each(
        &self,
        id: SessionId,
        each: &mut (dyn FnMut(Event) + Send),
    ) -> Result<Reading, Report> {
        let head = self.head(id).await?;
        Ok(self.store.read(id, head.as_ref(), each)?)
    }

    /// What came of a message whose turn has ended, read off the log.
    pub(crate) async fn turn_report(
        &self,
        id: SessionId,
        message: &IngressEvent,
    ) -> Result<TurnReport, Report> {
        let mut inquiry = Inquiry::new(id, &message.thread_id, &message.key);
        self.each(id, &mut |event| inquiry.read(&event)).await?;
        Ok(inquiry.into_report())
    }

    /// Why a session can only be read.
    pub(crate) async fn damage_of(&self, id: SessionId) -> Result<Option<Damage>, Report> {
        let head = self.head(id).await?;
        match self.store.read(id, head.as_ref(), &mut |_| ()) {
            Ok(Reading { tail: Tail::Damaged(damage), .. })
            | Err(LogError::Damaged { damage, .. }) => Ok(Some(damage)),
            Ok(_) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// What a session is about, for someone who goes on with it.
    pub(crate) async fn title_of(&self, id: SessionId) -> Result<Option<String>, Report> {
        let (_, row, _) = self.row(id).await?;
        Ok(row.title)
    }

    /// A session that the desk knows and that has no file, by its id or a part of it.
    pub(crate) async fn resolve_gone(&self, session: &str) -> Result<Option<SessionId>, Report> {
        let Some(desk) = self.desk.as_ref().filter(|_| !session.is_empty()) else {
            return Ok(None);
        };
        let there = self.store.list()?;
        let heads = desk.heads().await?.into_iter().map(|(id, _)| id);
        let mut fitting = heads.filter(|id| {
            let name = id.to_string();
            (name.starts_with(session) || name.ends_with(session)) && !there.contains(id)
        });
        Ok(fitting.next().filter(|_| fitting.next().is_none()))
    }

    /// A whole id, the beginning or the end of one, or `latest`.
    pub(crate) async fn resolve(&self, session: &str) -> Result<SessionId, Report> {
        let not_found = |message: String| {
            Report::new(Blame::Request, "session_not_found", message)
                .hint("`kith session ls` lists the sessions there are")
        };
        if session == "latest" {
            let newest = self.list().await?.form.sessions.into_iter().next();
            return newest
                .map(|row| row.session_id)
                .ok_or_else(|| not_found("there are no sessions yet".to_owned()));
        }
        let fits = |id: &SessionId| {
            let id = id.to_string();
            !session.is_empty() && (id.starts_with(session) || id.ends_with(session))
        };
        let mut fitting = self.store.list()?.into_iter().filter(fits);
        match (fitting.next(), fitting.next()) {
            (Some(id), None) => Ok(id),
            (Some(_), Some(_)) => Err(not_found(format!("several sessions fit `{session}`"))),
            (None, _) => Err(not_found(format!("there is no session `{session}`"))),
        }
    }
}

impl Client for Reader {
    fn call<'a>(
        &'a self,
        request: Request,
        _: &'a dyn Watcher,
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Answer, Report>> {
        Box::pin(self.answer(request))
    }
}

pub(crate) fn short(id: SessionId) -> String {
    end_of(&id.to_string())
}

pub(crate) fn short_event(id: EventId) -> String {
    end_of(&id.to_string())
}

fn end_of(id: &str) -> String {
    id.get(id.len().saturating_sub(SHORT_ID_CHARS)..).unwrap_or_default().to_owned()
}

pub(crate) fn rfc3339(ms: u64) -> String {
    let timestamp = i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    format!("{:.3}", timestamp.unwrap_or(Timestamp::MAX))
}

fn row_of_index(row: IndexRow) -> (u64, SessionRow) {
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
        state: SessionState::ReadOnly,
    }
}

fn damage_view(tail: &Tail) -> Option<DamageView> {
    let Tail::Damaged(damage) = tail else { return None };
    Some(DamageView { line: damage.line, code: damage.code.as_str().to_owned() })
}

pub(crate) fn tail_in_words(tail: &Tail) -> Vec<String> {
    match tail {
        Tail::Clean => Vec::new(),
        Tail::Torn { bytes } => vec![format!(
            "the last write was cut short; its {bytes} bytes are set aside when someone speaks next"
        )],
        Tail::Damaged(damage) => vec![format!(
            "the session {}; what stands before can still be read",
            damage_in_words(damage)
        )],
    }
}
