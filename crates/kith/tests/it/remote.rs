//! A house on another machine: `kith up --listen` there, `kith --remote` here.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use kith_testkit::gate::Gate;
use kith_testkit::server::ServerReply;
use rcgen::{CertificateParams, KeyPair, date_time_ymd};

use crate::from_host::READS;
use crate::house::{House, Running, Vendor, of_type};
use crate::terminal::Terminal;
use crate::terminal_chat::{IDLE, PLAIN, leave, said};

/// A daemon that other machines reach at any port, or at this one.
fn up<'a>(house: &'a House, listen: &str, more: &[&str]) -> Running<'a> {
    let args = [&["up", "--port", "0", "--listen", listen][..], more].concat();
    let mut running = house.start(&args);
    running.until("From other machines: kith --remote");
    running
}

fn address(house: &House) -> String {
    let status = house.json(&["status", "--json"]);
    status["host"]["remoteAddress"].as_str().unwrap().to_owned()
}

fn private_file(house: &House, name: &str, text: &str) -> PathBuf {
    house.write(name, text);
    let path = house.path(name);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    path
}

/// A machine without an agent, whose owner has the address and the token.
fn laptop(house: &House) -> House {
    let mut laptop = House::empty();
    let token = fs::read_to_string(house.path(".kith/http-token")).unwrap();
    let token = private_file(&laptop, "token", &token);
    laptop.set("KITH_REMOTE", &address(house));
    laptop.set("KITH_REMOTE_TOKEN_FILE", token.to_str().unwrap());
    laptop
}

#[test]
fn every_command_answers_from_another_machine_as_at_home() {
    let house = House::new();
    house.write("skills/tidy/SKILL.md", crate::from_host::SKILL);
    house.write(".minds/priming/team_shared/greeting.md", crate::from_host::SCRIPT);
    let daemon = up(&house, "127.0.0.1:0", &[]);
    let laptop = laptop(&house);
    let asked = laptop.json(&["ask", "say tree", "--model", "demo", "--json"]);
    assert_eq!((&asked["ok"], &asked["text"]), (&true.into(), &"tree".into()), "{asked}");
    laptop.kith(&["ask", "say leaf"]).succeeded();
    assert_eq!(said(&house), ["say tree", "say leaf"]);
    for command in READS {
        for form in [&[][..], &["--json"]] {
            let args = [command, form].concat();
            let here = house.kith(&args).succeeded();
            let there = laptop.kith(&args).succeeded();
            assert_eq!(there.stdout, here.stdout, "{args:?}");
        }
    }
    for command in [
        &["prompt"][..],
        &["doctor"],
        &["status"],
        &["cost"],
        &["logs"],
        &["logs", "--session", "latest"],
        &["model", "ls"],
        &["queue", "ls"],
        &["approvals"],
        &["grants", "ls"],
        &["why"],
        &["explain", "command", "ls"],
        &["new", "--prime", "team_shared/greeting"],
        &["session", "rename", "latest", "other"],
        &["cancel"],
        &["compact", "--session", "latest"],
    ] {
        let there = laptop.kith(command);
        assert!(there.code < 2, "{command:?}: {}", there.shown());
    }
    // Nothing was made on this machine.
    assert_eq!(laptop.files(), ["token"]);
    for command in [
        &["init", "x"][..],
        &["up"],
        &["agent", "ls"],
        &["backup", "x"],
        &["trust", "."],
        &["sandbox", "--", "ls"],
    ] {
        let refused = laptop.kith(command);
        assert_eq!(refused.code, 2, "{command:?}: {}", refused.shown());
        assert!(refused.stderr.contains("--remote"), "{}", refused.stderr);
    }
    assert!(laptop.kith(&["down"]).succeeded().stdout.contains("has stopped"));
    daemon.finish().succeeded();
}

#[test]
fn whoever_is_not_let_in_is_told_why_in_one_sentence() {
    let house = House::new();
    let daemon = up(&house, "127.0.0.1:0", &[]);
    let mut laptop = laptop(&house);
    let address = address(&house);
    let (plain, hash) = address.split_once('#').unwrap();
    let other_hash = format!("{plain}#{}", "0".repeat(64));
    let insecure = address.replace("https", "http");
    let page = house.json(&["status", "--json"])["host"]["address"].as_str().unwrap().to_owned();
    let not_tls = format!("{}#{hash}", page.replace("http://", "https://"));
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let nobody = format!("https://{nobody}#{hash}");
    for (given, said) in [
        (other_hash.as_str(), "not the one that the address names"),
        (plain, "is not trusted"),
        (&insecure, "TLS only"),
        (&not_tls, "does not speak TLS"),
        (&nobody, "cannot reach the host"),
    ] {
        laptop.set("KITH_REMOTE", given);
        refused(&laptop, said);
    }
    laptop.set("KITH_REMOTE", &address);
    let wrong = "a".repeat(64);
    laptop.set("KITH_REMOTE_TOKEN", &wrong);
    let told = refused(&laptop, "does not accept the token");
    assert!(!told.contains(&wrong), "{told}");
    laptop.unset("KITH_REMOTE_TOKEN");
    laptop.unset("KITH_REMOTE_TOKEN_FILE");
    refused(&laptop, "wants a token");
    let open = laptop.path("token");
    fs::set_permissions(&open, fs::Permissions::from_mode(0o644)).unwrap();
    laptop.set("KITH_REMOTE_TOKEN_FILE", open.to_str().unwrap());
    refused(&laptop, "other users can read it");
    house.kith(&["down"]).succeeded();
    let ran = daemon.finish().succeeded();
    // Neither a token nor a key is in what it printed.
    let token = fs::read_to_string(house.path(".kith/http-token")).unwrap();
    assert!(!ran.shown().contains(token.trim()), "{}", ran.shown());
}

