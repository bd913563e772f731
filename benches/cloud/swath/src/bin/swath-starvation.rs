//! How long bytes wait for a core: `swath-starvation LOCATION` fetches stamped objects, first with idle cores, then while as
//! many threads as cores decode zstd.
//!
//! `more` holds `fetches`, `at_once` and `range_len`. An answer starts with the time when the server made it, by the clock
//! that all processes of a machine share; what counts is the time from then until the source completes the reply, which is
//! when a lane's inbox has the bytes. Making, writing and receiving them is in that time too.

use cloud_swath::Location;
use protocol::Failure;
use rustix::process::{getpriority_process, setpriority_process};
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use swath::ioengine::{ByteRange, CancelFlag, Error, FetchRequest, Fetched, Medium, RemoteSource, Reply};
use zstd_safe::{CCtx, DCtx};

/// Bytes of what is decoded again and again: a chunk of the usual size.
const CHUNK_BYTES: usize = 256 << 10;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("swath-starvation: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Failure> {
    let text = std::env::args().nth(1).ok_or("wanted a location")?;
    let location = Location::open(&text)?;
    let Medium::Remote(source) = &location.medium else { return Err("wanted a remote medium".into()) };
    let fetches = Fetches {
        source: Arc::clone(source),
        key: location.key("stamp"),
        count: location.number("fetches")?,
        at_once: location.number("at_once")?,
        range_len: location.number("range_len")?,
    };
    let idle = fetches.waits()?;
    let (busy, decoded) = while_decoding(|| fetches.waits())?;
    let milliseconds =
        |sorted: &[u64], part: f64| sorted[((sorted.len() - 1) as f64 * part) as usize] as f64 / 1e6;
    let answer = json!({
        "threads": protocol::threads(),
        "decoded_chunks": decoded,
        "p50_ms": milliseconds(&busy, 0.5),
        "p99_ms": milliseconds(&busy, 0.99),
        "max_ms": milliseconds(&busy, 1.0),
        "idle_p50_ms": milliseconds(&idle, 0.5),
        "idle_p99_ms": milliseconds(&idle, 0.99),
    });
    println!("{answer}");
    Ok(())
}

struct Fetches {
    source: Arc<dyn RemoteSource>,
    key: Arc<str>,
    count: u64,
    at_once: u64,
    range_len: u64,
}

impl Fetches {
    /// The nanoseconds that each fetch's bytes were under way, sorted. So many fetches are under way at once, and each that
    /// ends makes room for the next.
    fn waits(&self) -> Result<Vec<u64>, Failure> {
        let (done, arrived) = channel();
        let mut waits = Vec::with_capacity(self.count as usize);
        (0..self.at_once.min(self.count)).for_each(|number| self.fetch(number, &done));
        for number in self.at_once.. {
            if waits.len() as u64 == self.count {
                break;
            }
            waits.push(arrived.recv()??);
            if number < self.count {
                self.fetch(number, &done);
            }
        }
        waits.sort_unstable();
        Ok(waits)
    }

    fn fetch(&self, number: u64, done: &Sender<Result<u64, Error>>) {
        let request = FetchRequest {
            key: Arc::clone(&self.key),
            range: ByteRange::Bounded { offset: number % 1024 * self.range_len, len: self.range_len },
            if_match: None,
            cancelled: CancelFlag::default(),
        };
        let done = done.clone();
        let reply = Reply::calling(move |result: Result<Fetched, Error>| {
            let now = monotonic_ns();
            let waited = result.map(|fetched| now.saturating_sub(stamp(&fetched.bytes)));
            // Nobody listens any more after an error.
            let _gone = done.send(waited);
        });
        self.source.fetch(request, reply);
    }
}

/// The time when the server made an answer; now for one too short to tell.
fn stamp(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or_else(monotonic_ns, |word| u64::from_le_bytes(*word))
}

fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Makes this thread as much nicer than its process as lanes make themselves that decode what comes over a network. Where the
/// system refuses, the figures tell.
fn give_way() {
    if let Ok(nice) = getpriority_process(None) {
        let _refused = setpriority_process(None, nice + 3);
    }
}

/// Runs `measure` while a thread for each core decodes, and returns how many chunks were decoded meanwhile.
fn while_decoding<T>(measure: impl FnOnce() -> Result<T, Failure>) -> Result<(T, u64), Failure> {
    let chunk = compressed()?;
    let (ended, decoded) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..protocol::threads() {
            scope.spawn(|| {
                give_way();
                let mut context = DCtx::create();
                let mut target = vec![0u8; CHUNK_BYTES];
                while !ended.load(Ordering::Relaxed) {
                    if context.decompress(target.as_mut_slice(), &chunk).is_ok() {
                        decoded.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        let measured = measure();
        ended.store(true, Ordering::Relaxed);
        Ok((measured?, decoded.load(Ordering::Relaxed)))
    })
}

/// A chunk of smooth values with noise in the low bits, which takes zstd as long as a satellite's does.
fn compressed() -> Result<Vec<u8>, Failure> {
    let mut noise = 1u64;
    let values = (0..CHUNK_BYTES / 2).flat_map(|place| {
        noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let value = 300.0 + 100.0 * (place as f64 / 500.0).sin() + (noise >> 61) as f64;
        (value as u16).to_le_bytes()
    });
    let values: Vec<u8> = values.collect();
    let mut target = vec![0u8; zstd_safe::compress_bound(values.len())];
    let compressed = CCtx::create().compress(target.as_mut_slice(), &values, 1);
    target.truncate(compressed.map_err(zstd_safe::get_error_name)?);
    Ok(target)
}
