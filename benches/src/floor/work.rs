//! What a thread does with the chunks that it claims: read, decode, copy.

use crate::decode::Decoder;
use crate::metadata::{Codec, Layout};
use crate::plan::{Chunk, FILL, Piece, Plan};
use crate::source::Source;
use crate::tiles::{Loop, Nest};
use protocol::{Failure, Output};

/// How chunks that lie one behind the other are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reads {
    Single,
    Merged,
}

/// Most bytes of a merged read: they are still in a second-level cache when they are decoded.
const MERGED_BYTES_MAX: usize = 256 << 10;

/// What threads share of a pass.
pub(crate) struct Job {
    pub(crate) plan: Plan,
    pub(crate) source: Source,
    pub(crate) codec: Codec,
    /// A decoded unit of nothing but fill values.
    pub(crate) fill: Vec<u8>,
    /// Whether chunks that lie one behind the other are read at once.
    pub(crate) is_merging: bool,
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
    pub(crate) fn new(plan: Plan, source: Source, reads: Reads, layout: &Layout, output: &mut Output) -> Job {
        assert_eq!(
            output.len(),
            plan.output_bytes,
            "pieces lie within the output because it is as large as planned"
        );
        let fill = layout.fill.iter().copied().cycle().take(plan.unit_bytes).collect();
        let is_merging = reads == Reads::Merged;
        Job { plan, source, codec: layout.codec, fill, is_merging, target: Target(output.as_mut_ptr()) }
    }

    fn pieces(&self, chunk: &Chunk) -> &[Piece] {
        &self.plan.pieces[chunk.pieces_start as usize..][..chunk.pieces_len as usize]
    }

    /// The place of a chunk that this thread claimed, where it is one run of the output.
    #[expect(clippy::mut_from_ref, reason = "the places of chunks are disjoint, and a chunk is claimed once")]
    fn direct(&self, chunk: &Chunk) -> Option<&mut [u8]> {
        let [piece] = self.pieces(chunk) else { return None };
        let nest = &self.plan.nests[piece.nest as usize];
        let wanted = if self.codec == Codec::Raw { chunk.len as usize } else { self.plan.unit_bytes };
        if !nest.is_run() || nest.run_bytes != wanted {
            return None;
        }
        // SAFETY: the thread that asks claimed the chunk, so the piece is its own.
        Some(unsafe { self.run(piece, wanted) })
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
            stored: vec![0xA5; job.plan.stored_bytes_max.max(MERGED_BYTES_MAX)],
            decoded: vec![0xA5; job.plan.unit_bytes],
            decoder: Decoder::new(job.codec),
        }
    }

    /// Reads chunks into their places.
    pub(crate) fn chunks(&mut self, job: &Job, mut chunks: &[Chunk]) -> Result<(), Failure> {
        while let Some(first) = chunks.first() {
            let (group, rest) = chunks.split_at(if job.is_merging { touching(chunks) } else { 1 });
            if first.file == FILL {
                copy(job, job.pieces(first), &job.fill);
            } else {
                self.group(job, first, group)?;
            }
            chunks = rest;
        }
        Ok(())
    }

    /// Reads, at once, chunks that lie one behind the other.
    fn group(&mut self, job: &Job, first: &Chunk, group: &[Chunk]) -> Result<(), Failure> {
        if let ([_], Codec::Raw, Source::Files(_)) = (group, job.codec, &job.source)
            && let Some(target) = job.direct(first)
        {
            job.source.bytes(first.file, first.offset, first.len as usize, target)?;
            return Ok(());
        }
        let Worker { stored, decoded, decoder } = self;
        let len = group.iter().map(|chunk| chunk.len as usize).sum();
        let mut bytes = job.source.bytes(first.file, first.offset, len, stored)?;
        for chunk in group {
            let (own, rest) = bytes.split_at(chunk.len as usize);
            match job.direct(chunk) {
                Some(target) => decoder.decode(own, target)?,
                None if job.codec == Codec::Raw => copy(job, job.pieces(chunk), own),
                None => {
                    decoder.decode(own, decoded)?;
                    copy(job, job.pieces(chunk), decoded);
                }
            }
            bytes = rest;
        }
        Ok(())
    }
}

/// Chunks from the first on that one read has all of; at least one.
fn touching(chunks: &[Chunk]) -> usize {
    let mut bytes = chunks[0].len as usize;
    let pairs = chunks.iter().zip(&chunks[1..]);
    let joined = pairs.take_while(|(chunk, next)| {
        bytes += next.len as usize;
        let touches = chunk.file == next.file && chunk.offset + u64::from(chunk.len) == next.offset;
        touches && chunk.file != FILL && bytes <= MERGED_BYTES_MAX
    });
    1 + joined.count()
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
