//! One session with a thousand attached clients: how soon each sees what the model says.
//!
//! The model server writes the time into every piece of its answer, and each client compares that with
//! its own clock, which is the same machine's. Between the two stand the daemon's reader, its feed and
//! its writers.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use super::Ground;
use super::daemon;
use super::figure::{Figure, megabytes};
use super::house::WallClock;
use super::life::RealHouse;
use super::memory::status_bytes_of;
use super::server::{STAMPS, ServerProcess};

/// The host lets 512 clients of its socket in.
const LINE_CLIENTS: usize = 400;
const WEBSOCKETS: usize = 600;
const CLIENTS: usize = LINE_CLIENTS + WEBSOCKETS;
/// The host gives a third of its descriptors to HTTP, and this process needs one for each client.
const DESCRIPTORS: u64 = 8_192;
const DELIVERY_MS_MAX: f64 = 100.0;
/// What the daemon may take for a client: buffers of its connection, and lines that wait.
const CLIENT_BYTES_MAX: u64 = 100_000;
/// Longer than the whole answer takes.
const PATIENCE: Duration = Duration::from_secs(90);
const READ_BYTES: usize = 16 * 1024;

const NAME: &str = "fan-out: one session, 1,000 clients, 100 deltas/s, p99 delivery";
const GOAL: &str = "at most 100 ms";

pub(crate) fn measure(ground: &Ground) -> Vec<Figure> {
    if !has_descriptors() {
        let complaint = format!("not measured: it needs {DESCRIPTORS} file descriptors");
        return vec![Figure::new(NAME, complaint).goal(GOAL, false)];
    }
    let server = ServerProcess::start();
    let house = RealHouse::make(&ground.kith, &ground.dir.join("fan-out"), &server);
    let url = server.url_that_stamps();
    let (daemon, address) = daemon::start_with_model(ground, &house, &url);
    let runtime = Runtime::new().expect("a runtime can be made");
    let fan = runtime.block_on(fan_out(&house, &url, &address, &daemon));
    daemon::stop(daemon);
    figures(fan)
}

/// Descriptors for this process and, inherited, for the daemon.
fn has_descriptors() -> bool {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|it| it >= DESCRIPTORS) {
        return true;
    }
    let current = Some(limit.maximum.map_or(DESCRIPTORS, |it| it.min(DESCRIPTORS)));
    let raised = setrlimit(Resource::Nofile, Rlimit { current, maximum: limit.maximum });
    raised.is_ok() && current == Some(DESCRIPTORS)
}

/// What the clients saw, and what the daemon took.
struct FanOut {
    /// From the model's sending to a client's reading, in microseconds.
    delays: Vec<u64>,
    /// Resident bytes of the daemon before the clients came, and the most it took.
    before: u64,
    most: u64,
}

fn figures(FanOut { mut delays, before, most }: FanOut) -> Vec<Figure> {
    delays.sort_unstable();
    let expected = CLIENTS * STAMPS;
    let at = |share: usize| {
        let index = (delays.len() * share / 1000).min(delays.len().saturating_sub(1));
        Duration::from_micros(delays.get(index).copied().unwrap_or_default()).as_secs_f64() * 1000.0
    };
    let (p50, p99, most_ms) = (at(500), at(990), at(1000));
    let each = most.saturating_sub(before) / CLIENTS as u64;
    // A client that is far behind is shown the answer so far in place of its pieces, which counts as late.
    let is_met = p99 <= DELIVERY_MS_MAX && delays.len() * 100 >= expected * 99;
    let value = format!(
        "{p99:.1} ms; p50 {p50:.1}, at most {most_ms:.0} ms; {} of {expected} pieces",
        delays.len()
    );
    let memory = format!(
        "{:.1} MB at most, {:.1} MB before, {} KB for each",
        megabytes(most),
        megabytes(before),
        each / 1000
    );
    vec![
        Figure::new(NAME, value).goal(GOAL, is_met),
        Figure::new("memory of the daemon meanwhile", memory)
            .goal("at most 100 KB for each client", each <= CLIENT_BYTES_MAX),
    ]
}

