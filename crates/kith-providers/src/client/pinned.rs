//! A certificate that is known by its hash: the owner copied it from the host, so nobody needs to have
//! signed it.
//!
//! The name in it is not compared, because the hash says more. Its dates are: a certificate that has
//! expired is one that its owner meant to be replaced.

use std::sync::{Arc, Mutex, PoisonError};

use kith_vocab::digest::sha256_hex;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError as Cert, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

#[derive(Debug)]
pub(super) struct PinnedCertificate {
    /// In lower-case hexadecimal digits.
    sha256: String,
    provider: Arc<CryptoProvider>,
    /// The hash of the certificate that was shown in its place.
    other: Mutex<Option<String>>,
}

impl PinnedCertificate {
    pub(super) fn new(sha256: &str) -> PinnedCertificate {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        PinnedCertificate { sha256: sha256.to_owned(), provider, other: Mutex::default() }
    }

    pub(super) fn provider(&self) -> Arc<CryptoProvider> {
        Arc::clone(&self.provider)
    }

    pub(super) fn other(&self) -> Option<String> {
        self.other.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ServerCertVerifier for PinnedCertificate {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let shown = sha256_hex(end_entity);
        if shown != self.sha256 {
            *self.other.lock().unwrap_or_else(PoisonError::into_inner) = Some(shown);
            return Err(Error::InvalidCertificate(Cert::ApplicationVerificationFailure));
        }
        let parsed = ParsedCertificate::try_from(end_entity)?;
        let algorithms = self.provider.signature_verification_algorithms.all;
        let nobody = RootCertStore::empty();
        // The dates come before the signature. That nobody we know signed it is no fault here.
        match verify_server_cert_signed_by_trust_anchor(
            &parsed,
            &nobody,
            intermediates,
            now,
            algorithms,
        ) {
            Err(Error::InvalidCertificate(
                error @ (Cert::Expired
                | Cert::ExpiredContext { .. }
                | Cert::NotValidYet
                | Cert::NotValidYetContext { .. }),
            )) => Err(Error::InvalidCertificate(error)),
            _ => Ok(ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
