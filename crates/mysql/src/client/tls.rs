//! Encryption of TCP connections.
//!
//! The modes are MySQL's. `VERIFY_CA`: the server's certificate must chain to one of a file's; its
//! name is not compared, because the certificates that MySQL makes for itself have none.
//! `VERIFY_IDENTITY`: it must also have the host's name as a subject alternative name. `PREFERRED`
//! and `REQUIRED`: any certificate is accepted.

use std::io;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme, StreamOwned,
};

use super::socket::Socket;
use crate::endpoint::{Address, Endpoint, Tls};

pub(super) type TlsStream = StreamOwned<ClientConnection, Socket>;

/// Configuration shared by all encrypted connections to one server.
pub(super) struct Config {
    client: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Config {
    /// The configuration of an endpoint; `None` for plain connections and Unix sockets.
    pub(super) fn new(endpoint: &Endpoint) -> Result<Option<Config>, String> {
        let Address::Tcp { host, .. } = &endpoint.address else { return Ok(None) };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let chain = match &endpoint.tls {
            Tls::Off => return Ok(None),
            Tls::Preferred | Tls::Unverified => None,
            Tls::Verified { ca } | Tls::VerifiedIdentity { ca } => {
                Some(chain_verifier(ca, &provider)?)
            }
        };
        let any_name = !matches!(endpoint.tls, Tls::VerifiedIdentity { .. });
        let verifier = Arc::new(Verifier { chain, any_name, provider: Arc::clone(&provider) });
        let client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        let name =
            ServerName::try_from(host.clone()).map_err(|error| format!("{host}: {error}"))?;
        Ok(Some(Config { client: Arc::new(client), name }))
    }

    /// Starts encryption over `socket`; the handshake takes place with the first bytes.
    pub(super) fn wrap(&self, socket: Socket) -> Result<TlsStream, String> {
        let connection = ClientConnection::new(Arc::clone(&self.client), self.name.clone());
        connection.map(|connection| StreamOwned::new(connection, socket)).map_err(|e| e.to_string())
    }
}

/// The TLS layer's message about an error of its stream, if it has one.
pub(super) fn trouble(error: &io::Error) -> Option<String> {
    error.get_ref()?.downcast_ref::<Error>().map(ToString::to_string)
}

/// The message of a failed handshake: the file that the server's certificate was checked against,
/// and what to do.
pub(super) fn with_remedy(tls: &Tls, reason: &str) -> String {
    match tls {
        Tls::Verified { ca } => format!(
            "the server's certificate is not valid for {} ({reason}); give the server's own CA \
             with --mysql-ssl-ca (MySQL \
             keeps it as ca.pem in its data directory), or --mysql-ssl alone to accept any \
             certificate",
            ca.display()
        ),
        Tls::VerifiedIdentity { ca } => format!(
            "the server's certificate is not valid for its name and {} ({reason}); give the CA \
             that signed it and the host name \
             that it bears as a subject alternative name, or VERIFY_CA to leave out the name",
            ca.display()
        ),
        Tls::Off | Tls::Preferred | Tls::Unverified => {
            format!("{reason}; see the server's tls_version and log, or ask for no TLS")
        }
    }
}

fn chain_verifier(
    ca: &std::path::Path,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, String> {
    let about = |error: String| {
        let path = ca.display();
        format!(
            "{path} cannot be used as a CA ({error}); give a PEM file with the server's CA with \
             --mysql-ssl-ca"
        )
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(ca).map_err(|e| about(e.to_string()))? {
        let certificate = certificate.map_err(|e| about(e.to_string()))?;
        roots.add(certificate).map_err(|e| about(e.to_string()))?;
    }
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
        .build()
        .map_err(|error| about(error.to_string()))
}

/// Accepts any certificate, or any that chains to ours.
#[derive(Debug)]
struct Verifier {
    chain: Option<Arc<WebPkiServerVerifier>>,
    any_name: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        use CertificateError::{NotValidForName, NotValidForNameContext};
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        match chain.verify_server_cert(certificate, intermediates, name, ocsp, now) {
            Err(Error::InvalidCertificate(NotValidForName | NotValidForNameContext { .. }))
                if self.any_name =>
            {
                Ok(ServerCertVerified::assertion())
            }
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
