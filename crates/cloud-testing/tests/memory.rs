//! How much memory many requests at once take: the byte budget, a constant for each connection, and a small one for each
//! request, whether it waits or not.
//!
//! A program of its own: it counts all memory of its process, so the server runs in a child.
#![expect(unsafe_code, reason = "counts what the allocator hands out")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "all of it is a test")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use swath_cloud_testing::{Objects, Splice, SpliceConfig, WebServer};
use swath_ioengine::{
    ByteRange, CloudMedium, CloudOptions, Engine, EngineConfig, Error, Limits, ObjectRef, RangeRead,
    RunOptions,
};

struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator as it came; only numbers are kept.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const MIB: usize = 1 << 20;
const OBJECT_BYTES: usize = 64 * MIB;
const BUDGET: usize = 16 * MIB;
/// What a connection may take beyond its body, which the budget counts: buffers of the connection, the request, its task.
const CONNECTION_BYTES: usize = 16 << 10;
/// What a request takes while it waits for a connection: its range, its place in the queues, its task.
const REQUEST_BYTES: usize = 1 << 10;
/// Where requests wait for one another's connections.
const FEW_CONNECTIONS: usize = 256;
/// Runtime, lanes, windows, the batch's own lists.
const SLACK: usize = 4 * MIB;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["--serve"] => return serve(),
        ["--measure", url, numbers @ ..] => {
            let numbers: Vec<usize> = numbers.iter().map(|number| number.parse().unwrap()).collect();
            let [in_flight, connections, read_bytes] = numbers[..] else { panic!("wanted three numbers") };
            return measure(url, in_flight, connections, read_bytes);
        }
        _ => {}
    }
    let mut server = again(&["--serve"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut url = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let all = std::env::var_os("SWATH_CLOUD_TESTS").is_some_and(|value| value == "all");
    let counts: &[usize] = if all { &[10, 100, 1000, 10_000] } else { &[10, 1000] };
    for in_flight in counts {
        for connections in [*in_flight, FEW_CONNECTIONS.min(*in_flight)] {
            for read_bytes in [1000, 100_000] {
                // Each in a process of its own: what one leaves behind is not counted to the next.
                let numbers = [*in_flight, connections, read_bytes].map(|number| number.to_string());
                let words = ["--measure", url.trim(), &numbers[0], &numbers[1], &numbers[2]];
                assert!(again(&words).status().unwrap().success(), "{numbers:?}");
            }
        }
    }
    drop(server.stdin.take());
    server.wait().unwrap();
}

/// This program once more.
fn again(words: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(words);
    command
}

/// The server, behind a wire with a latency that lets requests pile up.
fn serve() {
    let objects = Objects::new();
    objects.put("a", vec![7; OBJECT_BYTES]);
    let server = WebServer::plain(objects).unwrap();
    let config = SpliceConfig { latency: Duration::from_millis(100), ..SpliceConfig::default() };
    let splice = Splice::start(server.address(), config).unwrap();
    println!("http://{}", splice.address());
    let _ = std::io::stdin().lines().count();
}

fn measure(url: &str, in_flight: usize, connections_max: usize, read_bytes: usize) {
    let limits = Limits {
        lanes: 1,
        inline_reads_max: 0,
        remote_merged_parts_max: 1,
        remote_depth: in_flight,
        in_flight_bytes_max: BUDGET,
        ..Limits::default()
    };
    let count = (in_flight * 4).max(200);
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let mut options = CloudOptions::new();
    options.set("concurrency", in_flight.to_string()).unwrap();
    options.set("connections_max", connections_max.to_string()).unwrap();
    let medium = CloudMedium::open(url, &options).unwrap().medium;
    let object = ObjectRef { medium: medium.clone(), key: "a".into() };
    let engine = Engine::new(EngineConfig { limits, ..EngineConfig::default() });
    let reads: Vec<RangeRead> = (0..count)
        .map(|index| {
            let offset = (index * 7919 * 4096 % (OBJECT_BYTES - read_bytes)) as u64;
            RangeRead { object: 0, range: ByteRange::Bounded { offset, len: read_bytes as u64 } }
        })
        .collect();
    let right = AtomicU64::new(0);
    let check = |_, result: Result<&[u8], Error>| {
        assert_eq!(result.unwrap().len(), read_bytes);
        right.fetch_add(1, Ordering::Relaxed);
    };
    engine.read_ranges(&[object], &reads, check, &RunOptions::default()).unwrap();
    assert_eq!(right.into_inner(), count as u64);
    let peak = PEAK.load(Ordering::Relaxed) - before;
    let stats = medium.remote_stats().unwrap();
    let connections = usize::try_from(stats.connections_opened).unwrap();
    println!(
        "up to {in_flight} requests of {read_bytes} bytes: {} at once, {connections} connections, peak {} KiB",
        stats.in_flight_max,
        peak >> 10
    );
    assert!(
        connections <= in_flight + in_flight / 4 + 8,
        "{connections} connections for {in_flight} requests"
    );
    let allowed = BUDGET + connections * CONNECTION_BYTES + in_flight * REQUEST_BYTES + SLACK;
    assert!(peak <= allowed, "peak {peak}, allowed {allowed}");
}
