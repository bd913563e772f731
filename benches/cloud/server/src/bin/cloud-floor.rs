//! A client that throws away what it gets: how fast loopback and the server are, for the bounds of the cloud benches.
//!
//! It speaks the readers' protocol. The case file holds `keys` and `piece_bytes`; the variant is a location, whose
//! `connections` each fetch pieces of the objects, one after the other.

use serde_json::{Value, json};
use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cloud-floor: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [_, case, _, variant] = words.as_slice() else {
        return Err("wanted --workload FILE --variant LOCATION".into());
    };
    let case: Value = serde_json::from_str(&std::fs::read_to_string(case)?)?;
    let location: Value = serde_json::from_str(variant)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let work = Arc::new(runtime.block_on(Work::new(&case, &location))?);
    let connections = location["connections"].as_u64().unwrap_or(1);
    say(&json!({"ready": true, "reader": "floor", "version": env!("CARGO_PKG_VERSION"), "details": ""}))?;
    for line in std::io::stdin().lock().lines() {
        if line?.trim() != "pass" {
            break;
        }
        work.next.store(0, Ordering::Relaxed);
        let start = Instant::now();
        let tasks: Vec<_> = (0..connections).map(|_| runtime.spawn(Arc::clone(&work).fetch())).collect();
        tasks.into_iter().try_for_each(|task| runtime.block_on(task)?)?;
        let seconds = start.elapsed().as_secs_f64();
        say(&json!({"seconds": seconds, "checksum": "", "user_seconds": 0.0, "system_seconds": 0.0}))?;
    }
    Ok(())
}

fn say(answer: &Value) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{answer}")?;
    Ok(out.flush()?)
}

struct Work {
    address: String,
    /// Paths, and the first and the last byte of each piece.
    pieces: Vec<(String, u64, u64)>,
    next: AtomicUsize,
}

impl Work {
    async fn new(case: &Value, location: &Value) -> Result<Work, Failure> {
        let endpoint = location["endpoint"].as_str().unwrap_or_default();
        let address = endpoint.trim_start_matches("http://").to_owned();
        let bucket = location["bucket"].as_str().unwrap_or_default();
        let piece_bytes = case["piece_bytes"].as_u64().ok_or("the case says no piece_bytes")?;
        let mut pieces = Vec::new();
        let mut stream = TcpStream::connect(&address).await?;
        for key in case["keys"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            let path = format!("/{bucket}/{key}");
            stream.write_all(format!("HEAD {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes()).await?;
            let (len, _) = head(&mut stream).await?;
            let starts = (0..len).step_by(piece_bytes as usize);
            pieces.extend(starts.map(|start| (path.clone(), start, len.min(start + piece_bytes) - 1)));
        }
        Ok(Work { address, pieces, next: AtomicUsize::new(0) })
    }

    /// Fetches pieces until there are none left.
    async fn fetch(self: Arc<Self>) -> Result<(), Failure> {
        let mut stream = TcpStream::connect(&self.address).await?;
        stream.set_nodelay(true)?;
        let mut buffer = vec![0; 256 << 10];
        while let Some((path, first, last)) = self.pieces.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            let address = &self.address;
            let request =
                format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nRange: bytes={first}-{last}\r\n\r\n");
            stream.write_all(request.as_bytes()).await?;
            let (len, received) = head(&mut stream).await?;
            let mut left = len - received;
            while left != 0 {
                let most = buffer.len().min(left as usize);
                match stream.read(&mut buffer[..most]).await? {
                    0 => return Err("the server closed in mid-body".into()),
                    read => left -= read as u64,
                }
            }
        }
        Ok(())
    }
}

/// Reads a head; returns the length of the body, and how much of it came with the head.
async fn head(stream: &mut TcpStream) -> Result<(u64, u64), Failure> {
    let mut arrived = Vec::with_capacity(4096);
    loop {
        if stream.read_buf(&mut arrived).await? == 0 {
            return Err("the server closed in mid-head".into());
        }
        if let Some(end) = arrived.windows(4).position(|window| window == b"\r\n\r\n") {
            let text = std::str::from_utf8(&arrived[..end])?;
            let len = text.lines().find_map(|line| line.strip_prefix("Content-Length: "));
            let len = len.ok_or_else(|| format!("wanted a Content-Length, found {text}"))?.parse()?;
            return Ok((len, (arrived.len() - end - 4) as u64));
        }
    }
}
