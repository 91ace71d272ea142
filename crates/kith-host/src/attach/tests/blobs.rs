//! Texts that hosts name.

use std::sync::{Arc, Mutex};

use kith_vocab::digest::sha256_hex;
use kith_vocab::event::Body;
use kith_vocab::json::Json;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::calls::session::{ExportItem, ExportSession};

/// The item of an export with a notice whose text is this JSON.
fn item(seq: u64, text: &str) -> String {
    format!(
        "{{\"type\":\"item\",\"requestType\":\"export_session\",\"requestId\":\"1\",\"item\":\
         {{\"event\":{{\"seq\":{seq},\"id\":\"01890a5d-ac96-774b-bcce-b302099a8058\",\"ts\":1,\
         \"clientId\":\"c\",\"type\":\"notice\",\"text\":{text},\"level\":\"info\"}}}}}}\n"
    )
}

fn named(sha256: &str, bytes: u64) -> String {
    format!("{{\"blob\":\"{sha256}\",\"bytes\":{bytes},\"preview\":\"x\"}}")
}

/// The one page of a text `x`.
const PAGE: &str = "{\"type\":\"response\",\"requestType\":\"read_blob\",\"requestId\":\"2\",\
                    \"ok\":true,\"data\":{\"bytes\":1,\"data\":\"eA==\"},\"notes\":[]}\n";

fn export() -> ExportSession {
    ExportSession { session: "1".to_owned() }
}

async fn check_export(lines: &[&str], hangs_up: bool, expected: &str) {
    check_call(&export(), &Follower::<ExportItem>::none(), lines, hangs_up, expected).await;
}

#[tokio::test]
async fn a_host_whose_texts_do_not_have_their_hashes_is_not_believed() {
    let unread = "protocol_mismatch: unexpected reply from the running kith: ";
    let sha256 = sha256_hex(b"x");
    let flaw = |sha256: &str, bytes: u64| {
        format!(
            "{unread}the text `{sha256}` does not match its hash or its length of {bytes} bytes"
        )
    };
    // The same page again and again.
    let endless = PAGE.replace("\"eA==\"", "\"eA==\",\"nextOffset\":1");
    for (name, bytes, page) in [("00", 1, PAGE), (&sha256, 2, PAGE), ("00", 1, &endless)] {
        let lines = [HELLO, &item(1, &named(name, bytes)), page, page, page];
        check_export(&lines, false, &flaw(name, bytes)).await;
    }
}

#[tokio::test]
async fn an_item_names_no_more_text_than_a_line_may() {
    let half = 32 * 1024 * 1024;
    let blocks = |bytes: u64| {
        let block = |name, bytes| format!("{{\"type\":\"text\",\"text\":{}}}", named(name, bytes));
        format!(
            "{{\"type\":\"item\",\"requestType\":\"export_session\",\"requestId\":\"1\",\"item\":\
             {{\"event\":{{\"seq\":1,\"type\":\"tool_result\",\"content\":[{},{}]}}}}}}\n",
            block("00", half),
            block("01", bytes)
        )
    };
    for (bytes, sum) in [(half + 1, 2 * half + 1), (u64::MAX, u64::MAX)] {
        let expected = format!(
            "protocol_mismatch: unexpected reply from the running kith: it refers to {sum} bytes of text, more than 67108864"
        );
        check_export(&[HELLO, &blocks(bytes)], false, &expected).await;
    }
    // As much as a line may name is asked for.
    check_export(&[HELLO, &blocks(half)], true, "lost").await;
}

#[tokio::test]
async fn a_host_that_goes_away_while_a_text_is_fetched_is_not_read_again_from_the_beginning() {
    let long = item(2, &named(&sha256_hex(b"x"), 1));
    let lines = format!("{}{long}", item(1, "\"a\""));
    let broken_off = "runtime_busy: the host exited before it finished answering";
    check_export(&[HELLO, &lines], true, broken_off).await;
    check_export(&[HELLO, &lines, ""], true, broken_off).await;
    // Nothing of it was given on.
    check_export(&[HELLO, &long, ""], true, "lost").await;
}

