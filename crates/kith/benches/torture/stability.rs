//! A thousand turns of one session, with the prompt files edited and the host restarted in between:
//! every request begins with the one before it, and every one can be built again.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kith_engine::engine::{Engine, EngineLimits, EngineParts};
use kith_engine::verify::Verifier;
use kith_sessions::catalog::SqliteCatalog;
use kith_sessions::desk::{RowTarget, SqliteDesk};
use kith_sessions::journal::FilesJournal;
use kith_sessions::store::SessionStore;
use kith_testkit::files::MemoryFiles;
use kith_testkit::scripted::ScriptedModel;
use kith_testkit::tools::CountingTool;
use kith_testkit::validators::{Outline, assert_stable, validate_openai_chat};
use kith_vocab::ids::SessionId;
use kith_vocab::tool::Tool;

use super::house::{FixedSetup, OneModel, WallClock, message};
use super::table::Table;

const TURNS: usize = 1000;
const TURNS_PER_HOST: usize = 10;
const THREAD: &str = "cli:room:stable";

pub(crate) async fn run(dir: &Path) -> (Table, bool) {
    let folder = tempfile::tempdir_in(dir).expect("a folder can be made");
    let files = MemoryFiles::new();
    let store = SessionStore::new(Arc::new(files.clone()), &PathBuf::from("/house/.kith"));
    let model = Arc::new(script());
    let mut session_id = None;
    for host in 0..TURNS / TURNS_PER_HOST {
        let desk = SqliteDesk::open(&folder.path().join("state.db"), "device".to_owned()).await;
        let tools: Vec<Arc<dyn Tool>> = vec![Arc::new(CountingTool::new("write_file"))];
        // Each host finds the files edited; the session keeps what it began with.
        let setup = FixedSetup { prompt: format!("Edited {host} times."), tools };
        let catalog = SqliteCatalog::new(&folder.path().join("index.db"), store.clone());
        let engine = Engine::new(EngineParts {
            journal: Arc::new(FilesJournal::new(store.clone())),
            desk: Arc::new(desk.expect("the desk opens")),
            catalog: Arc::new(catalog),
            clock: Arc::new(WallClock),
            models: Arc::new(OneModel(model.clone())),
            setup: Arc::new(setup),
            limits: EngineLimits::default(),
        });
        for n in 0..TURNS_PER_HOST {
            let n = host * TURNS_PER_HOST + n;
            let event = message(&format!("m{n}"), THREAD, &format!("question {n}"));
            let follower = engine.send(&event, RowTarget::Current).await.expect("it is accepted");
            let report = follower.end().await.expect("the turn comes to its end");
            session_id = Some(report.session_id);
        }
        engine.until_rest().await;
        engine.flush().await;
        engine.stop().await;
    }
    judge(&store, session_id.expect("there were turns"), &model)
}

fn script() -> ScriptedModel {
    (0..TURNS).fold(ScriptedModel::new([]), |model, n| {
        let model = if n % 3 == 0 {
            model.calls("Doing.", &[("write_file", serde_json::json!({ "n": n }))])
        } else {
            model
        };
        model.says(&format!("Answer {n}."))
    })
}

fn judge(store: &SessionStore, id: SessionId, model: &ScriptedModel) -> (Table, bool) {
    let bodies = model.bodies();
    let outlines: Vec<Outline> = bodies
        .iter()
        .map(|body| validate_openai_chat(&body.bytes).expect("a request is well formed"))
        .collect();
    let is_stable =
        |pair: &&[Outline]| std::panic::catch_unwind(|| assert_stable(&pair[0], &pair[1])).is_ok();
    let n_pairs = outlines.len() - 1;
    let n_stable = outlines.windows(2).filter(is_stable).count();
    let mut verifier = Verifier::default();
    let read = store.read(id, None, &mut |event| verifier.read(&event));
    read.expect("the session can be read");
    let n_proven = verifier.n_requests - verifier.mismatches.len() as u64;
    let mut table = Table::new(
        "torture-stability",
        &["turns", "hosts", "requests", "begin with the one before", "built again the same"],
    );
    table.row([
        TURNS.to_string(),
        (TURNS / TURNS_PER_HOST).to_string(),
        bodies.len().to_string(),
        format!("{n_stable} of {n_pairs}"),
        format!("{n_proven} of {}", bodies.len()),
    ]);
    (table, n_stable == n_pairs && n_proven == bodies.len() as u64)
}
