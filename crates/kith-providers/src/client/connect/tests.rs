//! Addresses that lead nowhere, proxies that refuse, certificates that are not trusted.

use std::net::Ipv4Addr;
use std::path::Path;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{RootCertStore, ServerConfig};
use tokio::io::AsyncRead;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;

use super::*;

const USER: &str = "anna";
const PASSWORD: &str = "pass-word-7";
/// `anna:pass-word-7`
const CREDENTIALS: &str = "YW5uYTpwYXNzLXdvcmQtNw==";

fn address(last: u8) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::new(192, 0, 2, last), 443))
}

/// What an attempt at an address comes to: its last byte says it.
async fn attempt(address: SocketAddr) -> io::Result<SocketAddr> {
    let IpAddr::V4(ip) = address.ip() else { panic!("{address} is of the other family") };
    match ip.octets()[3] {
        0..10 => Err(io::Error::new(ErrorKind::ConnectionRefused, format!("refused {address}"))),
        10..20 => std::future::pending().await,
        slow @ 20..30 => {
            sleep(Duration::from_millis(u64::from(slow) * 30)).await;
            Ok(address)
        }
        _ => Ok(address),
    }
}

async fn check_attempts(addresses: &[u8], expected: &str) {
    let begun = Instant::now();
    let addresses = addresses.iter().map(|last| address(*last)).collect();
    let trying =
        timeout(Duration::from_secs(CONNECT_SECS_MAX), first_to_answer(addresses, attempt));
    let outcome = match trying.await {
        Err(_) => "nobody".to_owned(),
        Ok(Ok(address)) => address.ip().to_string(),
        Ok(Err(error)) => error.to_string(),
    };
    assert_eq!(format!("{outcome} after {} ms", begun.elapsed().as_millis()), expected);
}

#[tokio::test(start_paused = true)]
async fn an_address_that_refuses_or_is_silent_does_not_keep_the_next_one_waiting() {
    check_attempts(&[30, 31], "192.0.2.30 after 0 ms").await;
    check_attempts(&[1, 30], "192.0.2.30 after 0 ms").await;
    check_attempts(&[10, 30], "192.0.2.30 after 250 ms").await;
    check_attempts(&[10, 1, 11, 30], "192.0.2.30 after 500 ms").await;
    // A slow one that was tried first still wins against one that never answers.
    check_attempts(&[20, 10], "192.0.2.20 after 600 ms").await;
    check_attempts(&[1, 2], "refused 192.0.2.2:443 after 0 ms").await;
    check_attempts(&[10, 11], "nobody after 15000 ms").await;
    check_attempts(&[], "the name of the server has no address after 0 ms").await;
}

#[test]
fn addresses_of_both_families_are_tried_by_turns_up_to_a_limit() {
    let six = |last: u16| SocketAddr::from(([0x2001, 0xdb8, 0, 0, 0, 0, 0, last], 443));
    let four = address;
    let mixed = vec![six(1), six(2), six(3), four(1)];
    assert_eq!(by_turns(mixed), [six(1), four(1), six(2), six(3)]);
    assert_eq!(by_turns((0..100).map(four).collect()).len(), ADDRESSES_MAX);
}

#[test]
fn no_proxy_excepts_hosts_domains_and_networks() {
    let check = |no_proxy: &str, url: &'static str, is_excepted: bool| {
        let matcher = Matcher::builder().all("http://proxy.invalid:1").no(no_proxy).build();
        let connector = Connector { tls: None, proxies: Some(matcher), is_allowed: None };
        let proxy = connector.proxy_of(&Uri::from_static(url));
        assert_eq!(proxy.is_none(), is_excepted, "{no_proxy} {url}");
    };
    for url in ["http://corp.example/v1", "https://a.b.corp.example:8443/v1", "http://CORP.example"]
    {
        check(" other.example , corp.example", url, true);
        check(".corp.example", url, true);
        check("*", url, true);
        check("", url, false);
    }
    check("corp.example", "https://notcorp.example", false);
    check("corp.example", "https://corp.example.invalid", false);
    check("10.0.0.0/8,192.168.1.1", "http://10.9.8.7:1/v1", true);
    check("10.0.0.0/8,192.168.1.1", "http://192.168.1.1/v1", true);
    check("10.0.0.0/8,192.168.1.1", "http://192.168.1.2/v1", false);
    check("2001:db8::/32", "http://[2001:db8::1]/v1", true);
}

