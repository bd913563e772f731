//! object_store: whole files by `get`, ranges by `get_ranges` of 1,000, from the local file system.
//!
//! Variants:
//! - `tokio` (the default): tasks on a runtime of as many workers as processors; the store reads on its blocking threads.
//! - `threads`: no runtime. The store then reads on the thread that asks, and there is one a processor.

use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use protocol::{Case, Failure, ItemSums, Kind, Reader, Ready, Refused, item_sum, serve};
use std::ops::Range;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::runtime::Runtime;

/// Ranges of one call.
const RANGES_A_CALL: usize = 1000;

/// Tasks a processor: one reads while another waits to be told that it may go on.
const TASKS_A_THREAD: usize = 4;

fn main() -> ExitCode {
    let version = protocol::locked_version(include_str!("../Cargo.lock"), "object_store");
    serve("object_store", version, |case: &Case, variant| ready(case, variant.unwrap_or("tokio")))
}

fn ready(case: &Case, variant: &str) -> Result<Ready, Failure> {
    let (root, wanted) = match &case.kind {
        Kind::Array(_) => return Err(Refused("object_store knows no arrays".to_owned()).into()),
        Kind::Files(files) => {
            (&files.root, Wanted::Files(files.keys.iter().map(Path::parse).collect::<Result<_, _>>()?))
        }
        Kind::Ranges(ranges) => {
            let starts = ranges.offsets()?;
            let list = starts.into_iter().map(|start| start..start + ranges.range_len).collect();
            (&ranges.root, Wanted::Ranges { path: Path::parse(ranges.key()?)?, list })
        }
    };
    let threads = protocol::threads();
    let runtime = match variant {
        "tokio" => Some(tokio::runtime::Builder::new_multi_thread().worker_threads(threads).build()?),
        "threads" => None,
        other => return Err(format!("wanted variant tokio or threads, found {other}").into()),
    };
    let store = LocalFileSystem::new_with_prefix(root)?;
    let work = Work { store, wanted, next: AtomicUsize::new(0), sums: ItemSums::new() };
    let details = format!("{variant}, {threads} threads");
    Ok(Ready { reader: Box::new(Items { work: Arc::new(work), runtime, threads, checksum: 0 }), details })
}

struct Items {
    work: Arc<Work>,
    runtime: Option<Runtime>,
    threads: usize,
    checksum: u64,
}

impl Reader for Items {
    fn pass(&mut self) -> Result<Vec<u64>, Failure> {
        self.work.next.store(0, Ordering::Relaxed);
        match &self.runtime {
            Some(runtime) => {
                let start = |lane| {
                    let work = Arc::clone(&self.work);
                    runtime.spawn(async move { work.run(lane).await })
                };
                let tasks: Vec<_> = (0..self.threads * TASKS_A_THREAD).map(start).collect();
                tasks.into_iter().try_for_each(|task| runtime.block_on(task)?)?;
            }
            None => std::thread::scope(|scope| {
                let work = &self.work;
                let start = |lane| scope.spawn(move || pollster::block_on(work.run(lane)));
                let threads: Vec<_> = (0..self.threads).map(start).collect();
                threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread panicked")?)
            })?,
        }
        self.checksum = self.work.sums.take();
        Ok(Vec::new())
    }

    fn checksum(&self) -> u64 {
        self.checksum
    }
}

struct Work {
    store: LocalFileSystem,
    wanted: Wanted,
    next: AtomicUsize,
    sums: ItemSums,
}

enum Wanted {
    Files(Vec<Path>),
    Ranges { path: Path, list: Vec<Range<u64>> },
}

impl Work {
    /// Takes items until there are none left.
    async fn run(&self, lane: usize) -> Result<(), Failure> {
        let near = lane as u64;
        match &self.wanted {
            Wanted::Files(paths) => loop {
                let index = self.next.fetch_add(1, Ordering::Relaxed);
                let Some(path) = paths.get(index) else { break };
                let bytes = self.store.get(path).await?.bytes().await?;
                self.sums.add(near, index as u64, item_sum(&bytes));
            },
            Wanted::Ranges { path, list } => loop {
                let start = self.next.fetch_add(RANGES_A_CALL, Ordering::Relaxed);
                let Some(some) = list.get(start..list.len().min(start + RANGES_A_CALL)) else { break };
                if some.is_empty() {
                    break;
                }
                let read = self.store.get_ranges(path, some).await?;
                for (index, bytes) in (start..).zip(&read) {
                    self.sums.add(near, index as u64, item_sum(bytes));
                }
            },
        }
        Ok(())
    }
}
