//! What an engine is wired up with here: a message, a snapshot, a model, a clock, a disk.

#![allow(dead_code, reason = "two programs share this file and neither uses all of it")]

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use kith_engine::engine::{AgentSetup, SetupError};
use kith_engine::turn::TurnSetup;
use kith_engine::turn::approvals::ApprovalSetup;
use kith_sessions::disk::DiskFiles;
use kith_testkit::first_events::first_events;
use kith_testkit::policies::AllowAll;
use kith_testkit::sha256_hex;
use kith_vocab::clock::{BoxFuture, Clock};
use kith_vocab::event::Body;
use kith_vocab::event::calls::Sandbox;
use kith_vocab::event::control::Limits;
use kith_vocab::event::messages::{Author, IngressRef, Trust};
use kith_vocab::event::models::{ModelRef, Wire};
use kith_vocab::files::{AppendFile, FileSystem};
use kith_vocab::header::{Audience, HeaderMeta, HeaderType, LOG_FORMAT_VERSION, SessionHeader};
use kith_vocab::ids::SessionId;
use kith_vocab::ingress::{IngressContent, IngressEvent, RunningBehavior};
use kith_vocab::provider::{ModelUnavailable, Models, Provider};
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
        running_behavior: RunningBehavior::FollowUp,
        models: vec![model_ref()],
        attended: true,
        language: None,
        content: IngressContent::text(text),
    }
}

/// The one model that our messages name.
pub(crate) fn model_ref() -> ModelRef {
    ModelRef {
        name: "bench".to_owned(),
        provider: "bench".to_owned(),
        wire: Wire::OpenaiChat,
        model: "bench-1".to_owned(),
        endpoint: sha256_hex(b"bench")[..16].to_owned(),
    }
}

/// Finds that model.
pub(crate) struct OneModel(pub(crate) Arc<dyn Provider>);

impl Models for OneModel {
    fn find(&self, model: &ModelRef) -> Result<Arc<dyn Provider>, ModelUnavailable> {
        if *model == model_ref() {
            return Ok(Arc::clone(&self.0));
        }
        Err(ModelUnavailable { reason: format!("there is no model `{}` here", model.name) })
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
pub(crate) struct FixedSetup {
    pub(crate) prompt: String,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
}

impl AgentSetup for FixedSetup {
    fn first_events(&self, _: &SessionHeader) -> Result<Vec<Body>, SetupError> {
        Ok(first_events(&self.prompt, &self.tools))
    }

    fn turn(&self, _: &SessionHeader) -> Result<TurnSetup, SetupError> {
        Ok(TurnSetup {
            approvals: ApprovalSetup::default(),
            budget: Arc::new(kith_vocab::budget::NoBudget),
            tools: self.tools.clone(),
            policy: Arc::new(AllowAll),
            limits: Limits::default(),
            language: None,
            sandbox: || Sandbox::None,
            secrets: Arc::default(),
        })
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

    fn monotonic(&self) -> u64 {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        u64::try_from(START.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn new_id(&self) -> Uuid {
        Uuid::now_v7()
    }

    fn sleep(&self, ms: u64) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(Duration::from_millis(ms)))
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

    fn open_read_at(&self, path: &Path, offset: u64) -> io::Result<Box<dyn io::Read + Send>> {
        DiskFiles.open_read_at(path, offset)
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
