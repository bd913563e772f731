//! The floor: what cannot be avoided to read crops of the satellite array, and nothing else.
//!
//! As many threads as cores; for each needed chunk, once, a positioned read, the bare codec library into a scratch
//! buffer, and row copies into a reused output. Indexes are warm. No planning, no errors, no metadata.

use crate::satellite::{INNER, SHAPE};
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The files and indexes of the array.
pub struct Floor {
    shards: Vec<(File, Vec<[u64; 2]>)>,
    crop: [u64; 4],
}

/// One chunk to read, and where its rows go.
struct Chunk {
    shard: usize,
    offset: u64,
    len: usize,
    copies: Vec<RowCopies>,
}

/// `rows` runs of `bytes`, from a chunk to the output.
struct RowCopies {
    source: usize,
    target: usize,
    rows: usize,
    bytes: usize,
    target_stride: usize,
}

struct Shared(*mut u8);
// SAFETY: chunks write disjoint rows of the output.
unsafe impl Sync for Shared {}

/// A planned pass: made once, outside the clock.
pub struct Pass {
    chunks: Vec<Chunk>,
}

impl Pass {
    /// Chunks that the pass reads.
    pub fn chunk_count(&self) -> usize {
        self.chunks.len()
    }
}

impl Floor {
    /// Opens every shard and reads its index.
    pub fn open(folder: &Path, crop: [u64; 4]) -> std::io::Result<Floor> {
        let per_shard = SHAPE[1] * (SHAPE[2] / INNER) * (SHAPE[3] / INNER);
        let mut shards = Vec::new();
        for time in 0..SHAPE[0] {
            let file = File::open(folder.join(format!("c/{time}/0/0/0")))?;
            let mut index = vec![0u8; (per_shard * 16) as usize];
            file.read_exact_at(&mut index, file.metadata()?.len() - per_shard * 16 - 4)?;
            let (words, _) = index.as_chunks::<8>();
            let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
            shards.push((file, words.as_chunks::<2>().0.to_vec()));
        }
        Ok(Floor { shards, crop })
    }

    /// Works out which chunks the crops need.
    pub fn plan(&self, origins: &[Vec<u64>]) -> Pass {
        let mut chunks: BTreeMap<(u64, u64), Chunk> = BTreeMap::new();
        let row_bytes = self.crop[3] as usize * 2;
        for (number, origin) in origins.iter().enumerate() {
            for t in 0..self.crop[0] {
                for c in 0..self.crop[1] {
                    let plane = (number as u64 * self.crop[0] + t) * self.crop[1] + c;
                    let plane = plane as usize * self.crop[2] as usize * row_bytes;
                    self.plan_plane(origin, (origin[0] + t, origin[1] + c), plane, &mut chunks);
                }
            }
        }
        Pass { chunks: chunks.into_values().collect() }
    }

    fn plan_plane(
        &self,
        origin: &[u64],
        (time, channel): (u64, u64),
        plane: usize,
        chunks: &mut BTreeMap<(u64, u64), Chunk>,
    ) {
        let per_axis = SHAPE[2] / INNER;
        let (y, x) = (origin[2], origin[3]);
        let row_bytes = self.crop[3] as usize * 2;
        for cy in y / INNER..=(y + self.crop[2] - 1) / INNER {
            for cx in x / INNER..=(x + self.crop[3] - 1) / INNER {
                let (top, bottom) = ((cy * INNER).max(y), ((cy + 1) * INNER).min(y + self.crop[2]));
                let (left, right) = ((cx * INNER).max(x), ((cx + 1) * INNER).min(x + self.crop[3]));
                let entry = (channel * per_axis + cy) * per_axis + cx;
                let [offset, len] = self.shards[time as usize].1[entry as usize];
                let chunk = chunks.entry((time, entry)).or_insert_with(|| Chunk {
                    shard: time as usize,
                    offset,
                    len: len as usize,
                    copies: Vec::new(),
                });
                chunk.copies.push(RowCopies {
                    source: (((top - cy * INNER) * INNER + left - cx * INNER) * 2) as usize,
                    target: plane + (top - y) as usize * row_bytes + (left - x) as usize * 2,
                    rows: (bottom - top) as usize,
                    bytes: (right - left) as usize * 2,
                    target_stride: row_bytes,
                });
            }
        }
    }

    /// One pass into `output`.
    pub fn run(&self, pass: &Pass, output: &mut [u8]) {
        let next = AtomicUsize::new(0);
        let shared = Shared(output.as_mut_ptr());
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| self.work(pass, &next, &shared));
            }
        });
    }

    fn work(&self, pass: &Pass, next: &AtomicUsize, output: &Shared) {
        const RUN: usize = 16;
        let mut stored = vec![0u8; 1 << 16];
        let mut decoded = vec![0u8; (INNER * INNER * 2) as usize];
        loop {
            let start = next.fetch_add(RUN, Ordering::Relaxed);
            let Some(run) = pass.chunks.get(start..pass.chunks.len().min(start + RUN)).filter(|run| !run.is_empty())
            else {
                return;
            };
            for chunk in run {
                let stored = &mut stored[..chunk.len];
                self.shards[chunk.shard].0.read_exact_at(stored, chunk.offset).expect("the chunk is there");
                decompress(stored, &mut decoded);
                for copy in &chunk.copies {
                    for row in 0..copy.rows {
                        let source = decoded[copy.source + row * INNER as usize * 2..].as_ptr();
                        // SAFETY: rows lie within the output, and no other chunk writes them.
                        unsafe {
                            let target = output.0.add(copy.target + row * copy.target_stride);
                            std::ptr::copy_nonoverlapping(source, target, copy.bytes);
                        }
                    }
                }
            }
        }
    }
}

fn decompress(stored: &[u8], decoded: &mut [u8]) {
    // SAFETY: the library writes at most `decoded.len()` bytes, and the benches wrote what it reads.
    let written = unsafe {
        blosc_src::blosc_decompress_ctx(
            stored.as_ptr().cast::<c_void>(),
            decoded.as_mut_ptr().cast::<c_void>(),
            decoded.len(),
            1 as c_int,
        )
    };
    assert_eq!(usize::try_from(written), Ok(decoded.len()));
}
