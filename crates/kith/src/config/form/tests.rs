//! Forms that are taken and forms that are not.

use super::*;

#[test]
fn a_duration_is_units_from_the_largest_down() {
    for (text, ms) in [
        ("90s", Some(90_000)),
        ("1h30m", Some(5_400_000)),
        ("2d1s", Some(172_801_000)),
        ("0s", Some(0)),
        ("30m1h", None),
        ("5", None),
        ("h", None),
        ("1.5h", None),
        ("-1s", None),
        ("1 h", None),
        ("1s1s", None),
        ("99999999999999999999d", None),
        ("18446744073709551615d", None),
    ] {
        assert_eq!(span(text), ms, "{text}");
    }
    assert_eq!([span_in_words(90_000), span_in_words(86_400_000)], ["90s", "1d"]);
}

#[test]
fn an_amount_is_kept_to_the_micro() {
    for (text, amount) in [
        ("0.15", Some(150_000)),
        ("0.0000004", Some(0)),
        ("2.5e0", Some(2_500_000)),
        ("10.0", Some(10_000_000)),
        ("10.1", None),
        ("-0.1", None),
        ("nan", None),
        ("inf", None),
    ] {
        assert_eq!(micros(text, 10), amount, "{text}");
    }
}

#[test]
fn an_address_has_a_scheme_and_a_host() {
    let http = ["http", "https"];
    for text in [
        "http://localhost:11434/v1",
        "https://api.example.org",
        "http://[::1]:80/",
        "http://10.0.0.1",
    ] {
        assert!(is_url(text, &http), "{text}");
    }
    for text in [
        "localhost",
        "ftp://x",
        "http://",
        "http:///v1",
        "https://a b",
        "http://x:port",
        "http://x:70000",
        "http://-x",
        "https://x..y",
        "HTTP//x",
    ] {
        assert!(!is_url(text, &http), "{text}");
    }
}

#[test]
fn a_password_in_an_address_is_seen() {
    for text in ["http://me:pw@host/", "https://key@host", "postgres://u:p@h/db", "u:p@h"] {
        assert!(has_password(text), "{text}");
    }
    for text in ["http://host/@me", "https://host?q=a@b", "postgres://host/db"] {
        assert!(!has_password(text), "{text}");
    }
}

#[test]
fn hosts_addresses_and_names_of_agents() {
    for text in ["example.org", "*.example.org", "localhost", "10.0.0.1"] {
        assert!(is_host(text), "{text}");
    }
    for text in ["", "*", "a b", "*.*.org", "exa/mple", "-a.org", "a..b", &"a".repeat(64)] {
        assert!(!is_host(text), "{text}");
    }
    for text in ["127.0.0.1:4747", "[::1]:80", "localhost:0", "host:65535"] {
        assert!(is_address(text), "{text}");
    }
    for text in ["127.0.0.1", ":80", "host:", "host:+1", "host:65536", "::1:80"] {
        assert!(!is_address(text), "{text}");
    }
    for text in ["luna.aid.pub", "a.b", "localhost:8080", "127.0.0.1:1"] {
        assert!(is_aid(text), "{text}");
    }
    for text in ["luna", "Luna.aid.pub", "10.0.0.1", "luna.aid.pub:80", "a_b.c", "localhost"] {
        assert!(!is_aid(text), "{text}");
    }
}