#[track_caller]
fn refused(laptop: &House, said: &str) -> String {
    let ran = laptop.kith(&["session", "ls"]);
    assert_ne!(ran.code, 0, "{}", ran.shown());
    let line = ran.stderr.lines().next().unwrap_or_default().to_owned();
    assert!(line.starts_with("error: ") && line.contains(said), "{said}: {}", ran.stderr);
    ran.stderr
}

/// A certificate of the owner's, valid until the year.
fn certificate(house: &House, year: i32) -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    params.not_after = date_time_ymd(year, 1, 1);
    let made = params.self_signed(&key).unwrap();
    let certificate = private_file(house, "certificate.pem", &made.pem());
    let key = private_file(house, "key.pem", &key.serialize_pem());
    (certificate.to_str().unwrap().to_owned(), key.to_str().unwrap().to_owned())
}

#[test]
fn a_certificate_of_the_owners_is_used_until_it_expires() {
    let house = House::new();
    for (year, is_valid) in [(2999, true), (2020, false)] {
        let (certificate, key) = certificate(&house, year);
        let daemon = up(&house, "127.0.0.1:0", &["--certificate", &certificate, "--key", &key]);
        let laptop = laptop(&house);
        if is_valid {
            laptop.kith(&["session", "ls"]).succeeded();
        } else {
            refused(&laptop, "has expired");
        }
        house.kith(&["down"]).succeeded();
        daemon.finish().succeeded();
    }
    // The one that the house would make was not needed.
    assert!(!house.path(".kith/tls.pem").exists());
}

#[test]
fn the_listener_does_not_start_without_a_certificate_and_a_token() {
    let house = House::new();
    let (certificate, _) = certificate(&house, 2999);
    private_file(&house, "wrong.pem", &KeyPair::generate().unwrap().serialize_pem());
    let (wrong, absent) = (house.path("wrong.pem"), house.path("absent.pem"));
    let (wrong, absent) = (wrong.to_str().unwrap(), absent.to_str().unwrap());
    let listen = ["up", "--port", "0", "--listen", "127.0.0.1:0"];
    for (more, said) in [
        (&["--certificate", &certificate, "--key", wrong][..], "cannot use the certificate"),
        (&["--certificate", &certificate, "--key", absent], "cannot read"),
        (&["--certificate", wrong, "--key", wrong], "no certificate"),
        (&["--certificate", &certificate], "--key"),
    ] {
        let ran = house.kith_bounded(&[&listen[..], more].concat());
        assert!(ran.code != 0 && ran.stderr.contains(said), "{more:?}: {}", ran.shown());
        assert_eq!(house.json(&["status", "--json"])["running"], false);
    }
    fs::write(house.path(".kith/http-token"), "short\n").unwrap();
    let ran = house.kith_bounded(&listen);
    assert!(ran.code != 0 && ran.stderr.contains("token"), "{}", ran.shown());
    fs::remove_file(house.path(".kith/http-token")).unwrap();
    fs::write(house.path(".kith/tls.pem"), "none\n").unwrap();
    let ran = house.kith_bounded(&listen);
    assert!(ran.code != 0 && ran.stderr.contains("tls.pem"), "{}", ran.shown());
}

#[test]
fn a_terminal_on_another_machine_goes_on_with_the_daemon_that_replaces_its_own() {
    let gate = Gate::new();
    let slow = ServerReply::text("Second answer.").behind(&gate);
    let replies = [ServerReply::text("First answer."), slow, ServerReply::text("Third answer.")];
    let vendor = Vendor::new(replies);
    let house = House::asking(&vendor);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let first = up(&house, &port, &[]);
    let laptop = laptop(&house);
    let mut terminal = Terminal::start(&laptop, &[], &PLAIN);
    terminal.until(IDLE);
    terminal.press("one\r");
    terminal.until("First answer.");
    terminal.press("two\r");
    vendor.until_asked(2);
    // A newer program takes over while the turn runs; the turn ends with the old one or goes on in the new.
    let mut second = house.start(&["up", "--port", "0", "--listen", &port, "--replace"]);
    gate.open();
    second.until("From other machines");
    first.finish().succeeded();
    terminal.until("Second answer.");
    terminal.press("three\r");
    terminal.until("Third answer.");
    leave(terminal);
    assert_eq!(said(&house), ["one", "two", "three"]);
    assert_eq!(of_type(&house.log(), "turn_ended").len(), 3);
    house.kith(&["down"]).succeeded();
    second.finish().succeeded();
    assert_eq!(house.json(&["session", "verify", "latest", "--json"])["ok"], true);
}
