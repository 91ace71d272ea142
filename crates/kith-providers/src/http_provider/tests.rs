//! The provider against a server of a few lines that says exactly what a test tells it to.

use std::sync::{Arc, Mutex};

use kith_vocab::json::Json;
use kith_vocab::provider::{AnswerBlock, Delta, DeltaPart, FailureCause};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::*;

mod wires;

const STREAM: &str = concat!(
    ": hello\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"你好\"},\"finish_reason\":null}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\" there\"}}]}\r\n\r\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"read_file\",\"arguments\":\"{\\\"path\\\":\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\\\"a\\\"}\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":3}}\n\n",
    "data: [DONE]\n\n",
);

const KEY: &str = "sk-very-secret";

#[tokio::test]
async fn exactly_the_given_bytes_are_posted() {
    let mut server = Server::start(vec![vec![stream_until_close(STREAM)]]).await;
    let body = "{\"model\":\"m\",  \"odd\" : \"字节\"}";
    let answer = server.provider().ask(body.into(), context(Arc::new(Heard::default()))).await;
    assert_eq!(in_words(&answer), "你好 there -> read_file {\"path\":\"a\"}");
    let usage = answer.unwrap().usage.unwrap();
    assert_eq!((usage.input, usage.output), (9, 3));

    let request = server.requests.recv().await.unwrap();
    let (head, sent) = request.split_once("\r\n\r\n").unwrap();
    assert_eq!(sent, body);
    let head = head.to_lowercase();
    assert!(head.starts_with("post /v1/chat/completions http/1.1\r\n"), "{head}");
    for line in [
        "content-type: application/json",
        "accept: text/event-stream",
        "authorization: bearer sk-very-secret",
        concat!("user-agent: kith/", env!("CARGO_PKG_VERSION")),
    ] {
        assert!(head.contains(line), "{line} in {head}");
    }
}

#[tokio::test]
async fn a_stream_cut_at_any_byte_is_whole_or_cut() {
    let whole = stream_until_close(STREAM);
    let head_len = find(&whole, "\r\n\r\n") + 4;
    let end_of_answer = find(&whole, "tool_calls\"}]}\n\n") + "tool_calls\"}]}\n\n".len();
    let cuts: Vec<usize> = (head_len..=whole.len()).collect();
    let replies = cuts.iter().map(|cut| vec![whole[..*cut].to_vec()]).collect();
    let server = Server::start(replies).await;
    let provider = server.provider();
    for cut in cuts {
        let answer = ask(&provider).await;
        if cut >= end_of_answer {
            assert_eq!(
                in_words(&answer),
                "你好 there -> read_file {\"path\":\"a\"}",
                "cut at {cut}"
            );
        } else {
            check_cut(answer.unwrap_err(), cut);
        }
    }
}

#[tokio::test]
async fn a_chunked_stream_cut_at_any_byte_is_whole_or_cut() {
    let pieces: Vec<&[u8]> = STREAM.as_bytes().chunks(90).collect();
    let whole = chunked(&pieces);
    let head_len = find(&whole, "\r\n\r\n") + 4;
    let cuts: Vec<usize> = (head_len..=whole.len()).collect();
    let server = Server::start(cuts.iter().map(|cut| vec![whole[..*cut].to_vec()]).collect()).await;
    let provider = server.provider();
    let mut n_whole = 0;
    for cut in cuts {
        match ask(&provider).await {
            Ok(answer) => {
                n_whole += 1;
                assert_eq!(in_words(&Ok(answer)), "你好 there -> read_file {\"path\":\"a\"}");
            }
            Err(unfinished) => {
                assert_eq!(n_whole, 0, "whole before, cut at {cut}");
                check_cut(unfinished, cut);
            }
        }
    }
    assert!(n_whole > 0);
}

