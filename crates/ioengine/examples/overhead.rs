//! What the engine adds to a read: cached reads of one file in one batch, against bare loops.
//!
//! `cargo run --release -p swath-ioengine --example overhead [READ_BYTES]`. Prints ns a read, the best of several
//! passes, and checks every byte sum. `overhead 8192 lanes` runs one way only, for profilers.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::expect_used, reason = "an example for people")]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use swath_ioengine::{
    Arrival, Batch, ByteRange, Cursor, Engine, EngineConfig, Error, Estimate, FileAccess, LaneContext,
    Limits, LocalFiles, MemoryMedium, ObjectRef, PlanContext, Planned, RunOptions, Token, Window,
};

const FILE_BYTES: u64 = 64 << 20;
const READS: u64 = 4096;
const WINDOW_READS: u64 = 256;
const PASSES: usize = 15;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let read_bytes = arguments.next().map_or(8192, |bytes| bytes.parse().expect("READ_BYTES is a number"));
    let only = arguments.next();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let bytes: Vec<u8> = (0..FILE_BYTES).map(|at| u8::try_from(at * 31 % 251).unwrap()).collect();
    std::fs::write(&path, &bytes).unwrap();
    // A file that changed just now would be opened anew for each window.
    std::thread::sleep(std::time::Duration::from_millis(2100));
    let offsets: Vec<u64> = (0..READS).map(|index| offset(index, read_bytes)).collect();
    let wanted = offsets.iter().map(|offset| sum(slice(&bytes, *offset, read_bytes))).sum::<u64>();
    let plan = Pages { offsets, read_bytes, object: None, sum: AtomicU64::new(0) };
    let memory = MemoryMedium::new();
    memory.put("a", bytes);
    let files = |access| LocalFiles::open(folder.path(), access).unwrap().object("a");
    let file = File::open(&path).unwrap();
    let chosen = |name: &str| only.as_ref().is_none_or(|only| only == name);
    let report = |name: &str, work: &mut dyn FnMut() -> u64| {
        if chosen(name) {
            println!("{name:<22} {:>7.0} ns a read", best(wanted, work));
        }
    };
    report("pread", &mut || preads(&file, &plan));
    for (name, lanes, object, inline) in [
        ("lanes", 1, files(FileAccess::Probe), false),
        ("two-lanes", 2, files(FileAccess::Probe), false),
        ("threads", 1, files(FileAccess::PreadThreads), false),
        ("inline", 1, files(FileAccess::Probe), true),
        ("memory", 1, memory.object("a"), false),
        ("memory-inline", 1, memory.object("a"), true),
    ] {
        let engine = engine(lanes, inline);
        let batch = Pages { object: Some(object), ..plan.again() };
        report(name, &mut || {
            batch.sum.store(0, Ordering::Relaxed);
            engine.run(&batch, &RunOptions::default()).unwrap();
            batch.sum.load(Ordering::Relaxed)
        });
    }
    // A batch for each read.
    for (name, object) in
        [("one-file-read", files(FileAccess::Probe)), ("one-memory-read", memory.object("a"))]
    {
        let engine = engine(1, true);
        report(name, &mut || {
            let read = |offset: &u64| {
                let range = ByteRange::Bounded { offset: *offset, len: plan.read_bytes };
                let batch = One { object: &object, range, sum: AtomicU64::new(0) };
                engine.run(&batch, &RunOptions::default()).unwrap();
                batch.sum.into_inner()
            };
            plan.offsets.iter().map(read).sum()
        });
    }
}

/// One read of one window.
struct One<'a> {
    object: &'a ObjectRef,
    range: ByteRange,
    sum: AtomicU64,
}