#[test]
fn a_proxy_whose_address_cannot_be_read_is_refused_and_not_passed_over() {
    let check = |name: &'static str, value: &'static str, is_valid: bool| {
        let checked = check_proxies(|it| (it == name).then(|| value.to_owned()));
        assert_eq!(checked.is_ok(), is_valid, "{name}={value}");
        checked.err().map(|error| error.to_string()).unwrap_or_default()
    };
    for value in ["", "proxy:8080", "http://a:b@proxy:8080", "https://proxy", "socks5://proxy:1080"]
    {
        check("ALL_PROXY", value, true);
    }
    let refused = check("https_proxy", "http://anna:pass-word-7@bad host", false);
    assert_eq!(
        refused,
        "the proxy in https_proxy has no valid address: write it as in `http://proxy.example:8080`"
    );
    check("HTTP_PROXY", "ftp://proxy", false);
    check("ALL_PROXY", "://", false);
}

/// Takes one connection, reads a head and says this. Returns the head.
async fn listener_saying(reply: Vec<u8>) -> (u16, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let serving = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let head = read_head(&mut socket).await;
        // Whoever heard enough hangs up.
        socket.write_all(&reply).await.unwrap_or_default();
        head
    });
    (port, serving)
}

async fn read_head(socket: &mut (impl AsyncRead + Unpin)) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(socket.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

fn through(proxy_url: &str) -> Connector {
    let matcher = Matcher::builder().all(proxy_url).build();
    Connector { tls: Some(trusting_the_test_authority()), proxies: Some(matcher), is_allowed: None }
}

async fn refusal(connector: &Connector, uri: &str) -> String {
    let error = connector.connect(&uri.parse().unwrap()).await.err().unwrap();
    let text = format!("{error} {error:?}");
    assert!(!text.contains(PASSWORD) && !text.contains(CREDENTIALS), "{text}");
    error.to_string()
}

#[tokio::test]
async fn a_proxy_that_refuses_is_named_with_what_to_do_and_without_credentials() {
    let with = format!("{USER}:{PASSWORD}@");
    let server_refused = "did not connect to the server (status 502): check the base URL, or except \
                          the server with NO_PROXY";
    for (credentials, reply, expected) in [
        (
            "",
            "HTTP/1.1 407 X\r\n\r\n",
            "requires a user name and password (status 407): write them into its address, as in \
             `http://name:password@proxy.example:8080`",
        ),
        (
            with.as_str(),
            "HTTP/1.1 407 X\r\n\r\n",
            "refused the user name and password in its address (status 407): check them",
        ),
        (with.as_str(), "HTTP/1.1 502 anna:pass-word-7\r\n\r\n", server_refused),
        ("", "HTTP/1.0 502 X\r\ncontent-length: 3\r\n\r\n", server_refused),
        ("", "SSH-2.0 200 x\r\n\r\n", NOT_A_PROXY),
        ("", "HTTP/1.1 2x0 X\r\n\r\n", NOT_A_PROXY),
        (
            "",
            "HTTP/1.1 200 cut",
            "closed the connection without an answer: check that it is an HTTP proxy",
        ),
    ] {
        let (port, serving) = listener_saying(reply.into()).await;
        let connector = through(&format!("http://{credentials}127.0.0.1:{port}"));
        let said = refusal(&connector, "https://models.invalid/v1?key=hidden").await;
        assert_eq!(said, format!("the proxy 127.0.0.1:{port} {expected}"));
        let head = serving.await.unwrap();
        assert!(
            head.starts_with("CONNECT models.invalid:443 HTTP/1.1\r\nHost: models.invalid:443\r\n")
        );
        assert_eq!(head.contains(CREDENTIALS), !credentials.is_empty(), "{head}");
    }
}

#[tokio::test]
async fn a_proxy_that_never_ends_its_head_is_given_up() {
    let reply = [b"HTTP/1.1 200 X\r\nx: ".to_vec(), vec![b'y'; PROXY_HEAD_BYTES_MAX]].concat();
    let (port, _serving) = listener_saying(reply).await;
    let said =
        refusal(&through(&format!("http://127.0.0.1:{port}")), "https://models.invalid").await;
    assert_eq!(said, format!("the proxy 127.0.0.1:{port} {NOT_A_PROXY}"));
}

#[tokio::test]
async fn a_proxy_that_cannot_be_used_is_not_taken_for_the_server() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let connector = through(&format!("http://{USER}:{PASSWORD}@{closed}"));
    let said = refusal(&connector, "http://models.invalid").await;
    let expected = format!("the proxy {closed} could not be reached (Connection refused");
    assert!(said.starts_with(&expected), "{said}");
    assert!(said.ends_with("check HTTPS_PROXY, HTTP_PROXY or ALL_PROXY"), "{said}");
    let socks = through(&format!("socks5://{USER}:{PASSWORD}@127.0.0.1:1080"));
    let said = refusal(&socks, "http://models.invalid").await;
    assert_eq!(
        said,
        "the proxy 127.0.0.1:1080 is of kind `socks5`, which is not supported: set HTTPS_PROXY or \
         HTTP_PROXY to an HTTP proxy"
    );
}

