//! Heads of requests and answers.

use super::counts::RequestSeen;
use bytes::{Buf, BytesMut};
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt};

const HEAD_BYTES_MAX: usize = 64 << 10;
const HEADERS_MAX: usize = 100;

/// The first line and the headers of a message, as they came.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) first_line: String,
    pub(super) headers: Vec<(String, Vec<u8>)>,
    /// Of an answer; zero for a request.
    pub(super) status: u16,
}

impl Head {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(&found.1).ok()
    }

    /// Sets a header, in place of all that have its name.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.remove(name);
        self.headers.push((name.to_owned(), value.as_bytes().to_vec()));
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.first_line.as_bytes().to_vec();
        for (name, value) in &self.headers {
            bytes.extend_from_slice(b"\r\n");
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value);
        }
        bytes.extend_from_slice(b"\r\n\r\n");
        bytes
    }

    /// A request as counts and faults see it; number and requests in flight are not known yet.
    pub(super) fn seen(&self) -> RequestSeen {
        let mut line = self.first_line.split(' ');
        let mut word = || line.next().unwrap_or("").to_owned();
        RequestSeen {
            number: 0,
            method: word(),
            path: word(),
            range: self.get("range").map(str::to_owned),
            if_match: self.get("if-match").map(str::to_owned),
            in_flight: 0,
        }
    }
}

/// Reads a request's head; `None` where the connection ends before it.
pub(super) async fn read_request(
    source: &mut (impl AsyncRead + Unpin),
    buffer: &mut BytesMut,
) -> io::Result<Option<Head>> {
    read_head(source, buffer, |bytes| {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut request = httparse::Request::new(&mut headers);
        let parsed = request.parse(bytes).map_err(io::Error::other)?;
        let httparse::Status::Complete(len) = parsed else { return Ok(None) };
        let (method, path) = (request.method.unwrap_or(""), request.path.unwrap_or(""));
        let first_line = format!("{method} {path} HTTP/1.1");
        Ok(Some((len, Head { first_line, headers: owned(request.headers), status: 0 })))
    })
    .await
}

/// Reads an answer's head; `None` where the connection ends before it.
pub(super) async fn read_answer(
    source: &mut (impl AsyncRead + Unpin),
    buffer: &mut BytesMut,
) -> io::Result<Option<Head>> {
    read_head(source, buffer, |bytes| {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut answer = httparse::Response::new(&mut headers);
        let parsed = answer.parse(bytes).map_err(io::Error::other)?;
        let httparse::Status::Complete(len) = parsed else { return Ok(None) };
        let status = answer.code.unwrap_or(0);
        let first_line = format!("HTTP/1.1 {status} {}", answer.reason.unwrap_or(""));
        Ok(Some((len, Head { first_line, headers: owned(answer.headers), status })))
    })
    .await
}

async fn read_head(
    source: &mut (impl AsyncRead + Unpin),
    buffer: &mut BytesMut,
    parse: impl Fn(&[u8]) -> io::Result<Option<(usize, Head)>>,
) -> io::Result<Option<Head>> {
    loop {
        if let Some((len, head)) = parse(buffer)? {
            buffer.advance(len);
            return Ok(Some(head));
        }
        if HEAD_BYTES_MAX < buffer.len() {
            return Err(io::Error::other("a message's head is too long"));
        }
        if source.read_buf(buffer).await? == 0 {
            return if buffer.is_empty() { Ok(None) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
        }
    }
}

fn owned(headers: &[httparse::Header<'_>]) -> Vec<(String, Vec<u8>)> {
    headers.iter().map(|header| (header.name.to_owned(), header.value.to_vec())).collect()
}