impl Batch for One<'_> {
    fn window_count(&self) -> u64 {
        1
    }

    fn estimate(&self) -> Estimate {
        Estimate { reads: 1, bytes: self.range.len_max() }
    }

    fn plan<'b>(&'b self, _: Cursor, _: &PlanContext<'_>, window: &mut Window<'_, 'b>) -> Planned {
        window.set_object(self.object.clone());
        window.read(self.range, Token(0));
        Planned::Complete
    }

    fn deliver(&self, _: Token, result: Result<Arrival<'_>, Error>, _: &mut LaneContext<'_>) {
        if let Ok(Arrival::Bytes(bytes)) = result {
            self.sum.store(sum(bytes), Ordering::Relaxed);
        }
    }

    fn stale(&self, _: Cursor) {}

    fn spoiled(&self, _: Cursor, _: Error, _: &mut LaneContext<'_>) {}
}

/// Places far apart, so that no two reads merge.
fn offset(index: u64, read_bytes: u64) -> u64 {
    let places = FILE_BYTES / (read_bytes + 4096).next_multiple_of(4096);
    index.wrapping_mul(2_654_435_761) % places * (read_bytes + 4096).next_multiple_of(4096)
}

fn slice(bytes: &[u8], offset: u64, read_bytes: u64) -> &[u8] {
    &bytes[usize::try_from(offset).unwrap()..usize::try_from(offset + read_bytes).unwrap()]
}

/// Of few bytes, because the read is measured and not the sum.
fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().step_by(509).map(|byte| u64::from(*byte)).sum()
}

fn best(wanted: u64, work: &mut dyn FnMut() -> u64) -> f64 {
    let time = |_| {
        let start = Instant::now();
        let found = work();
        let elapsed = start.elapsed();
        assert_eq!(found, wanted);
        elapsed.as_secs_f64() * 1e9 / READS as f64
    };
    (0..PASSES).map(time).fold(f64::INFINITY, f64::min)
}

fn preads(file: &File, plan: &Pages) -> u64 {
    let mut buffer = vec![0; usize::try_from(plan.read_bytes).unwrap()];
    let mut found = 0;
    for offset in &plan.offsets {
        file.read_exact_at(&mut buffer, *offset).unwrap();
        found += sum(&buffer);
    }
    found
}

fn engine(lanes: usize, inline: bool) -> Engine {
    let inline_max = if inline { u64::MAX } else { 0 };
    let limits =
        Limits { lanes, inline_reads_max: inline_max, inline_bytes_max: inline_max, ..Limits::default() };
    Engine::new(EngineConfig { limits, ..EngineConfig::default() })
}

struct Pages {
    offsets: Vec<u64>,
    read_bytes: u64,
    object: Option<ObjectRef>,
    sum: AtomicU64,
}

impl Pages {
    fn again(&self) -> Pages {
        Pages {
            offsets: self.offsets.clone(),
            read_bytes: self.read_bytes,
            object: None,
            sum: AtomicU64::new(0),
        }
    }
}

impl Batch for Pages {
    fn window_count(&self) -> u64 {
        READS / WINDOW_READS
    }

    fn estimate(&self) -> Estimate {
        Estimate { reads: READS, bytes: READS * self.read_bytes }
    }

    fn plan<'b>(&'b self, cursor: Cursor, _: &PlanContext<'_>, window: &mut Window<'_, 'b>) -> Planned {
        if let Some(object) = &self.object {
            window.set_object(object.clone());
        }
        for index in cursor.window * WINDOW_READS..(cursor.window + 1) * WINDOW_READS {
            let offset = self.offsets[usize::try_from(index).unwrap()];
            window.read(ByteRange::Bounded { offset, len: self.read_bytes }, Token(index));
        }
        Planned::Complete
    }

    fn deliver(&self, _: Token, result: Result<Arrival<'_>, Error>, _: &mut LaneContext<'_>) {
        if let Ok(Arrival::Bytes(bytes)) = result {
            self.sum.fetch_add(sum(bytes), Ordering::Relaxed);
        }
    }

    fn stale(&self, _: Cursor) {}

    fn spoiled(&self, _: Cursor, _: Error, _: &mut LaneContext<'_>) {}
}
