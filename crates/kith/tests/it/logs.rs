//! Diagnostics: what is logged, and what never is.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::symlink;

use kith_testkit::server::ServerReply;
use serde_json::{Value, json};

use crate::house::{House, Vendor};

/// All diagnostic logs of the house.
fn logs(house: &House) -> String {
    let mut all = String::new();
    for entry in fs::read_dir(house.path(".kith/logs")).unwrap() {
        all.push_str(&fs::read_to_string(entry.unwrap().path()).unwrap());
    }
    all
}

fn session_log(house: &House) -> String {
    let path = house.session_file();
    let id = path.file_stem().unwrap().to_str().unwrap();
    fs::read_to_string(house.path(&format!(".kith/logs/{id}.log"))).unwrap()
}

/// What the host of the house says at `/metrics`.
fn metrics(house: &House) -> String {
    let status = house.json(&["status", "--json"]);
    let address = status["host"]["address"].as_str().unwrap().strip_prefix("http://").unwrap();
    let token = fs::read_to_string(house.path(".kith/http-token")).unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!(
        "GET /metrics HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\n\
         Connection: close\r\n\r\n",
        token.trim()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    text
}

/// All spans that a collector was sent.
fn spans(collector: &Vendor) -> Vec<Value> {
    let mut spans = Vec::new();
    for body in collector.bodies() {
        for resource in body["resourceSpans"].as_array().unwrap() {
            for scope in resource["scopeSpans"].as_array().unwrap() {
                spans.extend(scope["spans"].as_array().unwrap().iter().cloned());
            }
        }
    }
    spans
}

fn attribute<'a>(span: &'a Value, key: &str) -> &'a Value {
    let attributes = span["attributes"].as_array().unwrap();
    &attributes.iter().find(|it| it["key"] == key).unwrap_or(&Value::Null)["value"]
}

/// One turn is one trace, and each span says what the conventions ask for.
#[track_caller]
fn check_spans(spans: &[Value], session: &str) {
    let names: Vec<&str> = spans.iter().map(|it| it["name"].as_str().unwrap()).collect();
    for name in ["invoke_agent main", "execute_tool read_file", "execute_tool other"] {
        assert!(names.contains(&name), "{names:?}");
    }
    let chats: Vec<&Value> =
        spans.iter().filter(|it| it["name"].as_str().unwrap().starts_with("chat ")).collect();
    assert_eq!(chats.len(), 3, "{names:?}");
    let turn = spans.iter().find(|it| it["name"] == "invoke_agent main").unwrap();
    for span in spans {
        assert_eq!(span["traceId"], turn["traceId"], "one turn is one trace");
        assert_eq!(span["parentSpanId"].is_null(), span == turn, "{span}");
        assert_eq!(attribute(span, "gen_ai.conversation.id")["stringValue"], session);
    }
    let tokens = attribute(chats[0], "gen_ai.usage.input_tokens");
    assert_eq!(tokens["intValue"], "10", "all tokens that the model read, cached or not");
    assert_eq!(attribute(chats[1], "error.type")["stringValue"], "status");
    assert_eq!(chats[1]["status"]["code"], 2);
}

