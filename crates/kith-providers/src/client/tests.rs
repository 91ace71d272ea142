use std::ptr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use super::*;

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

#[test]
fn one_client_serves_every_address_of_a_kind() {
    let clients = HttpClients::default();
    let of = |text: &str| clients.of(&url(text)).unwrap();
    let local = of("http://127.0.0.1:1/v1");
    for same in ["http://127.0.0.1:1/v1", "http://localhost:2", "http://[::1]:3/v1"] {
        assert!(ptr::eq(local, of(same)), "{same}");
    }
    assert!(!ptr::eq(local, of("https://localhost/v1")));
}

#[test]
fn only_this_machine_is_reached_without_a_proxy() {
    for (text, kind) in [
        ("http://localhost/v1", ClientKind::PlainLoopback),
        ("https://127.0.0.1/v1", ClientKind::Loopback),
        ("http://localhost.example/v1", ClientKind::Remote),
        ("http://10.0.0.1/v1", ClientKind::Remote),
        ("https://api.openai.com/v1", ClientKind::Remote),
    ] {
        assert!(kind_of(&url(text)) == kind, "{text}");
    }
}

fn client() -> HttpClient {
    HttpClient { connector: Connector::plain(), idle: Mutex::default() }
}

/// What a server does with a request.
#[derive(Clone, Copy)]
enum Act {
    /// Answers with the number of the connection and keeps it.
    Answer,
    /// The same, and then closes without having said so.
    AnswerThenClose,
    /// Closes when it has read the request.
    Close,
    Say(&'static str),
}

/// Reads one request after another, on one connection after another, and does to each what is next. Tells
/// of every request, when it has done it, with the number of its connection and its head.
async fn server(acts: Vec<Act>) -> (Url, mpsc::UnboundedReceiver<(usize, String)>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = url(&format!("http://{}/v1", listener.local_addr().unwrap()));
    let (sender, requests) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut acts = acts.into_iter();
        for number in 1.. {
            let (mut socket, _) = listener.accept().await.unwrap();
            while let Some(head) = read_request(&mut socket).await {
                let act = acts.next().unwrap();
                let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n{number}");
                match act {
                    Act::Answer | Act::AnswerThenClose => socket.write_all(answer.as_bytes()).await,
                    Act::Close => Ok(()),
                    Act::Say(text) => socket.write_all(text.as_bytes()).await,
                }
                .unwrap();
                if matches!(act, Act::Close | Act::AnswerThenClose) {
                    drop(socket);
                    sender.send((number, head)).unwrap();
                    break;
                }
                sender.send((number, head)).unwrap();
            }
        }
    });
    (url, requests)
}

/// The head of the next request, whose body is `{}`; none when the client hangs up.
async fn read_request(socket: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n{}") {
        bytes.push(socket.read_u8().await.ok()?);
    }
    Some(String::from_utf8(bytes).unwrap())
}

/// Status and body of the response, whose connection is kept.
async fn post(client: &HttpClient, url: &Url) -> Result<String, HttpError> {
    let body = b"{}".to_vec();
    let request = HttpRequest { method: Method::POST, url, headers: Vec::new(), body };
    let mut response = client.send(request).await?;
    let mut text = format!("{} ", response.status.as_u16());
    while let Some(piece) = response.chunk().await? {
        text.push_str(str::from_utf8(&piece).unwrap());
    }
    response.keep_connection();
    Ok(text)
}

#[tokio::test]
async fn an_idle_connection_is_used_for_90_seconds() {
    let (url, _requests) = server(vec![Act::Answer; 3]).await;
    let client = client();
    for (pause_secs, expected) in [(0, "200 1"), (89, "200 1"), (90, "200 2")] {
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(pause_secs)).await;
        tokio::time::resume();
        assert_eq!(post(&client, &url).await.unwrap(), expected, "after {pause_secs} s");
    }
}

#[tokio::test]
async fn a_connection_that_the_server_closed_while_idle_is_replaced() {
    let (url, mut requests) = server(vec![Act::AnswerThenClose; 5]).await;
    let client = client();
    for number in 1..=5 {
        assert_eq!(post(&client, &url).await.unwrap(), format!("200 {number}"));
        // By now the server has closed it.
        assert_eq!(requests.recv().await.unwrap().0, number);
    }
    assert!(requests.try_recv().is_err(), "a request was sent twice");
}

