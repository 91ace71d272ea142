//! The real program in a house of its own, and what its logs say afterwards.

#![allow(dead_code, reason = "two programs share this file and neither uses all of it")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use kith_engine::verify::Verifier;
use kith_sessions::desk::{Inbox, SqliteDesk, ThreadRecords};
use kith_sessions::disk::DiskFiles;
use kith_sessions::read::Tail;
use kith_sessions::store::SessionStore;
use kith_vocab::event::control::EndReason;
use kith_vocab::event::{Body, Event};

use super::server::{NOTE, ServerProcess};

/// A house made by `kith init`, whose model is the fake server.
pub(crate) struct RealHouse {
    pub(crate) dir: PathBuf,
    kith: PathBuf,
    url: String,
}

/// What the logs of a house hold.
#[derive(Debug, Default)]
pub(crate) struct Account {
    pub(crate) n_sessions: usize,
    pub(crate) n_damaged: usize,
    /// Requests whose bytes could not be built again.
    pub(crate) n_mismatches: usize,
    pub(crate) n_requests: u64,
    pub(crate) n_repaired: usize,
    pub(crate) n_resumed: usize,
    pub(crate) n_turns_ended: usize,
    /// Messages that wait on the desk.
    pub(crate) n_unclosed: usize,
    /// How often each message stands in the logs.
    pub(crate) said: BTreeMap<String, usize>,
    pub(crate) event_ids: std::collections::HashSet<String>,
    /// Messages whose turn was given up after [`CUTS_MAX`] cuts and not taken up since, as their log
    /// says.
    pub(crate) given_up: BTreeSet<String>,
}

/// A turn that was cut short so often, with nothing coming of it in between, is ended by design,
/// and its author told so: something in it might be what kills the host.
const CUTS_MAX: usize = 3;

/// A turn of a log while it is read.
#[derive(Default)]
struct ReadTurn {
    keys: Vec<String>,
    n_resumed: usize,
    /// Whether a message has begun it.
    is_begun: bool,
}

impl ReadTurn {
    fn read(&mut self, event: &Event, account: &mut Account) {
        match &event.body {
            Body::UserMessage(_) => {
                *self = ReadTurn { is_begun: true, ..ReadTurn::default() };
                self.keys.extend(event.ingress_key.clone());
            }
            // With no message of its own it takes up the turn before it, which has ended for the
            // last time only when this one does.
            Body::TurnStarted(_) if !self.is_begun => {
                (self.is_begun, self.n_resumed) = (true, 0);
                account.n_turns_ended = account.n_turns_ended.saturating_sub(1);
                account.given_up.retain(|key| !self.keys.contains(key));
            }
            Body::Resumed(_) => {
                self.n_resumed += 1;
                account.n_resumed += 1;
            }
            Body::TurnEnded(ended) => {
                account.n_turns_ended += 1;
                if ended.reason == EndReason::Failed && self.n_resumed >= CUTS_MAX {
                    account.given_up.extend(self.keys.iter().cloned());
                }
                (self.is_begun, self.n_resumed) = (false, 0);
            }
            _ => (),
        }
    }
}

/// The home of the user whose houses lie in one folder: what is made here for a minute is not to be
/// remembered as somebody's.
pub(crate) fn user_home(house: &Path) -> PathBuf {
    let home = house.parent().unwrap_or(house).join("user");
    fs::create_dir_all(&home).expect("a folder can be made");
    home
}

impl RealHouse {
    pub(crate) fn make(kith: &Path, dir: &Path, server: &ServerProcess) -> RealHouse {
        let status = Command::new(kith)
            .args(["init", "--yes"])
            .arg(dir)
            .env("HOME", user_home(dir))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .expect("kith can be started");
        assert!(status.success(), "kith init failed");
        fs::write(dir.join(NOTE), "seven\n").expect("a note can be written");
        RealHouse { dir: dir.to_owned(), kith: kith.to_owned(), url: server.url() }
    }

    /// The same house in another place.
    pub(crate) fn copied_to(&self, dir: &Path) -> RealHouse {
        copy_folder(&self.dir, dir);
        let mut trust = Command::new(&self.kith);
        trust.args(["trust", "."]).current_dir(dir);
        trust.env("HOME", user_home(dir)).stdout(Stdio::null());
        assert!(trust.status().expect("kith can be started").success(), "kith trust failed");
        RealHouse { dir: dir.to_owned(), kith: self.kith.clone(), url: self.url.clone() }
    }

    /// `kith ask`, to be started. The words before it (a tracer) may be none.
    pub(crate) fn ask(&self, before: &[String], thread: &str, message_id: &str) -> Command {
        let mut command = match before.split_first() {
            Some((tracer, args)) => {
                let mut command = Command::new(tracer);
                command.args(args).arg(&self.kith);
                command
            }
            None => Command::new(&self.kith),
        };
        command
            .args(["ask", "--json", "--model", "fake", "--thread", thread])
            .args(["--message-id", message_id, "--home"])
            .arg(&self.dir)
            .arg(format!("read {NOTE} for {message_id}"))
            .current_dir(&self.dir)
            .env("OPENAI_API_KEY", "none")
            .env("OPENAI_BASE_URL", &self.url)
            .env_remove("ANTHROPIC_API_KEY")
            .env_remove("KITH_HOME")
            .env("HOME", user_home(&self.dir))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Reads every log there is, as the desk knows it.
    pub(crate) async fn account(&self) -> Account {
        let kith_dir = self.dir.join(".kith");
        let store = SessionStore::new(Arc::new(DiskFiles), &kith_dir);
        let desk = SqliteDesk::open_read_only(&kith_dir.join("state.db")).await;
        let desk = desk.expect("the desk opens");
        let mut account = Account::default();
        for id in store.list().expect("sessions can be listed") {
            account.n_sessions += 1;
            let (mut head, mut verifier) = (None, Verifier::default());
            if let Some(desk) = &desk {
                head = desk.head(id).await.expect("the desk can be read");
                account.n_unclosed += desk.open_rows(id).await.expect("the desk can be read").len();
            }
            let mut turn = ReadTurn::default();
            let reading = store.read(id, head.as_ref(), &mut |event| {
                verifier.read(&event);
                turn.read(&event, &mut account);
                account.n_repaired += usize::from(matches!(event.body, Body::LogRepaired(_)));
                // A message that waited stands in a queue as well, which is no part of the tree.
                if let Some(key) = event.ingress_key.as_ref().filter(|_| event.is_tree()) {
                    *account.said.entry(key.clone()).or_default() += 1;
                }
                account.event_ids.insert(event.id.to_string());
            });
            let is_whole = reading.is_ok_and(|it| it.tail == Tail::Clean);
            account.n_damaged += usize::from(!is_whole);
            account.n_mismatches += verifier.mismatches.len();
            account.n_requests += verifier.n_requests;
        }
        account
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder can be made");
    for entry in fs::read_dir(from).expect("a folder can be read") {
        let entry = entry.expect("a folder can be read");
        let target = to.join(entry.file_name());
        let kind = entry.file_type().expect("a file has a type");
        if kind.is_dir() {
            copy_folder(&entry.path(), &target);
        } else if kind.is_file() {
            fs::copy(entry.path(), target).expect("a file can be copied");
        }
    }
}