#[test]
fn nothing_that_was_said_is_in_a_log_a_metric_or_a_span() {
    let marked = |what: &str| format!("MARKER-{what}-91c7");
    let (prompt, answer, file) = (marked("prompt"), marked("answer"), marked("file"));
    let (invented, command, error) = (marked("tool"), marked("command"), marked("error"));
    let error = json!({"error": {"message": error, "type": "server_error"}}).to_string();
    let vendor = Vendor::new([
        ServerReply::calls(
            &answer,
            &[
                ("read_file", json!({"path": "MARKER-name.txt"})),
                ("exec_shell", json!({"command": format!("echo {command}")})),
                (&invented, json!({"text": marked("input")})),
            ],
        ),
        ServerReply::Raw {
            status: 500,
            content_type: "application/json".to_owned(),
            body: error.into_bytes(),
        },
        ServerReply::text(&answer),
    ]);
    let collector = Vendor::new([]);
    let endpoint = format!("http://{}", collector.server.address());
    let house = House::asking(&vendor).with("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint);
    house.write("MARKER-name.txt", format!("{file}\n"));
    house.write("USER.md", format!("Name: {}\n", marked("user")));
    let mut daemon = house.start(&["up", "--port", "0"]);
    daemon.until("serves http");
    house.kith(&["ask", &prompt, "--message-id", &marked("id")]).succeeded();
    house.kith(&["session", "rename", "latest", &marked("title")]).succeeded();
    let metrics = metrics(&house);
    house.kith(&["down"]).succeeded();
    daemon.finish().succeeded();

    let spans = spans(&collector);
    let told = format!("{}\n{metrics}\n{}", logs(&house), json!(spans));
    let token = fs::read_to_string(house.path(".kith/http-token")).unwrap();
    for secret in ["MARKER", "91c7", "sk-test-0123456789", token.trim(), "login="] {
        assert!(!told.contains(secret), "`{secret}` was told:\n{told}");
    }
    let log = session_log(&house);
    for event in [
        "event=message_accepted",
        "event=turn_started",
        "event=model_asked",
        "event=model_failed",
        "tool=read_file",
        "tool=exec_shell",
        "tool=other",
        "outcome=done stop=end_turn",
        "event=turn_ended",
    ] {
        assert!(log.contains(event), "{event} is not in\n{log}");
    }
    assert!(metrics.contains("kith_tool_calls_total{tool=\"read_file\",outcome=\"done\"} 1\n"));
    check_spans(&spans, house.session_file().file_stem().unwrap().to_str().unwrap());
    let host = fs::read_to_string(house.path(".kith/logs/host.log")).unwrap();
    for event in ["host_started kind=daemon", "client_attached", "host_stopped", "model_failed"] {
        assert!(host.contains(&format!("event={event}")), "{event} is not in\n{host}");
    }
}

#[test]
fn nothing_is_sent_to_a_collector_that_nobody_named() {
    let collector = Vendor::new([]);
    let endpoint = format!("http://{}", collector.server.address());
    let house = House::new()
        .with("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint)
        .with("OTEL_SDK_DISABLED", "true");
    house.kith(&["ask", "say one", "--model", "demo"]).succeeded();
    assert_eq!(collector.requests().len(), 0);
    // A command of its own sends its spans before it ends.
    let house = house.with("OTEL_SDK_DISABLED", "");
    house.kith(&["ask", "say two", "--model", "demo"]).succeeded();
    assert_eq!(spans(&collector).len(), 2);
}

#[test]
fn a_collector_that_is_away_does_not_hold_an_answer_up() {
    let house = House::new().with("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9");
    let ran = house.kith(&["ask", "say one", "--model", "demo"]).succeeded();
    assert_eq!((ran.stdout.trim(), ran.stderr.contains("collector")), ("one", false));
}

#[test]
fn the_log_of_a_session_is_shown_as_others_name_it() {
    let house = House::new();
    let nothing = house.kith(&["logs"]).succeeded();
    assert_eq!(nothing.stdout, "");
    assert!(nothing.stderr.contains("nothing has been logged"), "{}", nothing.stderr);
    house.kith(&["ask", "say one", "--model", "demo"]).succeeded();
    let id = house.json(&["session", "ls", "--json"])["sessions"][0]["sessionId"].clone();
    let id = id.as_str().unwrap();
    let whole = house.kith(&["logs", "--session", id]).succeeded().stdout;
    assert_eq!(whole, session_log(&house));
    for name in ["current", "latest", &id[id.len() - 8..]] {
        assert_eq!(house.kith(&["logs", "--session", name]).succeeded().stdout, whole, "{name}");
    }
    let from_host = ["logs", "--session", "latest", "--from-host", "--lines", "2"];
    assert_eq!(house.kith(&from_host).succeeded().stdout.lines().count(), 2);
    let last = house.json(&["logs", "--session", "latest", "-n", "1", "--json"]);
    assert_eq!((&last["ok"], &last["log"]), (&true.into(), &id.into()));
    assert_eq!(last["lines"].as_array().unwrap().len(), 1);
    assert_eq!(house.kith(&["logs", "--session", "zzzz"]).code, 1);
    assert_eq!(house.kith(&["logs", "--lines", "99999999"]).code, 2);
}

#[test]
fn a_log_is_followed_until_ctrl_c() {
    let house = House::new();
    house.kith(&["ask", "say one", "--model", "demo"]).succeeded();
    let mut following = house.start(&["logs", "--session", "latest", "--follow", "-n", "1"]);
    following.until("event=turn_ended");
    house.kith(&["ask", "say two", "--model", "demo"]).succeeded();
    following.until("event=turn_started");
    following.until("event=turn_ended");
    following.signal("INT");
    let ran = following.finish();
    assert_eq!(ran.code, 130, "{}", ran.shown());
    let mut following = house.start(&["logs", "--session", "latest", "-f", "-n", "1", "--json"]);
    following.until("\"event\":");
    following.signal("TERM");
    let ran = following.finish();
    let line: Value = serde_json::from_str(ran.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(line["level"], "info");
}

#[test]
fn following_does_not_keep_a_host_from_ending() {
    let house = House::new();
    let mut daemon = house.start(&["up", "--port", "0"]);
    daemon.until("serves http");
    let mut following = house.start(&["logs", "--follow", "--from-host"]);
    following.until("event=host_started");
    house.kith(&["down"]).succeeded();
    daemon.finish().succeeded();
    following.finish().succeeded();
}

#[test]
fn a_log_that_is_a_link_is_left_alone_and_the_turn_goes_on() {
    let house = House::new();
    house.kith(&["ask", "say one", "--model", "demo"]).succeeded();
    let id = house.session_file().file_stem().unwrap().to_str().unwrap().to_owned();
    let log = house.path(&format!(".kith/logs/{id}.log"));
    fs::remove_file(&log).unwrap();
    house.write("mine.txt", "mine\n");
    symlink(house.path("mine.txt"), &log).unwrap();
    let ran = house.kith(&["ask", "say two", "--model", "demo"]).succeeded();
    assert_eq!(ran.stdout.trim(), "two");
    assert_eq!(fs::read_to_string(house.path("mine.txt")).unwrap(), "mine\n");
    let refused = house.kith(&["logs", "--session", "latest"]);
    assert_eq!(refused.code, 3, "{}", refused.shown());
    assert!(refused.stderr.contains("symbolic link"), "{}", refused.stderr);
}

#[test]
fn removing_a_session_removes_its_log() {
    let house = House::new();
    for _ in 0..2 {
        house.kith(&["ask", "--new", "say one", "--model", "demo"]).succeeded();
    }
    let logs = || fs::read_dir(house.path(".kith/logs")).unwrap().count();
    assert_eq!(logs(), 2);
    house.kith(&["backup", "../copy"]).succeeded();
    let copy = house.path("../copy/.kith");
    assert!(copy.join("sessions").exists() && !copy.join("logs").exists());
    house.kith(&["session", "rm", "latest", "--yes"]).succeeded();
    let left = fs::read_dir(house.path(".kith/logs")).unwrap();
    let left: Vec<String> = left.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    let kept = house.session_file().file_stem().unwrap().to_str().unwrap().to_owned();
    assert_eq!(left, [format!("{kept}.log")]);
}
