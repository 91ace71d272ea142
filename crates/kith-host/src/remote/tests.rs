//! Addresses as people copy them, and hosts that are not what they should be.

use futures_util::SinkExt as _;
use tokio::net::TcpListener;
use tokio_tungstenite::accept_async;
use tokio_tungstenite::tungstenite::Message;

use super::*;
use crate::caller::CLI;
use crate::http::tls::{identity, new_pem};

const HASH: &str = "3f2a0000000000000000000000000000000000000000000000000000000000aa";
const TOKEN: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

#[test]
fn an_address_is_a_host_a_port_and_a_hash() {
    for (text, expected) in [
        ("https://host:5484", "https://host:5484"),
        ("https://host:5484/", "https://host:5484"),
        ("https://[::1]:5484", "https://[::1]:5484"),
        (
            &format!("https://10.0.0.1:1#{}", HASH.to_uppercase()),
            &format!("https://10.0.0.1:1#{HASH}"),
        ),
    ] {
        assert_eq!(RemoteAddress::parse(text).unwrap().to_string(), *expected);
    }
    for (text, why) in [
        ("http://host:5484", "TLS only"),
        ("host:5484", "https://"),
        ("https://token@host:5484", "a token"),
        ("https://host:5484/api", "nothing more"),
        ("https://host:5484?token=x", "nothing more"),
        ("https://", "remote address"),
        ("https://host:5484#", "SHA-256"),
        ("https://host:5484#12ab", "SHA-256"),
        (&format!("https://host:5484#{}g", &HASH[1..]), "SHA-256"),
        (&format!("https://{}", "a".repeat(600)), "too long"),
        ("https://ho st:1", "remote address"),
        ("https://host\n:1", "remote address"),
    ] {
        let refused = RemoteAddress::parse(text).unwrap_err();
        assert!(refused.message.contains(why), "{text}: {refused}");
    }
}

/// A host that accepts anybody and says these frames.
async fn fake_host(frames: &'static [&'static str]) -> RemoteHost {
    let pem = new_pem().unwrap();
    let identity = identity(pem.as_bytes(), pem.as_bytes()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let stream = identity.acceptor.accept(stream).await.unwrap();
        let mut socket = accept_async(stream).await.unwrap();
        for frame in frames {
            socket.send(Message::text(*frame)).await.unwrap();
        }
        // Stays until the client has gone.
        while let Some(Ok(_)) = socket.next().await {}
    });
    let address = format!("https://127.0.0.1:{port}#{}", identity.sha256);
    RemoteHost::new(RemoteAddress::parse(&address).unwrap(), Secret::new(TOKEN))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_of_another_version_is_refused_in_one_sentence() {
    for (frames, said) in [
        (&["{\"type\":\"hello\",\"protocol\":99}"][..], "the host uses protocol 99"),
        (
            &[
                "{\"type\":\"error\",\"ok\":false,\"code\":\"protocol_mismatch\",\"message\":\"the host \
               uses protocol 99, the client 3\",\"blame\":\"request\",\"hints\":[]}",
            ],
            "the host uses protocol 99",
        ),
        (&["{\"type\":\"surprise\"}"], "unexpected reply"),
    ] {
        let host = fake_host(frames).await;
        let met = RemoteHouse::meet(host, Caller::owner(CLI)).await;
        let error = met.err().unwrap();
        assert!(error.message.contains(said), "{frames:?}: {error}");
        assert_eq!(error.code, ErrorCode::ProtocolMismatch);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_goes_away_after_its_hello_is_asked_again_after_a_pause() {
    let pem = new_pem().unwrap();
    let identity = identity(pem.as_bytes(), pem.as_bytes()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let address = format!("https://127.0.0.1:{port}#{}", identity.sha256);
    tokio::spawn(async move {
        for n in 0..3 {
            let (stream, _) = listener.accept().await.unwrap();
            let stream = identity.acceptor.accept(stream).await.unwrap();
            let mut socket = accept_async(stream).await.unwrap();
            let hello = "{\"type\":\"hello\",\"protocol\":3}";
            socket.send(Message::text(hello)).await.unwrap();
            // Its hello and its request.
            socket.next().await.unwrap().unwrap();
            socket.next().await.unwrap().unwrap();
            if n == 2 {
                let refusal = "{\"type\":\"error\",\"requestId\":\"1\",\"ok\":false,\"code\":\"conflict\",\
                    \"message\":\"it is back\",\"blame\":\"request\",\"hints\":[]}";
                socket.send(Message::text(refusal)).await.unwrap();
                while let Some(Ok(_)) = socket.next().await {}
            }
        }
    });
    let host = RemoteHost::new(RemoteAddress::parse(&address).unwrap(), Secret::new(TOKEN));
    let began = std::time::Instant::now();
    let met = RemoteHouse::meet(host, Caller::owner(CLI)).await;
    assert_eq!(met.err().unwrap().message(), "it is back");
    assert!(began.elapsed() >= Duration::from_millis(2 * 250), "{:?}", began.elapsed());
}
