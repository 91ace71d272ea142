use std::io::Read;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Command, Stdio};

use kith_testkit::another_user::not_run;

use super::*;

/// Connects to a socket and stays until the other end is closed.
const STAY: &str = "use IO::Socket::UNIX; my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or exit 1; \
                    BETWEEN print qq(x\\n); close STDOUT; sysread($s, my $word, 1);";

/// A peer that runs behind this program and does this between; its connection is `None` if it did not get here.
fn peer(behind: &[&str], between: &str) -> (Child, Option<UnixStream>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    let script = STAY.replace("BETWEEN", between);
    let mut child = Command::new("/usr/bin/env")
        .args(behind)
        .args(["perl", "-e", &script])
        .arg(&path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    (child, (said == "x\n").then(|| listener.accept().unwrap().0))
}

fn is_shared_with(behind: &[&str], between: &str) -> Option<bool> {
    let (mut child, stream) = peer(behind, between);
    let is_shared = stream.map(|it| shares_user_namespace(&it));
    child.wait().unwrap();
    is_shared
}

#[test]
fn a_process_of_this_namespace_is_recognized() {
    let (ours, _theirs) = UnixStream::pair().unwrap();
    assert!(shares_user_namespace(&ours));
    assert_eq!(is_shared_with(&[], ""), Some(true));
}

/// What makes a process hide from others of its user.
#[cfg(target_arch = "x86_64")]
const HIDE: &str = "syscall(157, 4, 0, 0, 0, 0);";
#[cfg(not(target_arch = "x86_64"))]
const HIDE: &str = "";

#[test]
fn a_process_of_another_user_namespace_is_refused_also_if_it_hides() {
    for between in ["", HIDE] {
        match is_shared_with(&["unshare", "-U"], between) {
            Some(is_shared) => assert!(!is_shared, "{between}"),
            None => not_run("no user namespaces here"),
        }
    }
}

#[test]
fn a_process_that_has_ended_is_refused_though_another_one_holds_its_connection() {
    let (mut child, stream) = peer(&[], "exit 0 if fork;");
    child.wait().unwrap();
    assert!(!shares_user_namespace(stream.unwrap()));
}

#[test]
fn ids_are_counted() {
    assert!(has_many_ids("         0          0 4294967295\n"));
    assert!(has_many_ids("0 1000 1\n1 100000 65536\n"));
    assert!(!has_many_ids("      1000       1000          1\n"));
    assert!(!has_many_ids(""));
}
