//! How a copy is made.

use super::run::CopyProgress;
use crate::{Selection, ZarrFormat};
use serde_json::Value;
use std::path::PathBuf;

/// The shards of a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CopyShards {
    /// Those of the source, where the target's format has shards and they are whole chunks of the target; else none.
    #[default]
    Keep,
    /// None: each chunk is an object.
    None,
    /// Of this shape.
    Of(Vec<u64>),
}

/// The codecs of a copy.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum CopyCodecs {
    /// Those of the source, in the target format's spelling.
    #[default]
    Keep,
    /// One compressor of this name, `zstd`, `gzip`, `blosc` (which is then zstd with shuffle), `lz4` and so on, with a level
    /// where one is given; no filters. `none` for none at all.
    Named(String, Option<i64>),
    /// These compressors as the target's metadata lists them; no filters.
    Listed(Vec<Value>),
}

/// What becomes of a node that is there where the copy is to go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CopyExisting {
    /// It stays, and the copy is refused.
    #[default]
    Refuse,
    /// It is removed, with all that is stored below it.
    Replace,
    /// It is what an interrupted copy left: what is complete stays, the rest is written.
    Resume,
}

/// Whether what is written is read back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Verify {
    /// It is not.
    #[default]
    No,
    /// Each box is read back from the target once it is written, and compared bit by bit.
    Yes,
}

/// How a copy is made; the default keeps everything as the source has it.
#[derive(Clone)]
pub struct CopyOptions<'a> {
    /// Elements of a chunk along each axis; the source's where none is given. 0 stands for the whole axis. Of a group it
    /// counts for the arrays with so many axes.
    pub chunk_shape: Option<Vec<u64>>,
    /// Shards; of a group, a shape counts for the arrays with so many axes.
    pub shards: CopyShards,
    /// Codecs.
    pub codecs: CopyCodecs,
    /// The format; the source's where none is given.
    pub zarr_format: Option<ZarrFormat>,
    /// What of an array is copied: slices only. Not for groups.
    pub region: Option<Selection>,
    /// Bytes of memory that the copy may take: boxes, what is read and decoded, what is encoded. Not counted is what the
    /// process has anyway. Default 512 MB.
    pub memory_bytes: u64,
    /// What becomes of a node that is there.
    pub existing: CopyExisting,
    /// Whether what is written is read back.
    pub verify: Verify,
    /// The local folder for an intermediate array, where one is needed; the system's for temporary files where none is given.
    pub scratch: Option<PathBuf>,
    /// Called on the calling thread after each box.
    pub progress: Option<&'a dyn Fn(&CopyProgress)>,
    /// Called on the calling thread every now and then; returning true ends the copy, which can be resumed.
    pub interrupt: Option<&'a dyn Fn() -> bool>,
}

impl Default for CopyOptions<'_> {
    fn default() -> Self {
        CopyOptions {
            chunk_shape: None,
            shards: CopyShards::Keep,
            codecs: CopyCodecs::Keep,
            zarr_format: None,
            region: None,
            memory_bytes: 512_000_000,
            existing: CopyExisting::Refuse,
            verify: Verify::No,
            scratch: None,
            progress: None,
            interrupt: None,
        }
    }
}
