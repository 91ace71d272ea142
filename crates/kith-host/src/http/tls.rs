//! The certificate of the listener that other machines reach.
//!
//! The owner's own, from two PEM files; or one that the house makes for itself once. Clients know that
//! one by its hash, which the printed address carries, so nobody has to sign it and it need not expire.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kith_sessions::access_token::{read_or_create_tls, tls_path};
use kith_vocab::digest::sha256_hex;
use rcgen::{CertificateParams, DnType, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::error::CallError;
use crate::house::House;

/// Bytes of a file with certificates or a key.
const PEM_BYTES_MAX: u64 = 1024 * 1024;

/// The owner's own certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The certificate and whatever signed it, as PEM.
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// What a listener shows of itself.
pub(crate) struct TlsIdentity {
    pub(crate) acceptor: TlsAcceptor,
    /// The hash of the certificate.
    pub(crate) sha256: String,
}

impl TlsIdentity {
    pub(crate) fn of_files(files: &CertificateFiles) -> Result<TlsIdentity, CallError> {
        let read = |path: &Path| {
            read_pem(path).map_err(|error| {
                CallError::filesystem(format!("cannot read `{}`: {error}", path.display()))
            })
        };
        let (certificate, key) = (read(&files.certificate)?, read(&files.key)?);
        identity(&certificate, &key).map_err(|error| {
            let (certificate, key) = (files.certificate.display(), files.key.display());
            let message =
                format!("cannot use the certificate `{certificate}` with `{key}`: {error}");
            CallError::invalid(message)
                .hint("both must be PEM files, and the key must be the certificate's")
        })
    }

    /// The certificate that the house made for itself, made now if there is none.
    pub(crate) fn of_house(house: &House) -> Result<TlsIdentity, CallError> {
        let cannot = |error: &dyn std::fmt::Display| {
            let path = tls_path(&house.kith_dir());
            let message = format!("cannot use the certificate `{}`: {error}", path.display());
            CallError::filesystem(message).hint("delete it, and kith makes a new one")
        };
        let pem = read_or_create_tls(&house.kith_dir(), new_pem).map_err(|it| cannot(&it))?;
        identity(pem.as_bytes(), pem.as_bytes()).map_err(|it| cannot(&it))
    }
}

pub(crate) fn identity(certificate: &[u8], key: &[u8]) -> io::Result<TlsIdentity> {
    let chain: Vec<_> =
        CertificateDer::pem_slice_iter(certificate).collect::<Result<_, _>>().map_err(invalid)?;
    let sha256 = match chain.first() {
        Some(first) => sha256_hex(first),
        None => return Err(invalid("it holds no certificate")),
    };
    let key = PrivateKeyDer::from_pem_slice(key).map_err(invalid)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(invalid)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(invalid)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsIdentity { acceptor: TlsAcceptor::from(Arc::new(config)), sha256 })
}

/// A certificate that its own key has signed, and the key.
pub(crate) fn new_pem() -> io::Result<String> {
    let key = KeyPair::generate().map_err(io::Error::other)?;
    let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let mut params = CertificateParams::new(names).map_err(io::Error::other)?;
    params.distinguished_name.push(DnType::CommonName, "kith");
    let certificate = params.self_signed(&key).map_err(io::Error::other)?;
    Ok(format!("{}{}", certificate.pem(), key.serialize_pem()))
}

fn read_pem(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(PEM_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > PEM_BYTES_MAX {
        return Err(invalid("it is too long"));
    }
    Ok(bytes)
}

fn invalid(error: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}
