use super::*;

/// Sends one request and reads until the server hangs up.
async fn ask(server: &FakeModelServer, body: &str) -> String {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let head =
        format!("POST /v1/chat/completions HTTP/1.1\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body.as_bytes()).await.unwrap();
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).await.unwrap();
    String::from_utf8(reply).unwrap()
}

#[tokio::test]
async fn replies_come_in_order_and_requests_are_kept() {
    let calls = ServerReply::calls("", &[("read_file", serde_json::json!({"path": "a"}))]);
    let server = FakeModelServer::start([ServerReply::text("one two"), calls]).await;
    let text = ask(&server, "{\"a\":1}").await;
    assert!(text.starts_with("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"), "{text}");
    assert!(text.contains(r#""delta":{"content":"one "}"#) && text.ends_with("\r\n0\r\n\r\n"));
    let called = ask(&server, "{}").await;
    assert!(called.contains(r#""name":"read_file""#) && called.contains("tool_calls"), "{called}");
    assert!(ask(&server, "").await.contains("script)"));
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    assert_eq!(requests[0].path, "/v1/chat/completions");
    assert_eq!(requests[0].header("content-length"), Some("7"));
    assert_eq!((requests[0].body.as_slice(), requests[0].sha256.len()), (&b"{\"a\":1}"[..], 64));
}

#[tokio::test]
async fn a_stream_is_cut_after_any_byte() {
    let reply = ServerReply::text("你好");
    let whole = reply.body();
    let cuts: Vec<usize> = vec![0, 1, whole.len() / 2, whole.len()];
    let server = FakeModelServer::start(cuts.iter().map(|n| reply.clone().cut_after(*n))).await;
    for n_bytes in cuts {
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        stream.write_all(b"POST / HTTP/1.1\r\n\r\n").await.unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.unwrap();
        assert!(!bytes.ends_with(b"0\r\n\r\n"));
        let expected = [&whole[..n_bytes], b"\r\n"].concat();
        assert!(bytes.ends_with(&expected), "{n_bytes}");
    }
}

#[tokio::test]
async fn errors_have_their_status_and_headers() {
    let server = FakeModelServer::start([
        ServerReply::TooManyRequests { retry_after_secs: 7 },
        ServerReply::ServerError,
        ServerReply::Html,
        ServerReply::Raw { status: 401, content_type: "a/b".to_owned(), body: b"no".to_vec() },
    ])
    .await;
    let limited = ask(&server, "").await;
    assert!(limited.starts_with("HTTP/1.1 429 ") && limited.contains("retry-after: 7\r\n"));
    assert!(ask(&server, "").await.starts_with("HTTP/1.1 500 "));
    assert!(ask(&server, "").await.contains("<title>"));
    assert!(ask(&server, "").await.starts_with("HTTP/1.1 401 "));
}

#[tokio::test]
async fn it_can_trickle_ping_hang_and_stop() {
    let script = [
        ServerReply::Trickle { pause_ms: 0 },
        ServerReply::Pings { pause_ms: 0 },
        ServerReply::Hang,
    ];
    let server = FakeModelServer::start(script).await;
    let mut bytes = vec![0; 2000];
    for (expected, other) in [("drip", "ping"), ("ping", "drip")] {
        let mut endless = TcpStream::connect(server.address()).await.unwrap();
        endless.write_all(b"POST / HTTP/1.1\r\n\r\n").await.unwrap();
        endless.read_exact(&mut bytes).await.unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.contains(expected) && !text.contains(other));
    }
    let mut hanging = TcpStream::connect(server.address()).await.unwrap();
    hanging.write_all(b"POST / HTTP/1.1\r\n\r\n").await.unwrap();
    drop(server);
    // Both connections end with the server; what ends them may be a reset.
    if let Ok(n_bytes) = hanging.read(&mut bytes).await {
        assert_eq!(n_bytes, 0);
    }
}
