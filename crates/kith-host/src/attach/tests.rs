//! Hosts that do not answer as a host should.

mod blobs;

use kith_engine::feed::{ResumeMode, ResumePoint};
use kith_vocab::ids::SessionId;
use kith_vocab::json::Json;
use std::os::unix::fs::PermissionsExt;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt};
use tokio::net::UnixListener;

use super::*;
use crate::caller::CLI;
use crate::calls::feed::{AnswerDelta, AnswerDeltaKind, TurnItem};
use crate::calls::session::{ListSessions, VerifyProgress, VerifySession};
use crate::calls::subscription::{
    FollowHouse, Subscribe, SubscribedTo, SubscriptionItem, ThreadChanges,
};
use crate::protocol::{ItemFrame, RequestFrame, frame};

const HURRIED: Timeouts =
    Timeouts { hello: Duration::from_millis(20), silence: Duration::from_millis(20) };

const HELLO: &str = "{\"type\":\"hello\",\"protocol\":3}\n";

/// Asks a host that says these lines, each after a line of the client, and then nothing more.
async fn check(lines: &[&str], hangs_up: bool, expected: &str) {
    let call = ListSessions { agent_id: None };
    check_call(&call, &Follower::<()>::none(), lines, hangs_up, expected).await;
}

async fn check_call<C: Call, I: Payload>(
    call: &C,
    follower: &Follower<I>,
    lines: &[&str],
    hangs_up: bool,
    expected: &str,
) where
    C::Answer: std::fmt::Debug,
{
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
    // Only a host that is expected to be silent is given up on soon.
    let timeouts = if expected == "deaf" { HURRIED } else { Timeouts::default() };
    let asked = ask(&path, &Caller::owner(CLI), &mut call.clone(), follower, timeouts).await;
    host.abort();
    let told = match asked {
        Ok(answer) => format!("{answer:?}"),
        Err(AskFailure::Unreachable(_)) => "unreached".to_owned(),
        Err(AskFailure::Silent) => "deaf".to_owned(),
        Err(AskFailure::Disconnected) => "lost".to_owned(),
        Err(AskFailure::Refused(report)) => format!("{}: {}", report.code, report.message()),
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
    let strange =
        "protocol_mismatch: unexpected reply from the running kith: not a message of protocol 3";
    check(&[HELLO, "{\"type\":\"song\"}\n"], false, strange).await;
}

#[tokio::test]
async fn a_host_that_shows_itself_is_waited_for() {
    let alive = "{\"type\":\"alive\"}\n";
    let response = "{\"type\":\"response\",\"requestType\":\"list_sessions\",\"requestId\":\"1\",\
                    \"ok\":true,\"data\":{\"sessions\":[]},\"notes\":[]}\n";
    let lines = format!("{alive}{alive}{response}");
    check(&[HELLO, &lines], false, "Response { data: SessionList { sessions: [] }, notes: [] }")
        .await;
}

#[tokio::test]
async fn a_path_where_nobody_listens_is_unreached() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("host.sock");
    let (caller, mut call) = (Caller::owner(CLI), ListSessions { agent_id: None });
    for _ in 0..2 {
        let asked = ask(&path, &caller, &mut call, &Follower::<()>::none(), HURRIED).await;
        assert!(matches!(asked, Err(AskFailure::Unreachable(_))), "{asked:?}");
        // As after a crash: the file is there, and nobody behind it.
        std::fs::remove_file(&path).ok();
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    }
}

#[tokio::test]
async fn an_error_keeps_its_code_on_the_way() {
    for code in ["untrusted", "bad_crc", "session_not_found"] {
        let error = format!(
            "{{\"type\":\"error\",\"requestId\":\"1\",\"ok\":false,\"code\":\"{code}\",\"message\":\"no\",\
             \"blame\":\"request\",\"hints\":[],\"causes\":[\"why\"]}}\n"
        );
        check(&[HELLO, &error], false, &format!("{code}: no: why")).await;
    }
}

#[test]
fn a_host_is_looked_for_where_it_says_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let kith_dir = dir.path();
    let usual = socket_path(kith_dir);
    assert_eq!(host_socket(kith_dir), usual);
    let elsewhere = kith_dir.join("a house at sea.sock");
    let lock = format!("pid 7 since 8 at {}\n", elsewhere.display());
    std::fs::write(kith_dir.join("host.lock"), lock).unwrap();
    assert_eq!(host_socket(kith_dir), usual, "nothing is there");
    std::fs::write(&elsewhere, "").unwrap();
    assert_eq!(host_socket(kith_dir), elsewhere);
}

