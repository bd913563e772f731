use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use swath_ioengine::{
    ByteRange, CancelFlag, CloudMedium, CloudOptions, FetchRequest, Medium, RemoteSource, Reply,
};

const RANGE_LEN: u64 = 4096;
const AT_ONCE: u64 = 8;

/// How the threads of the network are scheduled, and those that are busy.
#[derive(Clone, Copy, Debug)]
struct Way {
    name: &'static str,
    /// Zero for the system's own.
    slice_ns: u64,
    net_nice: i32,
    busy_nice: i32,
}

const WAYS: [Way; 5] = [
    Way { name: "as the system has it", slice_ns: 0, net_nice: 0, busy_nice: 0 },
    Way { name: "slice of 100 us", slice_ns: 100_000, net_nice: 0, busy_nice: 0 },
    Way { name: "slice of 500 us", slice_ns: 500_000, net_nice: 0, busy_nice: 0 },
    Way { name: "network at nice -10", slice_ns: 0, net_nice: -10, busy_nice: 0 },
    Way { name: "busy threads at nice 5", slice_ns: 0, net_nice: 0, busy_nice: 5 },
];

pub(crate) fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == "--serve") {
        return serve();
    }
    let number = |at: usize, or: u64| words.get(at).map_or(or, |word| word.parse().unwrap());
    let (fetches, rounds) = (number(0, 500), number(1, 5));
    let mut server = Command::new(std::env::current_exe().unwrap())
        .arg("--serve")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let Medium::Remote(source) = CloudMedium::open(url.trim(), &CloudOptions::new()).unwrap().medium else {
        panic!("a URL is remote")
    };
    waits(&source, fetches);
    print("idle cores", &mut waits(&source, fetches));
    let mut all: Vec<Vec<u64>> = vec![Vec::new(); WAYS.len()];
    for _ in 0..rounds {
        for (way, all) in WAYS.iter().zip(&mut all) {
            all.extend(while_busy(way, || waits(&source, fetches)));
        }
    }
    WAYS.iter().zip(&mut all).for_each(|(way, waits)| print(way.name, waits));
    drop(server.stdin.take());
    server.wait().unwrap();
}

fn print(name: &str, waits: &mut [u64]) {
    waits.sort_unstable();
    let at = |thousandths: usize| waits[(waits.len() - 1) * thousandths / 1000] as f64 / 1e6;
    println!("{name}: p50 {:.2} ms, p99 {:.2} ms, longest {:.2} ms", at(500), at(990), at(1000));
}

/// How many nanoseconds each fetch's bytes were under way.
fn waits(source: &Arc<dyn RemoteSource>, count: u64) -> Vec<u64> {
    let (done, arrived) = channel();
    let fetch = |number: u64| {
        let range = ByteRange::Bounded { offset: number % 64 * RANGE_LEN, len: RANGE_LEN };
        let (key, cancelled, done) = ("stamp".into(), CancelFlag::default(), done.clone());
        let reply = Reply::calling(move |result: Result<swath_ioengine::Fetched, _>| {
            let now = now_ns();
            let stamp = u64::from_le_bytes(*result.unwrap().bytes.first_chunk().unwrap());
            done.send(now.saturating_sub(stamp)).unwrap();
        });
        source.fetch(FetchRequest { key, range, if_match: None, cancelled }, reply);
    };
    (0..AT_ONCE).for_each(&fetch);
    (AT_ONCE..count + AT_ONCE)
        .map(|number| {
            let waited = arrived.recv().unwrap();
            if number < count {
                fetch(number);
            }
            waited
        })
        .take(usize::try_from(count).unwrap())
        .collect()
}

/// Measures while a thread for each core does nothing but compute.
fn while_busy<T>(way: &Way, measure: impl FnOnce() -> T) -> T {
    let (ended, begun) = (AtomicBool::new(false), AtomicU64::new(0));
    let cores = std::thread::available_parallelism().unwrap().get() as u64;
    for thread in network_threads() {
        schedule(thread, way.net_nice, way.slice_ns);
    }
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                schedule(0, way.busy_nice, 0);
                begun.fetch_add(1, Ordering::Relaxed);
                let mut state = 1u64;
                while !ended.load(Ordering::Relaxed) {
                    state = black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
                }
            });
        }
        while begun.load(Ordering::Relaxed) < cores {
            std::thread::yield_now();
        }
        let measured = measure();
        ended.store(true, Ordering::Relaxed);
        measured
    })
}

/// The threads of this process that move bytes.
fn network_threads() -> Vec<i32> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path());
    let named =
        tasks.filter(|task| std::fs::read_to_string(task.join("comm")).unwrap().starts_with("swath-net"));
    named.map(|task| task.file_name().unwrap().to_str().unwrap().parse().unwrap()).collect()
}

/// As the system call takes it (`sched_setattr(2)`), without what this policy does not have.
#[repr(C)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// Schedules a thread of this process, or the calling one (0).
fn schedule(thread: i32, nice: i32, slice_ns: u64) {
    let (policy, flags, priority, deadline, period) = (0, 0, 0, 0, 0);
    let size = u32::try_from(size_of::<Attributes>()).unwrap();
    let attributes = Attributes { size, policy, flags, nice, priority, runtime: slice_ns, deadline, period };
    // SAFETY: the attributes are as long as they say, and the kernel only reads them.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, thread, &raw const attributes, 0) };
    if result != 0 {
        println!("nice {nice} and a slice of {slice_ns} ns are refused: {}", std::io::Error::last_os_error());
    }
}

fn now_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid place for a time.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) }, 0);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Answers each request for a range with the time in its first bytes.
fn serve() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("http://{}", listener.local_addr().unwrap());
    // What is measured is the reader's wait, not the server's: a refusal without privileges only makes it less exact.
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            std::thread::spawn(move || answer(stream));
        }
    });
    let _ = std::io::stdin().lines().count();
}

fn answer(mut stream: TcpStream) {
    schedule(0, -15, 100_000);
    stream.set_nodelay(true).unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let mut offset = 0u64;
    while let Some(Ok(line)) = lines.next() {
        let lower = line.to_ascii_lowercase();
        if let Some(range) = lower.strip_prefix("range: bytes=") {
            offset = range.split('-').next().unwrap().parse().unwrap();
        }
        if line.is_empty() {
            let last = offset + RANGE_LEN - 1;
            let mut text = format!(
                "HTTP/1.1 206 Partial Content\r\nETag: \"1\"\r\nContent-Length: {RANGE_LEN}\r\n\
                 Content-Range: bytes {offset}-{last}/{}\r\n\r\n",
                1 << 20
            )
            .into_bytes();
            text.extend_from_slice(&now_ns().to_le_bytes());
            text.resize(text.len() + usize::try_from(RANGE_LEN).unwrap() - 8, 0);
            if stream.write_all(&text).is_err() {
                return;
            }
        }
    }
}
