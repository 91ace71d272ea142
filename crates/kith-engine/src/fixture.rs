//! What the tests of the engine share: a house in memory with a real journal on a disk that can
//! fail, a desk that knows what was synced, a clock that passes when nothing else happens, and a
//! scripted model.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kith_sessions::catalog::{
    Catalog, CatalogListing, CatalogRow, Checkpoint, LogStamp, SearchCoverage, SearchUpdate,
    SqliteCatalog,
};
use kith_sessions::desk::{Inbox, MemoryDesk, RowTarget};
use kith_sessions::journal::FilesJournal;
use kith_sessions::storage::StorageFuture;
use kith_sessions::store::SessionStore;
use kith_sessions::words::Query;
use kith_testkit::clock::FakeClock;
use kith_testkit::files::MemoryFiles;
use kith_testkit::first_events::first_events;
use kith_testkit::gate::Gate;
use kith_testkit::policies::AllowAll;
use kith_testkit::samples::sample_model_ref;
use kith_testkit::scripted::{ScriptedModel, ScriptedModels};
use kith_testkit::tools::CountingTool;
use kith_vocab::block::Block;
use kith_vocab::budget::{Budget, NoBudget};
use kith_vocab::clock::Clock;
use kith_vocab::event::calls::Sandbox;
use kith_vocab::event::control::Limits;
use kith_vocab::event::messages::{
    Author, HarnessItem, HarnessItemEvent, HarnessKind, IngressRef, MessageContent, Origin, Trust,
    UserMessage,
};
use kith_vocab::event::{Body, Event};
use kith_vocab::header::{Audience, HeaderMeta, HeaderType, SessionHeader};
use kith_vocab::ids::{EventId, SessionId};
use kith_vocab::ingress::{IngressContent, IngressEvent, RunningBehavior};
use kith_vocab::json::Json;
use kith_vocab::policy::Policy;
use kith_vocab::provider::{Models, Provider};
use kith_vocab::secret::filter::SecretFilter;
use kith_vocab::tool::Tool;
use serde_json::json;

use crate::command::{CommandAction, CommandAnswer, DriverCommand};
use crate::engine::{AgentSetup, Engine, EngineError, EngineLimits, EngineParts, SetupError};
use crate::report::TurnReport;
use crate::state::knowledge::ModelKnowledge;
use crate::turn::TurnSetup;
use crate::turn::approvals::ApprovalSetup;

pub(crate) const DAY_MS: u64 = 24 * 60 * 60 * 1000;
/// Longer than anything in a test takes by its clock: what waits longer waits for ever.
const PATIENCE: Duration = Duration::from_hours(720);

/// A house whose parts outlive its engine: starting another engine is a restart.
pub(crate) struct TestHouse {
    pub(crate) files: MemoryFiles,
    pub(crate) desk: MemoryDesk,
    catalog: Arc<SqliteCatalog>,
    /// Where the catalog waits before it lists a session.
    pub(crate) listing: Option<Gate>,
    pub(crate) clock: Arc<FakeClock>,
    pub(crate) models: Arc<dyn Models>,
    pub(crate) setup: Arc<TestSetup>,
}

/// What the sessions of a test house start from.
pub(crate) struct TestSetup {
    /// What the next session's snapshot will say.
    pub(crate) prompt: Mutex<String>,
    pub(crate) tools: Mutex<Vec<Arc<dyn Tool>>>,
    pub(crate) policy: Mutex<Arc<dyn Policy>>,
    pub(crate) limits: Mutex<Limits>,
    pub(crate) budget: Mutex<Arc<dyn Budget>>,
    pub(crate) secrets: Mutex<Arc<SecretFilter>>,
    pub(crate) approvals: Mutex<ApprovalSetup>,
    /// Whether the model is told when the prompt, or the day, has changed since.
    pub(crate) tells_news: bool,
}

impl AgentSetup for TestSetup {
    fn first_events(&self, _: &SessionHeader) -> Result<Vec<Body>, SetupError> {
        Ok(first_events(&self.prompt.lock().unwrap(), &self.tools.lock().unwrap()))
    }

    fn turn(&self, _: &SessionHeader) -> Result<TurnSetup, SetupError> {
        Ok(TurnSetup {
            budget: Arc::clone(&self.budget.lock().unwrap()),
            tools: self.tools.lock().unwrap().clone(),
            policy: Arc::clone(&self.policy.lock().unwrap()),
            limits: *self.limits.lock().unwrap(),
            language: None,
            sandbox: || Sandbox::None,
            approvals: self.approvals.lock().unwrap().clone(),
            secrets: Arc::clone(&self.secrets.lock().unwrap()),
        })
    }

