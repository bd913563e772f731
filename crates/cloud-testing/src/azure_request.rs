//! Requests to the Azure emulator, signed with the account's key ("Authorize with Shared Key" in Azure's documentation).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::SystemTime;

const VERSION: &str = "2023-11-03";

/// One request of an account's blob service.
pub(crate) struct AzureRequest<'r> {
    pub(crate) account: &'r str,
    pub(crate) key: &'r str,
    pub(crate) method: &'r str,
    /// Container and blob, without a slash before them, escaped as URLs are.
    pub(crate) path: &'r str,
    /// Name and value of a query's only parameter.
    pub(crate) query: Option<(&'r str, &'r str)>,
    /// The blob's type, for a request that writes one.
    pub(crate) blob_type: Option<&'r str>,
    pub(crate) body: &'r [u8],
}

impl AzureRequest<'_> {
    /// Sends the request, and returns the answer's status.
    pub(crate) fn send(&self, address: SocketAddr) -> io::Result<u16> {
        let date = httpdate::fmt_http_date(SystemTime::now());
        let signature = self.signature(&date)?;
        let query = self.query.map_or(String::new(), |(name, value)| format!("?{name}={value}"));
        let mut head = format!("{} /{}/{}{query} HTTP/1.1\r\n", self.method, self.account, self.path);
        let _ =
            write!(head, "Host: {address}\r\nConnection: close\r\nContent-Length: {}\r\n", self.body.len());
        let _ = write!(head, "{}", self.signed_headers(&date).replace('\n', "\r\n"));
        let _ = write!(head, "Authorization: SharedKey {}:{signature}\r\n\r\n", self.account);
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(head.as_bytes())?;
        stream.write_all(self.body)?;
        let mut line = String::new();
        // The emulator may reset the connection behind its answer: only the first line is waited for.
        BufReader::new(stream).read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        status.ok_or_else(|| io::Error::other("the Azure emulator's answer has no status"))
    }

    fn signed_headers(&self, date: &str) -> String {
        let kind = self.blob_type.map_or(String::new(), |kind| format!("x-ms-blob-type:{kind}\n"));
        format!("{kind}x-ms-date:{date}\nx-ms-version:{VERSION}\n")
    }

    fn signature(&self, date: &str) -> io::Result<String> {
        let len = if self.body.is_empty() { String::new() } else { self.body.len().to_string() };
        let query = self.query.map_or(String::new(), |(name, value)| format!("\n{name}:{value}"));
        let text = format!(
            "{}\n\n\n{len}\n\n\n\n\n\n\n\n\n{}/{account}/{account}/{}{query}",
            self.method,
            self.signed_headers(date),
            self.path,
            account = self.account,
        );
        let key = STANDARD.decode(self.key).map_err(io::Error::other)?;
        let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
        Ok(STANDARD.encode(hmac::sign(&key, text.as_bytes())))
    }
}
