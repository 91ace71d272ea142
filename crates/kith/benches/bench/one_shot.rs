//! `kith ask` from outside, beside a client that makes the same HTTP calls and two synced appends
//! before each, and does nothing else.
//!
//! The house has a session already and default settings. The client uses the runtime that Kith uses and
//! `reqwest`, a common HTTP library that Kith does not use itself: it stands for what a simple program
//! would cost. A second one speaks over a plain socket without a runtime: no program could do the same
//! work in less.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use super::Ground;
use super::bare;
use super::figure::{Figure, median, megabytes, ms, ratio};
use super::house::WallClock;
use super::life::RealHouse;
use super::memory::{children_cpu_time, peak_memory};
use super::server::{Exchange, ServerProcess};
use super::step::RawFile;

/// The argument that makes this program the bare client:
/// `bench --bare-client ADDRESS CALLS BODY_BYTES FILE library|socket`.
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
    let client = |kind: &str| {
        [0, 1].map(|which| run(&server, |n| bare_client(ground, &server, kind, which, &ours, n)))
    };
    let [library, socket] = ["library", "socket"].map(client);
    let mut figures = figures(&ours, &library, &socket);
    let memory = peak_memory(&mut ask(CALLS[0], RUNS, "memory"));
    figures.push(
        Figure::new("`kith ask`: peak memory", format!("{:.1} MB", megabytes(memory)))
            .goal("at most 15 MB", memory <= MEMORY_BYTES_MAX),
    );
    figures
}

/// The figures of turns with few calls, and what each further call costs.
fn figures(ours: &[Run; 2], library: &[Run; 2], socket: &[Run; 2]) -> Vec<Figure> {
    type Take = fn(&[Run; 2]) -> Duration;
    let rows: [(&str, Take, f64); 5] = [
        ("last byte of an answer to first byte of the next request", |it| it[0].gap, 1.5),
        ("start to first byte of the first request", |it| it[0].first_request, 4.0),
        ("start to end", |it| it[0].whole, 5.0),
        ("CPU", |it| it[0].cpu, 5.0),
        ("CPU per step", cpu_per_step, 1.4),
    ];
    let mut figures = Vec::new();
    for (name, take, max) in rows {
        let (ours, library, socket) = (take(ours), take(library), take(socket));
        let against_library = ratio(ours, library);
        figures.push(
            Figure::new(format!("`kith ask`: {name}"), ms(ours))
                .against(format!("{} bare client", ms(library)), against_library)
                .goal(&format!("at most {max}x"), against_library <= max),
        );
        figures.push(
            Figure::new("the same beside a client on a plain socket", ms(ours))
                .against(format!("{} plain socket", ms(socket)), ratio(ours, socket)),
        );
    }
    figures
}

fn cpu_per_step([few, many]: &[Run; 2]) -> Duration {
    let n_steps = u32::try_from(CALLS[1] - CALLS[0]).unwrap_or(u32::MAX);
    many.cpu.saturating_sub(few.cpu) / n_steps
}

fn bare_client(
    ground: &Ground,
    server: &ServerProcess,
    kind: &str,
    which: usize,
    ours: &[Run; 2],
    n: usize,
) -> Command {
    let own = std::env::current_exe().expect("this program knows where it lies");
    let n_calls = CALLS[which];
    let mut command = Command::new(own);
    command.args([CLIENT_FLAG, &server.url_with_calls(n_calls)]);
    command.args([n_calls.to_string(), ours[which].body_bytes.to_string()]);
    command.arg(ground.dir.join(format!("bare-{kind}-{n_calls}-{n}"))).arg(kind);
    command
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
    let [url, n_calls, body_bytes, path, kind] = args else { return ExitCode::from(2) };
    let [n_calls, body_bytes] =
        [n_calls, body_bytes].map(|it| it.parse::<usize>().expect("a number"));
    let client = BareClient { url: url.clone(), n_calls, body_bytes, path: PathBuf::from(path) };
    if kind == "library" {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime can be made");
        runtime.block_on(client.run_on_library());
    } else {
        client.run_on_socket();
    }
    ExitCode::SUCCESS
}

struct BareClient {
    url: String,
    n_calls: usize,
    body_bytes: usize,
    path: PathBuf,
}

impl BareClient {
    async fn run_on_library(&self) {
        let client = bare::client();
        let url = format!("{}/chat/completions", self.url);
        let mut file = RawFile::new(&self.path);
        for n in 0..=self.n_calls {
            tokio::task::block_in_place(|| append_twice(&mut file));
            bare::post(&client, &url, self.body(n)).await;
        }
    }

    fn run_on_socket(&self) {
        let (address, path) = self.url["http://".len()..].split_once('/').expect("a base URL");
        let mut file = RawFile::new(&self.path);
        let mut stream = TcpStream::connect(address).expect("the server is there");
        stream.set_nodelay(true).expect("a socket has options");
        for n in 0..=self.n_calls {
            append_twice(&mut file);
            let body = self.body(n);
            let head = format!(
                "POST /{path}/chat/completions HTTP/1.1\r\nhost: {address}\r\n\
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
        }
    }

    /// A request with the results of so many calls.
    fn body(&self, n_results: usize) -> String {
        let filler = "x".repeat(self.body_bytes);
        let results = ",\"role\":\"tool\"".repeat(n_results);
        format!("{{\"content\":\"{filler}\",\"role\":\"user\"{results}}}")
    }
}

fn append_twice(file: &mut RawFile) {
    file.append(APPEND_BYTES);
    file.append(APPEND_BYTES);
}
