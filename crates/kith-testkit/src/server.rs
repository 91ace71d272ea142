//! A model server on loopback that speaks Chat Completions, well or badly.
//!
//! Written by hand on a socket, because what it is for is breaking the protocol: a stream cut after
//! any byte, a page of HTML, a server that trickles for ever.

mod reply;

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::sha256_hex;

pub use reply::ServerReply;

const HEAD_BYTES_MAX: usize = 64 * 1024;
const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;
const CONNECTIONS_MAX: usize = 256;
const REQUESTS_MAX: usize = 100_000;
/// How long a test waits for a request that it expects.
const REQUEST_WAIT_MAX: Duration = Duration::from_mins(1);
const TRICKLE_EVENTS_MAX: usize = 1_000_000;

/// A request as it came over the socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedRequest {
    pub method: String,
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub sha256: String,
}

impl LoggedRequest {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// Answers each request with the next reply of its script. Stops when it is dropped.
#[derive(Debug)]
pub struct FakeModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    script: Vec<ServerReply>,
    requests: Mutex<Vec<LoggedRequest>>,
    arrived: Condvar,
}

impl FakeModelServer {
    /// # Panics
    /// If no port can be had on loopback.
    pub async fn start(script: impl IntoIterator<Item = ServerReply>) -> FakeModelServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
        let address = listener.local_addr().expect("a bound socket has an address");
        let script = script.into_iter().collect();
        let shared =
            Arc::new(Shared { script, requests: Mutex::default(), arrived: Condvar::new() });
        let task = tokio::spawn(serve(listener, Arc::clone(&shared)));
        FakeModelServer { address, shared, task }
    }

    /// What a provider takes as its base: requests go to `<base>/chat/completions`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn requests(&self) -> Vec<LoggedRequest> {
        self.shared.requests.lock().unwrap().clone()
    }
}

impl FakeModelServer {
    /// Waits, without looking again and again, until so many requests have arrived.
    ///
    /// # Panics
    /// If they do not come for a minute.
    #[track_caller]
    pub fn wait_for_requests(&self, n: usize) {
        let requests = self.shared.requests.lock().unwrap();
        let missing = |requests: &mut Vec<LoggedRequest>| requests.len() < n;
        let waited = self.shared.arrived.wait_timeout_while(requests, REQUEST_WAIT_MAX, missing);
        assert!(!waited.unwrap().1.timed_out(), "request {n} never came");
    }
}

impl Drop for FakeModelServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

// The connections belong to the task of the server, so they end with it.
async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    for _ in 0..REQUESTS_MAX {
        if connections.len() >= CONNECTIONS_MAX {
            connections.join_next().await;
        }
        let Ok((stream, _)) = listener.accept().await else { return };
        let shared = Arc::clone(&shared);
        connections.spawn(async move {
            // A client that hangs up is part of what is tested; its own side reports it.
            converse(stream, &shared).await.ok();
        });
    }
}

async fn converse(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    let request = read_request(&mut stream).await?;
    let reply = {
        let mut requests = shared.requests.lock().unwrap();
        requests.push(request);
        shared.arrived.notify_all();
        shared.script.get(requests.len() - 1).cloned().unwrap_or_else(ServerReply::end_of_script)
    };
    answer(&mut stream, &reply).await
}

async fn answer(stream: &mut TcpStream, reply: &ServerReply) -> io::Result<()> {
    match reply {
        ServerReply::Hang => wait_for_hang_up(stream).await,
        ServerReply::Behind { gate, reply } => {
            gate.pass().await;
            Box::pin(answer(stream, reply)).await
        }
        ServerReply::Trickle { pause_ms } => {
            let drip = ServerReply::Text("drip ".to_owned()).chunks().swap_remove(1);
            repeat(stream, reply, &drip, *pause_ms).await
        }
        ServerReply::Pings { pause_ms } => repeat(stream, reply, b": ping\n\n", *pause_ms).await,
        ServerReply::Cut { after, reply } => {
            stream.write_all(reply.head().as_bytes()).await?;
            let body = reply.body();
            let kept = &body[..(*after).min(body.len())];
            // An empty chunk would be the end of the stream, which is what must not come.
            if !kept.is_empty() {
                write_chunk(stream, kept).await?;
            }
            stream.shutdown().await
        }
        _ => {
            stream.write_all(reply.head().as_bytes()).await?;
            for chunk in reply.chunks() {
                write_chunk(stream, &chunk).await?;
            }
            stream.write_all(b"0\r\n\r\n").await?;
            stream.shutdown().await
        }
    }
}

async fn write_chunk(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    stream.write_all(&chunk).await
}

async fn repeat(
    stream: &mut TcpStream,
    reply: &ServerReply,
    piece: &[u8],
    pause_ms: u64,
) -> io::Result<()> {
    stream.write_all(reply.head().as_bytes()).await?;
    for _ in 0..TRICKLE_EVENTS_MAX {
        write_chunk(stream, piece).await?;
        tokio::time::sleep(Duration::from_millis(pause_ms)).await;
    }
    Ok(())
}

async fn wait_for_hang_up(stream: &mut TcpStream) -> io::Result<()> {
    let mut rest = [0; 64];
    for _ in 0..BODY_BYTES_MAX {
        if stream.read(&mut rest).await? == 0 {
            return Ok(());
        }
    }
    Ok(())
}

async fn read_request(stream: &mut TcpStream) -> io::Result<LoggedRequest> {
    let mut bytes = Vec::new();
    let head_len = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        if bytes.len() > HEAD_BYTES_MAX || stream.read_buf(&mut bytes).await? == 0 {
            return Err(bad_request("the head of the request is cut or too long"));
        }
    };
    let head = String::from_utf8(bytes[..head_len].to_vec())
        .map_err(|_| bad_request("the head of the request is not UTF-8"))?;
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(key, value)| (key.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let mut request =
        LoggedRequest { method, path, headers, body: Vec::new(), sha256: String::new() };
    let length = request.header("content-length").map_or(Ok(0), str::parse);
    let length: usize = length.map_err(|_| bad_request("the content length is not a number"))?;
    if length > BODY_BYTES_MAX {
        return Err(bad_request("the body is too long"));
    }
    let mut body = bytes.split_off(head_len + 4);
    let read = body.len().min(length);
    body.resize(length, 0);
    stream.read_exact(&mut body[read..]).await?;
    request.sha256 = sha256_hex(&body);
    request.body = body;
    Ok(request)
}

fn bad_request(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests;
