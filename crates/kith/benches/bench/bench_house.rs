//! An engine on the real disk with the real tools, whose model is the fake server.

use std::path::Path;
use std::sync::Arc;

use kith_engine::engine::{Engine, EngineLimits, EngineParts};
use kith_engine::report::MessageEnd;
use kith_providers::http_provider::HttpProvider;
use kith_sessions::catalog::SqliteCatalog;
use kith_sessions::desk::{RowTarget, SqliteDesk};
use kith_sessions::disk::DiskFiles;
use kith_sessions::journal::FilesJournal;
use kith_sessions::store::SessionStore;
use kith_tools::ToolSetup;
use kith_vocab::event::messages::Trust;
use kith_vocab::event::models::Wire;
use kith_vocab::files::FileSystem;
use kith_vocab::ids::SessionId;
use kith_vocab::json::Json;
use kith_vocab::provider::{ModelChoice, Provider};
use kith_vocab::tool::Tool;

use super::house::{FixedSetup, OneModel, WallClock, message};
use super::server::NOTE;

/// About as long as that of a new agent.
const PROMPT_BYTES: usize = 4000;

/// No model has it: for sessions that no request of today could hold.
pub(crate) const ENDLESS_WINDOW: u64 = 1 << 40;
const WINDOW: u64 = 128_000;

pub(crate) struct BenchHouse {
    pub(crate) engine: Engine,
}

pub(crate) fn tools(dir: &Path) -> Vec<Arc<dyn Tool>> {
    let setup = ToolSetup::of_folder(dir, Arc::new(|_| Trust::Owner));
    kith_tools::built_in(setup.expect("the folder is there"))
}

pub(crate) fn prompt() -> String {
    "Be kind, be brief, and look before you act. ".repeat(PROMPT_BYTES / 44)
}

pub(crate) fn chat(url: &str) -> Arc<dyn Provider> {
    chat_with_window(url, WINDOW)
}

pub(crate) fn chat_with_window(url: &str, context_window: u64) -> Arc<dyn Provider> {
    let choice = ModelChoice {
        provider: "fake".to_owned(),
        wire: Wire::OpenaiChat,
        model: "fake".to_owned(),
        parameters: Json::empty_object(),
        context_window,
    };
    Arc::new(HttpProvider::new(choice, url, None).expect("the server's address is one"))
}

impl BenchHouse {
    pub(crate) async fn open(dir: &Path, provider: Arc<dyn Provider>) -> BenchHouse {
        BenchHouse::on(Arc::new(DiskFiles), dir, provider).await
    }

    pub(crate) async fn on(
        files: Arc<dyn FileSystem>,
        dir: &Path,
        provider: Arc<dyn Provider>,
    ) -> BenchHouse {
        let kith_dir = dir.join(".kith");
        std::fs::create_dir_all(&kith_dir).expect("a folder can be made");
        std::fs::write(dir.join(NOTE), "seven\n").expect("a note can be written");
        let desk = SqliteDesk::open(&kith_dir.join("state.db"), "bench".to_owned()).await;
        let store = SessionStore::new(files, &kith_dir);
        let engine = Engine::new(EngineParts {
            journal: Arc::new(FilesJournal::new(store.clone())),
            desk: Arc::new(desk.expect("the desk opens")),
            catalog: Arc::new(SqliteCatalog::new(&kith_dir.join("index.db"), store)),
            clock: Arc::new(WallClock),
            models: Arc::new(OneModel(provider)),
            setup: Arc::new(FixedSetup { prompt: prompt(), tools: tools(dir) }),
            limits: EngineLimits::default(),
        });
        BenchHouse { engine }
    }

    /// One message, from its acceptance to the end of its turn.
    pub(crate) async fn turn(&self, thread: &str, key: &str, target: RowTarget) -> SessionId {
        let event = message(key, thread, "Please read the note and tell me what it says.");
        let follower = self.engine.send(&event, target).await.expect("a message is accepted");
        let report = follower.end().await.expect("a turn comes to its end");
        assert_eq!(report.end, MessageEnd::Done, "{report:?}");
        report.session_id
    }

    /// Ends as a host does.
    pub(crate) async fn end(self) {
        self.engine.until_rest().await;
        self.engine.flush().await;
        self.engine.stop().await;
    }
}