async fn fan_out(house: &RealHouse, url: &str, address: &str, daemon: &Child) -> FanOut {
    let token = std::fs::read_to_string(house.dir.join(".kith/http-token"));
    let host = Arc::new(HostAddress {
        address: address.to_owned(),
        token: token.expect("a daemon has a token").trim().to_owned(),
        socket: house.dir.join(".kith/host.sock"),
    });
    let dialog = host.create_dialog().await;
    let pid = daemon.id().to_string();
    let before = status_bytes_of(&pid, "VmRSS");
    let ready = Arc::new(AtomicUsize::new(0));
    let mut clients: Vec<_> = (0..CLIENTS)
        .map(|n| {
            let (host, ready) = (Arc::clone(&host), Arc::clone(&ready));
            let session = dialog.session_id.clone();
            tokio::spawn(async move { host.follow(n, &session, &ready).await })
        })
        .collect();
    all_attached(&mut clients, &ready).await;
    let mut asking = house.ask(&[], &dialog.thread_id, "fan");
    asking.env("OPENAI_BASE_URL", url);
    let mut asking = asking.spawn().expect("kith can be started");
    let mut delays = Vec::with_capacity(CLIENTS * STAMPS);
    for client in clients {
        let seen = tokio::time::timeout(PATIENCE, client).await.expect("a turn ends in time");
        delays.extend(seen.expect("no client panics").expect("no client is dropped"));
    }
    let most = status_bytes_of(&pid, "VmHWM");
    let asked = asking.wait().expect("a child can be waited for");
    assert!(asked.success(), "kith ask failed: {asked}");
    FanOut { delays, before, most }
}

type Follower = JoinHandle<io::Result<Vec<u64>>>;

/// Waits until every client has been told where its subscription begins.
async fn all_attached(clients: &mut [Follower], ready: &AtomicUsize) {
    let until = Instant::now() + PATIENCE;
    while ready.load(Ordering::SeqCst) < CLIENTS {
        // None leaves before the turn ends.
        let gone = clients.iter_mut().enumerate().find(|(_, it)| it.is_finished());
        if let Some((n, client)) = gone {
            panic!("client {n} was not let in: {:?}", client.await);
        }
        assert!(Instant::now() < until, "{} of {CLIENTS} attached", ready.load(Ordering::SeqCst));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Where a host listens, and the token it asks for.
struct HostAddress {
    address: String,
    token: String,
    socket: PathBuf,
}

struct NewDialog {
    session_id: String,
    thread_id: String,
}

impl HostAddress {
    async fn create_dialog(&self) -> NewDialog {
        let mut stream = TcpStream::connect(&self.address).await.expect("the daemon listens");
        let request = format!(
            "POST /api/create_dialog HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}",
            self.address, self.token
        );
        stream.write_all(request.as_bytes()).await.expect("the daemon reads");
        let mut text = String::new();
        stream.read_to_string(&mut text).await.expect("the daemon answers");
        let (_, body) = text.split_once("\r\n\r\n").expect("an answer has a head");
        let answer: serde_json::Value = serde_json::from_str(body).expect("an answer is JSON");
        let word = |key: &str| answer["data"][key].as_str().expect("a dialog has ids").to_owned();
        NewDialog { session_id: word("sessionId"), thread_id: word("threadId") }
    }

    /// One client, until it sees the end of the turn. Returns how late each piece was.
    async fn follow(&self, n: usize, session: &str, ready: &AtomicUsize) -> io::Result<Vec<u64>> {
        let hello = r#"{"type":"hello","protocol":3,"clientId":"bench"}"#;
        let subscribe = format!(
            r#"{{"type":"subscribe","requestId":"1","body":{{"to":{{"session":"{session}"}},"from":{{"persistentLastSeq":0}}}}}}"#
        );
        if n < LINE_CLIENTS {
            let mut stream = connect_to(&self.socket).await?;
            stream.write_all(format!("{hello}\n{subscribe}\n").as_bytes()).await?;
            return read_frames(stream, Framing::Lines, ready).await;
        }
        let mut stream = TcpStream::connect(&self.address).await?;
        let upgrade = format!(
            "GET /api/socket HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
             Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
            self.address, self.token
        );
        stream.write_all(upgrade.as_bytes()).await?;
        read_head(&mut stream).await?;
        for text in [hello, &subscribe] {
            stream.write_all(&masked(text)).await?;
        }
        read_frames(stream, Framing::Messages, ready).await
    }
}

/// A socket of this machine refuses whoever comes while its queue is full.
async fn connect_to(socket: &Path) -> io::Result<UnixStream> {
    for _ in 0..1_000 {
        match UnixStream::connect(socket).await {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            connected => return connected,
        }
    }
    UnixStream::connect(socket).await
}

/// Reads the head of a response. Nothing comes behind it before the client has said something.
async fn read_head(stream: &mut TcpStream) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut head).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(())
}

