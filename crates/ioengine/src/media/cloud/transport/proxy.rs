//! Proxies: a tunnel through one, made with `CONNECT`.

use super::ProxySettings;
use super::connect::{BoxIo, Offer};
use super::excludes::Excludes;
use super::failure::Failure;
use super::origin_name::OriginName;
use super::tls::{Tls, Trust};
use crate::{Error, ErrorKind};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::Uri;
use std::io;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A proxy's answer to `CONNECT` is refused beyond this many bytes; real ones have some hundred.
const ANSWER_BYTES_MAX: usize = 16 << 10;

/// A proxy, and who is reached without it.
pub(super) struct Proxy {
    pub(super) name: OriginName,
    /// Value of `Proxy-Authorization`.
    authorization: Option<String>,
    excludes: Excludes,
    tls: Tls,
}

impl Proxy {
    /// The proxy that settings name: `http://` or `https://`, a user and password in it for basic authentication, a bare
    /// `host:port` as `http://`.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](ErrorKind::Unsupported) for other proxies (SOCKS), without the URL, which may hold a password.
    pub(super) fn new(settings: &ProxySettings) -> Result<Proxy, Error> {
        let unsupported =
            || Error::new(ErrorKind::Unsupported, "wanted an http or https proxy, found another URL");
        let with_scheme = match settings.url.contains("://") {
            true => settings.url.clone(),
            false => format!("http://{}", settings.url),
        };
        let uri: Uri = with_scheme.parse().map_err(|_| unsupported())?;
        let own_roots: Vec<_> = settings.ca_certificate.iter().cloned().collect();
        Ok(Proxy {
            name: OriginName::of(&uri).map_err(|_| unsupported())?,
            authorization: basic_authorization(&uri),
            excludes: Excludes::parse(&settings.excludes),
            tls: Tls::new(Trust::Roots, &own_roots)?,
        })
    }

    /// Whether a server is reached through this proxy.
    pub(super) fn serves(&self, origin: &OriginName) -> bool {
        !self.excludes.holds(&origin.host, origin.port)
    }

    /// A tunnel to `origin` over a fresh connection to the proxy.
    ///
    /// # Errors
    ///
    /// A failure to connect, with the status of a proxy that refuses.
    pub(super) async fn tunnel(&self, io: BoxIo, origin: &OriginName) -> Result<BoxIo, Failure> {
        let mut io = match self.name.is_secure() {
            true => self.tls.encrypt(io, &self.name.host, Offer::Http1).await?.0,
            false => io,
        };
        let failed = |problem: String| {
            Failure::connect(format!("no tunnel to {origin} through the proxy {}: {problem}", self.name))
        };
        let head = self.ask(&mut io, origin).await.map_err(|problem| failed(problem.to_string()))?;
        match status(&head) {
            Some(200..=299) => Ok(io),
            Some(status) => Err(failed(format!("it answered {status}"))),
            None => Err(failed("its answer is not HTTP".to_owned())),
        }
    }

    async fn ask(&self, io: &mut BoxIo, origin: &OriginName) -> io::Result<Vec<u8>> {
        let target = origin.authority_with_port();
        let mut request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n");
        if let Some(authorization) = &self.authorization {
            request.push_str("Proxy-Authorization: ");
            request.push_str(authorization);
            request.push_str("\r\n");
        }
        request.push_str("\r\n");
        io.write_all(request.as_bytes()).await?;
        io.flush().await?;
        let mut head = Vec::new();
        // Byte by byte would be right too; a server says nothing through the tunnel before its client does.
        while !head.ends_with(b"\r\n\r\n") {
            if ANSWER_BYTES_MAX <= head.len() {
                return Err(io::Error::other("its answer is too long"));
            }
            if io.read_buf(&mut head).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(head)
    }
}

/// Basic authentication from the user and password in a URL's authority, percent-decoded.
pub(super) fn basic_authorization(uri: &Uri) -> Option<String> {
    let (userinfo, _) = uri.authority()?.as_str().rsplit_once('@')?;
    let (user, password) = userinfo.split_once(':').unwrap_or((userinfo, ""));
    let mut plain = percent_decoded(user);
    plain.push(b':');
    plain.extend(percent_decoded(password));
    Some(format!("Basic {}", BASE64_STANDARD.encode(plain)))
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    while let Some((&first, rest)) = bytes.split_first() {
        let code = rest.get(..2).filter(|_| first == b'%').and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                decoded.push(byte);
                bytes = rest.get(2..).unwrap_or_default();
            }
            None => {
                decoded.push(first);
                bytes = rest;
            }
        }
    }
    decoded
}

/// The status in the first line of an answer.
fn status(head: &[u8]) -> Option<u16> {
    let line = head.split(|&byte| byte == b'\r').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    words.next().filter(|version| version.starts_with("HTTP/1."))?;
    words.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_and_passwords_are_decoded() {
        let uri: Uri = "http://us%40er:p%3Ass%zz@proxy:3128".parse().unwrap();
        let expected = format!("Basic {}", BASE64_STANDARD.encode("us@er:p:ss%zz"));
        assert_eq!(basic_authorization(&uri), Some(expected));
        assert_eq!(basic_authorization(&"http://proxy:3128".parse().unwrap()), None);
    }

    #[test]
    fn statuses_are_read_from_the_first_line() {
        assert_eq!(status(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"), Some(407));
        assert_eq!(status(b"SSH-2.0 200\r\n\r\n"), None);
        assert_eq!(status(b""), None);
    }
}
