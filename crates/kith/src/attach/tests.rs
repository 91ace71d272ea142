//! Hosts that do not answer as a host should.

use tokio::io::{AsyncBufReadExt, AsyncWriteExt};
use tokio::net::UnixListener;

use super::*;
use crate::screen::Quiet;

const HURRIED: Patience =
    Patience { hello: Duration::from_millis(20), silence: Duration::from_millis(20) };

const HELLO: &str = "{\"type\":\"hello\",\"protocol\":1}\n";

/// Asks a host that says these lines, each after a line of the client, and then nothing more.
async fn check(lines: &[&str], hangs_up: bool, expected: &str) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("host.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let lines: Vec<String> = lines.iter().map(|&line| line.to_owned()).collect();
    let host = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = BufReader::new(stream);
        for line in lines {
            stream.read_line(&mut String::new()).await.unwrap();
            stream.write_all(line.as_bytes()).await.unwrap();
        }
        if !hangs_up {
            std::future::pending::<()>().await;
        }
    });
    let request = Request::ListSessions {};
    let asked = ask(&path, &request, &Quiet, &CancellationToken::new(), HURRIED).await;
    host.abort();
    let told = match asked {
        Ok(answer) => format!("{answer:?}"),
        Err(Unanswered::Unreached(_)) => "unreached".to_owned(),
        Err(Unanswered::Deaf) => "deaf".to_owned(),
        Err(Unanswered::Lost) => "lost".to_owned(),
        Err(Unanswered::Refused(report)) => format!("{}: {}", report.code, report.message()),
    };
    assert_eq!(told, expected);
}

#[tokio::test]
async fn a_host_that_is_stopped_is_not_waited_for_for_ever() {
    check(&[], false, "deaf").await;
    check(&[HELLO], false, "deaf").await;
}

#[tokio::test]
async fn a_host_that_goes_away_is_looked_for_again() {
    check(&[""], true, "unreached").await;
    check(&[HELLO], true, "lost").await;
    check(&[HELLO, "{\"type\":\"res"], true, "lost").await;
}

#[tokio::test]
async fn a_host_that_cannot_be_understood_is_not_asked_again() {
    let strange = "protocol_mismatch: the other kith said something that cannot be read: it is not among the words of protocol 1";
    check(&[HELLO, "{\"type\":\"song\"}\n"], false, strange).await;
}

#[tokio::test]
async fn a_host_that_shows_itself_is_waited_for() {
    let alive = "{\"type\":\"alive\"}\n";
    let response = "{\"type\":\"response\",\"requestType\":\"list_sessions\",\"requestId\":\"1\",\
                    \"ok\":true,\"data\":{\"sessions\":[]},\"notes\":[]}\n";
    let lines = format!("{alive}{alive}{response}");
    check(
        &[HELLO, &lines],
        false,
        "Sessions(Told { form: SessionList { sessions: [] }, notes: [] })",
    )
    .await;
}

#[tokio::test]
async fn a_path_where_nobody_listens_is_unreached() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("host.sock");
    let request = Request::ListSessions {};
    let cancel = CancellationToken::new();
    for _ in 0..2 {
        let asked = ask(&path, &request, &Quiet, &cancel, HURRIED).await;
        assert!(matches!(asked, Err(Unanswered::Unreached(_))), "{asked:?}");
        // As after a crash: the file is there, and nobody behind it.
        std::fs::remove_file(&path).ok();
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    }
}
