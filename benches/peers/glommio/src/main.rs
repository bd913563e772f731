//! glommio: whole files and ranges by io_uring, an executor a processor.
//!
//! Variants:
//! - `buffered` (the default): `BufferedFile::read_at`, through the page cache.
//! - `dma`: `DmaFile`, past the page cache; ranges by `read_many`.

mod executors;
mod read;

use executors::Executors;
use protocol::{Case, Failure, ItemSums, Kind, Reader, Ready, serve};
use read::{Access, Wanted, Work};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

fn main() -> ExitCode {
    let version = protocol::locked_version(include_str!("../Cargo.lock"), "glommio");
    serve("glommio", version, |case: &Case, variant| ready(case, variant.unwrap_or("buffered")))
}

fn ready(case: &Case, variant: &str) -> Result<Ready, Failure> {
    let wanted = match &case.kind {
        Kind::Array(_) => return Err(protocol::Refused("glommio knows no arrays".to_owned()).into()),
        Kind::Files(files) => Wanted::Files(files.keys.iter().map(|key| files.root.join(key)).collect()),
        Kind::Ranges(ranges) => Wanted::Ranges {
            path: ranges.root.join(ranges.key()?),
            starts: ranges.offsets()?,
            len: ranges.range_len as usize,
        },
    };
    let access = match variant {
        "buffered" => Access::Buffered,
        "dma" => Access::Dma,
        other => return Err(format!("wanted variant buffered or dma, found {other}").into()),
    };
    let threads = protocol::threads();
    let work = Arc::new(Work { access, wanted, next: AtomicUsize::new(0), sums: ItemSums::new() });
    let executors = Executors::start(&work, threads)?;
    let details = format!("{variant}, {threads} executors, {} reads in flight each", read::DEPTH);
    Ok(Ready { reader: Box::new(Items { executors, work, checksum: 0 }), details })
}

struct Items {
    executors: Executors,
    work: Arc<Work>,
    checksum: u64,
}

impl Reader for Items {
    fn pass(&mut self) -> Result<Vec<u64>, Failure> {
        self.work.start();
        self.executors.pass()?;
        self.checksum = self.work.sums.take();
        Ok(Vec::new())
    }

    fn checksum(&self) -> u64 {
        self.checksum
    }
}