#[tokio::test]
async fn a_request_that_may_have_been_received_is_not_sent_again() {
    let (url, mut requests) = server(vec![Act::Answer, Act::Close, Act::Answer]).await;
    let client = client();
    assert_eq!(post(&client, &url).await.unwrap(), "200 1");
    let error = post(&client, &url).await.unwrap_err();
    assert!(matches!(error, HttpError::KeptConnection(_)), "{error:?}");
    for _ in 0..2 {
        assert_eq!(requests.recv().await.unwrap().0, 1);
    }
    assert!(requests.try_recv().is_err(), "a request was sent twice");
    assert_eq!(post(&client, &url).await.unwrap(), "200 2");
}

#[tokio::test]
async fn one_kept_connection_that_is_lost_takes_the_others_of_its_server_with_it() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = url(&format!("http://{}/v1", listener.local_addr().unwrap()));
    // Each connection is good for one request, which it does not say.
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                read_request(&mut socket).await.unwrap();
                let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
                socket.write_all(answer).await.unwrap();
                read_request(&mut socket).await
            });
        }
    });
    let client = client();
    let (one, other) = tokio::join!(post(&client, &url), post(&client, &url));
    assert_eq!((one.unwrap().as_str(), other.unwrap().as_str()), ("200 ok", "200 ok"));
    assert_eq!(client.idle.lock().unwrap().len(), 2);
    let error = post(&client, &url).await.unwrap_err();
    assert!(matches!(error, HttpError::KeptConnection(_)), "{error:?}");
    assert_eq!(client.idle.lock().unwrap().len(), 0);
    assert_eq!(post(&client, &url).await.unwrap(), "200 ok");
}

#[tokio::test]
async fn a_connection_that_the_server_wants_closed_is_not_used_again() {
    let closing = Act::Say("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok");
    let (url, mut requests) = server(vec![closing, Act::Answer]).await;
    let client = client();
    assert_eq!(post(&client, &url).await.unwrap(), "200 ok");
    assert_eq!(post(&client, &url).await.unwrap(), "200 2");
    assert_eq!(requests.recv().await.unwrap().0, 1);
}

#[tokio::test]
async fn informational_responses_are_passed_over() {
    let early = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n\
                 HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
    let switch = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n";
    let (url, _requests) = server(vec![Act::Say(early), Act::Say(switch), Act::Answer]).await;
    let client = client();
    assert_eq!(post(&client, &url).await.unwrap(), "200 ok");
    assert_eq!(post(&client, &url).await.unwrap(), "101 ");
    assert_eq!(post(&client, &url).await.unwrap(), "200 2");
}

#[tokio::test]
async fn a_head_that_does_not_end_is_given_up() {
    let client = client();
    let long = format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(1 << 20));
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "x: y\r\n".repeat(1000));
    for head in [long, many] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = url(&format!("http://{}", listener.local_addr().unwrap()));
        tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            read_request(&mut socket).await.unwrap();
            // Whoever heard enough hangs up.
            socket.write_all(head.as_bytes()).await.unwrap_or_default();
            std::future::pending::<()>().await;
        });
        let error = post(&client, &url).await.unwrap_err();
        assert_eq!(root_cause(&error), "message head is too large");
    }
}

#[tokio::test]
async fn an_address_adds_no_line_to_a_request_and_nothing_asks_for_compression() {
    let (base, mut requests) = server(vec![Act::Answer; 2]).await;
    let client = client();
    for end in ["\r\nx-evil: 1", "%0d%0ax-evil:%201"] {
        let url = url(&format!("{base}{end}"));
        post(&client, &url).await.unwrap();
        let (_, head) = requests.recv().await.unwrap();
        let names: Vec<&str> =
            head.lines().skip(1).filter_map(|line| Some(line.split_once(": ")?.0)).collect();
        assert_eq!(names, ["host", "user-agent", "content-length"], "{head}");
    }
}