fn testdata(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/tls").join(name)
}

fn connector_with(roots: RootCertStore) -> TlsConnector {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.unwrap().with_root_certificates(roots).with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

fn trusting_the_test_authority() -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(testdata("ca.pem")).unwrap()).unwrap();
    connector_with(roots)
}

fn acceptor() -> TlsAcceptor {
    let chain = CertificateDer::pem_file_iter(testdata("server.pem")).unwrap();
    let chain = chain.collect::<Result<Vec<_>, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_file(testdata("server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.unwrap().with_no_client_auth().with_single_cert(chain, key).unwrap();
    TlsAcceptor::from(Arc::new(config))
}

#[tokio::test]
async fn a_proxy_that_is_reached_over_tls_gets_the_credentials_and_passes_tls_on() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let serving = tokio::spawn(async move {
        let (socket, _) = listener.accept().await.unwrap();
        let mut outer = acceptor().accept(socket).await.unwrap();
        let head = read_head(&mut outer).await;
        outer.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.unwrap();
        outer.flush().await.unwrap();
        acceptor().accept(outer).await.unwrap();
        head
    });
    let connector = through(&format!("https://{USER}:{PASSWORD}@localhost:{port}"));
    let connection = connector.connect(&"https://localhost:1/v1".parse().unwrap()).await.unwrap();
    let head = serving.await.unwrap();
    // Only now: the server still writes when the client is done with the handshake.
    drop(connection);
    let expected = format!(
        "CONNECT localhost:1 HTTP/1.1\r\nHost: localhost:1\r\nProxy-Authorization: Basic {CREDENTIALS}\r\n\r\n"
    );
    assert_eq!(head, expected);
}

/// What is said of a TLS server that this client talks to under this name.
async fn tls_failure(tls: TlsConnector, host: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (socket, _) = listener.accept().await.unwrap();
        acceptor().accept(socket).await.map(|_| ())
    });
    let connector = Connector { tls: Some(tls), proxies: None, is_allowed: None };
    let socket = TcpSocket::new(TcpStream::connect(address).await.unwrap());
    match connector.secure(Box::new(socket), host).await {
        Ok(_) => "trusted".to_owned(),
        Err(error) => error.advice().to_owned(),
    }
}

#[tokio::test]
async fn a_failure_of_tls_says_what_to_do() {
    assert_eq!(tls_failure(trusting_the_test_authority(), "localhost").await, "trusted");
    assert_eq!(
        tls_failure(trusting_the_test_authority(), "models.invalid").await,
        "the certificate belongs to a server of another name; check the base URL"
    );
    assert_eq!(
        tls_failure(connector_with(RootCertStore::empty()), "localhost").await,
        "if the server has a certificate authority of its own, set SSL_CERT_FILE to a file that contains it"
    );
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("https://{}", listener.local_addr().unwrap()).parse().unwrap();
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        socket.read_u8().await.unwrap();
        socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        std::future::pending::<()>().await;
    });
    let connector =
        Connector { tls: Some(trusting_the_test_authority()), proxies: None, is_allowed: None };
    assert_eq!(
        connector.connect(&uri).await.err().unwrap().advice(),
        "the server does not speak TLS there; check the port, or write `http` instead of `https`"
    );
}

/// A server that accepts and never speaks, told of once the client has begun.
async fn silent_server() -> (Uri, oneshot::Receiver<()>, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("https://{}", listener.local_addr().unwrap()).parse().unwrap();
    let (sender, begun) = oneshot::channel();
    let serving = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        socket.read_u8().await.unwrap();
        sender.send(()).unwrap_or_default();
        // Until the client hangs up.
        socket.read_to_end(&mut Vec::new()).await.map(|_| ()).unwrap_or_default();
    });
    (uri, begun, serving)
}

#[tokio::test]
async fn a_cancel_while_connecting_closes_the_socket() {
    let (uri, begun, serving) = silent_server().await;
    let connector =
        Connector { tls: Some(trusting_the_test_authority()), proxies: None, is_allowed: None };
    tokio::select! {
        connected = connector.connect(&uri) => panic!("{connected:?}"),
        begun = begun => begun.unwrap(),
    }
    serving.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_ends_the_handshake_is_given_up() {
    let (uri, _begun, _serving) = silent_server().await;
    let connector =
        Connector { tls: Some(trusting_the_test_authority()), proxies: None, is_allowed: None };
    let error = connector.connect(&uri).await.err().unwrap();
    assert_eq!(error.to_string(), "no connection within 15 seconds");
}
