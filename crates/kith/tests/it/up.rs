//! `kith up`, `kith down` and `kith status`: the daemon, and whoever attaches to it.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;

use kith_testkit::gate::Gate;
use kith_testkit::server::ServerReply;

use crate::house::{House, Running, Vendor, of_type};
use crate::terminal_chat::{chat, leave, said};

/// How often a state is looked for at most, each time by a command.
const LOOKS_MAX: usize = 2_000;

/// A daemon that serves any port.
fn up(house: &House) -> Running<'_> {
    let mut running = house.start(&["up", "--port", "0"]);
    running.until("serves http");
    running
}

#[test]
fn commands_attach_to_the_daemon_until_it_is_stopped() {
    let house = House::new();
    let status = house.json(&["status", "--json"]);
    assert_eq!((&status["ok"], &status["running"]), (&true.into(), &false.into()));
    let daemon = up(&house);
    let status = house.json(&["status", "--json"]);
    assert_eq!((&status["running"], &status["host"]["kind"]), (&true.into(), &"daemon".into()));
    let address = status["host"]["address"].as_str().unwrap();
    assert!(address.starts_with("http://127.0.0.1:"), "{address}");
    house.kith(&["ask", "hello"]).succeeded();
    let after = house.json(&["status", "--json"]);
    assert_eq!(after["host"]["pid"], status["host"]["pid"]);
    assert_eq!(after["host"]["openSessions"], 1);
    let down = house.kith(&["down"]).succeeded();
    assert!(down.stdout.contains("has stopped"), "{}", down.stdout);
    daemon.finish().succeeded();
    assert_eq!(house.json(&["status", "--json"])["running"], false);
    assert!(house.kith(&["down"]).succeeded().stdout.contains("No daemon"));
    assert_eq!(house.json(&["session", "verify", "latest", "--json"])["ok"], true);
}

#[test]
fn the_status_tells_its_time_as_people_write_it() {
    let house = House::new();
    let daemon = up(&house);
    let status = house.json(&["status", "--json"]);
    let since = status["host"]["startedAt"].as_str().unwrap();
    assert!(since.ends_with('Z'), "{since}");
    let told = house.kith(&["status"]).succeeded().stdout;
    let time = told.split("running since ").nth(1).unwrap().lines().next().unwrap();
    let form: String = time.chars().map(|ch| if ch.is_ascii_digit() { '0' } else { ch }).collect();
    assert_eq!(form, "0000-00-00 00:00", "{told}");
    house.kith(&["down"]).succeeded();
    daemon.finish().succeeded();
}

#[test]
fn a_second_daemon_names_the_first_and_replaces_it_when_asked() {
    let house = House::new();
    let first = up(&house);
    let pid = house.json(&["status", "--json"])["host"]["pid"].clone();
    let again = house.json(&["up", "--json"]);
    assert_eq!(again["host"]["pid"], pid);
    assert!(again["loginUrl"].as_str().unwrap().contains("/#login="));
    let mut second = house.start(&["up", "--replace", "--port", "0"]);
    second.until("serves http");
    first.finish().succeeded();
    assert_ne!(house.json(&["status", "--json"])["host"]["pid"], pid);
    second.signal("TERM");
    second.finish().succeeded();
}

#[test]
fn a_detached_daemon_outlives_the_command_that_started_it() {
    let house = House::new();
    let started = house.json(&["up", "--detach", "--port", "0", "--json"]);
    assert_eq!((&started["ok"], &started["host"]["kind"]), (&true.into(), &"daemon".into()));
    let pid = house.json(&["status", "--json"])["host"]["pid"].clone();
    assert_eq!(pid, started["host"]["pid"]);
    house.kith(&["down"]).succeeded();
    // A login code is a secret; the file is for people.
    let log = fs::read_to_string(house.path(".kith/logs/daemon.log")).unwrap();
    assert!(!log.contains("login="), "{log}");
}

#[test]
fn a_port_that_is_taken_is_named_with_what_to_do() {
    let house = House::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let ran = house.kith(&["up", "--port", &port]);
    assert_eq!(ran.code, 3, "{}", ran.shown());
    assert!(ran.stderr.contains(&port) && ran.stderr.contains("--port"), "{}", ran.stderr);
    assert_eq!(house.json(&["status", "--json"])["running"], false);
}

