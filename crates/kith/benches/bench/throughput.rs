//! Turns per second, every event synced, beside a loop that does nothing else.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kith_sessions::desk::RowTarget;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::Ground;
use super::bare::{self, Sizes};
use super::bench_house::{BenchHouse, chat};
use super::figure::{Figure, median, per_second};
use super::memory::cpu_time;
use super::server::ServerProcess;
use super::step::TURNS_PER_SESSION;

/// The argument that makes this program take turns and do nothing else, for a profiler to watch:
/// `bench --turns DIR THREADS SESSIONS [bare]`. With `bare` it is the loop beside which we stand.
pub(crate) const TURNS_FLAG: &str = "--turns";
/// Threads, and sessions of each of them one after another.
const LOADS: [(usize, usize); 3] = [(1, 8), (16, 2), (128, 1)];
const REPETITIONS: usize = 5;
const CPU_MS_MAX: f64 = 0.75;

/// What one run came to.
struct Pace {
    turns_per_second: f64,
    bare_per_second: f64,
    cpu_ms: f64,
    bare_cpu_ms: f64,
}

pub(crate) fn measure(ground: &Ground) -> Vec<Figure> {
    let runtime = Runtime::new().expect("a runtime can be made");
    let server = ServerProcess::start();
    let mut figures = Vec::new();
    let mut paces = Vec::new();
    for (n_threads, n_sessions) in LOADS {
        let runs: Vec<Pace> = (0..REPETITIONS)
            .map(|n| {
                let dir = ground.dir.join(format!("throughput-{n_threads}-{n}"));
                runtime.block_on(pace(&dir, &server, n_threads, n_sessions))
            })
            .collect();
        let of = |take: fn(&Pace) -> f64| median(runs.iter().map(take).collect());
        let (ours, bare) = (of(|it| it.turns_per_second), of(|it| it.bare_per_second));
        let ratios: Vec<f64> =
            runs.iter().map(|it| it.turns_per_second / it.bare_per_second).collect();
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let most = ratios.iter().copied().fold(0.0, f64::max);
        let ratio = median(ratios);
        let (cpu_ms, bare_cpu_ms) = (of(|it| it.cpu_ms), of(|it| it.bare_cpu_ms));
        let name = format!("turns per second, {n_threads} threads");
        figures.push(
            Figure::new(name, format!("{ours:.0}"))
                .against(format!("{bare:.0} bare loop, {least:.2} to {most:.2}"), ratio)
                .goal("at least 0.6x", ratio >= 0.6),
        );
        let name = format!("CPU of the host per turn, {n_threads} threads");
        figures.push(
            Figure::new(name, format!("{cpu_ms:.2} ms"))
                .against(format!("{bare_cpu_ms:.2} ms bare loop"), cpu_ms / bare_cpu_ms.max(0.01))
                .goal("at most 0.75 ms", cpu_ms <= CPU_MS_MAX),
        );
        paces.push(ours);
    }
    let flatness = paces[2] / paces[1];
    figures.push(
        Figure::new("turns per second, 128 threads against 16", format!("{:.0}", paces[2]))
            .against(format!("{:.0}", paces[1]), flatness)
            .goal("at least 0.9x", flatness >= 0.9),
    );
    figures
}

async fn pace(dir: &Path, server: &ServerProcess, n_threads: usize, n_sessions: usize) -> Pace {
    server.take_log();
    let cpu_before = cpu_time();
    let took = turns(dir, &server.url(), n_threads, n_sessions).await;
    let cpu = cpu_time().saturating_sub(cpu_before);
    let n_turns = (n_threads * n_sessions * TURNS_PER_SESSION) as u64;
    let exchanges = server.take_log();
    assert_eq!(exchanges.len() as u64, 2 * n_turns, "a turn is two requests");
    let request_bytes = exchanges.iter().map(|it| it.body_bytes).sum::<u64>() / (2 * n_turns);
    let sizes = Sizes {
        request: usize::try_from(request_bytes).unwrap_or_default(),
        batch: 1100,
        desk_row: 1000,
        first: 8000,
    };
    let bare_dir = dir.join("bare");
    let cpu_before = cpu_time();
    let bare = bare::turns(&bare_dir, &server.url(), n_threads, n_sessions, sizes).await;
    let bare_cpu = cpu_time().saturating_sub(cpu_before);
    let ms_per_turn =
        |cpu: Duration| cpu.as_secs_f64() * 1000.0 / per_second(n_turns, Duration::from_secs(1));
    Pace {
        turns_per_second: per_second(n_turns, took),
        bare_per_second: per_second(n_turns, bare),
        cpu_ms: ms_per_turn(cpu),
        bare_cpu_ms: ms_per_turn(bare_cpu),
    }
}

/// The process behind [`TURNS_FLAG`]: prints turns, seconds and milliseconds of CPU per turn.
pub(crate) fn turns_main(args: &[String]) -> ExitCode {
    let number = |n: usize| args.get(n).and_then(|it| it.parse::<usize>().ok());
    let (Some(dir), Some(n_threads), Some(n_sessions)) = (args.first(), number(1), number(2))
    else {
        return ExitCode::from(2);
    };
    let runtime = Runtime::new().expect("a runtime can be made");
    let server = ServerProcess::start();
    let dir = Path::new(dir);
    // The first turn makes the HTTP client, and with it what the bare loop's client needs.
    runtime.block_on(turns(&dir.join("first"), &server.url(), 1, 1));
    let cpu_before = cpu_time();
    let took = if args.get(3).is_some_and(|it| it == "bare") {
        let sizes = Sizes { request: 7000, batch: 1100, desk_row: 1000, first: 8000 };
        runtime.block_on(bare::turns(dir, &server.url(), n_threads, n_sessions, sizes))
    } else {
        runtime.block_on(turns(dir, &server.url(), n_threads, n_sessions))
    };
    let cpu = cpu_time().saturating_sub(cpu_before);
    let n_turns = u32::try_from(n_threads * n_sessions * TURNS_PER_SESSION).unwrap_or(u32::MAX);
    let cpu_ms = cpu.as_secs_f64() * 1000.0 / f64::from(n_turns);
    println!("{n_turns} turns, {:.2} s, {cpu_ms:.3} ms CPU per turn", took.as_secs_f64());
    ExitCode::SUCCESS
}

async fn turns(dir: &Path, url: &str, n_threads: usize, n_sessions: usize) -> Duration {
    let house = Arc::new(BenchHouse::open(dir, chat(url)).await);
    let mut threads = JoinSet::new();
    let began = Instant::now();
    for n in 0..n_threads {
        let house = Arc::clone(&house);
        threads.spawn(async move {
            let thread = format!("cli:room:t{n}");
            for turn in 0..n_sessions * TURNS_PER_SESSION {
                let is_first = turn % TURNS_PER_SESSION == 0;
                let target = if is_first { RowTarget::New } else { RowTarget::Current };
                house.turn(&thread, &format!("t{n}-{turn}"), target).await;
            }
        });
    }
    while let Some(ended) = threads.join_next().await {
        ended.expect("a turn does not fail");
    }
    let took = began.elapsed();
    house.engine.until_rest().await;
    took
}
