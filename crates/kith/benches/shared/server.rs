//! A fake model server as a process of its own: no delay, and the time of every byte.
//!
//! It speaks OpenAI Chat as a stream. A request is answered with a call of `read_file` until the
//! results since the last message of a person are as many as its address says (one, if it says
//! nothing), and then with words. `GET /log` gives the
//! requests since the last time it was asked: when the first byte came, when the last byte of the
//! answer was sent (microseconds since 1970), and the length of the body.

#![allow(dead_code, reason = "two programs share this file and neither uses all of it")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{env, io};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream as AsyncStream};

use super::house::WallClock;

/// The argument that makes one of our programs the server.
pub(crate) const FLAG: &str = "--serve";
/// What the model wants to read; it stands in every house of ours.
pub(crate) const NOTE: &str = "note.txt";
const CALLS_PATH: &str = "/calls/";
const STREAM_PATH: &str = "/stream/";
const STAMPS_PATH: &str = "/stamps/";
const EFFECTS_PATH: &str = "/effects/";
/// What commands append to; it stands in the folder that the program works in.
pub(crate) const EFFECTS: &str = "effects.txt";
/// What precedes the id of a message in its text.
pub(crate) const FOR: &str = " for ";
/// 500 tokens a second, for half a minute.
const STREAM_PAUSE: Duration = Duration::from_millis(2);
const STREAM_TOKENS: usize = 15_000;
/// 100 pieces a second, for twenty seconds, each of which is the time at which it was sent.
const STAMP_PAUSE: Duration = Duration::from_millis(10);
pub(crate) const STAMPS: usize = 2_000;
const HEAD_BYTES_MAX: usize = 64 * 1024;
const BODY_BYTES_MAX: usize = 256 * 1024 * 1024;

const STREAM_HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

/// One request as the server saw it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    pub(crate) first_byte_us: u64,
    pub(crate) answered_us: u64,
    pub(crate) body_bytes: u64,
    /// Whether it was answered with words, which ends a turn.
    pub(crate) is_last: bool,
}

/// The server while it runs. It ends with this value.
pub(crate) struct ServerProcess {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl ServerProcess {
    pub(crate) fn start() -> ServerProcess {
        let own = env::current_exe().expect("this program knows where it lies");
        let mut child = Command::new(own)
            .arg(FLAG)
            // The server ends when this pipe does, even if we are killed.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server can be started");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("the server's output is a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("the server says its address");
        let address = line.trim().parse().expect("the server says its address");
        ServerProcess { child, address }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The address at which a turn makes so many calls.
    pub(crate) fn url_with_calls(&self, n_calls: usize) -> String {
        format!("http://{}/v1{CALLS_PATH}{n_calls}", self.address)
    }

    /// The address at which a turn appends a line by a command and then writes a file.
    pub(crate) fn url_with_effects(&self) -> String {
        format!("http://{}/v1{EFFECTS_PATH}2", self.address)
    }

    /// The address at which an answer streams for long.
    pub(crate) fn url_that_streams(&self) -> String {
        format!("http://{}/v1{STREAM_PATH}1", self.address)
    }

    /// The address at which every piece of an answer is the time of its sending.
    pub(crate) fn url_that_stamps(&self) -> String {
        format!("http://{}/v1{STAMPS_PATH}1", self.address)
    }

    /// What was asked since this was called last.
    pub(crate) fn take_log(&self) -> Vec<Exchange> {
        let mut stream = TcpStream::connect(self.address).expect("the server is there");
        let request = b"GET /log HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
        stream.write_all(request).expect("the server listens");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("the server answers");
        let (_, body) = text.split_once("\r\n\r\n").expect("an answer has a head");
        let exchange = |line: &str| {
            let numbers: Vec<u64> = line.split(' ').filter_map(|it| it.parse().ok()).collect();
            let &[first_byte_us, answered_us, body_bytes, is_last] = numbers.as_slice() else {
                panic!("`{line}` is no exchange");
            };
            Exchange { first_byte_us, answered_us, body_bytes, is_last: is_last == 1 }
        };
        body.lines().map(exchange).collect()
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // It may have ended by itself, which is as good.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The server's side: serves until its input is closed.
pub(crate) fn main() -> ExitCode {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be made");
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
        println!("{}", listener.local_addr().expect("a bound socket has an address"));
        let shared = Arc::new(Shared::new());
        std::thread::spawn(|| {
            let mut rest = Vec::new();
            io::stdin().read_to_end(&mut rest).ok();
            std::process::exit(0);
        });
        // Ends with the process.
        loop {
            let Ok((stream, _)) = listener.accept().await else { continue };
            stream.set_nodelay(true).ok();
            tokio::spawn(serve(stream, Arc::clone(&shared)));
        }
    })
}

struct Shared {
    log: Mutex<Vec<Exchange>>,
    words: Vec<u8>,
}

impl Shared {
    fn new() -> Shared {
        let words = answer(&json!({"content": "There it is, as you asked."}), "stop");
        Shared { log: Mutex::default(), words }
    }