    fn news(&self, header: &SessionHeader, knowledge: &ModelKnowledge<'_>, now: u64) -> Vec<Body> {
        if !self.tells_news {
            return Vec::new();
        }
        let (prompt, day) = (self.prompt.lock().unwrap().clone(), now / DAY_MS);
        let given = knowledge.snapshot.unwrap().system_prompt();
        let facts = [
            (HarnessKind::DateChange, json!(header.created_at / DAY_MS), json!(day)),
            (HarnessKind::RuntimeNotice, json!(given), json!(prompt)),
        ];
        let mut news = Vec::new();
        for (kind, first, now) in facts {
            let now = json!({ "path": "Agent.md", "is": now });
            let last = knowledge.data(kind).last().map(|data| data.read().unwrap());
            if last.unwrap_or(json!({ "path": "Agent.md", "is": first })) != now {
                news.push(reminder(kind, &now));
            }
        }
        news
    }
}

impl TestHouse {
    pub(crate) fn new(model: &Arc<ScriptedModel>) -> TestHouse {
        let tool: Arc<dyn Tool> = Arc::new(CountingTool::new("write_file"));
        TestHouse::with_tools(model, vec![tool])
    }

    pub(crate) fn with_tools(model: &Arc<ScriptedModel>, tools: Vec<Arc<dyn Tool>>) -> TestHouse {
        let provider: Arc<dyn Provider> = model.clone();
        TestHouse::asking(Arc::new(ScriptedModels::one(provider)), tools)
    }

    pub(crate) fn asking(models: Arc<dyn Models>, tools: Vec<Arc<dyn Tool>>) -> TestHouse {
        let setup = TestSetup {
            prompt: Mutex::new("Be kind.".to_owned()),
            tools: Mutex::new(tools),
            policy: Mutex::new(Arc::new(AllowAll)),
            limits: Mutex::default(),
            budget: Mutex::new(Arc::new(NoBudget)),
            secrets: Mutex::default(),
            approvals: Mutex::default(),
            tells_news: false,
        };
        TestHouse {
            files: MemoryFiles::new(),
            desk: MemoryDesk::new("device"),
            catalog: Arc::new(SqliteCatalog::in_memory(store_on(MemoryFiles::new()))),
            listing: None,
            // Beyond the ids of any transcript.
            clock: Arc::new(FakeClock::starting_at_id(1_000_000).passing_when_idle()),
            models,
            setup: Arc::new(setup),
        }
    }

    pub(crate) fn store(&self) -> SessionStore {
        store_on(self.files.clone())
    }

    pub(crate) fn engine(&self) -> Engine {
        let (store, known, listing) =
            (self.store(), Arc::clone(&self.catalog), self.listing.clone());
        Engine::new(EngineParts {
            journal: Arc::new(FilesJournal::new(store.clone())),
            desk: Arc::new(self.desk.handle()),
            catalog: Arc::new(TestCatalog { store, known, listing }),
            clock: self.clock.clone(),
            models: Arc::clone(&self.models),
            setup: self.setup.clone(),
            limits: EngineLimits::default(),
        })
    }

    /// A session of the thread that is in the middle of whatever the transcript says.
    pub(crate) async fn adopt(
        &self,
        engine: &Engine,
        thread: &str,
        events: &[Event],
    ) -> SessionHeader {
        let header = header(self.new_session_id());
        let header = SessionHeader { thread_id: thread.parse().unwrap(), ..header };
        engine.adopt(&header, events.to_vec()).await.unwrap();
        header
    }

    pub(crate) fn new_session_id(&self) -> SessionId {
        SessionId::from_uuid(self.clock.new_id())
    }

    pub(crate) fn new_event_id(&self) -> EventId {
        EventId::from_uuid(self.clock.new_id())
    }

    pub(crate) async fn command(
        &self,
        engine: &Engine,
        id: SessionId,
        action: CommandAction,
    ) -> Result<CommandAnswer, EngineError> {
        let (client_id, user_id) = ("other".to_owned(), "owner".to_owned());
        let command = DriverCommand { id: self.new_event_id(), client_id, user_id, action };
        engine.command(id, command).await
    }

    pub(crate) fn file(&self, id: SessionId) -> Vec<u8> {
        self.files.contents(self.store().path(id)).unwrap()
    }

    pub(crate) fn outline(&self, id: SessionId) -> String {
        outline(&String::from_utf8(self.file(id)).unwrap())
    }

    /// The last lines of the outline.
    pub(crate) fn ending(&self, id: SessionId, n_lines: usize) -> String {
        let outline = self.outline(id);
        let lines: Vec<&str> = outline.lines().collect();
        lines[lines.len().saturating_sub(n_lines)..].join("\n")
    }

    /// Every event of a session, in order.
    pub(crate) fn events(&self, id: SessionId) -> Vec<Event> {
        let mut events = Vec::new();
        let reading = self.store().read(id, None, &mut |event| events.push(event)).unwrap();
        assert_eq!(reading.tail, kith_sessions::read::Tail::Clean);
        events
    }

    /// The texts of all notices.
    pub(crate) fn notices(&self, id: SessionId) -> Vec<String> {
        let text = |event: Event| match event.body {
            Body::Notice(it) => Some(it.text.to_string()),
            _ => None,
        };
        self.events(id).into_iter().filter_map(text).collect()
    }

