use std::ptr;

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
