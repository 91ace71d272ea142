//! Clients that send or read next to nothing, and one that behaves: it must not notice the others.
//!
//! With `KITH_SLOW_TESTS=1` there are a thousand of them.

use rustix::process::{Rlimit, setrlimit};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::TcpSocket;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior};

use super::*;

const SLOW_CLIENTS: usize = 60;
const SLOW_CLIENTS_LONG: usize = 1_000;
/// A client and the server's side of its connection are both in this process, and the server takes a
/// third of what there is for connections.
const DESCRIPTORS: u64 = 8_192;
const CALLS: usize = 100;
const TURNS: usize = 20;
/// What a client that does not read is sent: more than the system keeps for it.
const LONG_MESSAGES: usize = 6;
const LONG_MESSAGE_BYTES: usize = 24 * 1024;
const RECEIVE_BYTES: u32 = 4 * 1024;
const NORMAL_MAX: Duration = Duration::from_millis(200);
/// The same on a machine that is busy with other tests: far above what a busy machine needs, and far below
/// the half minute for which a client that takes nothing is waited for.
const BUSY_MAX: Duration = Duration::from_secs(5);

fn is_long() -> bool {
    std::env::var_os("KITH_SLOW_TESTS").is_some()
}

/// How many slow clients there are, with descriptors for all of them.
fn n_slow_clients() -> usize {
    if !is_long() {
        return SLOW_CLIENTS;
    }
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|it| it < DESCRIPTORS) {
        let raised = Rlimit { current: Some(DESCRIPTORS), maximum: limit.maximum };
        setrlimit(Resource::Nofile, raised).expect("the long form needs 8,192 descriptors");
    }
    SLOW_CLIENTS_LONG
}

/// The time that all but one in a hundred are below.
#[expect(clippy::print_stdout, reason = "the times, for whoever runs the long form")]
fn check_p99(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let p99 = times[(times.len() * 99).div_ceil(100) - 1];
    println!("{what}: p99 {p99:?} of {}", times.len());
    let max = if is_long() { NORMAL_MAX } else { BUSY_MAX };
    assert!(p99 < max, "{what}: {p99:?}");
}

async fn call_times(served: &Served, n_calls: usize) -> Vec<Duration> {
    let mut times = Vec::new();
    for _ in 0..n_calls {
        let began = Instant::now();
        assert_eq!(served.call("list_threads", &json!({})).await.0, 200);
        times.push(began.elapsed());
    }
    times
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_clients_do_not_slow_the_owner_down() {
    let n_slow = n_slow_clients();
    let served = Served::new().await;
    let mut slow = Vec::new();
    for _ in 0..n_slow {
        let mut stream = TcpStream::connect(served.address).await.unwrap();
        // Strangers may be closed already to make room.
        stream.write_all(b"G").await.ok();
        slow.push(stream);
    }
    let times = call_times(&served, CALLS).await;
    check_p99(&format!("calls beside {} clients that send one byte", slow.len()), times);
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_read_nothing_or_a_byte_a_second_do_not_slow_a_normal_one() {
    let n_slow = n_slow_clients();
    let served = Served::new().await;
    let long_session = say(&served, "web:room:long", &long_text()).await;
    for _ in 1..LONG_MESSAGES {
        say(&served, "web:room:long", &long_text()).await;
    }
    check_p99("calls beside nobody", call_times(&served, CALLS).await);
    let (mut silent, mut dripping) = (Vec::new(), JoinSet::new());
    for n in 0..n_slow {
        let stream = follower_of(&served, &long_session, RECEIVE_BYTES).await;
        if n % 2 == 0 {
            silent.push(stream);
        } else {
            dripping.spawn(read_a_byte_a_second(stream));
        }
    }
    let session = say(&served, "web:room:a", "say one").await;
    let mut normal = BufReader::new(follower_of(&served, &session, 16 * RECEIVE_BYTES).await);
    let (mut calls, mut deliveries) = (Vec::new(), Vec::new());
    for n in 1..=TURNS {
        let began = Instant::now();
        let id = format!("m{n}");
        let asked = message(&id);
        let sending = served.call("send_message", &asked);
        let ((status, _), ()) = tokio::join!(sending, async {
            until_line_with(&mut normal, &format!("\"messageId\":\"{id}\"")).await;
            deliveries.push(began.elapsed());
        });
        assert_eq!(status, 200);
        calls.extend(call_times(&served, CALLS / TURNS).await);
    }
    let beside =
        format!("beside {} that read nothing, {} a byte a second", silent.len(), dripping.len());
    check_p99(&format!("calls {beside}"), calls);
    check_p99(&format!("a message until it is seen {beside}"), deliveries);
}

/// Says something, and waits until it is answered. Returns the session.
async fn say(served: &Served, thread_id: &str, text: &str) -> Value {
    let mut said = message(&uuid::Uuid::now_v7().to_string());
    (said["threadId"], said["text"]) = (json!(thread_id), json!(text));
    let (status, answer) = served.call("send_message", &said).await;
    assert_eq!(status, 200, "{answer}");
    answer["data"]["answer"]["sessionId"].clone()
}

/// The demo model answers with one word.
fn long_text() -> String {
    format!("say one\n\n<attachment name=\"x\">{}", "x".repeat(LONG_MESSAGE_BYTES))
}

/// A program that follows the session, and has been told so.
async fn follower_of(served: &Served, session: &Value, receive_bytes: u32) -> TcpStream {
    let body = json!({ "to": { "session": session }, "from": { "persistentLastSeq": 0 } });
    let body = body.to_string();
    let request = format!(
        "POST /api/subscribe HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
         Accept: text/event-stream\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        served.address,
        served.token,
        body.len()
    );
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(receive_bytes).unwrap();
    let mut stream = socket.connect(served.address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = [0; 12];
    stream.read_exact(&mut head).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");
    stream
}

async fn read_a_byte_a_second(mut stream: TcpStream) {
    let mut pace = tokio::time::interval(Duration::from_secs(1));
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut byte = [0];
    while stream.read(&mut byte).await.is_ok_and(|n| n > 0) {
        pace.tick().await;
    }
}

async fn until_line_with(stream: &mut BufReader<TcpStream>, wanted: &str) {
    let mut line = String::new();
    loop {
        line.clear();
        let read = tokio::time::timeout(PATIENCE, stream.read_line(&mut line)).await.unwrap();
        assert_ne!(read.unwrap(), 0, "the normal client was let go");
        if line.contains(wanted) {
            return;
        }
    }
}
