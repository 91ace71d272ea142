//! Requests that other pages, other names and other programs could send.

use http::Request;

use super::*;

/// Lines of headers after the request line; `ok`, or the status.
fn check(request: &str, expected: &str) {
    let mut lines = request.lines().map(str::trim);
    let mut first = lines.next().unwrap().split(' ');
    let (method, target) = (first.next().unwrap(), first.next().unwrap());
    let mut builder = Request::builder().method(method).uri(target);
    for line in lines {
        let (name, value) = line.split_once(": ").unwrap();
        builder = builder.header(name, value);
    }
    let built = builder.body(()).unwrap();
    let verdict = match super::check(&built, &Hosts::of_loopback(5484)) {
        Ok(()) => String::from("ok"),
        Err(problem) => problem.into_response().status().as_u16().to_string(),
    };
    assert_eq!(verdict, expected, "{request}");
}

#[test]
fn our_own_page_a_program_and_the_address_bar_are_let_through() {
    check("GET / HTTP/1.1\nHost: 127.0.0.1:5484", "ok");
    check("GET / HTTP/1.1\nHost: localhost:5484\nSec-Fetch-Site: none", "ok");
    check("GET / HTTP/1.1\nHost: [::1]:5484", "ok");
    check(
        "POST /api/x HTTP/1.1\nHost: LOCALHOST:5484\nOrigin: http://localhost:5484\n\
         Sec-Fetch-Site: same-origin\nContent-Type: application/json; charset=utf-8",
        "ok",
    );
    check("POST /api/x HTTP/1.1\nHost: 127.0.0.1:5484", "ok");
    // A link on another page may lead to ours: it only shows the page.
    check("GET / HTTP/1.1\nHost: 127.0.0.1:5484\nSec-Fetch-Site: cross-site", "ok");
}

#[test]
fn a_name_that_is_not_ours_is_refused() {
    for host in [
        "evil.example",
        "evil.example:5484",
        "127.0.0.1",
        "127.0.0.1:5485",
        "127.0.0.1.evil.example:5484",
        "localhost.:5484",
        "0.0.0.0:5484",
        "127.0.0.2:5484",
        "127.0.0.1:5484:5484",
        "user@127.0.0.1:5484",
    ] {
        check(&format!("GET / HTTP/1.1\nHost: {host}"), "403");
    }
    check("GET / HTTP/1.1\nAccept: */*", "403");
    check("GET / HTTP/1.1\nHost: 127.0.0.1:5484\nHost: 127.0.0.1:5484", "400");
}

#[test]
fn a_request_that_another_page_made_the_browser_send_is_refused() {
    let host = "Host: 127.0.0.1:5484";
    for origin in [
        "http://evil.example",
        "null",
        "https://127.0.0.1:5484",
        "http://127.0.0.1:8080",
        "http://127.0.0.1",
        "http://localhost:5484.evil.example",
        "file://",
    ] {
        check(&format!("GET /api/socket HTTP/1.1\n{host}\nOrigin: {origin}"), "403");
        check(&format!("GET / HTTP/1.1\n{host}\nOrigin: {origin}"), "403");
    }
    for site in ["cross-site", "same-site", "garbage"] {
        check(&format!("GET /api/socket HTTP/1.1\n{host}\nSec-Fetch-Site: {site}"), "403");
    }
}

#[test]
fn a_form_cannot_speak_for_the_page() {
    let head = "POST /api/send_message HTTP/1.1\nHost: 127.0.0.1:5484\nContent-Length: 2";
    for kind in ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain", "json"] {
        check(&format!("{head}\nContent-Type: {kind}"), "415");
    }
    check(head, "415");
    let chunked = "POST /api/x HTTP/1.1\nHost: 127.0.0.1:5484\nTransfer-Encoding: chunked";
    check(chunked, "415");
}

#[test]
fn a_target_for_a_proxy_is_refused() {
    check("GET http://127.0.0.1:5484/api/x HTTP/1.1\nHost: 127.0.0.1:5484", "400");
    check("CONNECT evil.example:80 HTTP/1.1\nHost: 127.0.0.1:5484", "400");
    check("OPTIONS * HTTP/1.1\nHost: 127.0.0.1:5484", "400");
}