#[tokio::test]
async fn a_cut_in_the_head_is_a_network_fault() {
    let whole = stream_until_close(STREAM);
    let head_len = find(&whole, "\r\n\r\n") + 4;
    let server =
        Server::start((0..head_len).map(|cut| vec![whole[..cut].to_vec()]).collect()).await;
    let provider = server.provider();
    for cut in 0..head_len {
        let (kind, _, retryable) = fault(ask(&provider).await);
        assert_eq!((kind, retryable), (FailureKind::Network, true), "cut at {cut}");
    }
}

#[tokio::test]
async fn pieces_of_any_size_give_the_same_answer() {
    let whole = stream_until_close(STREAM);
    let sizes = [1, 7, 64];
    let replies = sizes.map(|size| whole.chunks(size).map(<[u8]>::to_vec).collect()).to_vec();
    let server = Server::start(replies).await;
    let provider = server.provider();
    for _ in sizes {
        assert_eq!(in_words(&ask(&provider).await), "你好 there -> read_file {\"path\":\"a\"}");
    }
}

/// Status, headers, body, and what is made of them.
const STATUSES: [(u16, &str, &str, &str); 17] = [
    (
        407,
        "",
        "no: anna:pass-word",
        "Status: `openai` was not reached: the proxy requires another user name and password (status 407): write them into its address, as in `http://name:password@proxy.example:8080`",
    ),
    (
        401,
        "content-type: application/json\r\n",
        r#"{"error":{"message":"bad sk-very-secret key"}}"#,
        "Auth: `openai` refused the API key (status 401): check it; it said: bad [secret] key",
    ),
    (
        403,
        "",
        "",
        "Auth: `openai` refused access (status 403): the API key, its plan or your region may not be allowed to use this model",
    ),
    (
        404,
        "content-type: application/json\r\n",
        r#"{"error":{"message":"no\nmodel\u0007"}}"#,
        "Status: `openai` does not know this address or model `m` (status 404): check the base URL and model name; it said: no model",
    ),
    (
        400,
        "content-type: application/json\r\n",
        r#"{"error":{"message":"maximum context length is 8192"}}"#,
        "ContextLength: `openai` rejected the conversation as too long (status 400); it said: maximum context length is 8192",
    ),
    (
        400,
        "content-type: application/json\r\n",
        r#"{"error":{"message":"odd"}}"#,
        "Status: `openai` refused the request (status 400); it said: odd",
    ),
    (
        422,
        "",
        "plain words",
        "Status: `openai` refused the request (status 422); it said: plain words",
    ),
    (
        429,
        "retry-after: 7\r\n",
        "",
        "Status: `openai` refused the request: rate limit reached (status 429), retry after 7000 ms",
    ),
    (
        429,
        "retry-after: 1.5\r\n",
        "",
        "Status: `openai` refused the request: rate limit reached (status 429), retry after 1500 ms",
    ),
    (
        429,
        "retry-after: 7\r\nretry-after-ms: 20\r\n",
        "",
        "Status: `openai` refused the request: rate limit reached (status 429), retry after 20 ms",
    ),
    (
        429,
        "date: Fri, 31 Dec 1999 23:59:29 GMT\r\nretry-after: Fri, 31 Dec 1999 23:59:59 GMT\r\n",
        "",
        "Status: `openai` refused the request: rate limit reached (status 429), retry after 30000 ms",
    ),
    (
        429,
        "retry-after: Fri, 31 Dec 1999 23:59:59 GMT\r\n",
        "",
        "Status: `openai` refused the request: rate limit reached (status 429), retry",
    ),
    (
        429,
        "retry-after: 7\r\ncontent-type: application/json\r\n",
        r#"{"error":{"message":"pay","code":"insufficient_quota"}}"#,
        "Status: `openai` has no quota left for this key (status 429): check its plan and billing; it said: pay",
    ),
    (
        503,
        "retry-after: 99999999999999999999\r\n",
        "",
        "Loading: `openai` had a server error (status 503); a server on this machine is waited for up to a minute, retry",
    ),
    (
        503,
        "retry-after: -1\r\n",
        "",
        "Loading: `openai` had a server error (status 503); a server on this machine is waited for up to a minute, retry",
    ),
    (
        502,
        "content-type: text/html\r\n",
        "<html>",
        "Status: `openai` had a server error (status 502), retry",
    ),
    (
        302,
        "location: http://other.invalid/\r\n",
        "",
        "Status: `openai` redirects to another address (status 302): check the base URL",
    ),
];