#[tokio::test]
async fn nothing_is_said_to_a_socket_that_others_could_have_made() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("host.sock");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    listener.set_nonblocking(true).unwrap();
    std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o1777)).unwrap();
    let failure = is_answered(&path).await.unwrap_err();
    assert!(
        matches!(&failure, AskFailure::Refused(error) if error.code == ErrorCode::AuthFailed),
        "{failure:?}"
    );
    assert_eq!(listener.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
}

#[tokio::test]
async fn what_was_read_in_part_is_not_read_again_from_its_beginning() {
    let item = "{\"type\":\"item\",\"requestType\":\"verify_session\",\"requestId\":\"1\",\
                \"item\":{\"events\":7}}\n";
    let verify = VerifySession { session: "latest".to_owned() };
    let follower = Follower::<VerifyProgress>::none();
    let broken_off = "runtime_busy: the host exited before it finished answering";
    check_call(&verify, &follower, &[HELLO, item], true, broken_off).await;
    check_call(&verify, &follower, &[HELLO], true, "lost").await;
}

/// Two hosts, one after the other; each goes away after the same lines. Tells what they were asked.
async fn two_hosts(listener: UnixListener, lines: Vec<u8>) -> Vec<RequestFrame> {
    let mut asked = Vec::new();
    for _ in 0..2 {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        stream.write_all(HELLO.as_bytes()).await.unwrap();
        line.clear();
        stream.read_line(&mut line).await.unwrap();
        asked.push(serde_json::from_str::<RequestFrame>(&line).unwrap());
        stream.write_all(&lines).await.unwrap();
    }
    asked
}

#[tokio::test]
async fn the_next_host_learns_that_the_house_was_followed_before() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("host.sock");
    let hosts = tokio::spawn(two_hosts(UnixListener::bind(&path).unwrap(), Vec::new()));
    let mut call = FollowHouse { resumes: false };
    let follower = Follower::<ThreadChanges>::none();
    for _ in 0..2 {
        let asked = ask(&path, &Caller::owner(CLI), &mut call, &follower, HURRIED).await;
        assert!(matches!(asked, Err(AskFailure::Disconnected)), "{asked:?}");
    }
    let asked = hosts.await.unwrap();
    let bodies: Vec<&str> = asked.iter().map(|it| it.body.as_str()).collect();
    assert_eq!(bodies, ["{}", "{\"resumes\":true}"]);
}

#[tokio::test]
async fn a_subscription_goes_on_with_the_next_host_where_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("host.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let id: SessionId = "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap();
    let item = |item: &SubscriptionItem| {
        let (request_type, request_id) = (Subscribe::NAME.to_owned(), REQUEST_ID.to_owned());
        let item = Json::of(item);
        frame(&HostFrame::Item(ItemFrame { request_type, request_id, item })).unwrap()
    };
    let started = SubscriptionItem::Started {
        mode: ResumeMode::FullReload,
        epoch: "a life".to_owned(),
        session_id: Some(id),
        after_seq: 40,
    };
    let delta = AnswerDelta {
        stream_seq: 9,
        request_id: "01890a5d-ac96-774b-bcce-b302099a8058".parse().unwrap(),
        block: 0,
        call_id: None,
        kind: AnswerDeltaKind::Text,
        text: "so".to_owned(),
    };
    let lines = [item(&started), item(&SubscriptionItem::Turn(TurnItem::Delta(delta)))].concat();
    let hosts = tokio::spawn(two_hosts(listener, lines));
    let to = SubscribedTo::Session(id.to_string());
    let mut call = Subscribe { to, from: ResumePoint::default() };
    let follower = Follower::<SubscriptionItem>::none();
    for _ in 0..2 {
        let asked = ask(&path, &Caller::owner(CLI), &mut call, &follower, HURRIED).await;
        assert!(matches!(asked, Err(AskFailure::Disconnected)), "{asked:?}");
    }
    let asked = hosts.await.unwrap();
    let from = |n: usize| asked[n].body.read::<Subscribe>().unwrap().from;
    assert_eq!(from(0), ResumePoint::default());
    let seen = ResumePoint {
        session_id: Some(id),
        persistent_last_seq: 40,
        epoch: Some("a life".to_owned()),
        stream_last_seq: Some(9),
    };
    assert_eq!(from(1), seen);

    // A session that now continues in a copy is followed there.
    let copy: SessionId = "01890a5d-ac96-774b-bcce-b302099a8059".parse().unwrap();
    call.note_item(&SubscriptionItem::Moved(copy));
    assert_eq!(call.to, SubscribedTo::Session(copy.to_string()));
    assert_eq!((call.from.session_id, call.from.persistent_last_seq), (Some(copy), 0));
}
