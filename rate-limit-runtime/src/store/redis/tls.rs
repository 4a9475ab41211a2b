//! Encryption of a connection.

use std::fmt;
use std::io;
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::target::Certificates;
use crate::error::BuildError;

const WRITE_PEM: &str = "the certificates for Redis cannot be used: give them in PEM";

/// Which servers are trusted, and the certificate that is shown to them.
#[derive(Clone)]
pub(super) struct Tls(Arc<ClientConfig>);

impl Tls {
    /// # Errors
    ///
    /// [`BuildError`] for certificates that are no PEM, and where the system has none and none is given.
    pub(super) fn new(Certificates { root, client }: &Certificates) -> Result<Self, BuildError> {
        let roots = match root {
            Some(pem) => given(pem)?,
            None => of_the_system()?,
        };
        // That of the program, if it has installed one.
        let provider = CryptoProvider::get_default().cloned();
        let provider = provider.unwrap_or_else(|| Arc::new(ring::default_provider()));
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| BuildError::new("the provider of rustls knows no TLS").with_source(error))?
            .with_root_certificates(roots);
        let config = match client {
            Some((certificate, key)) => {
                let chain = CertificateDer::pem_slice_iter(certificate).collect::<Result<Vec<_>, _>>();
                let chain = chain.map_err(unusable)?;
                let key = PrivateKeyDer::from_pem_slice(key).map_err(unusable)?;
                let config = config.with_client_auth_cert(chain, key);
                config.map_err(unusable)?
            }
            None => config.with_no_client_auth(),
        };
        Ok(Self(Arc::new(config)))
    }

    pub(super) async fn connect(&self, host: &str, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        TlsConnector::from(Arc::clone(&self.0)).connect(name, stream).await
    }
}

fn given(pem: &[u8]) -> Result<RootCertStore, BuildError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(unusable)?;
        roots.add(certificate).map_err(unusable)?;
    }
    match roots.is_empty() {
        true => Err(BuildError::new(WRITE_PEM)),
        false => Ok(roots),
    }
}

fn of_the_system() -> Result<RootCertStore, BuildError> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        let error = BuildError::new("the system trusts no issuer of certificates: give one by `root_certificate`");
        return Err(match found.errors.into_iter().next() {
            Some(source) => error.with_source(source),
            None => error,
        });
    }
    Ok(roots)
}

fn unusable(error: impl std::error::Error + Send + Sync + 'static) -> BuildError {
    BuildError::new(WRITE_PEM).with_source(error)
}

/// Shows no certificate.
impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}