#[tokio::test]
async fn statuses_are_named_and_say_what_to_do() {
    let replies =
        STATUSES.iter().map(|(status, headers, body, _)| vec![reply(*status, headers, body)]);
    let server = Server::start(replies.collect()).await;
    let provider = server.provider();
    for (_, _, _, expected) in STATUSES {
        let FailureCause::Failed { kind, message, retryable, retry_after_ms } =
            ask(&provider).await.unwrap_err().cause
        else {
            panic!("nobody stopped it");
        };
        let again = match (retryable, retry_after_ms) {
            (true, Some(ms)) => format!(", retry after {ms} ms"),
            (true, None) => ", retry".to_owned(),
            (false, _) => String::new(),
        };
        assert_eq!(format!("{kind:?}: {message}{again}"), expected);
    }
}

#[tokio::test]
async fn a_refused_key_is_named_by_the_place_it_came_from() {
    let server = Server::start(vec![vec![reply(401, "", "")]; 2]).await;
    let provider = server.provider().with_key_source("OPENROUTER_API_KEY");
    let (kind, message, _) = fault(ask(&provider).await);
    assert_eq!(kind, FailureKind::Auth);
    assert_eq!(
        message,
        "`openai` refused the API key from OPENROUTER_API_KEY (status 401): check it"
    );
    let without = HttpProvider::new(choice(), &server.url(), None).unwrap();
    let (_, message, _) = fault(ask(&without).await);
    assert_eq!(message, "`openai` requires an API key (status 401): set one for this model");
}

#[tokio::test]
async fn a_short_key_is_not_cut_out_of_what_a_server_says() {
    let server = Server::start(vec![vec![reply(400, "", "none of this")]; 2]).await;
    for (key, expected) in
        [("none", "it said: none of this"), ("none of ", "it said: none of this")]
    {
        let provider = HttpProvider::new(choice(), &server.url(), Some(Secret::new(key))).unwrap();
        let (_, message, _) = fault(ask(&provider).await);
        assert!(message.ends_with(expected), "{message}");
    }
}

