//! From values to the bytes of one object.

use crate::Failure;
use crate::grid::Grid;
use serde_json::Value;
use std::ffi::CString;
use zstd_safe::CCtx;

/// What encodes chunks.
pub(crate) enum Codec {
    Raw,
    Zstd { level: i32 },
    Blosc { compressor: CString, level: i32, shuffle: i32 },
}

impl Codec {
    /// As workloads describe it.
    pub(crate) fn parse(codec: &Value) -> Result<Codec, Failure> {
        let number =
            |name: &str| -> Result<i32, Failure> { Ok(serde_json::from_value(codec[name].clone())?) };
        match codec["name"].as_str() {
            Some("none") => Ok(Codec::Raw),
            Some("zstd") => Ok(Codec::Zstd { level: number("level")? }),
            Some("blosc") => {
                let shuffle = match codec["shuffle"].as_str() {
                    Some("noshuffle") => 0,
                    Some("shuffle") => 1,
                    Some("bitshuffle") => 2,
                    other => return Err(format!("wanted a shuffle of blosc, found {other:?}").into()),
                };
                let compressor = CString::new(codec["cname"].as_str().unwrap_or_default())?;
                Ok(Codec::Blosc { compressor, level: number("clevel")?, shuffle })
            }
            other => Err(format!("wanted codec none, zstd or blosc, found {other:?}").into()),
        }
    }
}

/// One thread's encoder. All of its memory is allocated once, and chunks are encoded to where they lie in the object.
pub(crate) struct Encoder<'a> {
    codec: &'a Codec,
    zstd: CCtx<'static>,
    /// A chunk whose values do not lie one behind the other.
    chunk: Vec<u8>,
    object: Vec<u8>,
    index: Vec<u64>,
    chunks: Vec<Vec<usize>>,
    /// Bytes that an encoded chunk may take.
    room: usize,
    element: usize,
}

impl<'a> Encoder<'a> {
    pub(crate) fn new(codec: &'a Codec, grid: &Grid) -> Encoder<'a> {
        let room = zstd_safe::compress_bound(grid.chunk_bytes()).max(grid.chunk_bytes() + 16);
        let chunks: Vec<Vec<usize>> = grid.chunks().collect();
        Encoder {
            codec,
            zstd: CCtx::create(),
            chunk: Vec::with_capacity(grid.chunk_bytes()),
            // What is not written of it takes no memory: the system hands it out as zeros.
            object: vec![0; chunks.len() * (room + INDEX_ENTRY_BYTES) + CHECKSUM_BYTES],
            index: Vec::with_capacity(2 * chunks.len()),
            chunks,
            room,
            element: grid.element,
        }
    }

    /// The bytes of an object.
    pub(crate) fn object(&mut self, values: &[u8], grid: &Grid, object: &[usize]) -> Result<&[u8], Failure> {
        let is_shard = grid.object != grid.chunk;
        let mut end = 0;
        self.index.clear();
        for chunk in &self.chunks {
            self.chunk.clear();
            let (mut whole, mut count) = (0..0, 0);
            grid.runs(object, chunk, |start, length| {
                whole = start..start + length;
                count += 1;
                if length != grid.chunk_bytes() {
                    self.chunk.extend_from_slice(&values[start..start + length]);
                }
            });
            let elements = if count == 1 { &values[whole] } else { &self.chunk[..] };
            let target = &mut self.object[end..end + self.room];
            let written = encode(self.codec, &mut self.zstd, self.element, elements, target)?;
            self.index.extend([end as u64, written as u64]);
            end += written;
        }
        if is_shard {
            for word in &self.index {
                self.object[end..end + size_of::<u64>()].copy_from_slice(&word.to_le_bytes());
                end += size_of::<u64>();
            }
            self.object[end..end + CHECKSUM_BYTES].fill(0);
            end += CHECKSUM_BYTES;
        }
        Ok(&self.object[..end])
    }
}

/// Where a chunk starts, and its length.
const INDEX_ENTRY_BYTES: usize = 16;

const CHECKSUM_BYTES: usize = 4;

/// Encodes a chunk to the front of `target`; tells how many bytes it wrote.
fn encode(
    codec: &Codec,
    zstd: &mut CCtx<'static>,
    element: usize,
    elements: &[u8],
    target: &mut [u8],
) -> Result<usize, Failure> {
    match codec {
        Codec::Raw => {
            target[..elements.len()].copy_from_slice(elements);
            Ok(elements.len())
        }
        Codec::Zstd { level } => {
            zstd.compress(target, elements, *level).map_err(|code| format!("zstd failed: {code}").into())
        }
        Codec::Blosc { compressor, level, shuffle } => {
            let settings = blosc_avx2::Settings { compressor, level: *level, shuffle: *shuffle };
            blosc_avx2::compress(&settings, element, elements, target).ok_or_else(|| "blosc failed".into())
        }
    }
}
