//! A turn with the plug pulled at every write and every sync, in this process.
//!
//! The disk under the log is in memory and dies at the operation it is told to; then it is found
//! again as after a killed process (what was written is there) or a power cut (what was synced is).
//! The desk is real SQLite in a folder of its own and lives through it all; its own faults need
//! the real program and stand in [`super::desk`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kith_engine::command::{CommandAction, DriverCommand};
use kith_engine::engine::{
    Engine, EngineError, EngineLimits, EngineParts, RowFollower, RowProgress,
};
use kith_engine::feed::FeedItem;
use kith_engine::verify::Verifier;
use kith_sessions::catalog::SqliteCatalog;
use kith_sessions::desk::{Inbox, RowTarget, SqliteDesk, ThreadRecords};
use kith_sessions::journal::FilesJournal;
use kith_sessions::read::Tail;
use kith_sessions::store::SessionStore;
use kith_testkit::files::{CrashModel, Fault, MemoryFiles, Written};
use kith_testkit::tools::{CountingTool, ReadTool};
use kith_vocab::clock::Clock;
use kith_vocab::event::messages::Outcome;
use kith_vocab::event::{Body, Event};
use kith_vocab::ids::{EventId, SessionId};
use kith_vocab::ingress::IngressEvent;
use tempfile::TempDir;
use tokio::task::JoinSet;

use super::chance::Chance;
use super::hasty_clock::HastyClock;
use super::house::{FixedSetup, OneModel, message};
use super::obedient::{Obedient, READ, WRITE};
use super::table::Table;

const THREAD: &str = "cli:room:a";
/// Cases that run side by side: they wait for the desk's syncs most of the time.
const CASES_AT_ONCE_MAX: usize = 8;
/// What takes longer never comes.
const LIFE_MAX: Duration = Duration::from_mins(1);
/// Lives that end early, before the one that may finish.
const PAIRS: u64 = 1000;

/// What is said, in order; the model does what the words before the colon say.
const SCENARIOS: [(&str, &[&str]); 8] = [
    ("one side effect", &["write once: a"]),
    ("two side effects in one answer", &["write twice: a"]),
    ("two side effects in two steps", &["write, then write: a"]),
    ("two reads", &["read: a"]),
    ("a read and two side effects", &["read and write: a"]),
    ("a second message", &["write once: a", "write twice: b"]),
    ("a failing model", &["fail: a", "stumble: b"]),
    ("a cancelled turn", &["write once: a", "stop: b"]),
];

/// What goes wrong in one life of the process.
#[derive(Clone, Copy, Debug)]
enum Blow {
    /// The process dies at this operation.
    Kill(usize, Written, CrashModel),
    /// The disk fails at this operation; the process goes on, and the next one finds it well.
    Disk(usize, Fault),
}

/// What came of one case.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Harm {
    pub(crate) lost: usize,
    pub(crate) doubled: usize,
    pub(crate) unanswered: usize,
    pub(crate) damaged: usize,
    pub(crate) panics: usize,
}

impl Harm {
    pub(crate) fn add(&mut self, other: Harm) {
        self.lost += other.lost;
        self.doubled += other.doubled;
        self.unanswered += other.unanswered;
        self.damaged += other.damaged;
        self.panics += other.panics;
    }

    pub(crate) fn is_none(self) -> bool {
        self.lost + self.doubled + self.unanswered + self.damaged + self.panics == 0
    }

    pub(crate) fn cells(self) -> [String; 5] {
        [self.lost, self.doubled, self.unanswered, self.damaged, self.panics]
            .map(|it| it.to_string())
    }
}

pub(crate) const HARM_HEAD: [&str; 5] = ["lost", "doubled", "unanswered", "damaged", "panics"];

pub(crate) async fn run(dir: &Path, seed: u64) -> (Table, bool) {
    let mut head = vec!["turn", "faults", "operations M", "cases"];
    head.extend(HARM_HEAD);
    let mut table = Table::new("torture-turn", &head);
    let mut total = Harm::default();
    for (name, texts) in SCENARIOS {
        let n_operations = count_operations(dir, texts).await;
        let kills = kills(n_operations);
        let faults = disk_faults(n_operations);
        let pairs = pairs(n_operations, seed);
        for (what, cases) in [
            ("process killed or power cut at every operation", kills),
            ("full disk, failed sync, short write, read-only at every operation", faults),
            ("two random kills in a row", pairs),
        ] {
            let n_cases = cases.len();
            let harm = run_cases(dir, texts, cases).await;
            total.add(harm);
            let [lost, doubled, unanswered, damaged, panics] = harm.cells();
            let (m, n) = (n_operations.to_string(), n_cases.to_string());
            let (name, what) = (name.to_owned(), what.to_owned());
            table.row([name, what, m, n, lost, doubled, unanswered, damaged, panics]);
        }
    }
    table.note(format!("seed {seed}"));
    (table, total.is_none())
}

