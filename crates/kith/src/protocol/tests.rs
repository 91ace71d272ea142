//! Lines that come in pieces, too long, or from another world.

use tokio::io::{AsyncWriteExt, BufReader, duplex};

use super::*;

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
    there.write_all(b"lo\",\"protocol\":1,\"clientId\":\"c\"}\n").await.unwrap();
    let greeting = frames.next::<Greeting>().await.unwrap();
    assert_eq!(greeting, Some(Greeting::Hello { protocol: 1, client_id: "c".to_owned() }));
}

#[tokio::test]
async fn a_line_that_is_cut_off_is_none() {
    check(b"{\"type\":\"hello\"", "none").await;
    check(b"", "none").await;
}

#[tokio::test]
async fn what_is_no_message_is_told_in_a_sentence() {
    check(b"GET / HTTP/1.1\r\n", "it is not JSON: expected value at line 1 column 1").await;
    check(b"\xff\xfe\n", "it is not JSON: expected value at line 1 column 1").await;
    check(b"{\"type\":\"dance\"}\n", "it is not among the words of protocol 1").await;
    let long = vec![b'x'; FRAME_BYTES_MAX + 1];
    check(&long, "it is longer than 16777216 bytes").await;
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
    let said = |n| Said::failure(None, &Report::new(Blame::Request, "usage", "x".repeat(n)));
    assert!(frame(&said(1)).is_some());
    assert!(frame(&said(FRAME_BYTES_MAX)).is_none());
}

#[test]
fn a_request_and_the_wish_to_stop_it_are_told_apart() {
    let asked = Asked {
        request_id: "1".to_owned(),
        wanted: Wanted::Request(Box::new(Request::ShowSession { session: "latest".to_owned() })),
    };
    let text = serde_json::to_string(&asked).unwrap();
    assert_eq!(text, r#"{"requestId":"1","type":"show_session","session":"latest"}"#);
    assert_eq!(serde_json::from_str::<Asked>(&text).unwrap(), asked);
    let stop = Asked { request_id: "1".to_owned(), wanted: Wanted::Stop(Stop::Cancel {}) };
    let text = serde_json::to_string(&stop).unwrap();
    assert_eq!(text, r#"{"requestId":"1","type":"cancel"}"#);
    assert_eq!(serde_json::from_str::<Asked>(&text).unwrap(), stop);
}
