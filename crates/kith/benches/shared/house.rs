//! What an engine is wired up with here: a message, a snapshot, a watcher, a clock, a disk.

#![allow(dead_code, reason = "two programs share this file and neither uses all of it")]

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kith_engine::lane::{Opening, OpeningError};
use kith_engine::session::Watcher;
use kith_sessions::disk::DiskFiles;
use kith_testkit::sha256_hex;
use kith_vocab::clock::{BoxFuture, Clock};
use kith_vocab::event::messages::{Author, IngressRef, InstructionSnapshotEvent, Trust};
use kith_vocab::event::{Body, Event};
use kith_vocab::files::{AppendFile, FileSystem};
use kith_vocab::header::{Audience, HeaderMeta, HeaderType, LOG_FORMAT_VERSION, SessionHeader};
use kith_vocab::ids::{EventId, SessionId};
use kith_vocab::ingress::{IngressContent, IngressEvent};
use kith_vocab::json::Json;
use kith_vocab::provider::{Delta, Tap};
use kith_vocab::snapshot::{
    InstructionSnapshot, SNAPSHOT_VERSION, Section, SectionKind, ToolsetSnapshot,
};
use kith_vocab::tool::Tool;
use uuid::Uuid;

pub(crate) const AGENT_ID: &str = "main";

/// A message of the owner in a thread. Its key names it for good.
pub(crate) fn message(key: &str, thread: &str, text: &str) -> IngressEvent {
    IngressEvent {
        key: format!("cli:local:{key}"),
        agent_id: AGENT_ID.to_owned(),
        thread_id: thread.parse().expect("a thread id of ours is one"),
        audience: Audience::Owner,
        client_id: "cli".to_owned(),
        author: owner(),
        trust: Trust::Owner,
        ingress: IngressRef {
            platform: "cli".to_owned(),
            account: "local".to_owned(),
            message_id: key.to_owned(),
            correlation_id: key.to_owned(),
        },
        ts: 1,
        cwd: "/work".to_owned(),
        expected_leaf: None,
        content: IngressContent::Text { text: text.to_owned() },
    }
}

pub(crate) fn owner() -> Author {
    Author { user_id: "owner".to_owned(), display_name: "owner".to_owned() }
}

pub(crate) fn header(id: SessionId, thread: &str) -> SessionHeader {
    SessionHeader {
        v: LOG_FORMAT_VERSION,
        line_type: HeaderType::SessionHeader,
        session_id: id,
        agent_id: AGENT_ID.to_owned(),
        device_id: "bench".to_owned(),
        created_at: WallClock.now(),
        thread_id: thread.parse().expect("a thread id of ours is one"),
        audience: Audience::Owner,
        cwd: "/work".to_owned(),
        cloned_from: None,
        parent: None,
        meta: HeaderMeta::default(),
    }
}

/// Sessions that begin with this prompt and work with these tools.
pub(crate) struct FixedOpening {
    pub(crate) prompt: String,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
}

impl Opening for FixedOpening {
    fn first_events(&self, _: &SessionHeader) -> Result<Vec<Body>, OpeningError> {
        Ok(first_events(&self.prompt, &self.tools))
    }

    fn tools(&self, _: &SessionHeader) -> Result<Vec<Arc<dyn Tool>>, OpeningError> {
        Ok(self.tools.clone())
    }
}

pub(crate) fn first_events(prompt: &str, tools: &[Arc<dyn Tool>]) -> Vec<Body> {
    let section = |kind| Section {
        kind,
        frozen_at: 1,
        sources: None,
        rendered_block: if kind == SectionKind::Baseline {
            prompt.to_owned()
        } else {
            String::new()
        },
        data: None,
    };
    let snapshot = InstructionSnapshot {
        version: SNAPSHOT_VERSION,
        cwd: "/work".to_owned(),
        sections: SectionKind::ORDER.map(section).to_vec(),
    };
    let tools: Vec<_> = tools.iter().map(|tool| tool.spec().clone()).collect();
    let sha256 = sha256_hex(Json::of(&tools).as_str().as_bytes());
    vec![
        Body::InstructionSnapshot(InstructionSnapshotEvent { snapshot }),
        Body::ToolsetSnapshot(ToolsetSnapshot { tools, sha256 }),
    ]
}

pub(crate) struct Unwatched;

impl Tap for Unwatched {
    fn delta(&self, _: Delta<'_>) {}
}

impl Watcher for Unwatched {
    fn written(&self, _: &[Event]) {}
}

/// Remembers which events were said to be on disk.
#[derive(Default)]
pub(crate) struct Acknowledged(Mutex<Vec<EventId>>);

impl Acknowledged {
    pub(crate) fn ids(&self) -> Vec<EventId> {
        self.0.lock().expect("nobody panics here").clone()
    }
}

impl Tap for Acknowledged {
    fn delta(&self, _: Delta<'_>) {}
}

impl Watcher for Acknowledged {
    fn written(&self, events: &[Event]) {
        let mut ids = self.0.lock().expect("nobody panics here");
        ids.extend(events.iter().map(|event| event.id));
    }
}

/// The time of day: what is measured here is the real thing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WallClock;

impl WallClock {
    pub(crate) fn micros() -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    }
}

impl Clock for WallClock {
    fn now(&self) -> u64 {
        WallClock::micros() / 1000
    }

    fn new_id(&self) -> Uuid {
        Uuid::now_v7()
    }

    fn sleep_until(&self, time: u64) -> BoxFuture<'_, ()> {
        let wait = Duration::from_millis(time.saturating_sub(self.now()));
        Box::pin(tokio::time::sleep(wait))
    }
}

/// The disk without its syncs: for writing large sessions that nobody will miss.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unsynced;

struct UnsyncedFile(Box<dyn AppendFile>);

impl FileSystem for Unsynced {
    fn open_read(&self, path: &Path) -> io::Result<Box<dyn io::Read + Send>> {
        DiskFiles.open_read(path)
    }

    fn open_append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        Ok(Box::new(UnsyncedFile(DiskFiles.open_append(path)?)))
    }

    fn create_new(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        Ok(Box::new(UnsyncedFile(DiskFiles.create_new(path)?)))
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        DiskFiles.len(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        DiskFiles.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        DiskFiles.remove(path)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        DiskFiles.create_dir_all(path)
    }

    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        DiskFiles.list(path)
    }
}

impl AppendFile for UnsyncedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn sync_data(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn set_len(&mut self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }
}