fn kills(n_operations: usize) -> Vec<Vec<Blow>> {
    let mut cases = Vec::new();
    for crash in CrashModel::EACH {
        for written in Written::EACH {
            cases.extend((1..=n_operations).map(|at| vec![Blow::Kill(at, written, crash)]));
        }
    }
    cases
}

fn disk_faults(n_operations: usize) -> Vec<Vec<Blow>> {
    let faults = [Fault::Full, Fault::FailSync, Fault::ShortWrite, Fault::ReadOnly];
    let at = |fault| (1..=n_operations).map(move |at| vec![Blow::Disk(at, fault)]);
    faults.into_iter().flat_map(at).collect()
}

fn pairs(n_operations: usize, seed: u64) -> Vec<Vec<Blow>> {
    let blow = |chance: &mut Chance| {
        let at = 1 + chance.below(n_operations);
        let (written, crash) = (Written::EACH[chance.below(3)], CrashModel::EACH[chance.below(3)]);
        Blow::Kill(at, written, crash)
    };
    let n_pairs = PAIRS / SCENARIOS.len() as u64;
    (0..n_pairs)
        .map(|n| {
            let mut chance = Chance::of(seed, n);
            vec![blow(&mut chance), blow(&mut chance)]
        })
        .collect()
}

async fn run_cases(dir: &Path, texts: &'static [&'static str], cases: Vec<Vec<Blow>>) -> Harm {
    let mut running = JoinSet::new();
    let mut total = Harm::default();
    let mut take = |done: Option<Result<(Vec<Blow>, Harm), tokio::task::JoinError>>| match done {
        None => (),
        Some(Ok((blows, harm))) => {
            if !harm.is_none() {
                println!("HARM {texts:?} {blows:?}: {harm:?}");
            }
            total.add(harm);
        }
        Some(Err(_)) => total.panics += 1,
    };
    for blows in cases {
        if running.len() == CASES_AT_ONCE_MAX {
            take(running.join_next().await);
        }
        let dir = dir.to_owned();
        running.spawn(async move {
            let harm = one_case(&dir, texts, &blows).await;
            (blows, harm)
        });
    }
    while !running.is_empty() {
        take(running.join_next().await);
    }
    total
}

async fn count_operations(dir: &Path, texts: &[&str]) -> usize {
    let life = Life::new(dir);
    life.deliver(texts, &mut Vec::new()).await.expect("an undisturbed turn ends");
    life.files.count()
}

async fn one_case(dir: &Path, texts: &[&str], blows: &[Blow]) -> Harm {
    let mut life = Life::new(dir);
    // Events that were shown to somebody.
    let mut seen = Vec::new();
    for blow in blows {
        match *blow {
            Blow::Kill(at, written, crash) => {
                life.files.plan(at, Fault::Kill { written });
                // Whether it failed does not matter: a short life may end before its kill.
                life.deliver(texts, &mut seen).await.ok();
                life.files = life.files.reboot(crash);
            }
            Blow::Disk(at, fault) => {
                life.files.plan(at, fault);
                life.deliver(texts, &mut seen).await.ok();
                life.files.heal();
            }
        }
    }
    let mut harm = Harm::default();
    if let Err(error) = life.deliver(texts, &mut seen).await {
        println!("UNANSWERED {texts:?} {blows:?}: {error}");
        harm.unanswered += 1;
    }
    // What was acknowledged must be there even if the power fails now.
    life.files = life.files.reboot(CrashModel::PowerCut);
    harm.add(life.harm(texts, &seen).await);
    harm
}

/// A house on a disk in memory. The counts of what the tools did outlive every crash.
struct Life {
    folder: TempDir,
    files: MemoryFiles,
    write: CountingTool,
    read: ReadTool,
}

impl Life {
    fn new(dir: &Path) -> Life {
        Life {
            folder: tempfile::tempdir_in(dir).expect("a folder can be made"),
            files: MemoryFiles::new(),
            write: CountingTool::new(WRITE),
            read: ReadTool::new(READ, "seven"),
        }
    }

    fn store(&self) -> SessionStore {
        SessionStore::new(Arc::new(self.files.clone()), &PathBuf::from("/house/.kith"))
    }

    async fn desk(&self) -> SqliteDesk {
        let path = self.folder.path().join("state.db");
        SqliteDesk::open(&path, "device".to_owned()).await.expect("the desk opens")
    }

    /// One life of the process: every message is delivered, in order, whatever came before.
    async fn deliver(&self, texts: &[&str], seen: &mut Vec<EventId>) -> Result<(), String> {
        let model = Arc::new(Obedient::new());
        let engine = self.engine(&model).await;
        let delivered = tokio::time::timeout(LIFE_MAX, async {
            for (n, text) in texts.iter().enumerate() {
                let event = message(&format!("m{n}"), THREAD, text);
                deliver_one(&engine, &model, &event, seen).await?;
            }
            // The desk is told of the last end after everyone else.
            engine.until_rest().await;
            Ok::<(), EngineError>(())
        });
        let delivered = delivered.await;
        engine.stop().await;
        let delivered = delivered.map_err(|_| "it never comes to its end".to_owned())?;
        delivered.map_err(|error| error.to_string())
    }

