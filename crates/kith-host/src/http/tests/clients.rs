//! Two terminals, a page and a program on one session, which come and go.
//!
//! Each is cut off again and again and comes back with its resume point. With `KITH_SLOW_TESTS=1` they
//! are cut off 200 times.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, BufReader};
use tokio::net::UnixStream;
use tokio_tungstenite::WebSocketStream;

use super::*;
use crate::attach::host_socket;

/// How often all clients together are cut off.
const CUTS: usize = 20;
const CUTS_LONG: usize = 200;
/// Messages that are sent at most while that happens.
const MESSAGES_MAX: usize = 400;

#[derive(Clone, Copy, Debug)]
enum ClientKind {
    Terminal,
    Page,
    Program,
}

/// One connection, whatever carries its frames. Beside a stream stands what was read of its next line:
/// whoever waits for it may stop waiting.
enum Connection {
    Lines(BufReader<UnixStream>, Vec<u8>),
    Socket(Box<WebSocketStream<TcpStream>>),
    Events(BufReader<TcpStream>, Vec<u8>),
}

impl Connection {
    async fn open(kind: ClientKind, served: &Served, body: &Value) -> Connection {
        let hello = json!({ "type": "hello", "protocol": 3, "clientId": "test" });
        let request = json!({ "type": "subscribe", "requestId": "1", "body": body });
        match kind {
            ClientKind::Terminal => {
                let path = host_socket(&served.dir.path().canonicalize().unwrap().join(".kith"));
                let mut stream = UnixStream::connect(path).await.unwrap();
                let said = format!("{hello}\n{request}\n");
                stream.write_all(said.as_bytes()).await.unwrap();
                Connection::Lines(BufReader::new(stream), Vec::new())
            }
            ClientKind::Page => {
                let upgrade = Request::builder()
                    .uri(format!("ws://{}/api/socket", served.address))
                    .header("host", served.address.to_string())
                    .header("authorization", format!("Bearer {}", served.token))
                    .header("connection", "Upgrade")
                    .header("upgrade", "websocket")
                    .header("sec-websocket-version", "13")
                    .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
                    .body(())
                    .unwrap();
                let stream = TcpStream::connect(served.address).await.unwrap();
                let (mut socket, _) =
                    tokio_tungstenite::client_async(upgrade, stream).await.unwrap();
                for said in [hello, request] {
                    socket.send(Message::text(said.to_string())).await.unwrap();
                }
                Connection::Socket(Box::new(socket))
            }
            ClientKind::Program => {
                let body = body.to_string();
                let request = format!(
                    "POST /api/subscribe HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
                     Accept: text/event-stream\r\nContent-Type: application/json\r\n\
                     Content-Length: {}\r\n\r\n{body}",
                    served.address,
                    served.token,
                    body.len()
                );
                let mut stream = TcpStream::connect(served.address).await.unwrap();
                stream.write_all(request.as_bytes()).await.unwrap();
                Connection::Events(BufReader::new(stream), Vec::new())
            }
        }
    }

    /// The next item of the subscription.
    async fn item(&mut self) -> Value {
        loop {
            let text = match self {
                Connection::Lines(stream, begun) => line(stream, begun).await,
                Connection::Events(stream, begun) => line(stream, begun).await,
                Connection::Socket(socket) => match socket.next().await.unwrap().unwrap() {
                    Message::Text(text) => text.to_string(),
                    _ => continue,
                },
            };
            let text = text.strip_prefix("data: ").unwrap_or(&text);
            let Ok(frame) = serde_json::from_str::<Value>(text) else { continue };
            assert_ne!(frame["type"], "error", "{frame}");
            if frame["type"] == "item" {
                return frame["item"].clone();
            }
        }
    }
}

async fn line(stream: &mut (impl AsyncBufRead + Unpin), begun: &mut Vec<u8>) -> String {
    assert_ne!(stream.read_until(b'\n', begun).await.unwrap(), 0, "the connection ended");
    String::from_utf8(std::mem::take(begun)).unwrap().trim_end().to_owned()
}

/// A client and what it has seen.
struct Seen {
    events: Vec<(u64, String)>,
    /// How its subscriptions went on.
    modes: Vec<String>,
}

/// Numbers that look random and are the same in every run.
struct Draws(u64);

