//! The one that writes: it holds the house's lock and the engine.

mod dialog;
pub(crate) mod threads;
pub(crate) mod tree;
mod trust;
pub(crate) mod upkeep;

use std::sync::{Arc, Mutex, PoisonError};

use kith_engine::lane::{Engine, Report as TurnReport, Run};
use kith_engine::session::Watcher;
use kith_engine::shelf::Shelf;
use kith_engine::ui_message::Projection;
use kith_sessions::desk::{Accepted, Desk, Target};
use kith_sessions::disk::DiskFiles;
use kith_sessions::lock::{HouseLock, LockError};
use kith_sessions::store::SessionStore;
use kith_vocab::audience::audience_of;
use kith_vocab::clock::{BoxFuture, Clock};
use kith_vocab::event::control::EndReason;
use kith_vocab::event::messages::{Author, IngressRef, Trust};
use kith_vocab::event::{Body, Event};
use kith_vocab::header::Audience;
use kith_vocab::ids::{SessionId, ThreadId};
use kith_vocab::ingress::{IngressContent, IngressEvent};
use kith_vocab::provider::{Delta, Tap};
use tokio_util::sync::CancellationToken;

use crate::client::{
    Answer, Client, MessageAnswer, ModelName, Outcome, Place, Request, SendMessage, Told,
};
use crate::clock::SystemClock;
use crate::config::Config;
use crate::house::{House, OWNER_ID};
use crate::models;
use crate::opening::HomeOpening;
use crate::policy::ReadsOnly;
use crate::reading::{Reader, short};
use crate::report::{Blame, Report, damage_in_words};

use threads::{ThreadKeeper, threads_of};
use tree::BranchWish;

const ACCOUNT: &str = "local";

pub(crate) struct Host {
    engine: Engine,
    reader: Reader,
    store: SessionStore,
    desk: Desk,
    opening: Arc<HomeOpening>,
    threads: ThreadKeeper,
    house: House,
    config: Arc<Config>,
    clock: Arc<dyn Clock>,
    started_at: u64,
    /// Held for as long as the host lives: it stands last, so it is given back last.
    _lock: HouseLock,
}

pub(crate) enum Started {
    Here(Box<Host>),
    /// The house has a host already: who it is, as far as it says.
    Elsewhere {
        holder: String,
    },
}