    /// Whether no message waits for the session.
    pub(crate) async fn desk_is_clear(&self, id: SessionId) -> bool {
        self.desk.open_rows(id).await.unwrap().is_empty()
    }
}

pub(crate) fn store_on(files: MemoryFiles) -> SessionStore {
    SessionStore::new(Arc::new(files), &PathBuf::from("/house/.kith"))
}

/// A catalog in memory of logs in files. The one on disk has a thread of its own, and a clock that
/// passes when all tasks wait would not wait for that.
struct TestCatalog {
    store: SessionStore,
    known: Arc<SqliteCatalog>,
    listing: Option<Gate>,
}

impl Catalog for TestCatalog {
    fn stamp(&self, session: SessionId) -> StorageFuture<'_, LogStamp> {
        Box::pin(async move {
            if let Some(gate) = &self.listing {
                gate.pass().await;
            }
            Ok(self.store.stat(session)?)
        })
    }

    fn put_rows(&self, rows: Vec<CatalogRow>) -> StorageFuture<'_, ()> {
        self.known.put_rows(rows)
    }

    fn listing(&self) -> StorageFuture<'_, CatalogListing> {
        self.known.listing()
    }

    fn put_checkpoint(&self, session: SessionId, checkpoint: Checkpoint) -> StorageFuture<'_, ()> {
        self.known.put_checkpoint(session, checkpoint)
    }

    fn checkpoint(
        &self,
        session: SessionId,
        fold_version: u32,
    ) -> StorageFuture<'_, Option<Checkpoint>> {
        self.known.checkpoint(session, fold_version)
    }

    fn put_passages(&self, updates: Vec<SearchUpdate>) -> StorageFuture<'_, ()> {
        self.known.put_passages(updates)
    }

    fn search_coverage(&self) -> StorageFuture<'_, BTreeMap<SessionId, SearchCoverage>> {
        self.known.search_coverage()
    }

    fn find<'a>(&'a self, query: &'a Query) -> StorageFuture<'a, Vec<(SessionId, EventId)>> {
        self.known.find(query)
    }

    fn forget(&self, session: SessionId) -> StorageFuture<'_, ()> {
        self.known.forget(session)
    }
}

/// Says something in the thread's current session and waits for what comes of it.
pub(crate) async fn ask(engine: &Engine, event: &IngressEvent) -> Result<TurnReport, EngineError> {
    ask_in(engine, event, RowTarget::Current).await
}

pub(crate) async fn ask_in(
    engine: &Engine,
    event: &IngressEvent,
    target: RowTarget,
) -> Result<TurnReport, EngineError> {
    within(async { engine.send(event, target).await?.end().await }).await
}

/// Waits for something that must come.
pub(crate) async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work).await.expect("it never comes")
}

pub(crate) fn message(key: &str, thread: &str, text: &str) -> IngressEvent {
    IngressEvent {
        key: format!("cli:local:{key}"),
        agent_id: "main".to_owned(),
        thread_id: thread.parse().unwrap(),
        audience: Audience::Owner,
        client_id: "cli".to_owned(),
        author: Author { user_id: "owner".to_owned(), display_name: "owner".to_owned() },
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
        models: vec![sample_model_ref("scripted")],
        attended: true,
        language: None,
        content: IngressContent::text(text),
    }
}

/// The same, to steer the turn that runs.
pub(crate) fn steer(key: &str, thread: &str, text: &str) -> IngressEvent {
    IngressEvent { running_behavior: RunningBehavior::Steer, ..message(key, thread, text) }
}

pub(crate) fn reminder(kind: HarnessKind, data: &serde_json::Value) -> Body {
    let (origin, visibility) = (Origin::System, kind.usual_visibility());
    let (content, data) = (format!("Now it is {data}."), Some(Json::of(data)));
    Body::HarnessItem(HarnessItemEvent {
        item: HarnessItem { kind, origin, content: content.into(), visibility, data },
        trust: Trust::Owner,
        author: None,
        queue_item_id: None,
        merged_into: None,
        primed: None,
    })
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
        if let (Some(queue), Some(items)) = (value["queue"].as_str(), value["items"].as_array()) {
            write!(outline, " {queue}").unwrap();
            for item in items {
                let text = item["content"][0]["text"].as_str().unwrap_or("(a blob)");
                write!(outline, " <{text}>").unwrap();
            }
        }
        if let Some(reminder) = value["item"]["content"].as_str() {
            write!(outline, " [{}]", reminder.replace('\n', "\\n")).unwrap();
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

impl Engine {
    /// Wakes every session that an earlier host left unfinished, and returns them.
    pub(crate) async fn resume_all(&self) -> Result<Vec<SessionId>, EngineError> {
        let sessions = self.unfinished().await?;
        for id in &sessions {
            self.wake(*id);
        }
        Ok(sessions)
    }
}