impl Draws {
    fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

async fn follow(
    kind: ClientKind,
    served: Arc<Served>,
    session: String,
    n_cuts: Arc<AtomicUsize>,
    last_seq: Arc<AtomicU64>,
    first_draw: u64,
) -> Seen {
    let (mut seen, mut draws) = (Seen { events: Vec::new(), modes: Vec::new() }, Draws(first_draw));
    let mut from = json!({ "persistentLastSeq": 0 });
    loop {
        let body = json!({ "to": { "session": session }, "from": from });
        let mut connection = Connection::open(kind, &served, &body).await;
        let mut room = 1 + draws.below(12);
        // Whoever is cut off for the last time stays.
        while room > 0 || n_cuts.load(Ordering::SeqCst) == 0 {
            let waiting = tokio::time::timeout(Duration::from_millis(20), connection.item());
            let Ok(item) = waiting.await else {
                if last_seq.load(Ordering::SeqCst) == from["persistentLastSeq"].as_u64().unwrap() {
                    return seen;
                }
                continue;
            };
            take(&item, &mut from, &mut seen);
            room = room.saturating_sub(1);
        }
        // Only as often as was agreed; a cut that nobody has left is none.
        n_cuts.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).ok();
        drop(connection);
    }
}

fn take(item: &Value, from: &mut Value, seen: &mut Seen) {
    if let Some(started) = item.get("started") {
        assert_eq!(started["afterSeq"], from["persistentLastSeq"], "{item}");
        seen.modes.push(started["mode"].as_str().unwrap().to_owned());
        let mut point = json!({
            "sessionId": started["sessionId"], "persistentLastSeq": started["afterSeq"],
            "epoch": started["epoch"],
        });
        if started["mode"] == "stream_resume" {
            point["streamLastSeq"] = from["streamLastSeq"].clone();
        }
        *from = point;
    } else if let Some(event) = item["turn"].get("event") {
        from["persistentLastSeq"] = event["seq"].clone();
        let id = event["id"].as_str().unwrap().to_owned();
        seen.events.push((event["seq"].as_u64().unwrap(), id));
    } else if let Some(delta) = item["turn"].get("delta") {
        from["streamLastSeq"] = delta["streamSeq"].clone();
    } else if let Some(part) = item["turn"]["running"].as_array().and_then(|it| it.last()) {
        from["streamLastSeq"] = part["streamSeq"].clone();
    }
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::print_stdout, reason = "the counts, for whoever runs the long form")]
async fn clients_that_are_cut_off_again_and_again_miss_and_double_nothing() {
    let served = Arc::new(Served::new().await);
    let is_long = std::env::var_os("KITH_SLOW_TESTS").is_some();
    let n_cuts_asked = if is_long { CUTS_LONG } else { CUTS };
    let n_cuts = Arc::new(AtomicUsize::new(n_cuts_asked));
    let last_seq = Arc::new(AtomicU64::new(u64::MAX));
    let (_, first) = served.call("send_message", &message("m0")).await;
    let session = first["data"]["answer"]["sessionId"].as_str().unwrap().to_owned();
    let kinds = [ClientKind::Terminal, ClientKind::Terminal, ClientKind::Page, ClientKind::Program];
    let clients: Vec<_> = kinds
        .into_iter()
        .zip(1..)
        .map(|(kind, seed)| {
            let (served, session) = (Arc::clone(&served), session.clone());
            let (n_cuts, last_seq) = (Arc::clone(&n_cuts), Arc::clone(&last_seq));
            tokio::spawn(follow(kind, served, session, n_cuts, last_seq, seed))
        })
        .collect();
    for n in 1..=MESSAGES_MAX {
        served.call("send_message", &message(&format!("m{n}"))).await;
        if n_cuts.load(Ordering::SeqCst) == 0 {
            break;
        }
    }
    assert_eq!(n_cuts.load(Ordering::SeqCst), 0);
    let (_, shown) = served.call("show_session", &json!({ "session": session })).await;
    let told = |it: &Value| (it["seq"].as_u64().unwrap(), it["id"].as_str().unwrap().to_owned());
    let log: Vec<(u64, String)> =
        shown["data"]["events"].as_array().unwrap().iter().map(told).collect();
    last_seq.store(log.last().unwrap().0, Ordering::SeqCst);
    let mut n_modes = [0, 0];
    for client in clients {
        let seen = tokio::time::timeout(PATIENCE, client).await.unwrap().unwrap();
        assert_eq!(seen.events, log);
        for mode in seen.modes {
            match mode.as_str() {
                "stream_resume" => n_modes[0] += 1,
                "persistent_fallback" => n_modes[1] += 1,
                other => panic!("{other}"),
            }
        }
    }
    let [resumed, fell_back] = n_modes;
    println!(
        "{n_cuts_asked} cuts, {} events: 0 missing, 0 doubled; {resumed} streams resumed, {fell_back} \
         read from the log",
        log.len()
    );
    assert!(resumed > 0 && fell_back >= 4);
    // Each client came once, and again after each of its cuts.
    assert_eq!(resumed + fell_back, kinds.len() + n_cuts_asked);
}
