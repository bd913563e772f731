//! The floor: what cannot be avoided to read a case, and nothing else.
//!
//! Everything is planned before the clock runs. Then, with as many threads as processors, for each chunk that is
//! needed, once, however many selections share it: one positioned read (variant `pread`, the default), or one for up to
//! 256 KiB of chunks that lie one behind the other (`pread-merged`), or none (`mmap`: the files are mapped, with every
//! page in place); the bare codec library, into a scratch buffer; row copies into a reused output. A chunk that is one
//! run of the output is read or decoded straight into it. Of a chunk that is stored as it is, only the part from the
//! first byte needed to the last is read, by slabs of 256 KiB. Metadata and shard indexes are read, and files opened,
//! before the clock runs.
//!
//! It has its own reading of metadata and of shards, and shares no code with swath.

mod decode;
mod metadata;
mod objects;
mod plan;
mod pool;
mod source;
mod tiles;
mod work;

use metadata::Layout;
use plan::Plan;
use pool::Pool;
use protocol::{ArrayCase, Case, Failure, Kind, Mode, Output, Reader, Ready, Refused, array_checksum, serve};
use source::Source;
use std::process::ExitCode;
use work::{Job, Reads};

fn main() -> ExitCode {
    serve("floor", env!("CARGO_PKG_VERSION"), |case: &Case, variant| match &case.kind {
        Kind::Array(array) => ready(array, variant.unwrap_or("pread")),
        _ => Err(Refused("the floor of files and ranges is fio".to_owned()).into()),
    })
}

fn ready(case: &ArrayCase, variant: &str) -> Result<Ready, Failure> {
    let layout = Layout::load(&case.array)?;
    if layout.shape.len() != case.selection_shape.len() {
        return Err(format!(
            "the array has {} axes, the case {}",
            layout.shape.len(),
            case.selection_shape.len()
        )
        .into());
    }
    let plan = Plan::new(&layout, case)?;
    let (source, reads) = match variant {
        "pread" => (Source::files(&plan.files)?, Reads::Single),
        "pread-merged" => (Source::files(&plan.files)?, Reads::Merged),
        "mmap" => (Source::mappings(&plan.files)?, Reads::Single),
        other => return Err(format!("wanted variant pread, pread-merged or mmap, found {other}").into()),
    };
    let threads = protocol::threads();
    let details = format!(
        "{variant}, {:?}, {} reads of {} files, {} copies, {threads} threads",
        layout.codec,
        plan.chunks.len(),
        plan.files.len(),
        plan.pieces.len(),
    );
    let mut output = Output::new(plan.output_bytes);
    let job = Job::new(plan, source, reads, &layout, &mut output);
    let floor = Floor { pool: Pool::new(job, threads), output, mode: case.mode };
    Ok(Ready { reader: Box::new(floor), details })
}

struct Floor {
    /// Dropped before the output that its threads write to.
    pool: Pool,
    output: Output,
    mode: Mode,
}

impl Reader for Floor {
    fn pass(&mut self) -> Result<Vec<u64>, Failure> {
        let latencies = self.pool.pass()?;
        Ok(if self.mode == Mode::OneByOne { latencies } else { Vec::new() })
    }

    fn checksum(&self) -> u64 {
        array_checksum(&self.output)
    }
}
