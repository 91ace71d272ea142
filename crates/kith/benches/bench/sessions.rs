//! Old, large and many sessions.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kith_engine::session::Session;
use kith_sessions::desk::RowTarget;
use kith_sessions::disk::DiskFiles;
use kith_sessions::journal::FilesJournal;
use kith_sessions::store::SessionStore;
use kith_vocab::ids::SessionId;
use tokio::runtime::Runtime;

use super::Ground;
use super::bench_house::{BenchHouse, ENDLESS_WINDOW, chat_with_window};
use super::conversation::{self, Length};
use super::figure::{Figure, median, megabytes, ms, ratio};
use super::life::{RealHouse, user_home};
use super::memory::status_bytes;
use super::server::ServerProcess;

/// The argument that makes this program a process that opens one session and says what it cost.
pub(crate) const OPEN_FLAG: &str = "--open";
const YOUNG: Length =
    Length { events_min: 100, bytes_min: 0, result_bytes: 200, compaction_every: None };
/// Its last compaction is as far back as the beginning of the young one.
const OLD: Length = Length { events_min: 100_100, compaction_every: Some(1000), ..YOUNG };
/// As sessions are today: nothing compacts them yet, so each request holds all of it.
const UNCOMPACTED: Length = Length { events_min: 100_000, ..YOUNG };
const LARGE: Length = Length {
    events_min: 0,
    bytes_min: 100_000_000,
    result_bytes: 12_000,
    compaction_every: Some(1000),
};
const SMALL: Length = Length { events_min: 5, ..YOUNG };
const SMALL_SESSIONS: usize = 10_000;
const TURNS: usize = 60;
const UNCOMPACTED_TURNS: usize = 10;
const OPENINGS: usize = 5;
const LISTINGS: usize = 5;

pub(crate) fn measure(ground: &Ground) -> Vec<Figure> {
    let runtime = Runtime::new().expect("a runtime can be made");
    let dir = ground.dir.clone();
    // On a worker, as a host's connections are.
    let figures = runtime.spawn(async move {
        let mut figures = age(&dir).await;
        figures.extend(uncompacted(&dir).await);
        figures.extend(large(&dir).await);
        figures
    });
    let mut figures = runtime.block_on(figures).expect("a turn does not fail");
    figures.extend(runtime.block_on(many(ground)));
    figures
}

/// The same turn in a young and in an old session, both held open, and both opened anew.
async fn age(dir: &Path) -> Vec<Figure> {
    let [old, young] = beside_young(&dir.join("age"), OLD, TURNS).await;
    let figure = |name: &str, old: Duration, young: Duration| {
        let ratio = ratio(old, young);
        Figure::new(name, ms(old))
            .against(format!("{} at 100 events", ms(young)), ratio)
            .goal("at most 1.5x", ratio <= 1.5)
    };
    vec![
        figure("a turn at 100,000 events, session held open", old.held, young.held),
        figure("opening and a turn at 100,000 events", old.opened, young.opened),
    ]
}

/// The same in a session that was never compacted. No model has room for such a request, so there
/// is no goal: these figures say what compaction is worth.
async fn uncompacted(dir: &Path) -> Vec<Figure> {
    let dir = dir.join("uncompacted");
    let [old, young] = beside_young(&dir, UNCOMPACTED, UNCOMPACTED_TURNS).await;
    let figure = |name: &str, old: Duration, young: Duration| {
        Figure::new(name, ms(old))
            .against(format!("{} at 100 events", ms(young)), ratio(old, young))
    };
    let (time, peak) = opening(&dir, old.id);
    let name = "reading 100,000 events without compactions: time and peak memory";
    vec![
        figure("a turn at 100,000 events without compactions, held open", old.held, young.held),
        figure(
            "opening and a turn at 100,000 events without compactions",
            old.opened,
            young.opened,
        ),
        Figure::new(name, format!("{}, {:.0} MB", ms(time), megabytes(peak))),
    ]
}

/// What a turn takes in a session.
struct TurnTimes {
    id: SessionId,
    held: Duration,
    /// In a host that opens the session for it.
    opened: Duration,
}

/// Takes turns in an old and in a young session, by turns.
async fn beside_young(dir: &Path, old: Length, n_turns: usize) -> [TurnTimes; 2] {
    let server = ServerProcess::start();
    let model = chat_with_window(&server.url(), ENDLESS_WINDOW);
    let house = BenchHouse::open(dir, Arc::clone(&model)).await;
    let old = conversation::write(dir, "old", old).await;
    let young = conversation::write(dir, "young", YOUNG).await;
    let mut n_taken = 0;
    let mut held = [Vec::new(), Vec::new()];
    let mut opened = [Vec::new(), Vec::new()];
    let both = [("cli:room:old", old), ("cli:room:young", young)];
    for n in 0..=n_turns {
        for (which, (thread, id)) in both.into_iter().enumerate() {
            let took = timed_turn(&house, thread, id, &mut n_taken).await;
            // The first turn also opens the session.
            if n > 0 {
                held[which].push(took);
            }
        }
    }
    house.end().await;
    for _ in 0..OPENINGS {
        for (which, (thread, id)) in both.into_iter().enumerate() {
            let house = BenchHouse::open(dir, Arc::clone(&model)).await;
            opened[which].push(timed_turn(&house, thread, id, &mut n_taken).await);
            house.end().await;
        }
    }
    let [old_opened, young_opened] = opened.map(median);
    let [old_held, young_held] = held.map(median);
    [
        TurnTimes { id: old, held: old_held, opened: old_opened },
        TurnTimes { id: young, held: young_held, opened: young_opened },
    ]
}

