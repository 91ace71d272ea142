//! Whole exchanges over a socket of this machine.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_tungstenite::tungstenite::Message;

use super::*;
use crate::clock::SystemClock;
use crate::house::House;
use crate::serve::Server;
use crate::tests;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// A house that is served.
struct Served {
    _dir: TempDir,
    server: Server,
    access: Arc<HttpAccess>,
    address: SocketAddr,
    token: String,
}

impl Served {
    async fn new() -> Served {
        let dir = tempfile::tempdir().unwrap();
        let host = tests::host(dir.path()).await;
        let house = House {
            dir: dir.path().canonicalize().unwrap(),
            cwd: dir.path().canonicalize().unwrap(),
            user_home: None,
        };
        let server = Server::start(&house, &host).unwrap();
        let access = Arc::new(HttpAccess::of_house(&house, Arc::new(SystemClock)).unwrap());
        let listener = listen(0).await.unwrap();
        let address = serve(listener, Arc::clone(server.state()), Arc::clone(&access)).unwrap();
        let token = std::fs::read_to_string(house.kith_dir().join("http-token")).unwrap();
        Served { _dir: dir, server, access, address, token: token.trim().to_owned() }
    }

    /// Sends the lines as they are, and reads until the server closes.
    async fn raw(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let request = request.replace("HOST", &self.address.to_string());
        let request = request.replace("TOKEN", &self.token);
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut text = String::new();
        let read = stream.read_to_string(&mut text);
        tokio::time::timeout(PATIENCE, read).await.unwrap().unwrap();
        text
    }

    async fn call(&self, name: &str, body: &Value) -> (u16, Value) {
        let body = body.to_string();
        let length = body.len();
        let text = self
            .raw(&format!(
                "POST /api/{name} HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\n\
                 Content-Type: application/json\r\nContent-Length: {length}\r\n\
                 Connection: close\r\n\r\n{body}"
            ))
            .await;
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        (status_of(head), serde_json::from_str(body).unwrap())
    }
}

fn status_of(response: &str) -> u16 {
    response.split(' ').nth(1).unwrap().parse().unwrap()
}

