//! A web server of a folder, for one test.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};

/// The URL of a server on loopback whose threads end with the process.
pub(crate) fn serve(folder: &Path) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let folder = folder.to_owned();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let folder = folder.clone();
            std::thread::spawn(move || answer(&stream, &folder));
        }
    });
    url
}

/// Answers requests until the client closes the connection.
fn answer(mut stream: &TcpStream, folder: &Path) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    while let Some(first) = lines.next() {
        let head: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
        let path: PathBuf = first.split(' ').nth(1).unwrap_or_default().trim_start_matches('/').into();
        let Ok(body) = std::fs::read(folder.join(path)) else {
            let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
            continue;
        };
        let range = head.iter().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("range").then(|| value.strip_prefix("bytes=")).flatten()
        });
        let (start, stop) = range.map_or((0, body.len()), |range| part(range, body.len()));
        let (status, length) = (if range.is_some() { "206 Partial Content" } else { "200 OK" }, stop - start);
        let whole = body.len();
        let answer = format!(
            "HTTP/1.1 {status}\r\nETag: \"1\"\r\nAccept-Ranges: bytes\r\nContent-Length: {length}\r\n\
             Content-Range: bytes {start}-{}/{whole}\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\n\r\n",
            stop.saturating_sub(1),
        );
        let _ = stream.write_all(answer.as_bytes()).and_then(|()| stream.write_all(&body[start..stop]));
    }
}

fn part(range: &str, len: usize) -> (usize, usize) {
    let (first, last) = range.split_once('-').unwrap();
    match (first.parse::<usize>(), last.parse::<usize>()) {
        (Ok(first), Ok(last)) => (first, len.min(last + 1)),
        (Ok(first), Err(_)) => (first, len),
        (Err(_), last) => (len.saturating_sub(last.unwrap()), len),
    }
}
