//! The host's hand on the thread files.
//!
//! A turn does not wait for them: they are written by a task of their own, one thing after the
//! other, after the turn is on disk. What fails there fails no turn; the next answer tells it.

use std::sync::{Arc, Mutex, PoisonError};

use kith_engine::threads::{Made, ThreadKey, Threads, ThreadsError};
use kith_engine::ui_message::Projection;
use kith_sessions::disk::DiskFiles;
use kith_sessions::store::SessionStore;
use kith_sessions::thread_file::ThreadFiles;
use kith_vocab::header::SessionHeader;
use kith_vocab::ids::SessionId;
use tokio::sync::{mpsc, oneshot};

use super::Host;
use crate::client::{ThreadWork, ThreadsMade, Told};
use crate::house::House;
use crate::reading::resolve_thread;
use crate::report::{Blame, Report};

/// So many turns may wait for their files to be written.
const WAITING_MAX: usize = 1024;

/// Something to be done with the thread files.
type Work = Box<dyn FnOnce(&Threads) + Send>;

pub(super) struct ThreadKeeper {
    work: mpsc::Sender<Work>,
    failure: Arc<Mutex<Option<String>>>,
}

/// The thread files of a house.
pub(crate) fn threads_of(house: &House, store: SessionStore) -> Threads {
    Threads::new(store, ThreadFiles::new(Arc::new(DiskFiles), &house.kith_dir()))
}

impl ThreadKeeper {
    pub(super) fn start(threads: Threads) -> ThreadKeeper {
        let (work, mut waiting) = mpsc::channel::<Work>(WAITING_MAX);
        tokio::spawn(async move {
            while let Some(work) = waiting.recv().await {
                // The disk may take its time, and turns go on meanwhile.
                tokio::task::block_in_place(|| work(&threads));
            }
        });
        ThreadKeeper { work, failure: Arc::default() }
    }

    /// The session's log has grown by what `new` saw, if somebody saw all of it.
    pub(super) async fn note(&self, session_id: SessionId, new: Option<Projection>) {
        let failure = Arc::clone(&self.failure);
        self.send(move |threads| {
            let Err(error) = threads.catch_up(session_id, new.as_ref()) else { return };
            let why = Report::from(error).message();
            let note =
                format!("{why}; the next turn makes up for it, as does `kith thread rebuild`");
            *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(note);
        })
        .await;
    }

    /// What went wrong since somebody asked.
    pub(super) fn take_failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Does this after all that waits, and gives what came of it.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Threads) -> T + Send + 'static,
    ) -> Option<T> {
        let (sender, receiver) = oneshot::channel();
        self.send(move |threads| {
            // Whoever asked may have left.
            sender.send(work(threads)).ok();
        })
        .await;
        receiver.await.ok()
    }

    async fn send(&self, work: impl FnOnce(&Threads) + Send + 'static) {
        // The task ends with the runtime; then what was derived is derived the next time.
        self.work.send(Box::new(work)).await.ok();
    }
}

impl Host {
    /// Takes what a removed session said out of the thread files, and tells if it could not.
    pub(super) async fn forget_in_threads(&self, removed: Option<&SessionHeader>) -> Vec<String> {
        let key = removed.map(ThreadKey::of);
        let work = move |threads: &Threads| {
            threads.forget();
            match &key {
                Some(key) => threads.rebuild(key),
                // Nobody knows whose it was.
                None => threads.rebuild_all(),
            }
        };
        let Some(Err(error)) = self.threads.run(work).await else { return Vec::new() };
        let why = Report::from(error).message();
        vec![format!("its words may still be in a thread file: {why}; try `kith thread rebuild`")]
    }

    /// Makes thread files again, of one thread or of all.
    pub(super) async fn work_on_threads(
        &self,
        agent_id: Option<&str>,
        thread: Option<String>,
        work: ThreadWork,
    ) -> Result<Told<ThreadsMade>, Report> {
        let agent_id = match &thread {
            Some(_) => self.config.team.choose(agent_id)?.id.clone(),
            None => String::new(),
        };
        let made = self.threads.run(move |threads| {
            perform(threads, thread.as_deref().map(|it| (agent_id.as_str(), it)), work)
        });
        let made = made.await;
        let gone = || Report::new(Blame::Program, "internal_error", "the thread files are closed");
        let Made { threads, messages } = made.ok_or_else(gone)??;
        Ok(Told { form: ThreadsMade { threads, messages }, notes: Vec::new() })
    }
}

fn perform(
    threads: &Threads,
    thread: Option<(&str, &str)>,
    work: ThreadWork,
) -> Result<Made, Report> {
    threads.forget();
    let sessions = threads.sessions()?;
    let keys: Vec<ThreadKey> = match (thread, work) {
        (None, ThreadWork::Rebuild) => return Ok(threads.rebuild_all()?),
        (None, ThreadWork::Compact) => sessions.into_keys().collect(),
        (Some((agent_id, thread)), _) => {
            vec![resolve_thread(sessions.keys(), agent_id, thread)?]
        }
    };
    let mut sum = Made::default();
    for key in &keys {
        let made = match work {
            ThreadWork::Rebuild => threads.rebuild(key),
            ThreadWork::Compact => threads.compact(key),
        }?;
        sum.threads += made.threads;
        sum.messages += made.messages;
    }
    Ok(sum)
}

impl From<ThreadsError> for Report {
    fn from(error: ThreadsError) -> Report {
        match error {
            ThreadsError::Log(error) => error.into(),
            ThreadsError::File(error) => Report::new(Blame::Environment, "filesystem_error", error)
                .hint(
                    "`.kith/threads` must be a folder, on a disk that works, that you may write to",
                ),
        }
    }
}