async fn timed_turn(
    house: &BenchHouse,
    thread: &str,
    id: SessionId,
    n_turns: &mut usize,
) -> Duration {
    *n_turns += 1;
    let began = Instant::now();
    let found = house.turn(thread, &format!("turn-{n_turns}"), RowTarget::Session(id)).await;
    // With what is noted of a long session after its turn, which would fall into the next one.
    house.engine.until_rest().await;
    let took = began.elapsed();
    assert_eq!(found, id, "the turn is in the session that was meant");
    took
}

async fn large(dir: &Path) -> Vec<Figure> {
    let dir = dir.join("large");
    std::fs::create_dir_all(dir.join(".kith")).expect("a folder can be made");
    let id = conversation::write(&dir, "large", LARGE).await;
    let (time, peak) = opening(&dir, id);
    vec![
        Figure::new("opening a 100 MB session: time", ms(time))
            .goal("at most 1 s", time <= Duration::from_secs(1)),
        Figure::new("opening a 100 MB session: peak memory", format!("{:.0} MB", megabytes(peak)))
            .goal("at most 150 MB", peak <= 150_000_000),
    ]
}

/// What it takes to read a session from its beginning, in a process of its own: time and memory.
fn opening(dir: &Path, id: SessionId) -> (Duration, u64) {
    let (mut times, mut peaks) = (Vec::new(), Vec::new());
    for _ in 0..OPENINGS {
        let own = std::env::current_exe().expect("this program knows where it lies");
        let output = Command::new(own).arg(OPEN_FLAG).arg(dir).arg(id.to_string()).output();
        let output = output.expect("a process can be started");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let numbers: Vec<u64> = text.split_whitespace().filter_map(|it| it.parse().ok()).collect();
        let &[micros, peak] = numbers.as_slice() else { panic!("`{text}` is no measurement") };
        times.push(Duration::from_micros(micros));
        peaks.push(peak);
    }
    (median(times), median(peaks))
}

/// The process behind [`OPEN_FLAG`].
pub(crate) fn open_main(args: &[String]) -> ExitCode {
    let [dir, id] = args else { return ExitCode::from(2) };
    let id: SessionId = id.parse().expect("the id was printed by us");
    let store = SessionStore::new(Arc::new(DiskFiles), &PathBuf::from(dir).join(".kith"));
    let parts = conversation::parts(id, Arc::new(FilesJournal::new(store)));
    let runtime = Runtime::new().expect("a runtime can be made");
    let began = Instant::now();
    let session = runtime.block_on(Session::open(parts, id, None, None));
    let took = began.elapsed();
    session.expect("the session opens");
    println!("{} {}", took.as_micros(), status_bytes("VmHWM"));
    ExitCode::SUCCESS
}

async fn many(ground: &Ground) -> Vec<Figure> {
    let server = ServerProcess::start();
    let house = RealHouse::make(&ground.kith, &ground.dir.join("many"), &server);
    // A house that had a host has a desk and a lock, and need not look for what they lack.
    let output = house.ask(&[], "cli:room:first", "first").output().expect("kith can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    for _ in 1..SMALL_SESSIONS {
        conversation::write(&house.dir, "small", SMALL).await;
    }
    let first = listing(&ground.kith, &house.dir);
    // Reading writes nothing: it is the next host that brings the index up to date.
    let built = renaming(&ground.kith, &house.dir);
    let later = median((0..LISTINGS).map(|_| listing(&ground.kith, &house.dir)).collect());
    vec![
        Figure::new("`kith session ls` with 10,000 sessions, without an index", ms(first)),
        Figure::new("a command that hosts, and builds the index of 10,000 sessions", ms(built))
            .goal("at most 5 s", built <= Duration::from_secs(5)),
        Figure::new("`kith session ls` with 10,000 sessions, later", ms(later))
            .goal("at most 50 ms from the index", later <= Duration::from_millis(50)),
    ]
}

fn renaming(kith: &Path, house: &Path) -> Duration {
    let mut command = Command::new(kith);
    command.args(["session", "rename", "latest", "a title", "--home"]).arg(house);
    command.env("HOME", user_home(house));
    let began = Instant::now();
    let output = command.stdin(Stdio::null()).output().expect("kith can be started");
    let took = began.elapsed();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    took
}

fn listing(kith: &Path, house: &Path) -> Duration {
    let mut command = Command::new(kith);
    command.args(["session", "ls", "--home"]).arg(house).stdin(Stdio::null());
    command.env("HOME", user_home(house));
    let began = Instant::now();
    let output = command.output().expect("kith can be started");
    let took = began.elapsed();
    let n_lines = String::from_utf8_lossy(&output.stdout).lines().count();
    assert_eq!(n_lines, SMALL_SESSIONS, "{}", String::from_utf8_lossy(&output.stderr));
    took
}