#[tokio::test]
async fn long_words_of_a_server_are_cut() {
    let key_at_the_cut = format!("{}{KEY}{}", "x".repeat(492), "y".repeat(10_000));
    let server = Server::start(vec![vec![reply(400, "", &key_at_the_cut)]]).await;
    let (_, message, _) = fault(ask(&server.provider()).await);
    assert!(message.ends_with("x[secret]…") && message.chars().count() < 600, "{message}");
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood() {
    let json = "content-type: application/json; charset=utf-8\r\n";
    let answer = r#"{"choices":[{"message":{"content":"hi","tool_calls":[{"id":"c","function":{"name":"a","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;
    let server = Server::start(vec![
        vec![reply(200, json, answer)],
        vec![reply(200, json, "{\"object\":\"list\"}")],
        vec![reply(200, json, r#"{"error":{"message":"no","code":500}}"#)],
        vec![reply(200, "content-type: text/html\r\n", "<html>")],
        vec![reply(200, "", "\n<!doctype html>")],
    ])
    .await;
    let provider = server.provider();
    assert_eq!(in_words(&ask(&provider).await), "hi -> a {}");
    for expected in [
        (
            FailureKind::Malformed,
            "`openai` answered with JSON that is not an answer of this API: check the base URL and wire; it said: {\"object\":\"list\"}",
            false,
        ),
        (FailureKind::Status, "`openai` reported an error instead of an answer; it said: no", true),
        (
            FailureKind::Malformed,
            "`openai` answered with a web page instead of a model's answer: check the base URL",
            false,
        ),
        (
            FailureKind::Malformed,
            "`openai` answered with a web page instead of a model's answer: check the base URL",
            false,
        ),
    ] {
        let (kind, message, retryable) = fault(ask(&provider).await);
        assert_eq!((kind, message.as_str(), retryable), expected);
    }
}

#[tokio::test]
async fn a_body_is_read_as_what_it_is_whatever_its_content_type_says() {
    let [json, events, plain] = ["application/json", "text/event-stream", "text/plain"]
        .map(|it| format!("content-type: {it}\r\n"));
    let answer = r#"{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}"#;
    let server = Server::start(vec![
        vec![reply(200, &json, STREAM)],
        vec![reply(200, &events, answer)],
        vec![reply(200, &plain, &format!("\n {answer}"))],
        vec![reply(200, &plain, r#"{"error":{"message":"the licence has expired"}}"#)],
        vec![reply(200, &events, &answer[..40])],
    ])
    .await;
    let provider = server.provider();
    for expected in ["你好 there -> read_file {\"path\":\"a\"}", "hi", "hi"] {
        assert_eq!(in_words(&ask(&provider).await), expected);
    }
    let (_, message, _) = fault(ask(&provider).await);
    assert!(message.ends_with("it said: the licence has expired"), "{message}");
    assert_eq!(fault(ask(&provider).await).0, FailureKind::Cut);
}

#[tokio::test]
async fn a_server_that_says_nothing_or_does_not_speak_http_was_reached_all_the_same() {
    let server = Server::start(vec![vec![], vec![b"SSH-2.0-OpenSSH_9.6\r\n".to_vec()]]).await;
    let provider = server.provider();
    for (expected, is_retried) in [
        (
            "closed the connection without an answer (connection closed before message completed)",
            true,
        ),
        ("does not speak HTTP (invalid HTTP version parsed): check the base URL", false),
    ] {
        let (_, message, retryable) = fault(ask(&provider).await);
        assert!(message.contains(expected), "{message}");
        assert_eq!(retryable, is_retried, "{message}");
    }
}

#[tokio::test]
async fn an_answer_that_is_compressed_is_refused_in_words() {
    let gzip = "content-encoding: gzip\r\n";
    let server =
        Server::start(vec![vec![reply(200, gzip, "\u{1f}x")], vec![reply(400, gzip, "\u{1f}x")]])
            .await;
    let provider = server.provider();
    for expected in [
        "`openai` compressed its answer, which was not asked for: check the base URL and what stands between",
        "`openai` refused the request (status 400)",
    ] {
        assert_eq!(fault(ask(&provider).await).1, expected);
    }
}

#[tokio::test]
async fn garbage_in_the_stream_is_malformed() {
    let good = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    let with = |bad: &[u8]| vec![[stream_until_close(good).as_slice(), bad].concat()];
    let server = Server::start(vec![with(b"data: {oops\n\n"), with(b"data: \xff\xfe\n\n")]).await;
    let provider = server.provider();
    for _ in 0..2 {
        let unfinished = ask(&provider).await.unwrap_err();
        assert_eq!(unfinished.partial_text, "a");
        assert_eq!(fault(Err(unfinished)).0, FailureKind::Malformed);
    }
}

#[tokio::test]
async fn an_endless_answer_is_stopped() {
    let piece = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"content\":\"{}\"}}}}]}}\n\n",
        "x".repeat(1 << 20)
    );
    let mut pieces = vec![stream_until_close("")];
    pieces.extend(vec![piece.into_bytes(); 17]);
    let server = Server::start(vec![pieces]).await;
    let (kind, message, retryable) = fault(ask(&server.provider()).await);
    assert_eq!((kind, retryable), (FailureKind::Malformed, false));
    assert_eq!(
        message,
        "`openai` sent more than 16 MiB in one answer: set `maxTokens` for the model, or use another"
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_even_begin_is_silent_and_an_own_one_is_waited_for_longer() {
    for (address, seconds) in [
        ("https://api.openai.com/v1", 120),
        ("http://localhost:8080", 900),
        ("https://127.0.0.1/v1", 900),
        ("http://box.lan:11434/v1", 900),
    ] {
        let provider = HttpProvider::new(choice(), address, None).unwrap();
        assert_eq!(provider.silence.between, Duration::from_millis(STREAM_IDLE_MS_MAX));
        let begun = tokio::time::Instant::now();
        let silence =
            within(provider.silence.first, std::future::pending::<()>()).await.unwrap_err();
        assert_eq!(begun.elapsed(), Duration::from_secs(seconds), "{address}");
        let partial = crate::answer::PartialAnswer::default();
        let unfinished = silence.into_failure("p", &SecretFilter::default(), partial);
        let (kind, message, retryable) = fault(Err(unfinished));
        assert_eq!((kind, retryable), (FailureKind::Timeout, true));
        let expected =
            format!("`p` sent nothing for {seconds} seconds; try again, or use another model");
        assert_eq!(message, expected);
    }
}

#[tokio::test]
async fn a_stop_is_heard_at_once() {
    struct StopAtFirst(CancellationToken);
    impl DeltaSink for StopAtFirst {
        fn delta(&self, _: Delta<'_>) {
            self.0.cancel();
        }
    }
    let half = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    let server = Server::start(vec![vec![stream_until_close(half), b"hold".to_vec()]]).await;
    let cancel = CancellationToken::new();
    let ctx = AskContext { cancel: cancel.clone(), ..context(Arc::new(StopAtFirst(cancel))) };
    let unfinished = server.provider().ask(Vec::new(), ctx).await.unwrap_err();
    assert_eq!(
        unfinished,
        AnswerFailure { cause: FailureCause::Cancelled, partial_text: "a".to_owned(), usage: None }
    );
}

#[tokio::test]
async fn nobody_at_an_address_of_this_machine_may_be_starting() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let provider = HttpProvider::new(choice(), &format!("http://{address}/v1"), None).unwrap();
    let (kind, message, retryable) = fault(ask(&provider).await);
    assert_eq!((kind, retryable), (FailureKind::Loading, true));
    let expected = format!("`openai` could not be reached at http://{address} (Connection refused");
    assert!(message.starts_with(&expected), "{message}");
}

#[test]
fn a_provider_keeps_its_connections_and_may_share_them() {
    let provider = || HttpProvider::new(choice(), "http://localhost:1/v1", None).unwrap();
    let same = |a: &HttpProvider, b: &HttpProvider| {
        std::ptr::eq(a.client().ok().unwrap(), b.client().ok().unwrap())
    };
    let alone = provider();
    assert!(same(&alone, &alone) && !same(&alone, &provider()));
    let clients = Arc::new(HttpClients::default());
    let (one, other) =
        (provider().with_clients(Arc::clone(&clients)), provider().with_clients(clients));
    assert!(same(&one, &other));
}

#[tokio::test]
async fn messages_of_one_provider_travel_on_one_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move {
        // Only one connection is ever accepted: a second one would wait for ever.
        let (mut socket, _) = listener.accept().await.unwrap();
        for _ in 0..3 {
            read_request(&mut socket).await;
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length";
            let reply = format!("{head}: {}\r\n\r\n{STREAM}", STREAM.len());
            socket.write_all(reply.as_bytes()).await.unwrap();
        }
        std::future::pending::<()>().await;
    });
    let provider = HttpProvider::new(choice(), &url, None).unwrap().with_stream_idle_ms_max(5_000);
    for _ in 0..3 {
        assert_eq!(in_words(&ask(&provider).await), "你好 there -> read_file {\"path\":\"a\"}");
    }
}

#[test]
fn a_key_that_is_no_header_is_refused() {
    let wrong_key = HttpProvider::new(choice(), "http://h", Some(Secret::new("a\nb")));
    let error = wrong_key.err().unwrap().to_string();
    assert_eq!(error, "the key of `openai` contains invalid characters; copy it again");
}

/// Answers connections one after another, each with the pieces of one reply, and then closes. The
/// piece `hold` keeps the connection open instead.
struct Server {
    address: std::net::SocketAddr,
    requests: mpsc::UnboundedReceiver<String>,
}

impl Server {
    async fn start(replies: Vec<Vec<Vec<u8>>>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, requests) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut held = Vec::new();
            for pieces in replies {
                let (mut socket, _) = listener.accept().await.unwrap();
                let request = read_request(&mut socket).await;
                let is_wanted = sender.send(request).is_ok();
                assert!(is_wanted || sender.is_closed());
                for piece in &pieces {
                    // The client may have hung up: then the rest of the reply is not needed.
                    if piece == b"hold" || socket.write_all(piece).await.is_err() {
                        break;
                    }
                }
                if pieces.last().is_some_and(|piece| piece == b"hold") {
                    held.push(socket);
                }
            }
            // Held until the test ends and the runtime drops this task.
            std::future::pending::<()>().await;
            drop(held);
        });
        Server { address, requests }
    }

    fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    fn provider(&self) -> HttpProvider {
        HttpProvider::new(choice(), &self.url(), Some(Secret::new(KEY))).unwrap()
    }
}