    async fn engine(&self, model: &Arc<Obedient>) -> Engine {
        let tools: [Arc<dyn kith_vocab::tool::Tool>; 2] =
            [Arc::new(self.read.clone()), Arc::new(self.write.clone())];
        let index = self.folder.path().join("index.db");
        Engine::new(EngineParts {
            journal: Arc::new(FilesJournal::new(self.store())),
            desk: Arc::new(self.desk().await),
            catalog: Arc::new(SqliteCatalog::new(&index, self.store())),
            clock: Arc::new(HastyClock::new()),
            models: Arc::new(OneModel(model.clone())),
            setup: Arc::new(FixedSetup { prompt: "Be kind.".to_owned(), tools: tools.to_vec() }),
            limits: EngineLimits::default(),
        })
    }

    async fn harm(&self, texts: &[&str], seen: &[EventId]) -> Harm {
        let mut harm = Harm::default();
        let (store, desk) = (self.store(), self.desk().await);
        let mut events = Vec::new();
        for id in store.list().expect("sessions can be listed") {
            let head = desk.head(id).await.expect("the desk can be read");
            harm.unanswered += desk.open_rows(id).await.expect("the desk can be read").len();
            let mut verifier = Verifier::default();
            let reading = store.read(id, head.as_ref(), &mut |event| {
                verifier.read(&event);
                events.push(event);
            });
            let is_whole = reading.is_ok_and(|it| !matches!(it.tail, Tail::Damaged(_)));
            harm.damaged += usize::from(!is_whole) + verifier.mismatches.len();
        }
        harm.lost += seen.iter().filter(|id| !events.iter().any(|it| it.id == **id)).count();
        harm_to_messages(&events, texts, &mut harm);
        self.harm_to_effects(&events, &mut harm);
        harm
    }

    /// Each call that changes something ran at most once, and what ran is in the log: with its
    /// result, or as one of which nobody knows.
    fn harm_to_effects(&self, events: &[Event], harm: &mut Harm) {
        let mut runs: BTreeMap<String, usize> = BTreeMap::new();
        for input in self.write.inputs() {
            *runs.entry(input.as_str().to_owned()).or_default() += 1;
        }
        harm.doubled += runs.values().map(|n| n - 1).sum::<usize>();
        let n_settled = events.iter().filter(|it| match &it.body {
            Body::ToolResult(result) if result.tool == WRITE => {
                matches!(result.outcome, Outcome::Done | Outcome::Interrupted)
            }
            _ => false,
        });
        harm.lost += runs.len().saturating_sub(n_settled.count());
    }
}

/// Says it and waits for what comes of it; cancels its turn if the model wants that.
async fn deliver_one(
    engine: &Engine,
    model: &Obedient,
    event: &IngressEvent,
    seen: &mut Vec<EventId>,
) -> Result<(), EngineError> {
    let follower = engine.send(event, RowTarget::Current).await?;
    let id = follower.session_id();
    tokio::select! {
        biased;
        ended = follow(follower, seen) => ended,
        error = cancel_when_wanted(engine, model, id) => Err(error),
    }
}

async fn follow(mut follower: RowFollower, seen: &mut Vec<EventId>) -> Result<(), EngineError> {
    loop {
        match follower.next().await? {
            RowProgress::Item(FeedItem::Event(event)) => seen.push(event.id),
            RowProgress::Item(_) => (),
            RowProgress::Settled(_) => return Ok(()),
        }
    }
}

/// Returns only if it fails.
async fn cancel_when_wanted(engine: &Engine, model: &Obedient, id: SessionId) -> EngineError {
    loop {
        model.stop_wanted().await;
        let command = DriverCommand {
            id: EventId::from_uuid(HastyClock::new().new_id()),
            client_id: "cli".to_owned(),
            user_id: "owner".to_owned(),
            action: CommandAction::Cancel { key: None },
        };
        if let Err(error) = engine.command(id, command).await {
            return error;
        }
    }
}

/// Each message once, and one end for each.
fn harm_to_messages(events: &[Event], texts: &[&str], harm: &mut Harm) {
    for n in 0..texts.len() {
        let key = format!("cli:local:m{n}");
        let n_said = events.iter().filter(|it| it.ingress_key.as_deref() == Some(&key)).count();
        harm.lost += usize::from(n_said == 0);
        harm.doubled += n_said.saturating_sub(1);
    }
    let n_ends = events.iter().filter(|it| matches!(it.body, Body::TurnEnded(_))).count();
    harm.lost += texts.len().saturating_sub(n_ends);
    harm.doubled += n_ends.saturating_sub(texts.len());
}