#[test]
fn a_conversation_gives_the_house_to_a_daemon_and_goes_on() {
    let gate = Gate::new();
    let slow = ServerReply::text("Second answer.").behind(&gate);
    let vendor = Vendor::new([ServerReply::text("First answer."), slow]);
    let house = House::asking(&vendor);
    let mut terminal = chat(&house);
    terminal.press("one\r");
    terminal.until("First answer.");
    assert_eq!(house.json(&["status", "--json"])["host"]["kind"], "chat");
    let refused = house.kith(&["down"]);
    assert_eq!(refused.code, 1, "{}", refused.shown());

    let daemon = up(&house);
    assert_eq!(house.json(&["status", "--json"])["host"]["kind"], "daemon");
    terminal.press("two\r");
    vendor.until_asked(2);
    gate.open();
    terminal.until("Second answer.");
    leave(terminal);
    assert_eq!(said(&house), ["one", "two"]);
    let log = house.log();
    assert_eq!(of_type(&log, "turn_ended").len(), 2);
    house.kith(&["down"]).succeeded();
    daemon.finish().succeeded();
    assert_eq!(house.json(&["session", "verify", "latest", "--json"])["ok"], true);
}

#[test]
fn a_daemon_waits_for_the_turn_of_the_conversation_that_it_takes_over() {
    let gate = Gate::new();
    let slow = ServerReply::text("First answer.").behind(&gate);
    let vendor = Vendor::new([slow, ServerReply::text("Second answer.")]);
    let house = House::asking(&vendor);
    let mut terminal = chat(&house);
    terminal.press("one\r");
    vendor.until_asked(1);
    let mut daemon = house.start(&["up", "--port", "0"]);
    until_nobody_answers(&house);
    gate.open();
    daemon.until("serves http");
    terminal.until("First answer.");
    terminal.press("two\r");
    terminal.until("Second answer.");
    leave(terminal);
    let log = house.log();
    // The turn ended where it began: nothing was cut, nothing was asked again.
    assert_eq!(of_type(&log, "resumed").len(), 0);
    assert_eq!(vendor.requests().len(), 2);
    assert_eq!(said(&house), ["one", "two"]);
    house.kith(&["down"]).succeeded();
    daemon.finish().succeeded();
}

/// Waits until the host takes no more requests; it still has the house.
#[track_caller]
fn until_nobody_answers(house: &House) {
    let is_over = |_| house.json(&["status", "--json"])["running"] == false;
    assert!((0..LOOKS_MAX).any(is_over), "the host goes on");
}

#[test]
fn a_terminal_goes_on_with_the_daemon_that_replaces_its_own() {
    let gate = Gate::new();
    let slow = ServerReply::text("Second answer.").behind(&gate);
    let replies = [ServerReply::text("First answer."), slow, ServerReply::text("Third answer.")];
    let vendor = Vendor::new(replies);
    let house = House::asking(&vendor);
    let first = up(&house);
    let (mut terminal, mut other) = (chat(&house), chat(&house));
    terminal.press("one\r");
    terminal.until("First answer.");
    terminal.press("two\r");
    vendor.until_asked(2);
    let mut second = house.start(&["up", "--port", "0", "--replace"]);
    gate.open();
    second.until("serves http");
    first.finish().succeeded();
    for terminal in [&mut terminal, &mut other] {
        terminal.until("Second answer.");
    }
    other.press("three\r");
    for mut terminal in [terminal, other] {
        terminal.until("Third answer.");
        leave(terminal);
    }
    assert_eq!(said(&house), ["one", "two", "three"]);
    assert_eq!(of_type(&house.log(), "turn_ended").len(), 3);
    house.kith(&["down"]).succeeded();
    second.finish().succeeded();
    assert_eq!(house.json(&["session", "verify", "latest", "--json"])["ok"], true);
}

/// A conversation that is open takes the house over from a daemon that was killed, and gives it to the next.
#[test]
fn a_turn_goes_on_when_its_daemon_is_killed_and_another_one_started() {
    let (gate, never) = (Gate::new(), Gate::new());
    let cut = ServerReply::text("Never said.").behind(&never);
    let vendor = Vendor::new([cut, ServerReply::text("The answer.").behind(&gate)]);
    let house = House::asking(&vendor);
    let first = up(&house);
    let mut terminal = chat(&house);
    terminal.press("one\r");
    vendor.until_asked(1);
    first.signal("KILL");
    first.hang_up();
    let mut second = house.start(&["up", "--port", "0"]);
    vendor.until_asked(2);
    gate.open();
    second.until("serves http");
    terminal.until("The answer.");
    leave(terminal);
    assert_eq!(said(&house), ["one"]);
    assert_eq!(of_type(&house.log(), "turn_ended").len(), 1);
    house.kith(&["down"]).succeeded();
    second.finish().succeeded();
    never.open();
}

