//! Certificates for 127.0.0.1.

use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::io;
use std::sync::Arc;

/// A certificate that its server signed itself, for `127.0.0.1` and `localhost`.
#[derive(Clone)]
pub struct Certificate {
    pem: String,
    der: CertificateDer<'static>,
    key: Arc<[u8]>,
}

impl Certificate {
    /// A new certificate with a new key.
    ///
    /// # Errors
    ///
    /// Where the system gives no random numbers.
    pub fn self_signed() -> io::Result<Certificate> {
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let made = rcgen::generate_simple_self_signed(names).map_err(io::Error::other)?;
        Ok(Certificate {
            pem: made.cert.pem(),
            der: made.cert.der().clone(),
            key: made.signing_key.serialize_der().into(),
        })
    }

    /// The certificate as PEM, for a client to trust.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// What a TLS server that has this certificate and speaks these protocols (names of ALPN, best first) is set up with.
    pub(crate) fn server(&self, protocols: &[&[u8]]) -> io::Result<Arc<ServerConfig>> {
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.to_vec()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_single_cert(vec![self.der.clone()], key)
            .map_err(io::Error::other)?;
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        Ok(Arc::new(config))
    }
}
