//! TLS: whom to trust, and which HTTP to offer.

use super::connect::{BoxIo, Offer};
use super::failure::{Failure, chain};
use super::trust_all::TrustAll;
use crate::{Error, ErrorKind};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use rustls_native_certs::load_native_certs;
use std::sync::Arc;
use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;
use tokio_rustls::TlsConnector;

/// Which certificates of servers are believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// Those that a trusted root signed for the server's name.
    Roots,
    /// All.
    Anyone,
}

/// How connections are encrypted. The system's roots are read at the first use of TLS, once.
pub(super) struct Tls {
    trust: Trust,
    own_roots: Vec<CertificateDer<'static>>,
    connectors: OnceCell<Connectors>,
}

/// One per list of protocols to offer. They share roots and sessions to resume.
struct Connectors {
    http1: TlsConnector,
    any: TlsConnector,
}

impl Tls {
    /// TLS that trusts the system's roots and `own_roots`, certificates in PEM.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](ErrorKind::Unsupported) for what is no PEM, or holds no certificate.
    pub(super) fn new(trust: Trust, own_roots: &[Arc<[u8]>]) -> Result<Tls, Error> {
        let mut certificates = Vec::new();
        for pem in own_roots {
            let before = certificates.len();
            for certificate in CertificateDer::pem_slice_iter(pem) {
                certificates.push(certificate.map_err(|problem| no_certificate(&problem.to_string()))?);
            }
            if certificates.len() == before {
                return Err(no_certificate("no certificate in it"));
            }
        }
        Ok(Tls { trust, own_roots: certificates, connectors: OnceCell::new() })
    }

    /// An encrypted connection over `io` to `host`, and whether both sides agreed on HTTP/2.
    ///
    /// # Errors
    ///
    /// A failure to connect, for a refused certificate too, or when there are no roots to trust.
    pub(super) async fn encrypt(
        &self,
        io: BoxIo,
        host: &str,
        offer: Offer,
    ) -> Result<(BoxIo, Offer), Failure> {
        let connectors = self.connectors.get_or_try_init(|| self.load()).await?;
        let connector = match offer {
            Offer::Http1 => &connectors.http1,
            Offer::Http2 => &connectors.any,
        };
        let failed = |problem: &str| Failure::connect(format!("no TLS with {host}: {problem}"));
        let name = ServerName::try_from(host.to_owned()).map_err(|problem| failed(&problem.to_string()))?;
        let stream = connector.connect(name, io).await.map_err(|problem| failed(&chain(&problem)))?;
        let agreed = match stream.get_ref().1.alpn_protocol() {
            Some(b"h2") => Offer::Http2,
            _ => Offer::Http1,
        };
        Ok((Box::new(stream), agreed))
    }

    async fn load(&self) -> Result<Connectors, Failure> {
        let (trust, own_roots) = (self.trust, self.own_roots.clone());
        // Reading some hundred certificates takes milliseconds, which other connections need not wait for.
        let loaded = spawn_blocking(move || Connectors::load(trust, own_roots)).await;
        loaded.unwrap_or_else(|stopped| Err(Failure::connect(format!("no TLS: {stopped}"))))
    }
}

impl Connectors {
    fn load(trust: Trust, own_roots: Vec<CertificateDer<'static>>) -> Result<Connectors, Failure> {
        let provider = Arc::new(default_provider());
        let builder =
            ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
        let builder = builder.map_err(|problem| Failure::connect(format!("no TLS: {problem}")))?;
        let mut config = match trust {
            Trust::Roots => builder.with_root_certificates(roots(own_roots)?).with_no_client_auth(),
            Trust::Anyone => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(TrustAll::new(&provider)))
                .with_no_client_auth(),
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let http1 = TlsConnector::from(Arc::new(config.clone()));
        config.alpn_protocols.insert(0, b"h2".to_vec());
        Ok(Connectors { http1, any: TlsConnector::from(Arc::new(config)) })
    }
}

fn roots(own: Vec<CertificateDer<'static>>) -> Result<RootCertStore, Failure> {
    let system = load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(system.certs);
    for certificate in own {
        let added = roots.add(certificate);
        added.map_err(|problem| Failure::connect(format!("a root certificate cannot be used: {problem}")))?;
    }
    if roots.is_empty() {
        let problem = system.errors.first().map_or_else(|| "none found".to_owned(), ToString::to_string);
        return Err(Failure::connect(format!("no TLS without root certificates of the system: {problem}")));
    }
    Ok(roots)
}

fn no_certificate(problem: &str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("wanted root certificates in PEM, found {problem}"))
}