impl Host {
    /// Takes the house's lock and starts the engine, unless the house has a host.
    pub(crate) async fn start(house: House, config: Arc<Config>) -> Result<Started, Report> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let lock = match HouseLock::take(&house.kith_dir(), clock.now()) {
            Ok(lock) => lock,
            Err(LockError::Held { holder, .. }) => return Ok(Started::Elsewhere { holder }),
            Err(error) => return Err(error.into()),
        };
        let desk = Desk::open(&house.desk_path(), clock.new_id().to_string()).await?;
        let store = SessionStore::new(Arc::new(DiskFiles), &house.kith_dir());
        let repositories = desk.repositories().await?;
        let opening = Arc::new(HomeOpening::new(house.clone(), Arc::clone(&config), repositories));
        let engine = Engine::new(
            store.clone(),
            desk.clone(),
            Arc::clone(&clock),
            Arc::new(ReadsOnly { rules: config.policy.clone() }),
            opening.clone(),
            Shelf::new(&house.kith_dir().join("index.db")),
        );
        let reader = Reader::new(house.clone(), store.clone(), Some(desk.clone()));
        let started_at = clock.now();
        let threads = ThreadKeeper::start(threads_of(&house, store.clone()));
        Ok(Started::Here(Box::new(Host {
            engine,
            reader,
            store,
            desk,
            opening,
            threads,
            house,
            config,
            clock,
            started_at,
            _lock: lock,
        })))
    }

    /// Writes down what makes the next start faster.
    pub(crate) async fn flush(&self) {
        self.engine.flush().await;
        self.threads.run(|_| ()).await;
    }

    /// The session that the next message of the thread goes to, and what it is about.
    pub(crate) async fn current(
        &self,
        agent_id: &str,
        thread_id: &ThreadId,
    ) -> Result<Option<(SessionId, Option<String>)>, Report> {
        let Some(id) = self.desk.current_session(agent_id, thread_id).await? else {
            return Ok(None);
        };
        if !self.store.exists(id)? {
            return Ok(None);
        }
        Ok(Some((id, self.reader.title_of(id).await?)))
    }

    async fn send(
        &self,
        mut message: SendMessage,
        watcher: &dyn Watcher,
        cancel: &CancellationToken,
    ) -> Result<Answer, Report> {
        // Before the message is accepted: without a model it could only be kept waiting.
        let chosen = models::choose(message.model.as_deref(), &self.config)?;
        if chosen.name != message.expects {
            return Err(other_model(&chosen.name, &message.expects));
        }
        let provider = chosen.provider;
        let mut notes = Vec::new();
        let (agent_id, target, audience) = self.target(&mut message, &mut notes).await?;
        let event = self.ingress(message, agent_id, audience);
        self.store.keep_folders();
        let accepted = self.engine.accept(&event, target).await?;
        let key = &accepted.event.key;
        if accepted.closed {
            // Nothing is left to do for it, so nothing is opened, asked or written.
            let report = self.reader.turn_report(accepted.session_id, &accepted.event).await?;
            refuse_conflict(&report)?;
            let outcome = outcome_of(&report, None);
            return Ok(Answer::Message(Told { form: form_of(report), notes }, outcome));
        }
        let waiting = self.desk.unclosed(accepted.session_id).await?;
        let listening = Listening::new(watcher, &accepted);
        let run = Run { provider: &*provider, watcher: &listening, cancel };
        let report = self.engine.run(&accepted, run).await;
        let session_id = report.as_ref().map_or(accepted.session_id, |it| it.session_id);
        self.threads.note(session_id, listening.take_turn(session_id)).await;
        let report = report?;
        refuse_conflict(&report)?;
        notes.extend(self.opening.take_problems());
        notes.extend(self.threads.take_failure());
        if report.session_id != accepted.session_id {
            notes.push(self.moved(&accepted, report.session_id).await?);
        }
        // What others say meanwhile waits too; only what an earlier host left is worth a word.
        if waiting.iter().any(|row| row.key != *key && row.accepted_at < self.started_at) {
            notes.push(format!(
                "an earlier message had been cut short and was dealt with first: `kith session show {}`",
                short(report.session_id)
            ));
        }
        let outcome = outcome_of(&report, listening.into_last_notice());
        Ok(Answer::Message(Told { form: form_of(report), notes }, outcome))
    }

    /// Whom the message is for, and where it goes. Refuses what could not begin, before it is accepted: a message that
    /// was refused must not be answered some other day.
    async fn target(
        &self,
        message: &mut SendMessage,
        notes: &mut Vec<String>,
    ) -> Result<(String, Target, Audience), Report> {
        let named = message.agent_id.as_deref();
        if let Place::Session(session) = &message.place {
            let id = self.reader.resolve(session).await?;
            // A session never changes its thread, whatever folder it is spoken to from, nor whose
            // it is or who can read it.
            let header = self.reader.each(id, &mut |_| ()).await?.header;
            if named.is_some_and(|named| named != header.agent_id) {
                return Err(of_another_agent(id, &header.agent_id));
            }
            self.config.team.member(&header.agent_id)?;
            message.thread_id = header.thread_id;
            return Ok((header.agent_id, Target::Session(id), header.audience));
        }
        let member = self.config.team.choose(named)?;
        let agent_id = member.id.clone();
        let audience = self.audience(&agent_id, &message.thread_id).await?;
        let mut target = Target::New;
        if message.place == Place::Current {
            let current = self.desk.current_session(&agent_id, &message.thread_id).await?;
            match current {
                Some(id) if self.store.exists(id)? => {
                    return Ok((agent_id, Target::Current, audience));
                }
                Some(id) if self.desk.head(id).await?.is_some() => notes.push(format!(
                    "the file of session {} is gone; the conversation begins anew",
                    short(id)
                )),
                // There is none yet, or it was chosen and never begun.
                _ => target = Target::Current,
            }
        }
        let (cwd, now) = (message.cwd.as_ref(), self.clock.now());
        self.opening.assemble(member, cwd, audience, now)?;
        Ok((agent_id, target, audience))
    }

    /// Who can read the thread. What others could read once is never the owner's alone again.
    async fn audience(&self, agent_id: &str, thread_id: &ThreadId) -> Result<Audience, Report> {
        let by_name = audience_of(thread_id, &[]);
        let before = self.desk.thread_audience(agent_id, thread_id).await?;
        Ok(before.map_or(by_name, |before| before.narrowed_by(by_name)))
    }

    async fn moved(&self, accepted: &Accepted, to: SessionId) -> Result<String, Report> {
        let from = accepted.session_id;
        let why = match self.reader.damage_of(from).await? {
            Some(damage) => damage_in_words(&damage),
            None => "can only be read".to_owned(),
        };
        let (from, to) = (short(from), short(to));
        Ok(format!("session {from} {why}; the conversation goes on in session {to}"))
    }

    fn ingress(&self, message: SendMessage, agent_id: String, audience: Audience) -> IngressEvent {
        let SendMessage { client_message_id, text, thread_id, cwd, expected_leaf, .. } = message;
        IngressEvent {
            key: format!("cli:{ACCOUNT}:{client_message_id}"),
            agent_id,
            thread_id,
            audience,
            client_id: "cli".to_owned(),
            author: Author { user_id: OWNER_ID.to_owned(), display_name: OWNER_ID.to_owned() },
            trust: Trust::Owner,
            ingress: IngressRef {
                platform: "cli".to_owned(),
                account: ACCOUNT.to_owned(),
                message_id: client_message_id.clone(),
                correlation_id: client_message_id,
            },
            ts: self.clock.now(),
            cwd,
            expected_leaf,
            content: IngressContent::Text { text },
        }
    }
}

