//! What the tests of turns and lanes share: a disk, a clock, a script, and a session to work on.

use std::fmt::Write;
use std::sync::Arc;

use kith_sessions::store::SessionStore;
use kith_testkit::clock::FakeClock;
use kith_testkit::files::MemoryFiles;
use kith_testkit::policies::AllowAll;
use kith_testkit::scripted::ScriptedModel;
use kith_testkit::sha256_hex;
use kith_vocab::block::Block;
use kith_vocab::clock::Clock;
use kith_vocab::event::messages::{
    Author, InstructionSnapshotEvent, MessageContent, Trust, UserMessage,
};
use kith_vocab::event::{Body, Event};
use kith_vocab::header::{Audience, HeaderMeta, HeaderType, SessionHeader};
use kith_vocab::ids::{EventId, SessionId};
use kith_vocab::json::Json;
use kith_vocab::policy::Policy;
use kith_vocab::provider::{Delta, Tap};
use kith_vocab::snapshot::{
    InstructionSnapshot, SNAPSHOT_VERSION, Section, SectionKind, ToolsetSnapshot,
};
use kith_vocab::tool::Tool;
use tokio_util::sync::CancellationToken;

use crate::session::{Session, Watcher};
use crate::turn::{Hands, Pause, TurnError, drive};

pub(crate) struct Unwatched;

impl Tap for Unwatched {
    fn delta(&self, _: Delta<'_>) {}
}

impl Watcher for Unwatched {
    fn written(&self, _: &[Event]) {}
}

/// One session on a disk in memory, and what its turns work with.
pub(crate) struct Stage {
    pub(crate) files: MemoryFiles,
    pub(crate) clock: Arc<FakeClock>,
    pub(crate) store: SessionStore,
    pub(crate) session: Session,
    pub(crate) model: ScriptedModel,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) policy: Box<dyn Policy>,
    pub(crate) watcher: Box<dyn Watcher>,
    pub(crate) cancel: CancellationToken,
}

impl Stage {
    pub(crate) fn new(model: ScriptedModel, tools: Vec<Arc<dyn Tool>>) -> Stage {
        Stage::on(MemoryFiles::new(), model, tools)
    }

    pub(crate) fn on(files: MemoryFiles, model: ScriptedModel, tools: Vec<Arc<dyn Tool>>) -> Stage {
        let clock = Arc::new(FakeClock::new());
        let store = SessionStore::new(Arc::new(files.clone()), "/house/.kith".as_ref());
        let header = header(SessionId::from_uuid(clock.new_id()));
        let bodies = first_events("Be kind.", &tools);
        let shared: Arc<dyn Clock> = clock.clone();
        let session = Session::begin(&store, shared, header, bodies).unwrap();
        let (policy, watcher) = (Box::new(AllowAll), Box::new(Unwatched));
        let cancel = CancellationToken::new();
        Stage { files, clock, store, session, model, tools, policy, watcher, cancel }
    }

    pub(crate) fn say(&mut self, text: &str) -> EventId {
        self.session.stage(user_message(text))
    }

    pub(crate) async fn drive(&mut self) -> Result<Pause, TurnError> {
        let hands = Hands {
            provider: &self.model,
            tools: &self.tools,
            policy: &*self.policy,
            clock: &*self.clock,
            watcher: &*self.watcher,
            cancel: &self.cancel,
            halt: &CancellationToken::new(),
        };
        drive(&mut self.session, &hands).await
    }

    pub(crate) async fn turn(&mut self, text: &str) -> Pause {
        self.say(text);
        self.drive().await.unwrap()
    }

    /// The process ends and another opens the session.
    pub(crate) fn reopen(&mut self) {
        let clock: Arc<dyn Clock> = self.clock.clone();
        self.session = Session::open(&self.store, clock, self.session.id(), None).unwrap();
        self.session.resume();
    }

    pub(crate) fn file(&self) -> String {
        let path = self.store.path(self.session.id());
        String::from_utf8(self.files.contents(path).unwrap()).unwrap()
    }

    /// The file's events, one short line each: batch, type, and what matters of the rest.
    pub(crate) fn outline(&self) -> String {
        outline(&self.file())
    }
}

pub(crate) fn outline(file: &str) -> String {
    let mut outline = String::new();
    for line in file.lines().skip(1) {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        let batch = match value["batch"].as_array() {
            Some(place) => format!("{}/{}", place[0], place[1]),
            None => "1/1".to_owned(),
        };
        write!(outline, "{batch} {}", value["type"].as_str().unwrap()).unwrap();
        for key in ["verdict", "outcome", "stopReason", "kind", "reason", "bound", "attempt"] {
            if let Some(found) = value.get(key).filter(|it| it.is_string() || it.is_number()) {
                write!(outline, " {key}={}", found.to_string().trim_matches('"')).unwrap();
            }
        }
        let content = value.get("content").or_else(|| value["message"].get("content"));
        for block in content.and_then(|it| it.as_array()).into_iter().flatten() {
            let said = block["text"].as_str().or(block["tool"].as_str()).unwrap_or_default();
            write!(outline, " [{}]", said.replace('\n', "\\n")).unwrap();
        }
        outline.push('\n');
    }
    outline
}

pub(crate) fn header(session_id: SessionId) -> SessionHeader {
    SessionHeader {
        v: 1,
        line_type: HeaderType::SessionHeader,
        session_id,
        agent_id: "main".to_owned(),
        device_id: "test".to_owned(),
        created_at: 1,
        thread_id: "cli:room:test".parse().unwrap(),
        audience: Audience::Owner,
        cwd: "/work".to_owned(),
        cloned_from: None,
        parent: None,
        meta: HeaderMeta::default(),
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

pub(crate) fn user_message(text: &str) -> Body {
    Body::UserMessage(UserMessage {
        message: MessageContent { content: vec![Block::text(text)], meta: None },
        author: Author { user_id: "owner".to_owned(), display_name: "owner".to_owned() },
        trust: Trust::Owner,
        ingress: None,
        queue_item_id: None,
        primed: None,
    })
}