async fn read_request(socket: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .filter_map(|line| line.split_once(':'))
                .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
                .map_or(0, |(_, value)| value.trim().parse().unwrap());
            if body.len() >= length {
                return text.into_owned();
            }
        }
        let n_read = socket.read_buf(&mut bytes).await.unwrap();
        assert!(n_read > 0, "the request broke off: {}", String::from_utf8_lossy(&bytes));
    }
}

#[derive(Default)]
struct Heard(Mutex<String>);

impl DeltaSink for Heard {
    fn delta(&self, delta: Delta<'_>) {
        if let DeltaPart::Text(text) = delta.part {
            self.0.lock().unwrap().push_str(text);
        }
    }
}

fn context(sink: Arc<dyn DeltaSink>) -> AskContext {
    AskContext { time_left: Duration::from_hours(1), cancel: CancellationToken::new(), sink }
}

async fn ask(provider: &HttpProvider) -> Result<Answer, AnswerFailure> {
    let heard = Arc::new(Heard::default());
    let outcome = provider.ask(b"{}".to_vec(), context(heard.clone())).await;
    if let Err(unfinished) = &outcome {
        assert_eq!(unfinished.partial_text, *heard.0.lock().unwrap());
    }
    outcome
}

fn check_cut(unfinished: AnswerFailure, cut: usize) {
    assert!("你好 there".starts_with(&unfinished.partial_text), "cut at {cut}");
    let (kind, message, retryable) = fault(Err(unfinished));
    assert_eq!((kind, retryable), (FailureKind::Cut, true), "cut at {cut}: {message}");
}