fn message(id: &str) -> Value {
    json!({
        "clientMessageId": id, "text": "hello", "threadId": "web:room:a", "target": "current",
        "cwd": "/", "model": "demo", "expects": { "provider": "demo", "model": "demo" },
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_answered_as_over_the_socket() {
    let served = Served::new().await;
    let (status, answer) = served.call("send_message", &message("m1")).await;
    assert_eq!((status, &answer["ok"]), (200, &json!(true)), "{answer}");
    assert_eq!(answer["data"]["answer"]["end"], "done");
    let (_, threads) = served.call("list_threads", &json!({})).await;
    assert_eq!(threads["data"]["threads"][0]["audience"], "owner");
    // Sent again, it is the same message.
    let (_, again) = served.call("send_message", &message("m1")).await;
    assert_eq!(again["data"]["answer"]["leaf"], answer["data"]["answer"]["leaf"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_done_is_a_status_a_code_and_a_sentence() {
    let served = Served::new().await;
    for (name, body, status, code) in [
        ("nothing", json!({}), 404, "invalid_request"),
        ("show_session", json!({"session": "0000"}), 404, "session_not_found"),
        ("show_session", json!({"session": "x", "more": 1}), 400, "invalid_request"),
        ("show_session", json!([]), 400, "invalid_request"),
        ("subscribe", json!({"to": {"session": "x"}}), 400, "invalid_request"),
    ] {
        let (given, answer) = served.call(name, &body).await;
        assert_eq!((given, &answer["error"]["code"]), (status, &json!(code)), "{name} {answer}");
        assert!(!answer["error"]["message"].as_str().unwrap().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_are_not_the_owners_are_refused_before_they_are_read() {
    let served = Served::new().await;
    for (request, status) in [
        ("GET /api/socket HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n", 401),
        ("POST /api/list_threads HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n", 401),
        ("GET /api/openapi.json HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n", 401),
        (
            "POST /api/list_threads HTTP/1.1\r\nHost: evil.example\r\nAuthorization: Bearer TOKEN\r\n\
             Connection: close\r\n\r\n",
            403,
        ),
        (
            "POST /api/list_threads HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\n\
             Origin: http://evil.example\r\nConnection: close\r\n\r\n",
            403,
        ),
        (
            "POST /api/list_threads?token=TOKEN HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n",
            401,
        ),
        (
            "DELETE /api/list_threads HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\n\
          Connection: close\r\n\r\n",
            405,
        ),
        ("GET /../.kith/http-token HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n", 404),
    ] {
        let text = served.raw(request).await;
        assert_eq!(status_of(&text), status, "{request}\n{text}");
        assert!(!text.contains(&served.token));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_too_long_or_cut_short_is_refused() {
    let served = Served::new().await;
    let head = "POST /api/login HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\n";
    let long = "x".repeat(5_000);
    let request = format!("{head}Content-Length: 5000\r\nConnection: close\r\n\r\n{long}");
    assert_eq!(status_of(&served.raw(&request).await), 413);
    let huge = format!("{head}X-Long: {}\r\n\r\n", "y".repeat(4 * HEAD_BYTES_MAX));
    assert_eq!(status_of(&served.raw(&huge).await), 431);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_logs_in_with_a_code_and_stays_in_by_its_cookie() {
    let served = Served::new().await;
    let code = served.access.new_login_code().unwrap();
    let body = json!({ "code": code }).to_string();
    let login = format!(
        "POST /api/login HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let text = served.raw(&login).await;
    assert_eq!(status_of(&text), 200, "{text}");
    let cookie = text.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    let cookie = cookie.split(';').next().unwrap();
    let answer: Value = serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap();
    let key = answer["pageKey"].as_str().unwrap();
    let head = format!("POST /api/list_threads HTTP/1.1\r\nHost: HOST\r\nCookie: {cookie}\r\n");
    let asked = format!("{head}X-Kith-Page: {key}\r\nConnection: close\r\n\r\n");
    assert_eq!(status_of(&served.raw(&asked).await), 200);
    let alone = format!("{head}Connection: close\r\n\r\n");
    assert_eq!(status_of(&served.raw(&alone).await), 401);
    assert_eq!(status_of(&served.raw(&login).await), 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_items_of_a_call_come_as_events_and_the_answer_last() {
    let served = Served::new().await;
    let body = message("m1").to_string();
    let request = format!(
        "POST /api/send_message HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\n\
         Accept: text/event-stream\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    );
    let text = served.raw(&request).await;
    assert!(text.contains("content-type: text/event-stream"), "{text}");
    let frames: Vec<Value> = text
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(frames.iter().any(|frame| frame["item"]["event"]["type"] == "turn_started"));
    let last = frames.last().unwrap();
    assert_eq!((&last["type"], &last["ok"]), (&json!("response"), &json!(true)));
    assert_eq!(last["data"]["answer"]["end"], "done");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_websocket_carries_the_protocol_of_the_socket() {
    let served = Served::new().await;
    let url = format!("ws://{}/api/socket", served.address);
    let request = Request::builder()
        .uri(url)
        .header("host", served.address.to_string())
        .header("authorization", format!("Bearer {}", served.token))
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
        .body(())
        .unwrap();
    let stream = TcpStream::connect(served.address).await.unwrap();
    let (mut socket, _) = tokio_tungstenite::client_async(request, stream).await.unwrap();
    let say = |value: Value| Message::text(value.to_string());
    let hello = json!({"type": "hello", "protocol": 3, "clientId": "test"});
    socket.send(say(hello)).await.unwrap();
    socket.send(say(json!({"type": "list_threads", "requestId": "1"}))).await.unwrap();
    let body = json!({"type": "send_message", "requestId": "2", "body": message("m1")});
    socket.send(say(body)).await.unwrap();
    let mut kinds = Vec::new();
    loop {
        let next = tokio::time::timeout(PATIENCE, socket.next()).await.unwrap();
        let Message::Text(text) = next.unwrap().unwrap() else { continue };
        let frame: Value = serde_json::from_str(&text).unwrap();
        kinds.push(frame["type"].as_str().unwrap().to_owned());
        if frame["type"] == "response" && frame["requestId"] == "2" {
            assert_eq!(frame["data"]["answer"]["end"], "done");
            break;
        }
    }
    assert_eq!(kinds.first().unwrap(), "hello");
    assert!(kinds.iter().any(|kind| kind == "item"), "{kinds:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_ends_lets_go_of_everyone() {
    let served = Served::new().await;
    let mut idle = TcpStream::connect(served.address).await.unwrap();
    let half = format!("GET /api/health HTTP/1.1\r\nHost: {}\r\n", served.address);
    idle.write_all(half.as_bytes()).await.unwrap();
    tokio::time::timeout(PATIENCE, served.server.end()).await.unwrap();
    assert!(TcpStream::connect(served.address).await.is_err());
}

#[test]
fn the_description_names_every_call_and_resolves_every_reference() {
    let document = openapi::document();
    let paths = document["paths"].as_object().unwrap();
    assert!(paths.contains_key("/api/send_message") && paths.contains_key("/api/list_sessions"));
    let text = document.to_string();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    for reference in text.split("\"#/components/schemas/").skip(1) {
        let name = reference.split('"').next().unwrap();
        assert!(schemas.contains_key(name), "{name}");
    }
    assert!(!text.contains("#/$defs"));
}

#[test]
fn strangers_get_a_part_of_the_descriptors_only() {
    assert_eq!(connections_max(Some(1_024)), 341);
    assert_eq!(connections_max(Some(20)), CONNECTIONS_MIN);
    assert_eq!(connections_max(None), CONNECTIONS_MAX);
}
