//! Whole exchanges over a socket of this machine.

mod clients;
mod hostile;
mod slow_clients;

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_tungstenite::tungstenite::Message;

use super::*;
use crate::clock::SystemClock;
use crate::house::House;
use crate::routes;
use crate::serve::Server;
use crate::tests;

/// Longer than anything here takes.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// A house that is served.
pub(super) struct Served {
    pub(super) dir: TempDir,
    server: Server,
    access: Arc<HttpAccess>,
    address: SocketAddr,
    token: String,
}

impl Served {
    pub(super) async fn new() -> Served {
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
        Served { dir, server, access, address, token: token.trim().to_owned() }
    }

    pub(super) fn state(&self) -> &Arc<ServerState> {
        self.server.state()
    }

    /// Sends the lines as they are, and reads until the server closes.
    pub(super) async fn raw(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let request = request.replace("HOST", &self.address.to_string());
        let request = request.replace("TOKEN", &self.token);
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut text = String::new();
        let read = stream.read_to_string(&mut text);
        tokio::time::timeout(PATIENCE, read).await.unwrap().unwrap();
        text
    }

    pub(super) async fn call(&self, name: &str, body: &Value) -> (u16, Value) {
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

pub(super) fn status_of(response: &str) -> u16 {
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

#[tokio::test(flavor = "multi_thread")]
async fn every_call_refuses_a_body_that_is_no_object() {
    let served = Served::new().await;
    let document = openapi::document();
    let paths = document["paths"].as_object().unwrap().keys();
    let names = paths.filter_map(|path| path.strip_prefix("/api/"));
    let calls: Vec<&str> = names.filter(|name| routes::has(name)).collect();
    assert!(calls.len() > 40, "{calls:?}");
    for name in calls.into_iter().chain(["chat", "priming/save-current-course"]) {
        // Whatever it has for fields, each of them could be null.
        let body = json!([null, null, null]);
        let (status, refused) = served.call(name, &body).await;
        assert_eq!(status, 400, "{name}: {refused}");
        let message = refused["error"]["message"].as_str().unwrap();
        let is_told = message.ends_with("the body must be a JSON object");
        assert!(is_told || message.starts_with("this call has no end"), "{name}: {message}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_none_is_the_fault_of_who_names_it() {
    let served = Served::new().await;
    for cwd in ["", "nowhere", "/nowhere/at/all"] {
        let body = json!({ "audience": "owner", "cwd": cwd });
        let (status, refused) = served.call("get_prompt", &body).await;
        let message = format!("`{cwd}` is not a folder");
        assert_eq!((status, &refused["error"]["message"]), (400, &json!(message)), "{refused}");
    }
}

#[test]
fn strangers_get_a_part_of_the_descriptors_only() {
    assert_eq!(connections_max(Some(1_024)), 341);
    assert_eq!(connections_max(Some(20)), CONNECTIONS_MIN);
    assert_eq!(connections_max(None), CONNECTIONS_MAX);
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_are_listed_and_saved_under_the_words_of_their_design() {
    let served = Served::new().await;
    let get = |query: &str| {
        format!(
            "GET /api/priming/scripts{query} HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\n\
             Connection: close\r\n\r\n"
        )
    };
    let listed = async |query: &str| -> Value {
        let text = served.raw(&get(query)).await;
        assert_eq!(status_of(&text), 200, "{text}");
        let body: Value = serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap();
        body["scripts"].clone()
    };
    let save = json!({ "slug": "probe/first" });
    assert_eq!(served.call("priming/save-current-course", &save).await.0, 404);
    served.call("send_message", &message("m1")).await;
    let (status, saved) = served.call("priming/save-current-course", &save).await;
    assert_eq!(status, 200, "{saved}");
    let script_ref = saved["scriptRef"].as_str().unwrap().to_owned();
    assert!(script_ref.starts_with("individual/") && script_ref.ends_with("/probe/first"));
    // Found by what is typed at once; recent only when a conversation began with it.
    assert_eq!(listed("?q=probe").await[0]["scriptRef"], json!(script_ref));
    assert_eq!(listed("").await, json!([]));
    let path = served.dir.path().join(saved["path"].as_str().unwrap());
    let before = std::fs::read(&path).unwrap();
    let (status, refused) = served.call("priming/save-current-course", &save).await;
    assert_eq!((status, &refused["error"]["code"]), (409, &json!("ALREADY_EXISTS")));
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let over = json!({ "slug": "probe/first", "overwrite": true });
    assert_eq!(served.call("priming/save-current-course", &over).await.0, 200);

    let priming = json!({ "scriptRefs": [script_ref], "showInUi": false });
    let (status, made) = served.call("create_dialog", &json!({ "priming": priming })).await;
    assert_eq!(status, 200, "{made}");
    assert!(made["data"]["threadId"].as_str().unwrap().starts_with("web:room:"));
    assert_eq!(listed("").await[0]["scriptRef"], json!(script_ref));
    assert_eq!(listed("?agentId=&q=nothing-like-it").await, json!([]));
    let wrong = json!({ "priming": { "scriptRefs": ["team_shared/none"], "showInUi": true } });
    assert_eq!(served.call("create_dialog", &wrong).await.0, 400);
    assert_eq!(status_of(&served.raw(&get("?query=x")).await), 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_of_the_socket_is_reachable_and_described() {
    let served = Served::new().await;
    let mut generator = schemars::SchemaGenerator::default();
    let mut calls = routes::reads().schemas(&mut generator);
    calls.extend(routes::writes().schemas(&mut generator));
    assert!(calls.len() > 50, "{}", calls.len());
    let paths = openapi::document()["paths"].as_object().unwrap();
    for call in calls {
        // Read by the type of the call itself, which knows no such key.
        let (status, answer) = served.call(call.name, &json!({ "noSuchKey": 1 })).await;
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        let is_endless = message.contains("text/event-stream");
        assert_eq!(status, 400, "{} {answer}", call.name);
        assert!(message.contains("noSuchKey") || is_endless, "{} {answer}", call.name);
        assert!(paths.contains_key(&format!("/api/{}", call.name)), "{}", call.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_can_be_acknowledged_when_it_is_accepted_queued_and_bound_to_a_place() {
    let served = Served::new().await;
    let mut accepted = message("m1");
    accepted["ack"] = json!("accepted");
    let (status, answer) = served.call("send_message", &accepted).await;
    assert_eq!((status, &answer["data"]["answer"]["end"]), (200, &json!("accepted")), "{answer}");
    assert_eq!(answer["data"]["outcome"], "accepted");
    let session = answer["data"]["answer"]["sessionId"].clone();
    // The same message, waited for.
    let (_, done) = served.call("send_message", &message("m1")).await;
    assert_eq!(
        (&done["data"]["answer"]["end"], &done["data"]["answer"]["sessionId"]),
        (&json!("done"), &session)
    );

    let leaf = done["data"]["answer"]["leaf"].clone();
    let said = |id: &str, leaf: &Value, behavior: &str| {
        let mut said = message(id);
        said["expectedLeaf"] = leaf.clone();
        said["runningBehavior"] = json!(behavior);
        said
    };
    for (id, behavior) in [("m2", "follow_up"), ("m3", "steer")] {
        let (status, answer) =
            served.call("send_message", &said(id, &json!("start"), behavior)).await;
        assert_eq!((status, &answer["error"]["code"]), (409, &json!("conflict")), "{answer}");
    }
    let (status, answer) = served.call("send_message", &said("m4", &leaf, "steer")).await;
    assert_eq!((status, &answer["data"]["answer"]["end"]), (200, &json!("done")), "{answer}");
    let mut wrong = message("m5");
    wrong["ack"] = json!("never");
    assert_eq!(served.call("send_message", &wrong).await.0, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_ends_takes_no_request_at_any_address() {
    let served = Served::new().await;
    served.call("send_message", &message("m1")).await;
    served.state().close();
    let save = json!({ "slug": "late" });
    assert_eq!(served.call("priming/save-current-course", &save).await.0, 503);
    assert_eq!(served.call("list_threads", &json!({})).await.0, 503);
    let chat = json!({ "id": "a", "messages": [
        { "id": "1", "role": "user", "parts": [{ "type": "text", "text": "hi" }] }] });
    assert_eq!(served.call("chat", &chat).await.0, 503);
    let scripts = "GET /api/priming/scripts?q=late HTTP/1.1\r\nHost: HOST\r\n\
                   Authorization: Bearer TOKEN\r\nConnection: close\r\n\r\n";
    assert_eq!(status_of(&served.raw(scripts).await), 503);
    assert!(!served.dir.path().join(".minds").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_told_to_the_owner_only() {
    let served = Served::new().await;
    let (_, answer) = served.call("send_message", &message("m1")).await;
    assert_eq!(answer["ok"], true, "{answer}");
    let head = "GET /metrics HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n";
    for strange in ["", "Authorization: Bearer 0000\r\n", "Cookie: kith=1\r\n"] {
        let refused = served.raw(&format!("{head}{strange}\r\n")).await;
        assert_eq!(status_of(&refused), 401, "{refused}");
        assert!(!refused.contains("kith_turns"), "{refused}");
    }
    let authorised = format!("{head}Authorization: Bearer TOKEN\r\n");
    let other_page = format!("{authorised}Sec-Fetch-Site: cross-site\r\n\r\n");
    assert_eq!(status_of(&served.raw(&other_page).await), 403);
    let text = served.raw(&format!("{authorised}\r\n")).await;
    assert_eq!(status_of(&text), 200);
    assert!(text.contains("content-type: text/plain; version=0.0.4; charset=utf-8\r\n"), "{text}");
    for line in [
        "kith_turns_started_total 1",
        "kith_turns_ended_total{end=\"done\"} 1",
        "kith_model_requests_total{model=\"demo\",outcome=\"done\"} 1",
        "kith_messages_total 1",
        "kith_sessions_open 1",
        "kith_inbox_rows_waiting 0",
        "kith_http_refused_total{status=\"401\"} 3",
    ] {
        assert!(text.lines().any(|it| it == line), "{line} is not in\n{text}");
    }
    let posted = "POST /metrics HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\n\
                  Connection: close\r\n\r\n";
    assert_eq!(status_of(&served.raw(posted).await), 405);
}
