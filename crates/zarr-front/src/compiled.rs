//! What an array's metadata comes to, worked out once when it is opened.

use crate::metadata::{ArrayCodecs, ArrayMetadata, IndexLocation, Sharding};
use crate::{Error, ErrorKind};
use swath_codecs::{Chain, ChunkLayout, Codec, Element};

/// Grids, chains and strides of one array.
#[derive(Clone, Debug)]
pub(crate) struct Compiled {
    /// Elements of a chunk along each axis: the smallest unit that is decoded.
    pub(crate) chunk_shape: Vec<u64>,
    /// Stored objects (chunks, or shards) along each axis.
    pub(crate) objects: Vec<u64>,
    /// Chunks of one object along each axis: all ones without sharding.
    pub(crate) chunks_per_object: Vec<u64>,
    /// From stored bytes to a chunk.
    pub(crate) chain: Chain,
    /// The shards around a chunk, outermost first; none without sharding.
    pub(crate) levels: Vec<Level>,
    /// Leading axes by which the chunks of an object are cut into slabs.
    pub(crate) slab_axes: usize,
    /// Slabs of one window.
    pub(crate) slabs_per_window: u64,
}

/// One level of sharding.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    /// Index entries along each axis.
    pub(crate) entries: Vec<u64>,
    /// Index entries in all.
    pub(crate) entry_count: u64,
    /// Chunks (of the innermost kind) in one entry, along each axis.
    pub(crate) chunks_per_entry: Vec<u64>,
    /// From stored bytes to the index.
    pub(crate) index_chain: Chain,
    /// Stored bytes of the index.
    pub(crate) index_bytes: u64,
    /// Which end of the shard the index lies at.
    pub(crate) index_location: IndexLocation,
}

/// Chunks that one window aims at: few enough that lanes share a shard evenly, many enough that looking up the shard
/// (about 1 µs) costs little beside decoding its chunks.
const WINDOW_CHUNKS: u64 = 128;

/// Chunks of a slab at most, where axes allow: windows are made of whole slabs.
const SLAB_CHUNKS_MAX: u64 = 256;

impl Compiled {
    /// Works out how to read an array.
    pub(crate) fn new(metadata: &ArrayMetadata) -> Result<Compiled, Error> {
        let element = metadata.data_type().element();
        let object_shape = metadata.chunk_shape().to_vec();
        let objects = metadata
            .shape()
            .iter()
            .zip(&object_shape)
            .map(|(length, extent)| length.div_ceil((*extent).max(1)))
            .collect();
        let mut levels = Vec::new();
        let (chunk_shape, codecs) = unfold(metadata.codecs(), &object_shape, &mut levels)?;
        let chunks_per_object: Vec<u64> =
            object_shape.iter().zip(&chunk_shape).map(|(object, chunk)| object / (*chunk).max(1)).collect();
        let chain = Chain::compile(&codecs, &ChunkLayout { shape: chunk_shape.clone(), element })?;
        for level in &mut levels {
            for (chunks, extent) in level.chunks_per_entry.iter_mut().zip(&chunk_shape) {
                *chunks /= (*extent).max(1);
            }
        }
        let slab_axes = slab_axes(&chunks_per_object);
        let slab_chunks: u64 = chunks_per_object[slab_axes..].iter().product();
        Ok(Compiled {
            slabs_per_window: (WINDOW_CHUNKS / slab_chunks.max(1)).max(1),
            chunk_shape,
            objects,
            chunks_per_object,
            chain,
            levels,
            slab_axes,
        })
    }

    /// Extents of the axes that number slabs.
    pub(crate) fn slab_extents(&self) -> &[u64] {
        &self.chunks_per_object[..self.slab_axes]
    }
}

/// The fewest leading axes whose slabs are small enough.
fn slab_axes(chunks_per_object: &[u64]) -> usize {
    let mut chunks = 1u64;
    let mut axes = chunks_per_object.len();
    for extent in chunks_per_object.iter().rev() {
        chunks = chunks.saturating_mul(*extent);
        if SLAB_CHUNKS_MAX < chunks {
            break;
        }
        axes -= 1;
    }
    axes
}

/// Follows shards in shards down to the chunk; returns its shape and its codecs. `chunks_per_entry` of the levels holds
/// elements for now.
fn unfold(
    codecs: &ArrayCodecs,
    shape: &[u64],
    levels: &mut Vec<Level>,
) -> Result<(Vec<u64>, Vec<Codec>), Error> {
    let sharding = match codecs {
        ArrayCodecs::Chain(codecs) => return Ok((shape.to_vec(), codecs.clone())),
        ArrayCodecs::Sharding(sharding) => sharding,
    };
    if let Some(codec) = sharding.transposes.first() {
        return Err(Error::unsupported(format!("codec `{}` before `sharding_indexed`", codec.name())));
    }
    if let Some(codec) = sharding.outer.first() {
        return Err(Error::unsupported(format!("codec `{}` behind `sharding_indexed`", codec.name())));
    }
    levels.push(level(sharding, shape)?);
    unfold(&sharding.codecs, &sharding.chunk_shape, levels)
}

fn level(sharding: &Sharding, shard_shape: &[u64]) -> Result<Level, Error> {
    let entries: Vec<u64> =
        shard_shape.iter().zip(&sharding.chunk_shape).map(|(shard, chunk)| shard / chunk).collect();
    let entry_count = entries.iter().try_fold(1u64, |product, extent| product.checked_mul(*extent));
    let entry_count = entry_count.ok_or_else(|| Error::invalid("a shard of more than 2^64 inner chunks"))?;
    let mut shape = entries.clone();
    shape.push(2);
    let layout = ChunkLayout { shape, element: Element { size_bytes: 8, swap_unit_bytes: 8 } };
    let index_chain = Chain::compile(&sharding.index_codecs, &layout)?;
    let index_bytes = index_chain.encoded_len_fixed().ok_or_else(|| {
        let codecs: Vec<&str> = sharding.index_codecs.iter().map(Codec::name).collect();
        Error::new(
            ErrorKind::Unsupported,
            format!("a shard index of no fixed length, by the codecs {}", codecs.join(", ")),
        )
    })?;
    Ok(Level {
        entries,
        entry_count,
        chunks_per_entry: sharding.chunk_shape.clone(),
        index_chain,
        index_bytes,
        index_location: sharding.index_location,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slabs_are_as_large_as_they_may_be() {
        assert_eq!(slab_axes(&[1, 10, 16, 16]), 2);
        assert_eq!(slab_axes(&[1, 1, 1, 1]), 0);
        assert_eq!(slab_axes(&[100_000]), 1);
        assert_eq!(slab_axes(&[32, 32]), 1);
        assert_eq!(slab_axes(&[]), 0);
    }
}
