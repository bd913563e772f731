//! Shards that other codecs encode once more, or that differ in shape: they are decoded whole, as chunks are.

use crate::compiled::index_chain;
use crate::metadata::{ArrayCodecs, IndexLocation, Sharding, is_transpose};
use crate::raveling::{cell_count, unravel};
use crate::shard_index::{MISSING, ShardIndex, index_within};
use crate::strided_copy::{CopyAxis, copy_box, is_repeated, repeat};
use crate::{DataType, Error};
use serde_json::json;
use std::sync::Arc;
use swath_codecs::{Chain, ChunkLayout, Codec, CodecClass, CodecCode, RegisteredCodec, Scratch};
use swath_ioengine::{memory_len, storage_len};

/// What chunks of shards are made of, wherever they lie.
#[derive(Clone, Copy)]
pub(crate) struct ShardElements<'a> {
    pub(crate) data_type: &'a DataType,
    /// One element of a chunk that is not stored.
    pub(crate) fill: &'a [u8],
}

/// The codecs of shards of `shape`, for chunks that are whole shards: those ahead of the sharding, one that takes shards
/// apart, and those behind.
///
/// # Errors
///
/// `Unsupported` where a codec ahead of the sharding does more than move axes, and for structures and elements of any
/// length.
pub(crate) fn whole_shard_codecs(
    sharding: &Sharding,
    shape: &[u64],
    elements: ShardElements<'_>,
) -> Result<Vec<Codec>, Error> {
    let unsupported = |what: &str| {
        let whole = match sharding.outer.first() {
            Some(outer) => format!("codec `{}` behind `sharding_indexed`", outer.name()),
            None => "shards of different lengths (grid `rectilinear`)".to_owned(),
        };
        Error::unsupported(format!("{whole} {what}"))
    };
    if elements.data_type.is_variable_length() || matches!(elements.data_type, DataType::Struct(_)) {
        return Err(unsupported(&format!("of data type `{}`", elements.data_type)));
    }
    if let Some(codec) = sharding.transposes.iter().find(|codec| !is_transpose(codec)) {
        return Err(unsupported(&format!("and codec `{}` ahead of it", codec.name())));
    }
    let mut shape = shape.to_vec();
    for codec in &sharding.transposes {
        shape = crate::metadata::transposed(codec, &shape, "codecs")?;
    }
    let code = ShardCode::new(sharding, &shape, elements)?;
    let entry = json!({"name": "sharding_indexed"});
    let mut codecs = sharding.transposes.clone();
    codecs.push(Codec::Registered(RegisteredCodec::new(&entry, CodecClass::ArrayToBytes, Arc::new(code))));
    codecs.extend(sharding.outer.iter().cloned());
    Ok(codecs)
}

/// Takes shards apart, and puts them together.
struct ShardCode {
    /// Elements along each axis, of a shard and of an inner chunk.
    shard_shape: Vec<u64>,
    chunk_shape: Vec<u64>,
    /// Inner chunks along each axis.
    entries: Vec<u64>,
    entry_count: usize,
    chain: Chain,
    index_chain: Chain,
    index_bytes: usize,
    index_location: IndexLocation,
    fill: Vec<u8>,
}

impl ShardCode {
    fn new(sharding: &Sharding, shape: &[u64], elements: ShardElements<'_>) -> Result<ShardCode, Error> {
        let chunk_shape = sharding.chunk_shape.clone();
        let entries: Vec<u64> =
            shape.iter().zip(&chunk_shape).map(|(extent, chunk)| extent / (*chunk).max(1)).collect();
        let entry_count =
            cell_count(&entries).ok_or_else(|| Error::invalid("a shard of more than 2^64 inner chunks"))?;
        let codecs = match &sharding.codecs {
            ArrayCodecs::Chain(codecs) => codecs.clone(),
            ArrayCodecs::Sharding(inner) => whole_shard_codecs(inner, &chunk_shape, elements)?,
        };
        let layout = ChunkLayout { shape: chunk_shape.clone(), element: elements.data_type.element() };
        let (index_chain, index_bytes) = index_chain(sharding, &entries)?;
        Ok(ShardCode {
            shard_shape: shape.to_vec(),
            chain: Chain::compile(&codecs, &layout)?,
            chunk_shape,
            entries,
            entry_count: memory_len(entry_count)?,
            index_chain,
            index_bytes: memory_len(index_bytes)?,
            index_location: sharding.index_location,
            fill: elements.fill.to_vec(),
        })
    }

    /// The index of a stored shard.
    fn index(&self, shard: &[u8], scratch: &mut Scratch) -> Result<ShardIndex, String> {
        let stored = index_within(shard, self.index_location, storage_len(self.index_bytes));
        let index = stored.and_then(|stored| ShardIndex::decode_by(&self.index_chain, stored, scratch));
        index.map_err(|error| error.message().to_owned())
    }