/// A text message of a client; a mask of zeros leaves it as it is.
fn masked(text: &str) -> Vec<u8> {
    const TEXT: u8 = 0x81;
    const MASKED_U16: u8 = 0x80 | 0x7e;
    let length = u16::try_from(text.len()).expect("what is sent here is short");
    let mut frame = vec![TEXT, MASKED_U16];
    frame.extend(length.to_be_bytes());
    frame.extend([0; 4]);
    frame.extend(text.as_bytes());
    frame
}

#[derive(Clone, Copy)]
enum Framing {
    Lines,
    /// Messages of a WebSocket.
    Messages,
}

impl Framing {
    /// Where the first whole frame begins and ends, and where the next one begins.
    fn first(self, bytes: &[u8]) -> Option<(usize, usize, usize)> {
        if matches!(self, Framing::Lines) {
            let end = bytes.iter().position(|it| *it == b'\n')?;
            return Some((0, end, end + 1));
        }
        let short = usize::from(*bytes.get(1)? & 0x7f);
        let (start, length) = match short {
            126 => (4, usize::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?))),
            127 => {
                let length = u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?);
                (10, usize::try_from(length).ok()?)
            }
            _ => (2, short),
        };
        let end = start + length;
        (bytes.len() >= end).then_some((start, end, end))
    }
}

async fn read_frames(
    mut stream: impl AsyncRead + Unpin,
    framing: Framing,
    ready: &AtomicUsize,
) -> io::Result<Vec<u64>> {
    let (mut bytes, mut delays) = (Vec::with_capacity(READ_BYTES), Vec::with_capacity(STAMPS));
    loop {
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let now = WallClock::micros();
        let mut at = 0;
        while let Some((start, end, next)) = framing.first(&bytes[at..]) {
            let frame = &bytes[at + start..at + end];
            at += next;
            if find(frame, br#""started":"#).is_some() {
                ready.fetch_add(1, Ordering::SeqCst);
            }
            delays.extend(stamps(frame).map(|sent| now.saturating_sub(sent)));
            if find(frame, br#""type":"turn_ended""#).is_some() {
                return Ok(delays);
            }
        }
        bytes.drain(..at);
    }
}

/// The times that stand in a delta.
fn stamps(frame: &[u8]) -> impl Iterator<Item = u64> {
    const TEXT: &[u8] = br#""text":""#;
    let delta = find(frame, br#""delta":"#).map(|at| &frame[at..]);
    let text = delta.and_then(|delta| Some(&delta[find(delta, TEXT)? + TEXT.len()..]));
    let words = text.unwrap_or_default().split(|it| !it.is_ascii_digit());
    words.filter_map(|word| std::str::from_utf8(word).ok()?.parse().ok())
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|it| it == wanted)
}
