//! What an open session and an idle thread cost, and where the process's own counts come from.

use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

use kith_sessions::desk::RowTarget;
use kith_vocab::clock::BoxFuture;
use kith_vocab::event::messages::StopReason;
use kith_vocab::event::models::Wire;
use kith_vocab::json::Json;
use kith_vocab::provider::{Answer, AnswerBlock, AnswerFailure, AskContext, ModelChoice, Provider};

use super::Ground;
use super::bench_house::BenchHouse;
use super::figure::{Figure, megabytes};
use super::house::Unsynced;

/// The argument that makes this program a host with so many threads, each of which spoke so often.
pub(crate) const THREADS_FLAG: &str = "--threads";
/// Not more than a host keeps open.
const FEW: u64 = 250;
const TURNS_OF_FEW: u64 = 20;
const MANY: u64 = 10_000;
/// Of each answer.
const ANSWER_BYTES: usize = 1000;
/// Linux counts processor time in hundredths of a second.
const TICK: Duration = Duration::from_millis(10);

pub(crate) fn measure(ground: &Ground) -> Vec<Figure> {
    let mut figures = Vec::new();
    let name = "an open session of 20 turns";
    match threads(ground, FEW, TURNS_OF_FEW) {
        Ok(Growth { bytes, n_open }) => {
            let each = bytes / n_open.max(1);
            figures.push(
                Figure::new(name, format!("{:.3} MB, with {n_open} open", megabytes(each)))
                    .goal("at most 0.25 MB", each <= 250_000),
            );
        }
        Err(complaint) => figures.push(Figure::new(name, complaint)),
    }
    let figure = match threads(ground, MANY, 1) {
        Ok(Growth { bytes, .. }) => {
            Figure::new("10,000 idle threads", format!("{:.0} MB", megabytes(bytes)))
                .goal("add at most 50 MB", bytes <= 50_000_000)
        }
        Err(complaint) => {
            Figure::new("10,000 idle threads", complaint).goal("add at most 50 MB", false)
        }
    };
    figures.push(figure);
    figures
}

/// How much a host has grown, and how many sessions it holds open.
struct Growth {
    bytes: u64,
    n_open: u64,
}

/// How much a host grows with so many threads, in a process of its own.
fn threads(ground: &Ground, n_threads: u64, n_turns: u64) -> Result<Growth, String> {
    let own = std::env::current_exe().expect("this program knows where it lies");
    let dir = ground.dir.join(format!("threads-{n_threads}"));
    let output = Command::new(own)
        .arg(THREADS_FLAG)
        .arg(&dir)
        .args([n_threads.to_string(), n_turns.to_string()])
        .output()
        .expect("a process can be started");
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<u64> = text.split_whitespace().filter_map(|it| it.parse().ok()).collect();
    if let &[bytes, n_open] = numbers.as_slice() {
        return Ok(Growth { bytes, n_open });
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(format!("failed: {}", complaint.lines().nth(1).unwrap_or("no word")))
}

/// The process behind [`THREADS_FLAG`].
pub(crate) fn threads_main(args: &[String]) -> ExitCode {
    let [dir, n_threads, n_turns] = args else { return ExitCode::from(2) };
    let [n_threads, n_turns]: [u64; 2] =
        [n_threads, n_turns].map(|it| it.parse().expect("a number"));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be made");
    runtime.block_on(async {
        let dir = PathBuf::from(dir);
        let house = BenchHouse::on(Arc::new(Unsynced), &dir, Arc::new(Terse::new())).await;
        // One turn first: what it allocates once is not the threads' cost.
        house.turn("cli:room:first", "first", RowTarget::Current).await;
        house.engine.until_rest().await;
        let before = status_bytes("VmRSS");
        for n in 0..n_threads {
            for turn in 0..n_turns {
                let key = format!("m{n}-{turn}");
                house.turn(&format!("cli:room:t{n}"), &key, RowTarget::Current).await;
            }
        }
        house.engine.until_rest().await;
        let (_, n_open) = house.engine.n_sessions();
        // The one that spoke first may be among them; it is not counted, nor is what it takes.
        let n_open = (n_open as u64).min(n_threads);
        println!("{} {n_open}", status_bytes("VmRSS").saturating_sub(before));
    });
    ExitCode::SUCCESS
}

/// A model that keeps nothing of what it was asked.
struct Terse(ModelChoice);

impl Terse {
    fn new() -> Terse {
        Terse(ModelChoice {
            provider: "terse".to_owned(),
            wire: Wire::OpenaiChat,
            model: "terse".to_owned(),
            parameters: Json::empty_object(),
            context_window: 128_000,
        })
    }
}

impl Provider for Terse {
    fn choice(&self) -> &ModelChoice {
        &self.0
    }

    fn ask(&self, _: Vec<u8>, _: AskContext) -> BoxFuture<'_, Result<Answer, AnswerFailure>> {
        let content = vec![AnswerBlock::Text("Yes. ".repeat(ANSWER_BYTES / 5))];
        let answer = Answer { content, usage: None, stop_reason: StopReason::EndTurn };
        Box::pin(async move { Ok(answer) })
    }
}

/// A line of `/proc/self/status`.
pub(crate) fn status_bytes(name: &str) -> u64 {
    status_bytes_of("self", name)
}

/// A line of `/proc/…/status`, which counts in kilobytes.
pub(crate) fn status_bytes_of(process: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let kilobytes = line.and_then(|it| it.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or_default() * 1024
}

/// The most memory that a program had while it ran, as far as it could be looked at.
pub(crate) fn peak_memory(command: &mut Command) -> u64 {
    let mut child = command.spawn().expect("a program can be started");
    let process = child.id().to_string();
    let mut peak = 0;
    while child.try_wait().expect("a child can be waited for").is_none() {
        peak = peak.max(status_bytes_of(&process, "VmHWM"));
    }
    peak
}

/// The processor time that this process has used so far.
pub(crate) fn cpu_time() -> Duration {
    ticks_of_self([11, 12])
}

/// The processor time of the programs that this one has started and waited for.
pub(crate) fn children_cpu_time() -> Duration {
    ticks_of_self([13, 14])
}

fn ticks_of_self(fields: [usize; 2]) -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program may hold blanks; what follows its bracket does not.
    let after_name: Vec<&str> =
        text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = fields.map(|it| after_name.get(it).and_then(|it| it.parse::<u32>().ok()));
    TICK * ticks.into_iter().flatten().sum::<u32>()
}
