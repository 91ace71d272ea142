use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use super::*;

#[test]
fn no_private_address_is_fetched_in_any_notation() {
    for host in [
        "127.0.0.1",
        "127.1",
        "0x7f.1",
        "2130706433",
        "0177.0.0.1",
        "0x7f000001",
        "0.0.0.0",
        "10.1.2.3",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "198.18.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "[::1]",
        "[::]",
        "[fe80::1]",
        "[fc00::1]",
        "[fd12::1]",
        "[ff02::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:10.0.0.1]",
        "[64:ff9b::a00:1]",
        "[2002:7f00:1::]",
        "[2001:db8::1]",
        "[2001::1]",
        "localhost",
        "LOCALHOST.",
        "x.localhost",
        "printer.local",
        "metadata.google.internal",
        "１２７.0.0.1",
        "127。0。0。1",
    ] {
        let parsed = parse(&format!("http://{host}/x"));
        assert!(matches!(parsed, Err(FetchError::PrivateHost { .. })), "{host}: {parsed:?}");
    }
}

#[test]
fn public_addresses_and_names_are_fetched() {
    for host in ["example.org", "1.1.1.1", "172.32.0.1", "[2606:4700::1111]", "[64:ff9b::808:808]"]
    {
        assert!(parse(&format!("https://{host}/x")).is_ok(), "{host}");
    }
}

#[test]
fn other_schemes_and_passwords_are_refused() {
    for url in [
        "file:///etc/passwd",
        "ftp://example.org",
        "gopher://x",
        "http://u:p@example.org/",
        "javascript:1",
        "//example.org",
        "not a url",
        "",
    ] {
        assert!(matches!(parse(url), Err(FetchError::BadUrl { .. })), "{url}");
    }
}

/// Answers each connection with the next of these, and returns its port.
fn serve(answers: Vec<String>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 4096];
            let _n_bytes = stream.read(&mut request).unwrap();
            stream.write_all(answer.as_bytes()).ok();
        }
    });
    port
}

fn answer(head: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {head}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
}

async fn get(port: u16) -> Result<FetchedPage, FetchError> {
    let url = parse_for(&format!("http://127.0.0.1:{port}/"), |_| true)?;
    fetch_under(url, Duration::from_secs(20), |_| true).await
}

#[tokio::test]
async fn a_page_is_read_and_its_type_known() {
    let port = serve(vec![answer("200 OK\r\ncontent-type: Text/HTML; charset=utf-8", "hello")]);
    let page = get(port).await.unwrap();
    assert_eq!((page.status, page.content_type.as_str()), (200, "text/html"));
    assert_eq!((page.body.as_slice(), page.is_cut), (&b"hello"[..], false));
}

#[tokio::test]
async fn a_redirect_is_followed_within_the_host_and_no_further() {
    let port = serve(vec![answer("302 Found\r\nlocation: /there", ""), answer("200 OK", "there")]);
    assert_eq!(get(port).await.unwrap().body, b"there");
    let port = serve(vec![answer("302 Found\r\nlocation: http://example.org/", "")]);
    assert!(matches!(get(port).await, Err(FetchError::OtherHost { .. })));
    let port = serve(vec![answer("302 Found\r\nlocation: file:///etc/passwd", "")]);
    assert!(matches!(get(port).await, Err(FetchError::BadUrl { .. })));
    let port = serve(vec![answer("302 Found\r\nlocation: /again", ""); 10]);
    assert!(matches!(get(port).await, Err(FetchError::TooManyRedirects)));
}

#[tokio::test]
async fn a_long_page_is_cut() {
    let port = serve(vec![answer("200 OK", &"x".repeat(PAGE_BYTES_MAX + 100_000))]);
    let page = get(port).await.unwrap();
    assert_eq!((page.body.len(), page.is_cut), (PAGE_BYTES_MAX, true));
}

#[tokio::test]
async fn a_name_is_checked_by_the_addresses_it_has_when_it_is_reached() {
    // This name passes for a public one, and leads to this machine.
    let port = serve(vec![answer("200 OK", "secret")]);
    let mut url = parse("http://example.org/").unwrap();
    url.set_host(Some("localhost")).unwrap();
    url.set_port(Some(port)).unwrap();
    let fetched = fetch(url, Duration::from_secs(20)).await;
    let Err(FetchError::Unreachable { reason, .. }) = fetched else { panic!("{fetched:?}") };
    assert_eq!(reason, "it has a private address");
}

#[tokio::test]
async fn a_page_that_comes_compressed_is_refused_in_words() {
    let port = serve(vec![answer("200 OK\r\ncontent-encoding: gzip", "x")]);
    let told = get(port).await.unwrap_err().to_string();
    assert_eq!(told, "`127.0.0.1` sent the page compressed (gzip), which was not asked for");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let told = get(listener.local_addr().unwrap().port()).await;
    let is_given_up =
        matches!(told, Err(FetchError::Timeout { .. } | FetchError::Unreachable { .. }));
    assert!(is_given_up, "{told:?}");
}
