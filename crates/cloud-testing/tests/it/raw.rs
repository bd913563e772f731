//! Requests as bytes: what a proxy or server really sent.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// What came back on one connection, until it ended.
#[derive(Debug)]
pub(crate) struct Came {
    pub(crate) bytes: Vec<u8>,
    /// How the connection ended, where it did not end in order.
    pub(crate) error: Option<std::io::ErrorKind>,
}

impl Came {
    pub(crate) fn head(&self) -> String {
        let end = self.bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(self.bytes.len());
        String::from_utf8_lossy(&self.bytes[..end]).into_owned()
    }

    pub(crate) fn body(&self) -> &[u8] {
        self.bytes.windows(4).position(|four| four == b"\r\n\r\n").map_or(&[], |at| &self.bytes[at + 4..])
    }

    pub(crate) fn status(&self) -> u16 {
        self.head().split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
    }

    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let head = self.head();
        let lines = head.lines().filter_map(|line| line.split_once(": "));
        lines
            .filter(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.to_owned())
            .next_back()
    }
}

/// Sends a GET with some headers (`Name: value\r\n`), and reads until the server ends the connection or sends nothing
/// for two seconds.
pub(crate) fn get(address: SocketAddr, path: &str, headers: &str) -> Came {
    send(address, &format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}\r\n"))
}

pub(crate) fn send(address: SocketAddr, request: &str) -> Came {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    let mut piece = vec![0; 64 << 10];
    loop {
        match stream.read(&mut piece) {
            Ok(0) => return Came { bytes, error: None },
            Ok(read) => bytes.extend_from_slice(&piece[..read]),
            Err(error) => return Came { bytes, error: Some(error.kind()) },
        }
    }
}

/// Bytes that differ at every place, by a seed.
pub(crate) fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..len)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_be_bytes()[0]
        })
        .collect()
}
