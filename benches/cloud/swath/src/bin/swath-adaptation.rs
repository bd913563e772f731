//! What adaptive concurrency does: `swath-adaptation LOCATION` reads ranges, one batch after the other, for `seconds`.
//!
//! `more` holds `seconds`, `objects`, `object_bytes` and `range_len`. It says `{"started": true}` when the first batch is
//! there, and at the end what the source counted, with the limit of concurrency over time.

use cloud_swath::Location;
use protocol::Failure;
use serde_json::{Value, json};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use swath::ioengine::{ByteRange, Engine, EngineConfig, Error, Limits, ObjectRef, RangeRead, RunOptions};

/// Ranges of one batch.
const BATCH_READS: u64 = 4096;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("swath-adaptation: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Failure> {
    let text = std::env::args().nth(1).ok_or("wanted a location")?;
    let location = Location::open(&text)?;
    let (object_bytes, range_len) = (location.number("object_bytes")?, location.number("range_len")?);
    let objects: Vec<ObjectRef> =
        (0..location.number("objects")?).map(|number| location.object(&number.to_string())).collect();
    // Each range a request: how many there are at once is the question.
    let limits = Limits { merged_parts_max: 1, remote_depth: 4096, ..Limits::default() };
    let engine = Engine::new(EngineConfig { limits, ..EngineConfig::default() });
    let failures = AtomicU64::new(0);
    let sink = |_: usize, result: Result<&[u8], Error>| {
        failures.fetch_add(u64::from(result.is_err()), Ordering::Relaxed);
    };
    let reads = |first: u64| -> Vec<RangeRead> {
        let read = |number: u64| RangeRead {
            object: (number % objects.len() as u64) as usize,
            range: ByteRange::Bounded {
                offset: number * range_len % (object_bytes - range_len),
                len: range_len,
            },
        };
        (first..first + BATCH_READS).map(read).collect()
    };
    println!("{}", json!({"started": true}));
    let start = Instant::now();
    let wanted = Duration::from_secs(location.number("seconds")?);
    let mut batches = 0;
    while start.elapsed() < wanted {
        engine.read_ranges(&objects, &reads(batches * BATCH_READS), sink, &RunOptions::default())?;
        batches += 1;
    }
    let stats = location.medium.remote_stats().ok_or("wanted a remote medium")?;
    let history: Vec<Value> =
        stats.concurrency_history.iter().map(|(at, limit)| json!([at.as_secs_f64(), limit])).collect();
    let answer = json!({
        "seconds": start.elapsed().as_secs_f64(),
        "reads": batches * BATCH_READS,
        "failures": failures.load(Ordering::Relaxed),
        "requests": stats.requests,
        "throttled": stats.throttled,
        "retries": stats.retries,
        "in_flight_max": stats.in_flight_max,
        "history": history,
    });
    println!("{answer}");
    Ok(())
}
