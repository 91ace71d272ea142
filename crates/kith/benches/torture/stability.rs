//! A thousand turns of one session, with the prompt files edited and the host restarted in between:
//! every request begins with the one before it, and every one can be built again.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kith_engine::lane::{Engine, Run};
use kith_engine::shelf::Shelf;
use kith_engine::verify::Verifier;
use kith_sessions::desk::{Desk, Target};
use kith_sessions::store::SessionStore;
use kith_testkit::clock::FakeClock;
use kith_testkit::files::MemoryFiles;
use kith_testkit::policies::AllowAll;
use kith_testkit::scripted::ScriptedModel;
use kith_testkit::tools::CountingTool;
use kith_testkit::validators::{Outline, assert_stable, validate_openai_chat};
use kith_vocab::clock::Clock;
use kith_vocab::ids::SessionId;
use kith_vocab::tool::Tool;
use tokio_util::sync::CancellationToken;

use super::house::{FixedOpening, Unwatched, message};
use super::table::Table;

const TURNS: usize = 1000;
const TURNS_PER_HOST: usize = 10;
const THREAD: &str = "cli:room:stable";

pub(crate) async fn run(dir: &Path) -> (Table, bool) {
    let folder = tempfile::tempdir_in(dir).expect("a folder can be made");
    let files = MemoryFiles::new();
    let clock: Arc<dyn Clock> = Arc::new(FakeClock::new());
    let store = SessionStore::new(Arc::new(files.clone()), &PathBuf::from("/house/.kith"));
    let model = script();
    let mut session_id = None;
    for host in 0..TURNS / TURNS_PER_HOST {
        let desk = Desk::open(&folder.path().join("state.db"), "device".to_owned()).await;
        let tools: Vec<Arc<dyn Tool>> = vec![Arc::new(CountingTool::new("write_file"))];
        // Each host finds the files edited; the session keeps what it began with.
        let opening = FixedOpening { prompt: format!("Edited {host} times."), tools };
        let engine = Engine::new(
            store.clone(),
            desk.expect("the desk opens"),
            Arc::clone(&clock),
            Arc::new(AllowAll),
            Arc::new(opening),
            Shelf::new(&folder.path().join("index.db")),
        );
        for n in 0..TURNS_PER_HOST {
            let n = host * TURNS_PER_HOST + n;
            let event = message(&format!("m{n}"), THREAD, &format!("question {n}"));
            let accepted = engine.accept(&event, Target::Current).await.expect("it is accepted");
            let cancel = CancellationToken::new();
            let run = Run { provider: &model, watcher: &Unwatched, cancel: &cancel };
            let report = engine.run(&accepted, run).await.expect("the turn comes to its end");
            session_id = Some(report.session_id);
        }
        engine.flush().await;
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
