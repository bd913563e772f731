//! What a thread does with the chunks that it claims: read, decode, copy.

use crate::decode::Decoder;
use crate::metadata::Codec;
use crate::plan::{Chunk, FILL, Piece, Plan};
use crate::source::Source;
use crate::tiles::{Loop, Nest};
use protocol::{Failure, Output};

/// What threads share of a pass.
pub(crate) struct Job {
    pub(crate) plan: Plan,
    pub(crate) source: Source,
    pub(crate) codec: Codec,
    /// A decoded unit of nothing but fill values.
    pub(crate) fill: Vec<u8>,
    target: Target,
}

/// The output's memory, which threads write to in disjoint pieces.
struct Target(*mut u8);

// SAFETY: it is written to by `Worker` alone, whose pieces are disjoint.
unsafe impl Send for Target {}
// SAFETY: as above.
unsafe impl Sync for Target {}

impl Job {
    /// A job that writes to `output`, which its caller keeps for as long as threads work on the job, and does not
    /// look at meanwhile.
    pub(crate) fn new(
        plan: Plan,
        source: Source,
        codec: Codec,
        fill_item: &[u8],
        output: &mut Output,
    ) -> Job {
        assert_eq!(
            output.len(),
            plan.output_bytes,
            "pieces lie within the output because it is as large as planned"
        );
        let fill = fill_item.iter().copied().cycle().take(plan.unit_bytes).collect();
        Job { plan, source, codec, fill, target: Target(output.as_mut_ptr()) }
    }

    /// A piece's place in the output, where it is one run of `len` bytes.
    ///
    /// # Safety
    ///
    /// Nobody else may use a piece of the same place at the time: a piece belongs to one chunk, and a chunk to the
    /// thread that claimed it.
    #[expect(clippy::mut_from_ref, reason = "pieces are disjoint, which the caller vouches for")]
    unsafe fn run(&self, piece: &Piece, len: usize) -> &mut [u8] {
        assert!(piece.target as usize + len <= self.plan.output_bytes, "a piece lies within the output");
        // SAFETY: just checked to be within the output.
        let start = unsafe { self.target.0.add(piece.target as usize) };
        // SAFETY: within the output, which lives as long as the job; exclusive by this function's contract.
        unsafe { std::slice::from_raw_parts_mut(start, len) }
    }
}

/// One thread's memory.
pub(crate) struct Worker {
    stored: Vec<u8>,
    decoded: Vec<u8>,
    decoder: Decoder,
}

impl Worker {
    pub(crate) fn new(job: &Job) -> Worker {
        // Not zero, so that every page is written to now.
        Worker {
            stored: vec![0xA5; job.plan.stored_bytes_max],
            decoded: vec![0xA5; job.plan.unit_bytes],
            decoder: Decoder::new(job.codec),
        }
    }

    /// Reads one chunk into its places.
    pub(crate) fn chunk(&mut self, job: &Job, chunk: &Chunk) -> Result<(), Failure> {
        let (plan, len) = (&job.plan, chunk.len as usize);
        let pieces = &plan.pieces[chunk.pieces_start as usize..][..chunk.pieces_len as usize];
        if chunk.file == FILL {
            copy(job, pieces, &job.fill);
            return Ok(());
        }
        let is_raw = job.codec == Codec::Raw;
        let direct = match pieces {
            [piece] => {
                let nest = &plan.nests[piece.nest as usize];
                let wanted = if is_raw { len } else { plan.unit_bytes };
                // SAFETY: this thread claimed the chunk, so the piece is its own.
                (nest.is_run() && nest.run_bytes == wanted).then(|| unsafe { job.run(piece, wanted) })
            }
            _ => None,
        };
        match direct {
            Some(target) if is_raw && matches!(job.source, Source::Files(_)) => {
                job.source.bytes(chunk.file, chunk.offset, len, target)?;
            }
            Some(target) => {
                let stored = job.source.bytes(chunk.file, chunk.offset, len, &mut self.stored)?;
                self.decoder.decode(stored, target)?;
            }
            None if is_raw => {
                copy(job, pieces, job.source.bytes(chunk.file, chunk.offset, len, &mut self.stored)?)
            }
            None => {
                let stored = job.source.bytes(chunk.file, chunk.offset, len, &mut self.stored)?;
                self.decoder.decode(stored, &mut self.decoded)?;
                copy(job, pieces, &self.decoded);
            }
        }
        Ok(())
    }
}

fn copy(job: &Job, pieces: &[Piece], source: &[u8]) {
    for piece in pieces {
        let nest = &job.plan.nests[piece.nest as usize];
        assert!(
            piece.source as usize + reach(nest, |one| one.source_stride) <= source.len(),
            "within the chunk"
        );
        let end = piece.target as usize + reach(nest, |one| one.target_stride);
        assert!(end <= job.plan.output_bytes, "within the output");
        // SAFETY: within the chunk, just checked.
        let from = unsafe { source.as_ptr().add(piece.source as usize) };
        // SAFETY: within the output, just checked.
        let to = unsafe { job.target.0.add(piece.target as usize) };
        // Rows of a known length are a few moves, others a call each.
        match nest.run_bytes {
            // SAFETY: all rows lie within both, just checked; the piece is of a chunk that this thread claimed.
            32 => unsafe { rows(nest, from, to, 32) },
            // SAFETY: as above.
            64 => unsafe { rows(nest, from, to, 64) },
            // SAFETY: as above.
            128 => unsafe { rows(nest, from, to, 128) },
            // SAFETY: as above.
            bytes => unsafe { rows(nest, from, to, bytes) },
        }
    }
}

/// Bytes from a nest's first to its last, on one side.
fn reach(nest: &Nest, stride: impl Fn(&Loop) -> usize) -> usize {
    nest.loops.iter().map(|one| (one.count - 1) * stride(one)).sum::<usize>() + nest.run_bytes
}

/// Copies a nest's runs, of `bytes` each.
///
/// # Safety
///
/// Both sides' reach must be valid, and nobody else may use the target's runs meanwhile.
#[inline(always)]
unsafe fn rows(nest: &Nest, from: *const u8, to: *mut u8, bytes: usize) {
    let [outer, middle, inner] = &nest.loops;
    for i in 0..outer.count {
        for j in 0..middle.count {
            let source_start = i * outer.source_stride + j * middle.source_stride;
            let target_start = i * outer.target_stride + j * middle.target_stride;
            for k in 0..inner.count {
                // SAFETY: within the source's reach.
                let source = unsafe { from.add(source_start + k * inner.source_stride) };
                // SAFETY: within the target's reach.
                let target = unsafe { to.add(target_start + k * inner.target_stride) };
                // SAFETY: a run of the nest on both sides, which are different memory.
                unsafe { std::ptr::copy_nonoverlapping(source, target, bytes) };
            }
        }
    }
}