fn fault(outcome: Result<Answer, AnswerFailure>) -> (FailureKind, String, bool) {
    match outcome.unwrap_err().cause {
        FailureCause::Failed { kind, message, retryable, .. } => (kind, message, retryable),
        FailureCause::Cancelled => panic!("nobody stopped it"),
    }
}

fn in_words(outcome: &Result<Answer, AnswerFailure>) -> String {
    let blocks = outcome.as_ref().unwrap().content.iter().map(|block| match block {
        AnswerBlock::Text(text) => text.clone(),
        AnswerBlock::Thinking(thinking) => format!("({})", thinking.text),
        AnswerBlock::Call { tool, arguments, .. } => format!(" -> {tool} {arguments}"),
    });
    blocks.collect()
}

fn choice() -> ModelChoice {
    ModelChoice {
        provider: "openai".to_owned(),
        wire: Wire::OpenaiChat,
        model: "m".to_owned(),
        parameters: Json::empty_object(),
        context_window: 8192,
    }
}

fn stream_until_close(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{body}")
        .into_bytes()
}

fn chunked(pieces: &[&[u8]]) -> Vec<u8> {
    let mut bytes = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n".to_vec();
    for piece in pieces {
        bytes.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        bytes.extend_from_slice(piece);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}

fn reply(status: u16, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}")
        .into_bytes()
}

fn find(bytes: &[u8], text: &str) -> usize {
    bytes.windows(text.len()).position(|window| window == text.as_bytes()).unwrap()
}
