//! Files, folders and sockets without permission, tried as a user who is not the superuser.
//!
//! The superuser may do everything, so under it these tests start themselves again as `nobody`.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kith_testkit::another_user::{is_superuser, run_as_nobody, unprivileged};

use crate::check;
use crate::house::{House, KITH};
use crate::many::Staying;

/// Says to the second run of a test where the host is.
const SOCKET: &str = "KITH_TEST_SOCKET";
const HELLO: &str = "{\"type\":\"hello\",\"protocol\":3,\"clientId\":\"test\"}\n";

#[test]
fn an_unreadable_home_is_a_filesystem_error() {
    let test = "another_user::an_unreadable_home_is_a_filesystem_error";
    let _turn = one_at_a_time();
    unprivileged(test, Some(KITH), || {
        let house = House::new();
        let dir = house.path("");
        set_mode(&dir, 0o000);
        let output = house.command(&["ask", "hi", "--home"]).arg(&dir).current_dir("/").output();
        set_mode(&dir, 0o755);
        assert_eq!(output.unwrap().status.code(), Some(3));
    });
}

#[test]
fn a_read_only_kith_folder_is_a_filesystem_error() {
    let test = "another_user::a_read_only_kith_folder_is_a_filesystem_error";
    let _turn = one_at_a_time();
    unprivileged(test, Some(KITH), || {
        let house = House::new();
        house.kith(&["ask", "say one"]).succeeded();
        let folders = [house.path(".kith/sessions"), house.path(".kith")];
        for folder in &folders {
            set_mode(folder, 0o500);
        }
        let ran = house.kith(&["ask", "two", "--new"]);
        let list = house.kith(&["session", "ls"]);
        for folder in &folders {
            set_mode(folder, 0o700);
        }
        assert_eq!(ran.code, 3, "{}", ran.shown());
        check!(list, @"
        exit 0
        --- stdout
        [short]  [minute]  idle       cli:room:[cwd]  say one
        ");
    });
}

#[test]
fn the_doctor_calls_a_missing_permission_by_its_name() {
    let test = "another_user::the_doctor_calls_a_missing_permission_by_its_name";
    let _turn = one_at_a_time();
    unprivileged(test, Some(KITH), || {
        let house = House::new();
        house.kith(&["ask", "say one"]).succeeded();
        for (name, denied, usual, told) in [
            (".kith/sessions", 0o500, 0o700, "fail  house         you may not write to `"),
            (".kith/state.db", 0o000, 0o600, "fail  desk          you may not read and write `"),
        ] {
            set_mode(&house.path(name), denied);
            let ran = house.kith(&["doctor"]);
            set_mode(&house.path(name), usual);
            assert!(ran.stdout.contains(told), "{name}: {}", ran.stdout);
            assert!(ran.stdout.contains("-> `chmod u+rw"), "{name}: {}", ran.stdout);
        }
    });
}

#[test]
fn the_host_refuses_another_user() {
    if let Some(path) = env::var_os(SOCKET) {
        // The second run, as `nobody`.
        insta::assert_snapshot!(told(Path::new(&path)), @r#"{"type":"error","ok":false,"code":"auth_failed","message":"this house belongs to another user","blame":"request","hints":[]}"#);
        return;
    }
    let house = House::new();
    let mut host = Staying::new(&house, &["--model", "demo"], "say one");
    assert_eq!(host.hear(), "one");
    let socket = house.path(".kith/host.sock");
    assert_eq!(told(&socket), "{\"type\":\"hello\",\"protocol\":3}");
    // Nobody else can become another user; that the ids are compared is tested beside the host.
    let _turn = one_at_a_time();
    if is_superuser() {
        // As if the folders had been opened to all: the host looks who is there all the same.
        for folder in ["..", "", ".kith"] {
            set_mode(&house.path(folder), 0o755);
        }
        set_mode(&socket, 0o666);
        let test = "another_user::the_host_refuses_another_user";
        run_as_nobody(test, None, &[(SOCKET, OsStr::new(&socket))]);
    } else {
        let test = "the_host_refuses_another_user";
        kith_testkit::skipped::note(test, "only the superuser can become another user");
    }
    assert_eq!(host.end().0, 0);
}

/// What a host says to a hello, until it hangs up.
fn told(socket: &Path) -> String {
    let mut stream = UnixStream::connect(socket).unwrap();
    // It may hang up before it has read this.
    stream.write_all(HELLO.as_bytes()).ok();
    stream.shutdown(std::net::Shutdown::Write).ok();
    let mut said = Vec::new();
    // A connection with unread bytes ends in an error; what was said before counts.
    stream.read_to_end(&mut said).ok();
    String::from_utf8(said).unwrap().trim_end().to_owned()
}

/// Whoever asks whether this is the superuser makes a folder for a moment, always the same one.
fn one_at_a_time() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
