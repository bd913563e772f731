//! zarrs: selections of arrays, in parallel by rayon, into one output.
//!
//! Variants, by who keeps the shards' indexes:
//! - `shard-cache` (the default): `ArrayShardedReadableExt` with its shared cache of indexes; each selection is read to
//!   memory of its own, then copied. Arrays that are not sharded are read as by `into`.
//! - `partial-decoders`: a partial decoder a shard, kept by this reader, which decodes into the output. Arrays that are
//!   not sharded are read as by `into`.
//! - `into`: `retrieve_array_subset_into`, which reads a shard's index at each call.

mod partial;

use partial::PartialDecoders;
use protocol::{ArrayCase, Case, Failure, Kind, Mode, Output, Reader, Ready, Refused, array_checksum, serve};
use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;
use unsafe_cell_slice::UnsafeCellSlice;
use zarrs::array::{
    Array, ArrayBytes, ArrayBytesDecodeIntoTarget, ArrayBytesFixedDisjointView, ArrayShardedExt,
    ArrayShardedReadableExt, ArrayShardedReadableExtCache, ArraySubset, CodecOptions,
};
use zarrs::filesystem::{FilesystemStore, FilesystemStoreOptions};
use zarrs::storage::ReadableStorageTraits;

/// Files that zarrs keeps open, far below any limit of open files.
const FILES_OPEN: usize = 512;

type Storage = dyn ReadableStorageTraits;

fn main() -> ExitCode {
    let version = protocol::locked_version(include_str!("../Cargo.lock"), "zarrs");
    serve("zarrs", version, |case: &Case, variant| match &case.kind {
        Kind::Array(array) => ready(array, variant.unwrap_or("shard-cache")),
        _ => Err(Refused("zarrs reads arrays".to_owned()).into()),
    })
}

fn ready(case: &ArrayCase, variant: &str) -> Result<Ready, Failure> {
    let mut options = FilesystemStoreOptions::default();
    options.file_handle_cache_size(FILES_OPEN);
    let store: Arc<Storage> = Arc::new(FilesystemStore::new_with_options(&case.array, options)?);
    // Whatever it finds wrong with the metadata of an array that others read is a thing that it does not support.
    let array = Array::open(store, "/").map_err(|error| Refused(error.to_string()))?;
    let item_bytes = array.data_type().fixed_size().ok_or("the items have no fixed size")?;
    let method = match variant {
        "shard-cache" if array.is_sharded() => Method::ShardCache(ArrayShardedReadableExtCache::new(&array)),
        "partial-decoders" if array.is_sharded() => Method::Partial(PartialDecoders::default()),
        "shard-cache" | "partial-decoders" | "into" => Method::Into,
        other => return Err(format!("wanted shard-cache, partial-decoders or into, found {other}").into()),
    };
    let selections: Vec<ArraySubset> = case
        .selections
        .iter()
        .map(|corner| ArraySubset::new_with_start_shape(corner.clone(), case.selection_shape.clone()))
        .collect::<Result<_, _>>()?;
    let threads = protocol::threads();
    // Selections run side by side where there are enough of them, else each is spread over the threads.
    let is_wide = case.mode == Mode::Batch && threads <= selections.len();
    let options = CodecOptions::default().with_concurrent_target(if is_wide { 1 } else { threads });
    let selection_bytes = case.elements() * item_bytes;
    let output = Output::new(selection_bytes * selections.len());
    let details =
        format!("{variant}, {threads} threads, {} of them a selection", options.concurrent_target());
    let extents = case.selection_shape.clone();
    let arrays = Arrays { array, method, options, item_bytes, extents };
    Ok(Ready {
        reader: Box::new(Selections { arrays, selections, selection_bytes, output, mode: case.mode }),
        details,
    })
}

enum Method {
    ShardCache(ArrayShardedReadableExtCache),
    Partial(PartialDecoders),
    Into,
}

struct Arrays {
    array: Array<Storage>,
    method: Method,
    options: CodecOptions,
    item_bytes: usize,
    extents: Vec<u64>,
}

impl Arrays {
    fn read(&self, selection: &ArraySubset, target: &mut [u8]) -> Result<(), Failure> {
        match &self.method {
            Method::ShardCache(cache) => {
                let read: ArrayBytes<'static> =
                    self.array.retrieve_array_subset_sharded_opt(cache, selection, &self.options)?;
                target.copy_from_slice(&read.into_fixed()?);
            }
            Method::Partial(decoders) => {
                decoders.read(&self.array, selection, self.item_bytes, target, &self.options)?
            }
            Method::Into => {
                let whole = ArraySubset::new_with_shape(self.extents.clone());
                let bytes = UnsafeCellSlice::new(target);
                // SAFETY: it is the only view of these bytes, which are borrowed exclusively.
                let mut view = unsafe {
                    ArrayBytesFixedDisjointView::new(bytes, self.item_bytes, &self.extents, whole)
                }?;
                let view = ArrayBytesDecodeIntoTarget::Fixed(&mut view);
                self.array.retrieve_array_subset_into_opt(selection, view, &self.options)?;
            }
        }
        Ok(())
    }
}

struct Selections {
    arrays: Arrays,
    selections: Vec<ArraySubset>,
    selection_bytes: usize,
    output: Output,
    mode: Mode,
}

impl Reader for Selections {
    fn pass(&mut self) -> Result<Vec<u64>, Failure> {
        let arrays = &self.arrays;
        if self.mode == Mode::Batch {
            let targets = self.output.par_chunks_exact_mut(self.selection_bytes);
            let pairs = self.selections.par_iter().zip(targets);
            pairs.try_for_each(|(selection, target)| arrays.read(selection, target))?;
            return Ok(Vec::new());
        }
        let mut latencies = Vec::with_capacity(self.selections.len());
        for (selection, target) in
            self.selections.iter().zip(self.output.chunks_exact_mut(self.selection_bytes))
        {
            let start = Instant::now();
            arrays.read(selection, target)?;
            latencies.push(start.elapsed().as_nanos() as u64);
        }
        Ok(latencies)
    }

    fn checksum(&self) -> u64 {
        array_checksum(&self.output)
    }
}