/// It takes the 30 s that a conversation waits for its turn.
#[test]
fn a_turn_that_does_not_end_in_time_goes_on_in_the_daemon() {
    if std::env::var_os("KITH_SLOW_TESTS").is_none() {
        let test = "a_turn_that_does_not_end_in_time_goes_on_in_the_daemon";
        return kith_testkit::skipped::note(test, "it takes 30 s (`KITH_SLOW_TESTS=1`)");
    }
    let never = Gate::new();
    let cut = ServerReply::text("Never said.").behind(&never);
    let vendor = Vendor::new([cut, ServerReply::text("The answer.")]);
    let house = House::asking(&vendor);
    let mut terminal = chat(&house);
    terminal.press("one\r");
    vendor.until_asked(1);
    let daemon = up(&house);
    terminal.until("The answer.");
    leave(terminal);
    let log = house.log();
    assert_eq!((of_type(&log, "resumed").len(), of_type(&log, "turn_ended").len()), (1, 1));
    assert_eq!(said(&house), ["one"]);
    house.kith(&["down"]).succeeded();
    daemon.finish().succeeded();
    never.open();
}

#[test]
fn the_page_is_opened_logged_in() {
    let mut house = House::new();
    house.write(
        "bin/xdg-open",
        "#!/bin/sh\nprintf '%s' \"$1\" > opened.new && mv opened.new opened\n",
    );
    let program = house.path("bin/xdg-open");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", house.path("bin").display());
    house.set("PATH", &path);
    let mut daemon = house.start(&["up", "--port", "0", "--open"]);
    daemon.until("serves http");
    let is_opened = |_| {
        house.kith(&["status"]).succeeded();
        house.path("opened").exists()
    };
    assert!((0..LOOKS_MAX).any(is_opened), "no browser was started");
    let url = fs::read_to_string(house.path("opened")).unwrap();
    let (origin, code) = url.split_once("/#login=").unwrap();
    assert_eq!(origin, house.json(&["status", "--json"])["host"]["address"].as_str().unwrap());
    assert_eq!(log_in(origin, code), 200);
    assert_ne!(log_in(origin, code), 200, "a code is good once");
    house.kith(&["down"]).succeeded();
    daemon.finish().succeeded();
}

/// Logs in as the page does. Returns the status.
fn log_in(origin: &str, code: &str) -> u16 {
    let host = origin.strip_prefix("http://").unwrap();
    let body = format!(r#"{{"code":"{code}"}}"#);
    let mut stream = TcpStream::connect(host).unwrap();
    let request = format!(
        "POST /api/login HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_daemon_takes_over_however_many_conversations_are_open() {
    let vendor = Vendor::new([ServerReply::text("First answer."), ServerReply::text("Second.")]);
    let house = House::asking(&vendor);
    let mut first = chat(&house);
    first.press("one\r");
    first.until("First answer.");
    let second = chat(&house);
    let third = chat(&house);
    let daemon = up(&house);
    assert_eq!(house.json(&["status", "--json"])["host"]["kind"], "daemon");
    first.press("two\r");
    first.until("Second.");
    for terminal in [first, second, third] {
        leave(terminal);
    }
    house.kith(&["down"]).succeeded();
    daemon.finish().succeeded();
    assert_eq!(said(&house), ["one", "two"]);
}

#[test]
fn the_service_file_is_written_and_removed_and_nothing_is_started() {
    let house = House::new();
    let told = house.json(&["up", "--install", "--port", "0", "--json"]);
    let path = told["path"].as_str().unwrap();
    assert!(
        path.starts_with(house.path("../user").canonicalize().unwrap().to_str().unwrap()),
        "{told}"
    );
    let text = fs::read_to_string(path).unwrap();
    let dir = house.path("").canonicalize().unwrap();
    assert!(text.contains(dir.to_str().unwrap()) && text.contains("--port"), "{text}");
    assert!(!told["commands"].as_array().unwrap().is_empty(), "{told}");
    assert_eq!(house.json(&["status", "--json"])["running"], false);
    let removed = house.kith(&["up", "--uninstall"]).succeeded();
    assert!(removed.stdout.starts_with("Removed"), "{}", removed.shown());
    assert!(!std::path::Path::new(path).exists());
    assert!(house.kith(&["up", "--uninstall"]).succeeded().stdout.starts_with("There is no"));
}
