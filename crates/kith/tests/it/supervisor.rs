//! The supervisor of commands, spoken to as a host speaks to it.

use std::fs;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

use kith_testkit::another_user::not_run;
use serde_json::{Value, json};

use crate::house::{House, KITH};

/// A command in a view where the system and this folder are.
fn spec(folder: &Path, script: &str) -> Value {
    let mount = |path: &str, kind: Value| json!({"path": path, "kind": kind});
    let mut mounts = Vec::new();
    for path in ["/bin", "/lib", "/lib64", "/usr"] {
        match fs::read_link(path) {
            Ok(target) => mounts.push(mount(path, json!({"link": target}))),
            Err(_) if Path::new(path).is_dir() => mounts.push(mount(path, json!("read_only"))),
            Err(_) => (),
        }
    }
    mounts.push(mount(folder.to_str().unwrap(), json!("writable")));
    json!({
        "argv": ["/bin/sh", "-c", script],
        "cwd": folder,
        "environment": [["PATH", "/usr/bin:/bin"]],
        "stdin": null,
        "view": {"mounts": mounts, "guards": [], "has_network": false},
    })
}

/// Starts a supervisor and tells it something. Returns the socket and the process.
fn told(line: &str) -> (UnixStream, std::process::Child) {
    started_with(&["__sandbox"], line)
}

fn started_with(arguments: &[&str], line: &str) -> (UnixStream, std::process::Child) {
    let (mut control, theirs) = UnixStream::pair().unwrap();
    let child = Command::new(KITH)
        .args(arguments)
        .env_clear()
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    control.write_all(line.as_bytes()).unwrap();
    (control, child)
}

fn answer(mut control: UnixStream) -> Value {
    let mut text = String::new();
    control.read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn is_without_namespaces(end: &Value) -> bool {
    let reason = end["not_started"].as_str().unwrap_or_default();
    let is_refused = reason.contains("allows no namespaces");
    if is_refused {
        not_run(&format!("this machine allows no sandbox: {reason}"));
    }
    is_refused
}

#[test]
fn a_stop_is_heard_while_the_sandbox_is_being_made() {
    let house = House::new();
    let mut spec = spec(&house.path(""), "echo x > ran; exec sleep 600");
    // So many that the stop is there before they are.
    let mounts = spec["view"]["mounts"].as_array_mut().unwrap();
    for n in 0..300 {
        mounts.push(json!({"path": format!("/many/{n}"), "kind": "empty"}));
    }
    let (control, mut child) = told(&format!("{spec}\n"));
    control.shutdown(Shutdown::Write).unwrap();
    let end = answer(control);
    child.wait().unwrap();
    if !is_without_namespaces(&end) {
        assert_eq!(end, json!("stopped"));
        assert!(!house.path("ran").exists());
    }
}

#[test]
fn a_command_that_was_not_told_whole_is_not_started() {
    let house = House::new();
    let spec = spec(&house.path(""), "echo x > ran").to_string();
    let (control, mut child) = told(&spec[..spec.len() - 1]);
    control.shutdown(Shutdown::Write).unwrap();
    assert!(answer(control)["not_started"].as_str().unwrap().contains("cannot read its command"));
    child.wait().unwrap();
    assert!(!house.path("ran").exists());
}

#[test]
fn input_from_a_pipe_that_nobody_writes_to_is_empty() {
    let house = House::new();
    let pipe = house.path("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
    let mut spec = spec(&house.path(""), "cat");
    spec["stdin"] = json!(pipe);
    let (control, mut child) = told(&format!("{spec}\n"));
    let end = answer(control);
    child.wait().unwrap();
    if !is_without_namespaces(&end) {
        assert_eq!(end, json!({"exited": 0}));
    }
}

#[test]
fn a_supervisor_that_was_started_early_runs_any_command() {
    let house = House::new();
    let inside = spec(&house.path(""), "echo $$ > inside; ls / > files");
    let mut with_network = spec(&house.path(""), "echo $$ > with-network");
    with_network["view"]["has_network"] = json!(true);
    let mut outside = spec(&house.path(""), "echo $$ > outside");
    outside["view"] = Value::Null;
    for (spec, name) in [(inside, "inside"), (with_network, "with-network"), (outside, "outside")] {
        let (control, mut child) = started_with(&["__sandbox", "early"], &format!("{spec}\n"));
        let end = answer(control);
        child.wait().unwrap();
        if name != "outside" && is_without_namespaces(&end) {
            continue;
        }
        assert_eq!(end, json!({"exited": 0}), "{name}");
        let pid: u32 = fs::read_to_string(house.path(name)).unwrap().trim().parse().unwrap();
        // In a sandbox it is the second process, whenever the first was made.
        assert_eq!(pid == 2, name != "outside", "{name}: {pid}");
    }
    if let Ok(files) = fs::read_to_string(house.path("files")) {
        assert!(!files.contains("home") && !files.contains(".old"), "{files}");
    }
}

#[test]
fn a_supervisor_that_was_started_early_ends_with_its_host() {
    let (control, mut child) = started_with(&["__sandbox", "early"], "");
    drop(control);
    child.wait().unwrap();
}
