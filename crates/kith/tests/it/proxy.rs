//! Servers behind a proxy, and servers with a certificate authority of their own.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread;

use kith_testkit::server::ServerReply;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::house::{House, Vendor};

/// What a model at this address answers with, by the settings of the house.
fn house_asking(url: &str) -> House {
    let house = House::new();
    let model =
        format!("[models]\nuse = \"m\"\n[models.m]\nwire = \"openai_chat\"\nbaseUrl = \"{url}\"\n");
    house.write("kith.toml", model);
    house.kith(&["trust", "."]).succeeded();
    house
}

#[test]
fn a_proxy_of_the_environment_is_used_for_other_machines_and_not_for_this_one() {
    let proxy = Vendor::new([ServerReply::text("through the proxy")]);
    let proxy_url = format!("http://{}", proxy.server.address());
    let house = house_asking("http://models.invalid/v1").with("HTTP_PROXY", &proxy_url);
    assert_eq!(house.json(&["ask", "hi", "--json"])["text"], "through the proxy");
    assert_eq!(proxy.requests()[0].path, "http://models.invalid/v1/chat/completions");
    let near = Vendor::new([ServerReply::text("directly")]);
    let house = house_asking(&near.server.base_url()).with("HTTP_PROXY", &proxy_url);
    assert_eq!(house.json(&["ask", "hi", "--json"])["text"], "directly");
    assert_eq!(proxy.requests().len(), 1);
}

#[test]
fn https_goes_through_its_proxy_unless_the_host_is_excepted() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy_url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, lines) = mpsc::channel();
    // It ends with the test's process.
    thread::spawn(move || {
        for socket in listener.incoming() {
            let mut line = String::new();
            BufReader::new(socket.unwrap()).read_line(&mut line).unwrap();
            sender.send(line).unwrap();
        }
    });
    let ask = ["ask", "hi", "--json"];
    let house = house_asking("https://models.invalid/v1").with("HTTPS_PROXY", &proxy_url);
    assert_eq!(house.kith(&ask).code, 3);
    assert_eq!(lines.recv().unwrap(), "CONNECT models.invalid:443 HTTP/1.1\r\n");
    while lines.try_recv().is_ok() {}
    let house = house.with("NO_PROXY", "other.invalid, models.invalid");
    assert_eq!(house.kith(&ask).code, 3);
    assert!(lines.try_recv().is_err(), "the proxy was asked for an excepted host");
}

#[test]
fn a_server_with_a_certificate_authority_of_its_own_is_reached_with_that_file() {
    let url = tls_server();
    let house = house_asking(&url);
    let refused = house.kith(&["ask", "hi"]);
    assert_eq!(refused.code, 3);
    let advice = "if the server has a certificate authority of its own, set SSL_CERT_FILE to a file \
                  that contains it";
    assert!(refused.stderr.contains(advice), "{}", refused.stderr);
    let authority = testdata("ca.pem");
    let house = house.with("SSL_CERT_FILE", authority.to_str().unwrap());
    assert_eq!(house.json(&["ask", "hi", "--json"])["text"], "over TLS");
}

fn testdata(name: &str) -> std::path::PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/tls");
    folder.canonicalize().unwrap().join(name)
}

/// A model server whose certificate only `testdata/tls/ca.pem` vouches for; its base URL.
fn tls_server() -> String {
    rustls::crypto::ring::default_provider().install_default().unwrap_or_default();
    let chain = CertificateDer::pem_file_iter(testdata("server.pem")).unwrap();
    let chain = chain.collect::<Result<Vec<_>, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_file(testdata("server.key")).unwrap();
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key);
    let config = Arc::new(config.unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://localhost:{}/v1", listener.local_addr().unwrap().port());
    // It ends with the test's process.
    thread::spawn(move || {
        for socket in listener.incoming() {
            // A client that does not trust it hangs up.
            answer(socket.unwrap(), Arc::clone(&config)).ok();
        }
    });
    url
}

fn answer(socket: TcpStream, config: Arc<ServerConfig>) -> std::io::Result<()> {
    let connection = ServerConnection::new(config).map_err(std::io::Error::other)?;
    let mut stream = BufReader::new(StreamOwned::new(connection, socket));
    let mut length = 0;
    let mut line = String::new();
    while line != "\r\n" {
        line.clear();
        if stream.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let header = line.to_ascii_lowercase();
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().map_err(std::io::Error::other)?;
        }
    }
    stream.read_exact(&mut vec![0; length])?;
    let body = String::from_utf8(ServerReply::text("over TLS").body()).unwrap();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close";
    let reply = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    stream.get_mut().write_all(reply.as_bytes())?;
    stream.get_mut().flush()
}
