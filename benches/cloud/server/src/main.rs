//! The server of the cloud benches: a web server and an S3 server in one, behind a link of stated latency and rate.
//!
//! `cloud-server --folder NAME=PATH ... --pattern NAME=COUNTxBYTES --stamps NAME` serves each folder, read into memory
//! before it says that it is ready, each set of pattern objects, and objects that tell when they were sent, as
//! `/NAME/KEY`: which is also how S3 has buckets. It checks no signature. Commands are lines on standard input, answers
//! lines on standard output:
//!
//! - first, without being asked: `{"port": 12345}`;
//! - `set latency_us=20000 bytes_per_second=125000000 throttle_above=64`: changes the link, answers `{}`;
//! - `take`: answers what was counted since the last one, and starts anew.
//!
//! It ends at the end of its input.

mod answer;
mod connection;
mod counters;
mod link;
mod listing;
mod objects;
mod request;

use connection::converse;
use counters::Counters;
use link::Link;
use objects::Objects;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::sync::Arc;
use tokio::net::TcpListener;

/// What went wrong, in words.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What all connections share.
struct Server {
    objects: Objects,
    link: Link,
    counters: Counters,
}

fn main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cloud-server: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve() -> Result<(), Failure> {
    raise_descriptors();
    let objects = Objects::from_arguments(std::env::args().skip(1))?;
    let server = Arc::new(Server { objects, link: Link::default(), counters: Counters::default() });
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let listener = runtime.block_on(listen())?;
    say(&json!({"port": listener.local_addr()?.port()}))?;
    runtime.spawn(accept(listener, Arc::clone(&server)));
    for line in std::io::stdin().lock().lines() {
        say(&obey(&server, &line?)?)?;
    }
    runtime.shutdown_background();
    Ok(())
}

/// Thousands of connections want as many descriptors; what the system refuses is found when they run out.
fn raise_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    let _refused = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

async fn listen() -> Result<TcpListener, Failure> {
    let socket = tokio::net::TcpSocket::new_v4()?;
    socket.bind(([127, 0, 0, 1], 0).into())?;
    // Thousands of clients connect at once.
    Ok(socket.listen(16_384)?)
}

async fn accept(listener: TcpListener, server: Arc<Server>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(converse(stream, Arc::clone(&server)));
            }
            // Out of descriptors: those that are open are closed some day.
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
        }
    }
}

/// Does what a line says, and returns the answer.
fn obey(server: &Server, line: &str) -> Result<serde_json::Value, Failure> {
    let mut words = line.split_whitespace();
    match words.next() {
        Some("take") => Ok(server.counters.take()),
        Some("set") => {
            words.try_for_each(|word| server.link.set(word))?;
            Ok(json!({}))
        }
        _ => Err(format!("wanted `take` or `set NAME=NUMBER ...`, found `{line}`").into()),
    }
}

fn say(answer: &serde_json::Value) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{answer}")?;
    Ok(out.flush()?)
}
