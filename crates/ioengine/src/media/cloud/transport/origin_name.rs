//! The name of a server: scheme, host and port.

use super::failure::Failure;
use http::Uri;
use http::uri::Scheme;
use std::fmt;

/// Scheme, host and port, which decide who shares connections. `Display` gives `https://host` with the port where it is not
/// the scheme's own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct OriginName {
    scheme: Scheme,
    /// In lower case; an IPv6 address without its brackets.
    pub(super) host: String,
    pub(super) port: u16,
}

impl OriginName {
    /// The server that a URI leads to.
    ///
    /// # Errors
    ///
    /// A failed request, for URIs that are neither http nor https or have no host.
    pub(super) fn of(uri: &Uri) -> Result<OriginName, Failure> {
        let scheme = uri.scheme().ok_or_else(|| Failure::uri(uri, "no scheme"))?;
        if *scheme != Scheme::HTTP && *scheme != Scheme::HTTPS {
            return Err(Failure::uri(uri, &format!("the scheme {scheme}")));
        }
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(|| Failure::uri(uri, "no host"))?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        let port = uri.port_u16().unwrap_or_else(|| port_of(scheme));
        Ok(OriginName { scheme: scheme.clone(), host, port })
    }

    /// True for https.
    pub(super) fn is_secure(&self) -> bool {
        self.scheme == Scheme::HTTPS
    }

    pub(super) fn scheme(&self) -> &Scheme {
        &self.scheme
    }

    /// `host` or `host:port`, as the `Host` header and signatures have it.
    pub(super) fn authority(&self) -> String {
        match self.port == port_of(&self.scheme) {
            true => self.bracketed(),
            false => self.authority_with_port(),
        }
    }

    /// `host:port` in any case.
    pub(super) fn authority_with_port(&self) -> String {
        format!("{}:{}", self.bracketed(), self.port)
    }

    fn bracketed(&self) -> String {
        if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() }
    }
}

impl fmt::Display for OriginName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}://{}", self.scheme, self.authority())
    }
}

fn port_of(scheme: &Scheme) -> u16 {
    if *scheme == Scheme::HTTPS { 443 } else { 80 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_without_users_paths_and_own_ports() {
        for (uri, shown, authority) in [
            ("http://User:secret@Host/path?sig=1", "http://host", "host"),
            ("https://host:443/", "https://host", "host"),
            ("https://host:80/", "https://host:80", "host:80"),
            ("http://[::1]:8080/x", "http://[::1]:8080", "[::1]:8080"),
        ] {
            let name = OriginName::of(&uri.parse().unwrap()).unwrap();
            assert_eq!((name.to_string().as_str(), name.authority().as_str()), (shown, authority));
        }
        for uri in ["/path", "ftp://host/secret"] {
            let message = OriginName::of(&uri.parse().unwrap()).unwrap_err().to_string();
            assert!(!message.contains("secret"), "{message}");
        }
    }
}