    /// A call that no other of the turn is like.
    fn call(n_results: usize) -> Vec<u8> {
        let arguments = json!({"path": NOTE, "limit": n_results + 1}).to_string();
        let call = json!({"index": 0, "id": format!("call_{n_results}"), "type": "function",
            "function": {"name": "read_file", "arguments": arguments}});
        answer(&json!({"tool_calls": [call]}), "tool_calls")
    }

    /// A call with an effect that can be counted: a line appended, then a file made.
    fn effect(message_id: &str, n_results: usize) -> Vec<u8> {
        let (tool, arguments) = if n_results == 0 {
            // The pause keeps the command running long enough to be hit.
            let command = format!("echo {message_id} >> {EFFECTS}; sleep 0.03");
            ("exec_shell", json!({ "command": command }))
        } else {
            let path = format!("made/{message_id}.txt");
            ("write_file", json!({"path": path, "content": format!("{message_id}\n")}))
        };
        let function = json!({"name": tool, "arguments": arguments.to_string()});
        let call = json!({"index": 0, "id": format!("call_{n_results}"), "type": "function",
            "function": function});
        answer(&json!({"tool_calls": [call]}), "tool_calls")
    }

    fn take_log(&self) -> String {
        let exchanges = std::mem::take(&mut *self.log.lock().expect("nobody panics here"));
        let line = |it: &Exchange| {
            let Exchange { first_byte_us, answered_us, body_bytes, is_last } = it;
            format!("{first_byte_us} {answered_us} {body_bytes} {}\n", u8::from(*is_last))
        };
        exchanges.iter().map(line).collect()
    }
}

/// Every connection asks as often as it likes. An error is the client's going away.
async fn serve(mut stream: AsyncStream, shared: Arc<Shared>) -> io::Result<()> {
    let mut bytes = Vec::new();
    while let Some(request) = read_request(&mut stream, &mut bytes).await? {
        if request.is_get {
            let log = shared.take_log();
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", log.len());
            stream.write_all(head.as_bytes()).await?;
            stream.write_all(log.as_bytes()).await?;
            return stream.shutdown().await;
        }
        match request.streamed {
            Some(Streamed::Words) => return stream_words(&mut stream).await,
            Some(Streamed::Stamps) => return stream_stamps(&mut stream).await,
            None => (),
        }
        if request.is_last {
            stream.write_all(&shared.words).await?;
        } else if let Some(message_id) = &request.effect_for {
            stream.write_all(&Shared::effect(message_id, request.n_results)).await?;
        } else {
            stream.write_all(&Shared::call(request.n_results)).await?;
        }
        let answered_us = WallClock::micros();
        let Request { first_byte_us, body_bytes, is_last, .. } = request;
        let exchange = Exchange { first_byte_us, answered_us, body_bytes, is_last };
        shared.log.lock().expect("nobody panics here").push(exchange);
    }
    Ok(())
}

/// Words, ten to a line, until they are over or the client goes away.
async fn stream_words(stream: &mut AsyncStream) -> io::Result<()> {
    stream.write_all(STREAM_HEAD.as_bytes()).await?;
    let mut pace = tokio::time::interval(STREAM_PAUSE);
    for n in 1..=STREAM_TOKENS {
        pace.tick().await;
        let word = if n % 10 == 0 { "word\n\n" } else { "word " };
        let delta = json!({"choices": [{"index": 0, "delta": {"content": word}}]});
        let event = format!("data: {delta}\n\n");
        stream.write_all(chunk(&event).as_bytes()).await?;
    }
    stream.shutdown().await
}

/// Microseconds since 1970, one number to a piece, and a proper end.
async fn stream_stamps(stream: &mut AsyncStream) -> io::Result<()> {
    stream.write_all(STREAM_HEAD.as_bytes()).await?;
    let mut pace = tokio::time::interval(STAMP_PAUSE);
    let choice = |delta: Value, reason: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
    for _ in 0..STAMPS {
        pace.tick().await;
        let text = format!("{} ", WallClock::micros());
        let event = format!("data: {}\n\n", choice(json!({"content": text}), Value::Null));
        stream.write_all(chunk(&event).as_bytes()).await?;
    }
    let end = format!("data: {}\n\ndata: [DONE]\n\n", choice(json!({}), json!("stop")));
    stream.write_all(chunk(&end).as_bytes()).await?;
    stream.write_all(b"0\r\n\r\n").await?;
    stream.shutdown().await
}

/// A piece of a body whose length was not said.
fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

/// What an answer that comes bit by bit consists of.
enum Streamed {
    Words,
    Stamps,
}

impl Streamed {
    fn asked_for_in(head: &str) -> Option<Streamed> {
        if head.contains(STREAM_PATH) {
            return Some(Streamed::Words);
        }
        head.contains(STAMPS_PATH).then_some(Streamed::Stamps)
    }
}

struct Request {
    first_byte_us: u64,
    body_bytes: u64,
    is_get: bool,
    n_results: usize,
    is_last: bool,
    streamed: Option<Streamed>,
    /// The message whose turn is to have effects.
    effect_for: Option<String>,
}

async fn read_request(
    stream: &mut AsyncStream,
    bytes: &mut Vec<u8>,
) -> io::Result<Option<Request>> {
    let mut first_byte_us = None;
    let head_len = loop {
        if !bytes.is_empty() {
            first_byte_us.get_or_insert_with(WallClock::micros);
        }
        if let Some(at) = bytes.windows(4).position(|it| it == b"\r\n\r\n") {
            break at + 4;
        }
        if bytes.len() > HEAD_BYTES_MAX || stream.read_buf(bytes).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_len]).to_lowercase();
    let length = head.split("content-length:").nth(1).and_then(|it| it.lines().next());
    let length: usize = length.and_then(|it| it.trim().parse().ok()).unwrap_or_default();
    if length > BODY_BYTES_MAX {
        return Ok(None);
    }
    while bytes.len() < head_len + length {
        if stream.read_buf(bytes).await? == 0 {
            return Ok(None);
        }
    }
    let body = &bytes[head_len..head_len + length];
    let n_results = n_results(body);
    let has_effects = head.contains(EFFECTS_PATH);
    let effect_for = has_effects.then(|| last_message_id(body));
    let calls_path = if has_effects { EFFECTS_PATH } else { CALLS_PATH };
    let n_calls = head.split(calls_path).nth(1).and_then(|it| it.split('/').next()?.parse().ok());
    let request = Request {
        first_byte_us: first_byte_us.unwrap_or_else(WallClock::micros),
        body_bytes: length as u64,
        is_get: head.starts_with("get "),
        n_results,
        is_last: n_results >= n_calls.unwrap_or(1),
        streamed: Streamed::asked_for_in(&head),
        effect_for,
    };
    bytes.drain(..head_len + length);
    Ok(Some(request))
}

/// Counts the results at the end, from there: a whole parse would be the server's cost.
fn n_results(body: &[u8]) -> usize {
    const ROLE: &[u8] = b"\"role\":\"";
    let mut n_results = 0;
    let mut before = body;
    while let Some(at) = before.windows(ROLE.len()).rposition(|it| it == ROLE) {
        let role = &body[at + ROLE.len()..];
        if role.starts_with(b"user\"") {
            break;
        }
        n_results += usize::from(role.starts_with(b"tool\""));
        before = &before[..at];
    }
    n_results
}

/// The id in the message that was said last.
fn last_message_id(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let after = text.rsplit_once(FOR).map_or("", |(_, after)| after);
    after.chars().take_while(char::is_ascii_alphanumeric).collect()
}

/// A whole reply: head, stream and end, in one piece.
fn answer(delta: &Value, finish_reason: &str) -> Vec<u8> {
    let chunk = |choices: Value, usage: Value| {
        let chunk = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1,
            "model": "fake", "choices": choices, "usage": usage});
        format!("data: {chunk}\n\n")
    };
    let choice = |delta: &Value, reason: Option<&str>| json!([{"index": 0, "delta": delta, "finish_reason": reason}]);
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15});
    let stream = [
        chunk(choice(&json!({"role": "assistant", "content": ""}), None), Value::Null),
        chunk(choice(delta, None), Value::Null),
        chunk(choice(&json!({}), Some(finish_reason)), Value::Null),
        chunk(json!([]), usage),
        "data: [DONE]\n\n".to_owned(),
    ]
    .concat();
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n\
         {:x}\r\n{stream}\r\n0\r\n\r\n",
        stream.len()
    )
    .into_bytes()
}
