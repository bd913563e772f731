//! Ranges through the engine, with no array above it.

use crate::{Failure, Round, Unavailable};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use swath::ioengine::{
    Arrival, Batch, ByteRange, Cursor, Engine, EngineConfig, Error, ErrorKind, Estimate, FileAccess,
    LaneContext, Limits, LocalFiles, MemoryMedium, ObjectRef, PlanContext, Planned, RunOptions, Token,
    Window,
};

const KEY: &str = "bytes";
const READS: u64 = 1024;
const WINDOW_READS: u64 = 128;
const READ_BYTES: u64 = 512;

/// So far apart that no two reads merge.
const APART_BYTES: u64 = 8192;

/// Windows of bytes that are in memory, on the calling thread. One operation is one read of 512 bytes.
pub(crate) fn serve() -> Result<Round, Failure> {
    let memory = MemoryMedium::new();
    memory.put(KEY, content());
    round(memory.object(KEY), u64::MAX)
}

/// Reads of a file in the page cache by one lane. One operation is one read of 512 bytes.
pub(crate) fn submit_reap(folder: &Path, access: FileAccess) -> Result<Round, Failure> {
    let files = LocalFiles::open(folder, access).map_err(|error| match error.kind() {
        ErrorKind::Unsupported => Failure::from(Unavailable(error.to_string())),
        _ => error.into(),
    })?;
    round(files.object(KEY), 0)
}

/// Writes the file that [`submit_reap`] reads.
pub(crate) fn write_file(folder: &Path) -> Result<(), Failure> {
    Ok(std::fs::write(folder.join(KEY), content())?)
}

fn content() -> Vec<u8> {
    (0..READS * APART_BYTES).map(|at| content_of(at / APART_BYTES)).collect()
}

/// Every byte from one read's place to the next.
fn content_of(read: u64) -> u8 {
    let [first, ..] = (read * 31).to_le_bytes();
    first
}

/// An engine of one lane, that runs batches of at most `inline_max` reads, and as many bytes, on the calling thread.
pub(crate) fn engine(inline_max: u64) -> Engine {
    let limits =
        Limits { lanes: 1, inline_reads_max: inline_max, inline_bytes_max: inline_max, ..Limits::default() };
    Engine::new(EngineConfig { limits, ..EngineConfig::default() })
}

fn round(object: ObjectRef, inline_max: u64) -> Result<Round, Failure> {
    let engine = engine(inline_max);
    let wanted: u64 = (0..READS).map(|read| u64::from(content_of(read))).sum();
    let batch = Ranges { object, sum: AtomicU64::new(0) };
    Ok(Box::new(move || {
        batch.sum.store(0, Ordering::Relaxed);
        engine.run(&batch, &RunOptions::default())?;
        match batch.sum.load(Ordering::Relaxed) {
            sum if sum == wanted => Ok(READS),
            sum => Err(format!("wanted bytes of the sum {wanted}, found {sum}").into()),
        }
    }))
}

/// Reads of one object; the sink takes one byte of each.
struct Ranges {
    object: ObjectRef,
    sum: AtomicU64,
}

impl Batch for Ranges {
    fn window_count(&self) -> u64 {
        READS / WINDOW_READS
    }

    fn estimate(&self) -> Estimate {
        Estimate { reads: READS, bytes: READS * READ_BYTES }
    }

    fn plan<'b>(&'b self, cursor: Cursor, _: &PlanContext<'_>, window: &mut Window<'_, 'b>) -> Planned {
        window.set_object(self.object.clone());
        for index in cursor.window * WINDOW_READS..(cursor.window + 1) * WINDOW_READS {
            let range = ByteRange::Bounded { offset: index * APART_BYTES, len: READ_BYTES };
            window.read(range, Token(index));
        }
        Planned::Complete
    }

    fn deliver(&self, _: Token, result: Result<Arrival<'_>, Error>, _: &mut LaneContext<'_>) {
        if let Ok(Arrival::Bytes(&[first, ..])) = result {
            self.sum.fetch_add(u64::from(first), Ordering::Relaxed);
        }
    }

    fn stale(&self, _: Cursor) {}

    fn spoiled(&self, _: Cursor, _: Error, _: &mut LaneContext<'_>) {}
}
