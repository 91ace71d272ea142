//! Lines that come in pieces, too long, or from another world.

use tokio::io::{AsyncWriteExt, BufReader, duplex};

use super::*;
use crate::error::{Blame, ErrorCode};

#[tokio::test]
async fn a_wait_that_is_given_up_in_the_middle_of_a_line_loses_nothing_of_it() {
    let (mut there, here) = duplex(1024);
    let mut frames = Frames::new(BufReader::new(here));
    there.write_all(b"{\"type\":\"hel").await.unwrap();
    {
        let next = frames.next::<Greeting>();
        tokio::pin!(next);
        // It reads what is there, waits for the rest, and is dropped.
        tokio::select! {
            biased;
            _ = &mut next => panic!("half a line was enough"),
            () = std::future::ready(()) => (),
        }
    }
    there.write_all(b"lo\",\"protocol\":3,\"clientId\":\"c\"}\n").await.unwrap();
    let greeting = frames.next::<Greeting>().await.unwrap();
    let hello = ClientHello::of(&Caller::owner("c"));
    assert_eq!(greeting, Some(Greeting::Hello(hello)));
}

#[tokio::test]
async fn a_line_that_is_cut_off_is_none() {
    check(b"{\"type\":\"hello\"", "none").await;
    check(b"", "none").await;
}

#[tokio::test]
async fn what_is_no_message_is_told_in_a_sentence() {
    check(b"GET / HTTP/1.1\r\n", "not JSON: expected value at line 1 column 1").await;
    check(b"\xff\xfe\n", "not JSON: expected value at line 1 column 1").await;
    check(b"{\"type\":\"dance\"}\n", "not a message of protocol 3").await;
    check(b"[\"hello\"]\n", "not a message of protocol 3").await;
    let long = vec![b'x'; REQUEST_BYTES_MAX + 1];
    check(&long, "longer than 50331648 bytes").await;
}

#[test]
fn a_request_that_is_no_object_is_refused() {
    assert!(read_frame::<RequestFrame>(br#"{"type":"list_threads","requestId":"1"}"#).is_ok());
    let error = read_frame::<RequestFrame>(br#" ["list_threads","1",{}]"#).unwrap_err();
    assert_eq!(error.to_string(), "not a message of protocol 3");
}

async fn check(bytes: &[u8], expected: &str) {
    let mut frames = Frames::new(BufReader::new(bytes));
    let told = match frames.next::<Greeting>().await {
        Ok(Some(greeting)) => format!("{greeting:?}"),
        Ok(None) => "none".to_owned(),
        Err(error) => error.to_string(),
    };
    assert_eq!(told, expected);
}

#[test]
fn what_is_too_long_for_a_line_is_not_sent() {
    let line = |n| HostFrame::error(None, CallError::usage("x".repeat(n)));
    assert!(frame(&line(1)).is_some());
    assert!(frame(&line(FRAME_BYTES_MAX)).is_none());
}

#[test]
fn the_body_of_a_request_is_kept_as_it_came() {
    let text = r#"{"type":"show_session","requestId":"1","body":{"session":"latest","n":1.50}}"#;
    let request: RequestFrame = serde_json::from_str(text).unwrap();
    assert_eq!(request.body.as_str(), r#"{"session":"latest","n":1.50}"#);
    assert_eq!(serde_json::to_string(&request).unwrap(), text);
    let cancel: RequestFrame =
        serde_json::from_str(r#"{"type":"cancel","requestId":"1"}"#).unwrap();
    assert_eq!((cancel.name.as_str(), cancel.body.as_str()), (CANCEL, "{}"));
}

#[test]
fn an_error_arrives_as_it_was_sent() {
    for &code in ErrorCode::ALL {
        let error = CallError::new(Blame::Environment, code, "no").hint("yes").at_line(3);
        let sent = HostFrame::error(Some("1".to_owned()), error.clone());
        let line = frame(&sent).unwrap();
        let HostFrame::Error(arrived) = serde_json::from_slice(&line).unwrap() else {
            panic!("an error is an error")
        };
        assert_eq!(arrived.error, error);
    }
}

#[test]
fn a_client_over_the_socket_is_the_owner_and_says_whether_somebody_is_there() {
    let caller = Caller::owner("c").unattended().speaking(Some("zh".to_owned()));
    assert_eq!(ClientHello::of(&caller).into_caller(), Ok(caller));
    let hello: ClientHello =
        serde_json::from_str(r#"{"protocol":3,"clientId":"c","trust":"peer"}"#).unwrap();
    assert_eq!(hello.into_caller(), Ok(Caller::owner("c")));
    for name in ["", "a\nb", &"x".repeat(65)] {
        let error = ClientHello::of(&Caller::owner(name)).into_caller().unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidRequest, "{name:?}");
    }
}
