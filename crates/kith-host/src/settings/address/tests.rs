//! What counts as an address, and what is certainly on this machine.

use super::*;

#[test]
fn an_address_has_a_scheme_and_a_host() {
    for text in [
        "http://localhost:11434/v1",
        "https://api.example.org",
        "http://[::1]:80/",
        "http://10.0.0.1",
        "https://models.example/openai?api-version=2024-10-21",
    ] {
        assert!(ServerAddress::parse(text).is_some(), "{text}");
    }
    for text in [
        "localhost",
        "ftp://x",
        "http://",
        "http:///v1",
        "https://a b",
        "http://x:port",
        "http://x:",
        "http://x:+1",
        "http://x:70000",
        "http://-x",
        "https://x..y",
        "HTTP//x",
        "http://me:pw@host/",
        "http://127.0.0.1\\@evil.example/",
        "http://[::1].evil.example/",
        " http://localhost/",
        "//localhost/",
        "",
    ] {
        assert_eq!(ServerAddress::parse(text), None, "{text}");
    }
}

#[test]
fn its_parts_are_the_same_however_it_is_written() {
    let parts = |text: &str| {
        let address = ServerAddress::parse(text).unwrap();
        format!("{} {} {} {}", address.scheme, address.host, address.port, address.path)
    };
    assert_eq!(parts("https://API.example/v1/"), "https api.example 443 /v1");
    assert_eq!(parts("https://api.example:443/v1"), "https api.example 443 /v1");
    assert_eq!(parts("http://[::1]"), "http [::1] 80 ");
}

#[test]
fn only_what_is_certainly_on_this_machine_is_local() {
    for (text, is_local) in [
        ("http://localhost:11434/v1", true),
        ("http://127.0.0.1:8080", true),
        ("https://127.1.2.3/v1", true),
        ("http://[::1]:80/v1", true),
        ("https://evil.example/v1", false),
        ("http://localhost.evil.example/v1", false),
        ("http://localhost#.evil.example/", true),
        ("http://[::2]/", false),
        ("http://0.0.0.0/", false),
        ("http://192.168.1.2/", false),
    ] {
        assert_eq!(ServerAddress::parse(text).unwrap().is_local(), is_local, "{text}");
    }
}

#[test]
fn a_query_is_not_shown() {
    let address = ServerAddress::parse("https://models.example/v1?key=abc").unwrap();
    assert_eq!(address.to_string(), "https://models.example/v1");
    assert_eq!(address.query_names().collect::<Vec<_>>(), ["key"]);
}
