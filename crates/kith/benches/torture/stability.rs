//! A thousand turns of one session on each wire, with steers and follow-ups, the prompt files edited
//! and the host restarted in between: every request begins with the one before it, and every one
//! can be built again.

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
use kith_testkit::validators::{Outline, assert_stable, validate};
use kith_vocab::event::Body;
use kith_vocab::event::messages::HarnessKind;
use kith_vocab::event::models::Wire;
use kith_vocab::ids::SessionId;
use kith_vocab::ingress::{IngressEvent, RunningBehavior};
use kith_vocab::provider::{ModelChoice, Provider};
use kith_vocab::tool::Tool;

use super::house::{FixedSetup, OneModel, WallClock, message};
use super::table::Table;

const TURNS: usize = 1000;
const TURNS_PER_HOST: usize = 10;
const THREAD: &str = "cli:room:stable";

pub(crate) async fn run(dir: &Path) -> (Table, bool) {
    let mut table = Table::new(
        "torture-stability",
        &[
            "wire",
            "turns",
            "hosts",
            "steers",
            "follow-ups",
            "requests",
            "begin with the one before",
            "built again the same",
        ],
    );
    let mut is_good = true;
    for wire in [Wire::OpenaiChat, Wire::Anthropic, Wire::OpenaiResponses] {
        is_good &= run_on(wire, dir, &mut table).await;
    }
    (table, is_good)
}

async fn run_on(wire: Wire, dir: &Path, table: &mut Table) -> bool {
    let folder = tempfile::tempdir_in(dir).expect("a folder can be made");
    let files = MemoryFiles::new();
    let store = SessionStore::new(Arc::new(files.clone()), &PathBuf::from("/house/.kith"));
    let model = Arc::new(script(wire));
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
            session_id = Some(speak(&engine, host * TURNS_PER_HOST + n).await);
        }
        engine.until_rest().await;
        engine.flush().await;
        engine.stop().await;
    }
    judge(wire, &store, session_id.expect("there were turns"), &model, table)
}

/// Says something; in two turns of three a steer comes too, in one of three also a follow-up.
async fn speak(engine: &Engine, n: usize) -> SessionId {
    let steer = message(&format!("s{n}"), THREAD, &format!("and {n}"));
    let steer = IngressEvent { running_behavior: RunningBehavior::Steer, ..steer };
    let said = [
        message(&format!("m{n}"), THREAD, &format!("question {n}")),
        steer,
        message(&format!("f{n}"), THREAD, &format!("later {n}")),
    ];
    let mut followers = Vec::new();
    for event in said.iter().take(1 + n % 3) {
        followers.push(engine.send(event, RowTarget::Current).await.expect("it is accepted"));
    }
    let mut session_id = None;
    for follower in followers {
        let report = follower.end().await.expect("the turn comes to its end");
        session_id = Some(report.session_id);
    }
    session_id.expect("something was said")
}

/// Each turn is two requests, also one that a steer or a follow-up began.
fn script(wire: Wire) -> ScriptedModel {
    let model = ScriptedModel::new([]);
    // A window that nobody knows is never full: nothing is summarised.
    let choice = ModelChoice { wire, context_window: 0, ..model.choice().clone() };
    (0..3 * TURNS).fold(model.with_choice(choice), |model, n| {
        let call = ("write_file", serde_json::json!({ "n": n }));
        model.calls("Doing.", &[call]).says(&format!("Answer {n}."))
    })
}

fn judge(
    wire: Wire,
    store: &SessionStore,
    id: SessionId,
    model: &ScriptedModel,
    table: &mut Table,
) -> bool {
    let bodies = model.bodies();
    let outlines: Vec<Outline> = bodies
        .iter()
        .map(|body| validate(wire, &body.bytes).expect("a request is well formed"))
        .collect();
    let is_stable =
        |pair: &&[Outline]| std::panic::catch_unwind(|| assert_stable(&pair[0], &pair[1])).is_ok();
    let n_pairs = outlines.len() - 1;
    let n_stable = outlines.windows(2).filter(is_stable).count();
    let (mut verifier, mut n_steers, mut n_follow_ups) = (Verifier::default(), 0, 0);
    let read = store.read(id, None, &mut |event| {
        match &event.body {
            Body::HarnessItem(it) => n_steers += usize::from(it.item.kind == HarnessKind::Steer),
            Body::UserMessage(it) => n_follow_ups += usize::from(it.queue_item_id.is_some()),
            _ => (),
        }
        verifier.read(&event);
    });
    read.expect("the session can be read");
    let n_proven = verifier.n_requests - verifier.mismatches.len() as u64;
    table.row([
        format!("{wire:?}"),
        TURNS.to_string(),
        (TURNS / TURNS_PER_HOST).to_string(),
        n_steers.to_string(),
        n_follow_ups.to_string(),
        bodies.len().to_string(),
        format!("{n_stable} of {n_pairs}"),
        format!("{n_proven} of {}", bodies.len()),
    ]);
    // What did not happen was not tried.
    let has_happened = n_steers > 0 && n_follow_ups > 0;
    has_happened && n_stable == n_pairs && n_proven == bodies.len() as u64
}
