//! An engine on the real disk with the real tools, whose model is the fake server.

use std::path::Path;
use std::sync::Arc;

use kith_engine::lane::{Engine, Run};
use kith_engine::shelf::Shelf;
use kith_providers::openai_chat::OpenAiChat;
use kith_sessions::desk::{Desk, Target};
use kith_sessions::disk::DiskFiles;
use kith_sessions::store::SessionStore;
use kith_testkit::policies::AllowAll;
use kith_tools::roots::Roots;
use kith_vocab::event::models::Wire;
use kith_vocab::files::FileSystem;
use kith_vocab::ids::SessionId;
use kith_vocab::json::Json;
use kith_vocab::provider::{ModelChoice, Provider};
use kith_vocab::tool::Tool;
use tokio_util::sync::CancellationToken;

use super::house::{FixedOpening, Unwatched, WallClock, message};
use super::server::NOTE;

/// About as long as that of a new agent.
const PROMPT_BYTES: usize = 4000;

pub(crate) struct BenchHouse {
    pub(crate) engine: Engine,
    provider: Box<dyn Provider>,
}

pub(crate) fn tools(dir: &Path) -> Vec<Arc<dyn Tool>> {
    let roots = Roots::new(dir, vec![dir.to_owned()]).expect("the folder is there");
    kith_tools::built_in(Arc::new(roots), Arc::new(Vec::new))
}

pub(crate) fn prompt() -> String {
    "Be kind, be brief, and look before you act. ".repeat(PROMPT_BYTES / 44)
}

pub(crate) fn chat(url: &str) -> Box<dyn Provider> {
    let choice = ModelChoice {
        provider: "fake".to_owned(),
        wire: Wire::OpenaiChat,
        model: "fake".to_owned(),
        parameters: Json::empty_object(),
        context_window: 128_000,
    };
    Box::new(OpenAiChat::new(choice, url, None).expect("the server's address is one"))
}

impl BenchHouse {
    pub(crate) async fn open(dir: &Path, provider: Box<dyn Provider>) -> BenchHouse {
        BenchHouse::on(Arc::new(DiskFiles), dir, provider).await
    }

    pub(crate) async fn on(
        files: Arc<dyn FileSystem>,
        dir: &Path,
        provider: Box<dyn Provider>,
    ) -> BenchHouse {
        let kith_dir = dir.join(".kith");
        std::fs::create_dir_all(&kith_dir).expect("a folder can be made");
        std::fs::write(dir.join(NOTE), "seven\n").expect("a note can be written");
        let desk = Desk::open(&kith_dir.join("state.db"), "bench".to_owned()).await;
        let opening = FixedOpening { prompt: prompt(), tools: tools(dir) };
        let engine = Engine::new(
            SessionStore::new(files, &kith_dir),
            desk.expect("the desk opens"),
            Arc::new(WallClock),
            Arc::new(AllowAll),
            Arc::new(opening),
            Shelf::new(&kith_dir.join("index.db")),
        );
        BenchHouse { engine, provider }
    }

    /// One message, from its acceptance to the end of its turn.
    pub(crate) async fn turn(&self, thread: &str, key: &str, target: Target) -> SessionId {
        let event = message(key, thread, "Please read the note and tell me what it says.");
        let accepted = self.engine.accept(&event, target).await.expect("a message is accepted");
        let cancel = CancellationToken::new();
        let run = Run { provider: &*self.provider, watcher: &Unwatched, cancel: &cancel };
        let report = self.engine.run(&accepted, run).await.expect("a turn comes to its end");
        assert!(report.failure.is_none(), "{report:?}");
        report.session_id
    }
}