impl Client for Host {
    fn call<'a>(
        &'a self,
        request: Request,
        screen: &'a dyn Watcher,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Answer, Report>> {
        Box::pin(async move {
            match request {
                Request::SendMessage(message) => self.send(message, screen, cancel).await,
                Request::CreateDialog(wanted) => {
                    self.create_dialog(wanted).await.map(Answer::Created)
                }
                Request::RenameSession { session, title } => {
                    self.rename(&session, &title, screen).await.map(Answer::Renamed)
                }
                Request::RepairSession { session } => {
                    self.repair(&session).await.map(Answer::Repaired)
                }
                Request::RemoveSession { session } => {
                    self.remove(&session).await.map(Answer::Removed)
                }
                Request::BranchSession { session, to, expected_leaf, branch_id } => {
                    let (session, to) = (&session, &to);
                    let wish = BranchWish { session, to, expected_leaf, id: branch_id };
                    self.branch(wish, screen).await.map(Answer::Branched)
                }
                Request::CloneSession { session, at, clone_id } => {
                    let made = self.clone_session(&session, at.as_deref(), clone_id).await;
                    made.map(Answer::Cloned)
                }
                Request::WorkOnThreads { agent_id, thread, work } => {
                    let made = self.work_on_threads(agent_id.as_deref(), thread, work).await;
                    made.map(Answer::ThreadsMade)
                }
                Request::TrustRepository { path } => self.trust(path).await.map(Answer::Trusted),
                Request::DistrustRepository { path } => {
                    self.distrust(path).await.map(Answer::Trusted)
                }
                other => self.reader.answer(other).await,
            }
        })
    }
}

/// Passes everything on, and remembers what the runtime last said and what others will read.
struct Listening<'a> {
    screen: &'a dyn Watcher,
    last_notice: Mutex<Option<String>>,
    turn: Mutex<Option<Projection>>,
}

