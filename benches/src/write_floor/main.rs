//! The floor of writing an array: what cannot be avoided, and nothing else.
//!
//! With as many threads as processors, for each stored object: row copies of each chunk into a scratch buffer (none where a
//! chunk is one run of the source), the bare encoder of the codec library, for shards an index behind the chunks, one write
//! to a new file, and a rename. Nothing is synced. The values are in memory before the clock runs.
//!
//! It reads no metadata: the case says the grid. Index checksums are not calculated, zeros stand for them; those who check
//! what was written read without them.

mod grid;
mod shard;

use grid::Grid;
use serde_json::{Value, json};
use shard::{Codec, Encoder};
use std::error::Error;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

type Failure = Box<dyn Error + Send + Sync>;

/// What is written, and how.
struct Case {
    values: Vec<u8>,
    grid: Grid,
    codec: Codec,
}

fn main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{}", json!({"error": error.to_string()}));
            ExitCode::FAILURE
        }
    }
}

/// Says that it is ready, and writes the case to the folder that each line of the input names.
fn serve() -> Result<(), Failure> {
    let case_file = std::env::args().nth(1).ok_or("wanted the path of a case")?;
    let case = load(Path::new(&case_file))?;
    println!("{}", json!({"ready": true, "version": env!("CARGO_PKG_VERSION")}));
    for line in std::io::stdin().lock().lines() {
        let folder = PathBuf::from(line?);
        let before = cpu_seconds()?;
        let started = Instant::now();
        write(&case, &folder)?;
        let seconds = started.elapsed().as_secs_f64();
        println!("{}", json!({"seconds": seconds, "cpu_seconds": cpu_seconds()? - before}));
        std::io::stdout().flush()?;
    }
    Ok(())
}

fn load(path: &Path) -> Result<Case, Failure> {
    let case: Value = serde_json::from_slice(&std::fs::read(path)?)?;
    let lengths =
        |name: &str| -> Result<Vec<usize>, Failure> { Ok(serde_json::from_value(case[name].clone())?) };
    let grid = Grid {
        shape: lengths("shape")?,
        object: lengths("object_shape")?,
        chunk: lengths("chunk_shape")?,
        element: serde_json::from_value(case["element_bytes"].clone())?,
    };
    let values = std::fs::read(case["values"].as_str().ok_or("wanted `values`, a path")?)?;
    if values.len() != grid.bytes() {
        return Err(format!("wanted {} bytes of values, found {}", grid.bytes(), values.len()).into());
    }
    Ok(Case { values, grid, codec: Codec::parse(&case["codec"])? })
}

/// Writes every object, each by the thread that is free.
fn write(case: &Case, folder: &Path) -> Result<(), Failure> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<(), Failure> {
        let mut encoder = Encoder::new(&case.codec, &case.grid);
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(object) = case.grid.objects().nth(number) else { return Ok(()) };
            let bytes = encoder.object(&case.values, &case.grid, &object)?;
            put(folder, &object, bytes)?;
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..protocol::threads()).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().unwrap_or_else(|_| Err("a thread panicked".into())))
    })
}

/// Puts an object into its place: a new file, renamed.
fn put(folder: &Path, object: &[usize], bytes: &[u8]) -> Result<(), Failure> {
    let mut path = folder.join("c");
    path.extend(object.iter().map(usize::to_string));
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let new = path.with_extension("new");
    std::fs::write(&new, bytes)?;
    std::fs::rename(&new, &path)?;
    Ok(())
}

/// User and system time of this process.
fn cpu_seconds() -> Result<f64, Failure> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // Behind the name, which may hold anything, the 12th and 13th fields.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    let ticks: f64 = fields.map(|field| field.parse::<f64>().unwrap_or(0.0)).sum();
    Ok(ticks / TICKS_PER_SECOND)
}

/// `USER_HZ` of every Linux.
const TICKS_PER_SECOND: f64 = 100.0;