#[tokio::test]
async fn a_text_that_was_removed_since_it_was_named_is_asked_for_anew() {
    let long = item(1, &named(&sha256_hex(b"x"), 1));
    for (code, expected) in
        [("invalid_request", "lost"), ("filesystem_error", "filesystem_error: no")]
    {
        let error = format!(
            "{{\"type\":\"error\",\"requestId\":\"2\",\"ok\":false,\"code\":\"{code}\",\
             \"message\":\"no\",\"blame\":\"request\",\"hints\":[],\"causes\":[]}}\n"
        );
        check_export(&[HELLO, &long, &error], false, expected).await;
    }
}

#[tokio::test]
async fn a_stop_is_told_while_a_text_is_fetched_and_what_came_meanwhile_keeps_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("host.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let cancel = CancellationToken::new();
    let stop = cancel.clone();
    let host = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = BufReader::new(stream);
        let mut asked = Vec::new();
        let long = item(1, &named(&sha256_hex(b"x"), 1));
        let stopped = "{\"type\":\"error\",\"requestId\":\"1\",\"ok\":false,\"code\":\"cancelled\",\
                       \"message\":\"no\",\"blame\":\"request\",\"hints\":[],\"causes\":[]}\n";
        for lines in [HELLO, &long, &item(2, "\"y\""), &format!("{stopped}{PAGE}")] {
            let mut line = String::new();
            stream.read_line(&mut line).await.unwrap();
            asked.push(line);
            stream.write_all(lines.as_bytes()).await.unwrap();
            // The third line asks for the text, which comes only after the fourth.
            if asked.len() == 3 {
                stop.cancel();
            }
        }
        let asked = asked[1..].iter().map(|it| serde_json::from_str::<RequestFrame>(it).unwrap());
        asked.map(|it| (it.name, it.request_id)).collect::<Vec<_>>()
    });
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    let take = move |item, _| {
        let ExportItem::Event(event) = item else { panic!("no event") };
        let Body::Notice(notice) = event.body else { panic!("no notice") };
        noted.lock().unwrap().push(notice.text.to_string());
        Ok(())
    };
    let follower = Follower::new(take, cancel);
    let asked = ask(&path, &Caller::owner(CLI), &mut export(), &follower, HURRIED).await;
    let Err(AskFailure::Refused(error)) = asked else { panic!("{asked:?}") };
    assert_eq!(error.code, ErrorCode::Cancelled);
    let requests = [("export_session", "1"), ("read_blob", "2"), ("cancel", "1")]
        .map(|(name, id)| (name.to_owned(), id.to_owned()));
    assert_eq!(host.await.unwrap(), requests);
    assert_eq!(*seen.lock().unwrap(), ["x", "y"]);
}

#[tokio::test]
async fn what_comes_while_a_text_is_fetched_is_bounded() {
    let (stream, _other) = UnixStream::pair().unwrap();
    let (reader, writer) = stream.into_split();
    let cancel = CancellationToken::new();
    let frames = Frames::new(BufReader::new(reader));
    let (frames, writer) = (HostFrames::Socket(frames), HostWriter::Socket(writer));
    let mut request = OpenRequest::new(frames, writer, HURRIED, &cancel);
    let item = HostFrame::Item(ItemFrame {
        request_type: ExportSession::NAME.to_owned(),
        request_id: REQUEST_ID.to_owned(),
        item: Json::of(&"x".repeat(1024 * 1024)),
    });
    for _ in 0..127 {
        request.hold(item.clone()).unwrap();
    }
    // What is taken makes room.
    request.next().await.unwrap();
    request.hold(item.clone()).unwrap();
    let failure = request.hold(item).unwrap_err();
    let AskFailure::Refused(error) = failure else { panic!("{failure:?}") };
    assert_eq!(error.code, ErrorCode::RuntimeBusy);
}
