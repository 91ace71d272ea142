//! `kith up`, `kith down` and `kith status`: the daemon, and whoever attaches to it.

use kith_testkit::gate::Gate;
use kith_testkit::server::ServerReply;

use crate::house::{House, Running, Vendor, of_type};
use crate::terminal_chat::{chat, leave, said};

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
    let log = std::fs::read_to_string(house.path(".kith/logs/daemon.log")).unwrap();
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
    let text = std::fs::read_to_string(path).unwrap();
    let dir = house.path("").canonicalize().unwrap();
    assert!(text.contains(dir.to_str().unwrap()) && text.contains("--port"), "{text}");
    assert!(!told["commands"].as_array().unwrap().is_empty(), "{told}");
    assert_eq!(house.json(&["status", "--json"])["running"], false);
    let removed = house.kith(&["up", "--uninstall"]).succeeded();
    assert!(removed.stdout.starts_with("Removed"), "{}", removed.shown());
    assert!(!std::path::Path::new(path).exists());
    assert!(house.kith(&["up", "--uninstall"]).succeeded().stdout.starts_with("There is no"));
}
