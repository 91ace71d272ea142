//! `kith ask` from outside, beside a client that makes the same HTTP calls and two synced appends
//! before each, and does nothing else.
//!
//! The house has a session already and default settings. The client speaks HTTP over a plain socket:
//! there is no program that could do the same work in less.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use super::Ground;
use super::figure::{Figure, median, megabytes, ms, ratio};
use super::house::WallClock;
use super::life::RealHouse;
use super::memory::{children_cpu_time, peak_memory};
use super::server::{Exchange, ServerProcess};
use super::step::RawFile;

/// The argument that makes this program the bare client:
/// `bench --bare-client ADDRESS CALLS BODY_BYTES FILE`.
pub(crate) const CLIENT_FLAG: &str = "--bare-client";

const RUNS: usize = 60;
/// Calls of a tool in a turn, few and many: their difference is what a step costs.
const CALLS: [usize; 2] = [1, 21];
const APPEND_BYTES: usize = 1200;
const MEMORY_BYTES_MAX: u64 = 15_000_000;

/// What one program takes, in the median of all runs.
struct Run {
    first_request: Duration,
    gap: Duration,
    whole: Duration,
    /// In the mean: the system counts it in hundredths of a second.
    cpu: Duration,
    body_bytes: u64,
}

pub(crate) fn measure(ground: &Ground) -> Vec<Figure> {
    let server = ServerProcess::start();
    let house = RealHouse::make(&ground.kith, &ground.dir.join("one-shot"), &server);
    let ask = |n_calls: usize, thread: usize, message: &str| {
        let mut command = house.ask(
            &[],
            &format!("cli:room:{n_calls}-{thread}"),
            &format!("{n_calls}-{message}"),
        );
        command.env("OPENAI_BASE_URL", server.url_with_calls(n_calls));
        command
    };
    let ours = CALLS.map(|n_calls| {
        for n in 0..=RUNS {
            let output = ask(n_calls, n, &format!("first-{n}")).output();
            assert!(output.expect("kith can be started").status.success(), "kith ask failed");
        }
        run(&server, |n| ask(n_calls, n, &format!("second-{n}")))
    });
    let own = std::env::current_exe().expect("this program knows where it lies");
    let theirs = [0, 1].map(|which| {
        run(&server, |n| {
            let mut command = Command::new(&own);
            let n_calls = CALLS[which];
            command.args([CLIENT_FLAG, &server.url_with_calls(n_calls)]);
            command.args([n_calls.to_string(), ours[which].body_bytes.to_string()]);
            command.arg(ground.dir.join(format!("bare-{n_calls}-{n}")));
            command
        })
    });
    let mut figures = figures(&ours[0], &theirs[0]);
    figures.push(cpu_per_step(&ours, &theirs));
    let memory = peak_memory(&mut ask(CALLS[0], RUNS, "memory"));
    figures.push(
        Figure::new("`kith ask`: peak memory", format!("{:.1} MB", megabytes(memory)))
            .goal("at most 15 MB", memory <= MEMORY_BYTES_MAX),
    );
    figures
}

fn figures(ours: &Run, theirs: &Run) -> Vec<Figure> {
    let row = |name: &str, take: fn(&Run) -> Duration, max: f64| {
        let (ours, theirs) = (take(ours), take(theirs));
        let ratio = ratio(ours, theirs);
        Figure::new(format!("`kith ask`: {name}"), ms(ours))
            .against(format!("{} bare client", ms(theirs)), ratio)
            .goal(&format!("at most {max}x"), ratio <= max)
    };
    vec![
        row("last byte of an answer to first byte of the next request", |it| it.gap, 1.5),
        row("start to first byte of the first request", |it| it.first_request, 4.0),
        row("start to end", |it| it.whole, 5.0),
        row("CPU", |it| it.cpu, 5.0),
    ]
}

fn cpu_per_step([short, long]: &[Run; 2], [bare, bare_long]: &[Run; 2]) -> Figure {
    let n_steps = u32::try_from(CALLS[1] - CALLS[0]).unwrap_or(u32::MAX);
    let ours = long.cpu.saturating_sub(short.cpu) / n_steps;
    let theirs = bare_long.cpu.saturating_sub(bare.cpu) / n_steps;
    let ratio = ratio(ours, theirs);
    Figure::new("`kith ask`: CPU per step", ms(ours))
        .against(format!("{} bare client", ms(theirs)), ratio)
        .goal("at most 1.4x", ratio <= 1.4)
}

fn run(server: &ServerProcess, mut start: impl FnMut(usize) -> Command) -> Run {
    let (mut first_requests, mut gaps, mut wholes) = (Vec::new(), Vec::new(), Vec::new());
    let mut body_bytes = 0;
    server.take_log();
    let cpu_before = children_cpu_time();
    for n in 0..RUNS {
        let mut command = start(n);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let (began_us, began) = (WallClock::micros(), Instant::now());
        let status = command.status().expect("a program can be started");
        wholes.push(began.elapsed());
        assert!(status.success(), "{command:?} failed");
        let exchanges = server.take_log();
        let first = exchanges.first().expect("the model was asked");
        first_requests.push(Duration::from_micros(first.first_byte_us.saturating_sub(began_us)));
        body_bytes = first.body_bytes;
        gaps.extend(exchanges.windows(2).map(gap));
    }
    let cpu =
        children_cpu_time().saturating_sub(cpu_before) / u32::try_from(RUNS).unwrap_or(u32::MAX);
    let [first_request, gap, whole] = [first_requests, gaps, wholes].map(median);
    Run { first_request, gap, whole, cpu, body_bytes }
}

fn gap(exchanges: &[Exchange]) -> Duration {
    let [answer, next] = exchanges else { return Duration::ZERO };
    Duration::from_micros(next.first_byte_us.saturating_sub(answer.answered_us))
}

/// The process behind [`CLIENT_FLAG`].
pub(crate) fn client_main(args: &[String]) -> ExitCode {
    let [url, n_calls, body_bytes, path] = args else { return ExitCode::from(2) };
    let [n_calls, body_bytes] =
        [n_calls, body_bytes].map(|it| it.parse::<usize>().expect("a number"));
    let (address, path_of_url) = url["http://".len()..].split_once('/').expect("a base URL");
    let mut file = RawFile::new(Path::new(path));
    let mut stream = TcpStream::connect(address).expect("the server is there");
    stream.set_nodelay(true).expect("a socket has options");
    let mut results = String::new();
    for _ in 0..=n_calls {
        file.append(APPEND_BYTES);
        file.append(APPEND_BYTES);
        let filler = "x".repeat(body_bytes);
        let body = format!("{{\"content\":\"{filler}\",\"role\":\"user\"{results}}}");
        let head = format!(
            "POST /{path_of_url}/chat/completions HTTP/1.1\r\nhost: {address}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).expect("the server listens");
        stream.write_all(body.as_bytes()).expect("the server listens");
        let mut answer = Vec::new();
        let mut part = [0; 8192];
        while !answer.ends_with(b"\r\n0\r\n\r\n") {
            let n = stream.read(&mut part).expect("the server answers");
            answer.extend_from_slice(&part[..n]);
        }
        results.push_str(",\"role\":\"tool\"");
    }
    ExitCode::SUCCESS
}