impl<'a> Listening<'a> {
    fn new(screen: &'a dyn Watcher, accepted: &Accepted) -> Listening<'a> {
        let IngressEvent { agent_id, thread_id, .. } = &accepted.event;
        let turn = Projection::of_new_turns(agent_id, thread_id, accepted.session_id);
        Listening { screen, last_notice: Mutex::default(), turn: Mutex::new(Some(turn)) }
    }

    /// What was lived, if it was lived in this session.
    fn take_turn(&self, session_id: SessionId) -> Option<Projection> {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner).take();
        turn.filter(|it| it.session_id() == session_id)
    }

    fn into_last_notice(self) -> Option<String> {
        self.last_notice.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tap for Listening<'_> {
    fn delta(&self, delta: Delta<'_>) {
        self.screen.delta(delta);
    }
}

impl Watcher for Listening<'_> {
    fn written(&self, events: &[Event]) {
        for event in events {
            if let Body::Notice(notice) = &event.body {
                let mut last = self.last_notice.lock().unwrap_or_else(PoisonError::into_inner);
                *last = Some(notice.text.clone());
            }
        }
        if let Some(turn) = &mut *self.turn.lock().unwrap_or_else(PoisonError::into_inner) {
            for event in events {
                turn.take(event);
            }
        }
        self.screen.written(events);
    }
}

fn of_another_agent(session: SessionId, agent_id: &str) -> Report {
    let session = short(session);
    let message = format!("session {session} belongs to the agent `{agent_id}`");
    Report::new(Blame::Request, "conflict", message)
        .hint(format!("leave `--agent` out, or name `{agent_id}`"))
}

/// `there` is what would be asked by the host, `here` what its client has in mind.
fn other_model(there: &ModelName, here: &ModelName) -> Report {
    let is_same = (&there.provider, &there.model) == (&here.provider, &here.model);
    let difference = if is_same {
        "and here that model is at another address".to_owned()
    } else {
        format!("and here it would be `{}` of {}", here.model, here.provider)
    };
    let message = format!(
        "the kith that is at work in this house asks the model `{}` of {}, {difference}",
        there.model, there.provider
    );
    Report::new(Blame::Request, "conflict", message)
        .hint("end the other one, or start both with the same settings and keys")
}

/// A message that was meant for another place of the conversation was not said.
fn refuse_conflict(report: &TurnReport) -> Result<(), Report> {
    let Some(leaf) = report.conflict else { return Ok(()) };
    let message = format!("the message was not said: the conversation had gone on to `{leaf}`");
    Err(Report::new(Blame::Request, "conflict", message).hint(format!(
        "`kith session show {}` shows what was said; say it again with `--expected-leaf {leaf}`, or \
         without",
        short(report.session_id)
    )))
}

fn outcome_of(report: &TurnReport, last_notice: Option<String>) -> Outcome {
    let or_unknown = |why: Option<String>, unknown: &str| why.unwrap_or_else(|| unknown.to_owned());
    match report.end {
        Some(EndReason::Cancelled) => Outcome::Cancelled,
        Some(EndReason::Failed) => {
            let why = report.failure.clone();
            Outcome::Failed(or_unknown(why, "the turn was cut short too often to go on"))
        }
        Some(EndReason::Bound) => {
            Outcome::Stopped(or_unknown(last_notice, "The turn was stopped at one of its limits."))
        }
        // An older turn, of which only the conversation is left to tell.
        None if report.stop_reason.is_none() => {
            Outcome::Failed("this message has no answer; say it again under another id".to_owned())
        }
        Some(EndReason::Done) | None => Outcome::Answered,
    }
}

fn form_of(report: TurnReport) -> MessageAnswer {
    MessageAnswer {
        session_id: report.session_id,
        thread_id: report.thread_id,
        leaf: report.leaf,
        text: report.text,
        usage: report.usage,
        stop_reason: report.stop_reason,
        pending_approvals: Vec::new(),
    }
}
