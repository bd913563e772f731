//! A partial decoder a shard, kept from one selection to the next: it holds the shard's index.

use crate::Storage;
use protocol::Failure;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use unsafe_cell_slice::UnsafeCellSlice;
use zarrs::array::{
    Array, ArrayBytesDecodeIntoTarget, ArrayBytesFixedDisjointView, ArrayPartialDecoderTraits, ArraySubset,
    CodecOptions,
};

type Decoder = Arc<dyn ArrayPartialDecoderTraits>;

/// The decoders of the shards that were read so far.
#[derive(Default)]
pub(crate) struct PartialDecoders(RwLock<HashMap<Vec<u64>, Decoder>>);

impl PartialDecoders {
    /// Reads one selection into `target`, shards side by side.
    pub(crate) fn read(
        &self,
        array: &Array<Storage>,
        selection: &ArraySubset,
        item_bytes: usize,
        target: &mut [u8],
        options: &CodecOptions,
    ) -> Result<(), Failure> {
        let extents = selection.shape().to_vec();
        let bytes = UnsafeCellSlice::new(target);
        let shards =
            array.chunks_in_array_subset(selection)?.ok_or("the selection reaches past the array")?;
        let shards: Vec<Vec<u64>> = shards.indices().into_iter().map(|indices| indices.to_vec()).collect();
        let read = |shard: &Vec<u64>| -> Result<(), Failure> {
            let stored = array.chunk_subset(shard)?;
            let wanted = stored.overlap(selection)?;
            let place = wanted.relative_to(selection.start())?;
            // SAFETY: shards do not overlap, so neither do their places in the output.
            let mut view = unsafe { ArrayBytesFixedDisjointView::new(bytes, item_bytes, &extents, place) }?;
            let within = wanted.relative_to(stored.start())?;
            let decoder = self.decoder(array, shard)?;
            Ok(decoder.partial_decode_into(&within, ArrayBytesDecodeIntoTarget::Fixed(&mut view), options)?)
        };
        if options.concurrent_target() == 1 {
            shards.iter().try_for_each(read)
        } else {
            shards.par_iter().try_for_each(read)
        }
    }

    fn decoder(&self, array: &Array<Storage>, shard: &Vec<u64>) -> Result<Decoder, Failure> {
        if let Some(found) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(shard) {
            return Ok(Arc::clone(found));
        }
        let made = array.partial_decoder(shard)?;
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(shard.clone(), Arc::clone(&made));
        Ok(made)
    }
}