    /// Copies the inner chunk of this number between a shard and memory of its own; `None` where it lies outside either.
    fn copy(&self, number: usize, way: Way<'_>) -> Option<()> {
        let mut coordinates = vec![0; self.entries.len()];
        unravel(storage_len(number), &self.entries, &mut coordinates);
        let element = self.fill.len();
        let (mut in_shard, mut in_chunk, mut start) = (element, element, 0usize);
        let mut axes = Vec::with_capacity(coordinates.len());
        for axis in (0..coordinates.len()).rev() {
            let extent = usize::try_from(self.chunk_shape[axis]).ok()?;
            let first = usize::try_from(coordinates[axis]).ok()?.checked_mul(extent)?;
            start = start.checked_add(first.checked_mul(in_shard)?)?;
            axes.push((extent, in_shard.cast_signed(), in_chunk.cast_signed()));
            in_shard = in_shard.checked_mul(usize::try_from(self.shard_shape[axis]).ok()?)?;
            in_chunk = in_chunk.checked_mul(extent)?;
        }
        axes.reverse();
        let towards = |from_shard| {
            let axis = |(count, shard, chunk): &(usize, isize, isize)| match from_shard {
                true => CopyAxis::Even { count: *count, source_stride: *shard, target_stride: *chunk },
                false => CopyAxis::Even { count: *count, source_stride: *chunk, target_stride: *shard },
            };
            axes.iter().map(axis).collect::<Vec<CopyAxis>>()
        };
        match way {
            Way::Out { shard, chunk } => copy_box(towards(true), element, (shard, start), (chunk, 0)),
            Way::In { chunk, shard } => copy_box(towards(false), element, (chunk, 0), (shard, start)),
        }
    }
}

/// From where to where an inner chunk is copied.
enum Way<'a> {
    Out { shard: &'a [u8], chunk: &'a mut [u8] },
    In { chunk: &'a [u8], shard: &'a mut [u8] },
}

impl CodecCode for ShardCode {
    fn decode(&self, source: &[u8], _: Option<&ChunkLayout>, target: &mut [u8]) -> Result<usize, String> {
        let mut scratch = Scratch::default();
        let index = self.index(source, &mut scratch)?;
        let mut chunk = vec![0; self.chain.decoded_len()];
        for number in 0..self.entry_count {
            if let Some((offset, len)) = index.entry(storage_len(number)) {
                let range = usize::try_from(offset).ok().zip(usize::try_from(len).ok());
                let stored = range.and_then(|(start, len)| source.get(start..start.checked_add(len)?));
                let stored = stored.ok_or_else(|| {
                    format!(
                        "the index of a shard of {} bytes points to {len} bytes at {offset}, as inner chunk {number}",
                        source.len()
                    )
                })?;
                let decoded = self.chain.decode_into(stored, &mut chunk, &mut scratch);
                decoded.map_err(|error| format!("inner chunk {number}: {error}"))?;
            } else {
                repeat(&mut chunk, &self.fill);
            }
            self.copy(number, Way::In { chunk: &chunk, shard: target }).ok_or_else(outside)?;
        }
        Ok(target.len())
    }

    fn encode(&self, source: &[u8], _: Option<&ChunkLayout>, target: &mut Vec<u8>) -> Result<(), String> {
        let mut scratch = Scratch::default();
        let mut index = vec![MISSING; self.entry_count];
        let (mut chunk, mut encoded) = (vec![0; self.chain.decoded_len()], Vec::new());
        if self.index_location == IndexLocation::Start {
            target.resize(self.index_bytes, 0);
        }
        for (number, entry) in index.iter_mut().enumerate() {
            self.copy(number, Way::Out { shard: source, chunk: &mut chunk }).ok_or_else(outside)?;
            if is_repeated(&chunk, &self.fill) {
                continue;
            }
            let done = self.chain.encode(&chunk, &mut encoded, &mut scratch);
            done.map_err(|error| format!("inner chunk {number}: {error}"))?;
            *entry = [storage_len(target.len()), storage_len(encoded.len())];
            target.extend_from_slice(&encoded);
        }
        let index: Vec<u8> = index.as_flattened().iter().flat_map(|word| word.to_ne_bytes()).collect();
        self.index_chain.encode(&index, &mut encoded, &mut scratch).map_err(|error| error.to_string())?;
        match self.index_location {
            IndexLocation::Start => {
                let place = target.get_mut(..encoded.len()).ok_or_else(outside)?;
                place.copy_from_slice(&encoded);
            }
            IndexLocation::End => target.extend_from_slice(&encoded),
        }
        Ok(())
    }

    fn encoded_bytes_max(&self, _decoded_bytes: u64) -> u64 {
        let chunks = self.chain.encoded_len_max_of(storage_len(self.entry_count));
        chunks.saturating_add(storage_len(self.index_bytes))
    }
}

fn outside() -> String {
    "an inner chunk lies outside its shard".to_owned()
}
