//! Peak memory of one read with so many requests in flight: `swath-memory LOCATION`, whose `connections` is that number.
//!
//! `more` holds `reads`, `range_len`, `objects` and `object_bytes`. Every range is a request of its own. The answer is a line
//! of JSON: memory before the engine was made (the output allocated and touched), the peak, and the engine's budget.

use cloud_swath::{Location, peak_bytes, resident_bytes};
use protocol::Failure;
use serde_json::json;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use swath::ioengine::{ByteRange, Engine, EngineConfig, Error, Limits, ObjectRef, RangeRead, RunOptions};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("swath-memory: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Failure> {
    let text = std::env::args().nth(1).ok_or("wanted a location")?;
    let described: serde_json::Value = serde_json::from_str(&text)?;
    let wanted = described["connections"].as_u64().ok_or("wanted a number of connections")?;
    let location = Location::open(&text)?;
    let (reads, range_len) = (location.number("reads")?, location.number("range_len")? as usize);
    let objects: Vec<ObjectRef> =
        (0..location.number("objects")?).map(|number| location.object(&number.to_string())).collect();
    let reads = spread(reads, objects.len(), location.number("object_bytes")?, range_len as u64);
    let mut output = vec![1u8; reads.len() * range_len];
    let failures = AtomicU64::new(0);
    let before = resident_bytes()?;
    let engine = Engine::new(config(wanted));
    {
        let parts: Vec<Mutex<&mut [u8]>> = output.chunks_exact_mut(range_len).map(Mutex::new).collect();
        let sink = |index: usize, result: Result<&[u8], Error>| match (result, parts[index].lock()) {
            (Ok(bytes), Ok(mut part)) => part.copy_from_slice(bytes),
            _ => {
                failures.fetch_add(1, Ordering::Relaxed);
            }
        };
        engine.read_ranges(&objects, &reads, sink, &RunOptions::default())?;
    }
    let peak = peak_bytes()?;
    let stats = location.medium.remote_stats().ok_or("wanted a remote medium")?;
    let answer = json!({
        "in_flight_wanted": wanted,
        "in_flight_max": stats.in_flight_max,
        "connections_opened": stats.connections_opened,
        "output_bytes": output.len(),
        "before_bytes": before,
        "peak_bytes": peak,
        "budget_bytes": engine.config().limits.in_flight_bytes_max,
        "failures": failures.load(Ordering::Relaxed),
    });
    println!("{answer}");
    Ok(())
}

/// Lanes that together may have so many requests under way, none of them merged.
fn config(in_flight: u64) -> EngineConfig {
    let limits = Limits::default();
    let remote_depth = (in_flight as usize).div_ceil(limits.lanes).max(1);
    EngineConfig {
        limits: Limits { remote_depth, merged_parts_max: 1, inline_reads_max: 0, ..limits },
        ..EngineConfig::default()
    }
}

/// Ranges spread evenly over all objects.
fn spread(count: u64, objects: usize, object_bytes: u64, range_len: u64) -> Vec<RangeRead> {
    let an_object = count.div_ceil(objects as u64).max(1);
    let step = (object_bytes - range_len) / an_object;
    let read = |number: u64| RangeRead {
        object: (number / an_object) as usize,
        range: ByteRange::Bounded { offset: number % an_object * step, len: range_len },
    };
    (0..count).map(read).collect()
}
