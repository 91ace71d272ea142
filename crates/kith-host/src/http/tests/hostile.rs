//! Requests of those who are not the owner, and of clients that do not behave.

use super::*;

/// What a hostile request is, its head and body, and the status that refuses it.
const HOSTILE: &[(&str, &str, u16)] = &[
    ("no token", "POST /api/list_threads HTTP/1.1\r\nHost: HOST\r\n", 401),
    (
        "a wrong token",
        "POST /api/list_threads HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer wrong\r\n",
        401,
    ),
    (
        "the token as a password",
        "POST /api/list_threads HTTP/1.1\r\nHost: HOST\r\nAuthorization: Basic TOKEN\r\n",
        401,
    ),
    (
        "the token in the query",
        "POST /api/list_threads?token=TOKEN HTTP/1.1\r\nHost: HOST\r\n",
        401,
    ),
    (
        "the token as a cookie",
        "POST /api/list_threads HTTP/1.1\r\nHost: HOST\r\nCookie: kith=TOKEN\r\n",
        401,
    ),
    ("a chat without a token", "GET /api/chat/a/stream HTTP/1.1\r\nHost: HOST\r\n", 401),
    ("a description without a token", "GET /api/openapi.json HTTP/1.1\r\nHost: HOST\r\n", 401),
    (
        "another host",
        "POST /api/list_threads HTTP/1.1\r\nHost: evil.example\r\nAuthorization: Bearer TOKEN\r\n",
        403,
    ),
    (
        "a name that was rebound to this machine",
        "GET /api/health HTTP/1.1\r\nHost: evil.example:80\r\n",
        403,
    ),
    ("this host at another port", "GET /api/health HTTP/1.1\r\nHost: 127.0.0.1:1\r\n", 403),
    ("no host", "GET /api/health HTTP/1.1\r\n", 403),
    ("two hosts", "GET /api/health HTTP/1.1\r\nHost: HOST\r\nHost: evil.example\r\n", 400),
    ("an address of a proxy", "GET http://evil.example/api/health HTTP/1.1\r\nHost: HOST\r\n", 400),
    (
        "another origin",
        "POST /api/list_threads HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nOrigin: http://evil.example\r\n",
        403,
    ),
    (
        "no origin to speak of",
        "POST /api/list_threads HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nOrigin: null\r\n",
        403,
    ),
    (
        "another port of this machine",
        "POST /api/list_threads HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nOrigin: http://127.0.0.1:1\r\n",
        403,
    ),
    (
        "another site, as the browser says",
        "POST /api/list_threads HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nSec-Fetch-Site: cross-site\r\n",
        403,
    ),
    (
        "a form of another site",
        "POST /api/chat HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 3\r\n\r\na=b",
        415,
    ),
    (
        "JSON as plain text",
        "POST /api/chat HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}",
        415,
    ),
    (
        "leave asked for by another site",
        "OPTIONS /api/list_threads HTTP/1.1\r\nHost: HOST\r\nOrigin: http://evil.example\r\nAccess-Control-Request-Method: POST\r\n",
        403,
    ),
    (
        "a WebSocket of another site",
        "GET /api/socket HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nOrigin: http://evil.example\r\nUpgrade: websocket\r\n",
        403,
    ),
    (
        "a WebSocket without a token",
        "GET /api/socket HTTP/1.1\r\nHost: HOST\r\nUpgrade: websocket\r\n",
        401,
    ),
    ("a way out of the page", "GET /../.kith/http-token HTTP/1.1\r\nHost: HOST\r\n", 404),
    ("the same, encoded", "GET /%2e%2e/.kith/http-token HTTP/1.1\r\nHost: HOST\r\n", 404),
    (
        "another method",
        "DELETE /api/list_threads HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\n",
        405,
    ),
    (
        "a body for what is only read",
        "POST /api/health HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\n",
        405,
    ),
    (
        "a call that is none",
        "POST /api/../api/health HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\n",
        404,
    ),
    (
        "a body of 100 MB",
        "POST /api/chat HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nContent-Type: application/json\r\nContent-Length: 104857600\r\n",
        413,
    ),
    (
        "a login of 5 kB",
        "POST /api/login HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n",
        413,
    ),
    (
        "a login without a code",
        "POST /api/login HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
        400,
    ),
    (
        "a body that is no JSON",
        "POST /api/chat HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{]",
        400,
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn no_hostile_request_is_accepted() {
    let served = Served::new().await;
    for (what, request, status) in HOSTILE {
        let (head, body) = request.split_once("\r\n\r\n").unwrap_or((request, ""));
        let head = head.trim_end();
        let text = served.raw(&format!("{head}\r\nConnection: close\r\n\r\n{body}")).await;
        assert_eq!(status_of(&text), *status, "{what}\n{text}");
        assert!(!text.contains(&served.token), "{what}");
        assert!(!text.to_ascii_lowercase().contains("access-control-allow"), "{what}");
    }
    // Nothing of all that began a conversation.
    let (_, threads) = served.call("list_threads", &json!({})).await;
    assert_eq!(threads["data"]["threads"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_is_bounded_to_the_byte() {
    let served = Served::new().await;
    let head = |n_bytes: usize| {
        let long = "y".repeat(n_bytes);
        format!(
            "GET /api/health HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\nX-Long: {long}\r\n\r\n"
        )
    };
    assert_eq!(status_of(&served.raw(&head(HEAD_BYTES_MAX - 200)).await), 200);
    for n_bytes in [HEAD_BYTES_MAX, 40_000, 4 * HEAD_BYTES_MAX] {
        assert_eq!(status_of(&served.raw(&head(n_bytes)).await), 431, "{n_bytes}");
    }
}

/// A WebSocket to the server, before anything is said.
async fn socket(served: &Served) -> TcpStream {
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    let request = format!(
        "GET /api/socket HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nConnection: Upgrade\r\n\
         Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        served.address, served.token
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = [0; 12];
    stream.read_exact(&mut head).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 101");
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn a_websocket_that_says_no_hello_or_too_much_is_closed() {
    let served = Served::new().await;
    // A masked text frame `{}`; the same announced with 100 MB; one that is not masked.
    let empty = [0x81, 0x82, 0, 0, 0, 0, b'{', b'}'].to_vec();
    let mut huge = vec![0x81, 0xff];
    huge.extend((100_u64 * 1024 * 1024).to_be_bytes());
    huge.extend([0; 64]);
    for frame in [empty, huge, vec![0x81, 0x02, b'{', b'}']] {
        let mut stream = socket(&served).await;
        stream.write_all(&frame).await.unwrap();
        let mut rest = Vec::new();
        // Closed in order or cut: it is over either way.
        drop(tokio::time::timeout(PATIENCE, stream.read_to_end(&mut rest)).await.unwrap());
        assert!(!String::from_utf8_lossy(&rest).contains("\"response\""));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_vanishes_in_mid_stream_loses_nothing() {
    let served = Served::new().await;
    let body = message("m1").to_string();
    let request = format!(
        "POST /api/send_message HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
         Accept: text/event-stream\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        served.address,
        served.token,
        body.len()
    );
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    stream.read_exact(&mut [0; 64]).await.unwrap();
    drop(stream);
    let (_, answer) = served.call("send_message", &message("m1")).await;
    assert_eq!(answer["data"]["answer"]["end"], "done", "{answer}");
    let session = answer["data"]["answer"]["sessionId"].clone();
    let (_, shown) = served.call("show_session", &json!({ "session": session })).await;
    let events = shown["data"]["events"].as_array().unwrap();
    assert_eq!(events.iter().filter(|it| it["type"] == "user_message").count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn logging_out_closes_the_streams_of_that_login() {
    let served = Served::new().await;
    let login = served.access.log_in(&served.access.new_login_code().unwrap()).unwrap();
    let cookie = login.set_cookie.split(';').next().unwrap().to_owned();
    let known = format!("Host: HOST\r\nCookie: {cookie}\r\nX-Kith-Page: {}\r\n", login.page_key);
    let body = json!({}).to_string();
    let follow = format!(
        "POST /api/follow_house HTTP/1.1\r\n{known}Accept: text/event-stream\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let following = served.raw(&follow);
    let logout = format!("POST /api/logout HTTP/1.1\r\n{known}Connection: close\r\n\r\n");
    let ask = format!("POST /api/list_threads HTTP/1.1\r\n{known}Connection: close\r\n\r\n");
    let leaving = async {
        assert_eq!(status_of(&served.raw(&ask).await), 200);
        assert_eq!(status_of(&served.raw(&logout).await), 200);
        assert_eq!(status_of(&served.raw(&ask).await), 401);
    };
    // It would never end by itself. One that came after the logout is refused.
    let (told, ()) = tokio::join!(following, leaving);
    assert!([200, 401].contains(&status_of(&told)), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn logging_out_closes_a_websocket_whose_answer_is_under_way() {
    let served = Served::new().await;
    let login = served.access.log_in(&served.access.new_login_code().unwrap()).unwrap();
    let cookie = login.set_cookie.split(';').next().unwrap().to_owned();
    let request = Request::builder()
        .uri(format!("ws://{}/api/socket", served.address))
        .header("host", served.address.to_string())
        .header("origin", format!("http://{}", served.address))
        .header("cookie", &cookie)
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
        .header("sec-websocket-protocol", format!("kith, kith.{}", login.page_key))
        .body(())
        .unwrap();
    let stream = TcpStream::connect(served.address).await.unwrap();
    let (mut socket, _) = tokio_tungstenite::client_async(request, stream).await.unwrap();
    for frame in [
        json!({ "type": "hello", "protocol": 3, "clientId": "test" }),
        json!({ "type": "follow_house", "requestId": "1" }),
        json!({ "type": "list_threads", "requestId": "2" }),
    ] {
        socket.send(Message::text(frame.to_string())).await.unwrap();
    }
    let mut told = String::new();
    while !told.contains("\"requestId\":\"2\"") {
        let frame = tokio::time::timeout(PATIENCE, socket.next()).await.unwrap();
        told = frame.unwrap().unwrap().into_text().unwrap().to_string();
    }
    let known = format!("Host: HOST\r\nCookie: {cookie}\r\nX-Kith-Page: {}\r\n", login.page_key);
    let logout = format!("POST /api/logout HTTP/1.1\r\n{known}Connection: close\r\n\r\n");
    assert_eq!(status_of(&served.raw(&logout).await), 200);
    // The stream would never end by itself.
    while let Some(Ok(_)) = tokio::time::timeout(PATIENCE, socket.next()).await.unwrap() {}
}

#[tokio::test(flavor = "multi_thread")]
async fn the_owner_finds_a_place_when_strangers_have_taken_all() {
    let state = Arc::<Strangers>::default();
    let places = Arc::new(Semaphore::new(2));
    let (first, second, third) = (state.enter(), state.enter(), state.enter());
    let taken = place_for(&first, &state, Arc::clone(&places)).await.unwrap();
    let _kept = place_for(&second, &state, Arc::clone(&places)).await.unwrap();
    second.mark_authenticated();
    let waiting = place_for(&third, &state, Arc::clone(&places));
    let leaving = async {
        first.closed.cancelled().await;
        drop(taken);
    };
    let (place, ()) = tokio::join!(waiting, leaving);
    assert!(place.is_some() && !second.closed.is_cancelled());
}

/// Waits until the host works on so many requests.
async fn until_requests(served: &Served, n_requests: usize) {
    let looking = async {
        while served.state().n_requests() != n_requests {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, looking).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn logging_out_ends_what_the_streams_of_that_login_follow() {
    let served = Served::new().await;
    let login = served.access.log_in(&served.access.new_login_code().unwrap()).unwrap();
    let cookie = login.set_cookie.split(';').next().unwrap().to_owned();
    let known = format!(
        "Host: {}\r\nCookie: {cookie}\r\nX-Kith-Page: {}\r\n",
        served.address, login.page_key
    );
    let follow = format!(
        "POST /api/follow_house HTTP/1.1\r\n{known}Accept: text/event-stream\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}"
    );
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    stream.write_all(follow.as_bytes()).await.unwrap();
    let mut head = [0; 12];
    stream.read_exact(&mut head).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");
    until_requests(&served, 1).await;
    let logout = format!("POST /api/logout HTTP/1.1\r\n{known}Connection: close\r\n\r\n");
    assert_eq!(status_of(&served.raw(&logout).await), 200);
    until_requests(&served, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_logout_takes_the_cookie_away_also_if_it_cannot_be_written() {
    let served = Served::new().await;
    let login = served.access.log_in(&served.access.new_login_code().unwrap()).unwrap();
    let cookie = login.set_cookie.split(';').next().unwrap().to_owned();
    let known = format!("Host: HOST\r\nCookie: {cookie}\r\nX-Kith-Page: {}\r\n", login.page_key);
    let logout = format!("POST /api/logout HTTP/1.1\r\n{known}Connection: close\r\n\r\n");
    let without = "POST /api/logout HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n";
    let in_the_way = served.dir.path().join(".kith/http-logouts.part");
    std::fs::create_dir(&in_the_way).unwrap();
    let refused = served.raw(&logout).await;
    std::fs::remove_dir(&in_the_way).unwrap();
    let again = served.raw(without).await;
    for (told, status) in [(refused, 500), (again, 200)] {
        assert_eq!(status_of(&told), status, "{told}");
        assert!(told.contains("; Max-Age=0;"), "{told}");
    }
    let written = std::fs::read_to_string(served.dir.path().join(".kith/http-logouts")).unwrap();
    assert!(written.contains(cookie.split(['=', '.']).nth(1).unwrap()), "{written}");
}
