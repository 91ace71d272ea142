//! A TLS connection to a host of the owner's on another machine, for a protocol of its own.
//!
//! Nothing is sent before the certificate has been accepted: by its hash if that is known, else as any
//! web server's.

use std::io;
use std::sync::Arc;

use http::{HeaderValue, Uri};
use kith_vocab::secret::Secret;
use rustls::CertificateError as Cert;
use tokio::io::{AsyncRead, AsyncWrite};

use super::connect::Connector;
use super::pinned::PinnedCertificate;
use super::{HttpError, root_cause};

/// A connection to a host.
pub trait RemoteSocket: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> RemoteSocket for T {}

/// Why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectFailure {
    /// Nobody answers there, for this reason.
    Unreachable(String),
    /// The rest of a sentence that begins with the proxy.
    Proxy(String),
    NotTls,
    Expired,
    NotYetValid,
    /// The certificate is another one; its SHA-256.
    OtherCertificate(String),
    /// Nobody that this machine trusts signed the certificate, or not for this name.
    Untrusted(String),
}

/// Connects to `https://host:port`. `sha256` is the hash of its certificate, in lower-case digits.
pub async fn connect(
    uri: &Uri,
    sha256: Option<&str>,
) -> Result<Box<dyn RemoteSocket>, ConnectFailure> {
    let pin = sha256.map(|it| Arc::new(PinnedCertificate::new(it)));
    let connector = match &pin {
        Some(pin) => Connector::pinned(Arc::clone(pin)),
        None => Connector::remote(),
    };
    let opened = match connector {
        Ok(connector) => connector.open(uri).await,
        Err(error) => Err(error),
    };
    let socket = opened.map_err(|error| failure_of(&error, pin.as_deref()))?;
    Ok(Box::new(socket))
}

/// The header that shows a token. It is marked, so that no log prints it.
pub fn bearer(token: &Secret) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", token.reveal())).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn failure_of(error: &HttpError, pin: Option<&PinnedCertificate>) -> ConnectFailure {
    let tls = match error {
        HttpError::Proxy(reason) => return ConnectFailure::Proxy(reason.clone()),
        HttpError::Tls(error) => Some(error),
        HttpError::Connect(error) => tls_error(error),
        HttpError::Connection(_)
        | HttpError::KeptConnection(_)
        | HttpError::Address(_)
        | HttpError::Timeout => None,
    };
    match tls {
        Some(rustls::Error::InvalidCertificate(flaw)) => match flaw {
            Cert::Expired | Cert::ExpiredContext { .. } => ConnectFailure::Expired,
            Cert::NotValidYet | Cert::NotValidYetContext { .. } => ConnectFailure::NotYetValid,
            flaw => match pin.and_then(PinnedCertificate::other) {
                Some(other) => ConnectFailure::OtherCertificate(other),
                None => ConnectFailure::Untrusted(flaw.to_string()),
            },
        },
        Some(rustls::Error::InvalidMessage(_)) => ConnectFailure::NotTls,
        _ => ConnectFailure::Unreachable(root_cause(error)),
    }
}

fn tls_error(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}
