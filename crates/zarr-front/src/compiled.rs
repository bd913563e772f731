//! What an array's metadata comes to, worked out once when it is opened.

use crate::data_type::{ForeignUnits, swap_units};
use crate::metadata::transposed;
use crate::metadata::{ArrayCodecs, ArrayMetadata, IndexLocation, Sharding};
use crate::raveling::{cell_count, unravel};
use crate::shaped_chains::{ChunkChains, ShapedChains, ShapedCodecs, chunk_chains};
use crate::shard_codec::{ShardElements, whole_shard_codecs};
use crate::variable::fill_place;
use crate::{DataType, Error, ErrorKind};
use std::sync::Arc;
use swath_codecs::{Chain, Checksums, ChunkLayout, Codec, Element, NumberType, VariableChain};

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
    /// Where a stored chunk is its elements and nothing else, so that it can be read in part: bytes between neighbours
    /// along each axis.
    pub(crate) part_strides: Option<Vec<u64>>,
    /// Whether chunks are copied straight from where they lie to the output, where they lie in a mapping.
    pub(crate) takes_pieces: bool,
    /// One level of sharding, whose entries are numbered as the chunks are.
    pub(crate) is_flat: bool,
    /// One element as it lies where no chunk is stored: the fill value, in the byte order that chunks are decoded to.
    pub(crate) fill: Box<[u8]>,
    /// Of structures, the fields that are decoded to a foreign byte order: they are swapped once a read has ended, and before a chunk
    /// is encoded.
    pub(crate) foreign: Vec<ForeignUnits>,
    /// From stored bytes to a chunk where elements have lengths of their own; `chain` is then never run.
    pub(crate) variable: Option<VariableChain>,
    /// Where chunks differ in shape: their chains. `chunk_shape`, `chain` and `variable` are of the longest extents then.
    pub(crate) shaped: Option<Arc<ShapedChains>>,
    /// The most stored bytes that a sound chunk can have.
    pub(crate) encoded_len_max: u64,
}

/// One level of sharding.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    /// Index entries along each axis of the array.
    pub(crate) entries: Vec<u64>,
    /// By how much the number of an entry grows along each axis of the array: row-major, unless a codec ahead of this
    /// level transposes.
    entry_strides: Vec<u64>,
    /// Index entries in all.
    pub(crate) entry_count: u64,
    /// Chunks (of the innermost kind) in one entry, along each axis of the array.
    chunks_per_entry: Vec<u64>,
    /// From stored bytes to the index.
    pub(crate) index_chain: Chain,
    /// Stored bytes of the index.
    pub(crate) index_bytes: u64,
    /// Which end of the shard the index lies at.
    pub(crate) index_location: IndexLocation,
}

impl Compiled {
    /// Works out how to read an array.
    pub(crate) fn new(metadata: &ArrayMetadata) -> Result<Compiled, Error> {
        let element = metadata.data_type().element();
        let object_shape = metadata.chunk_shape().to_vec();
        let lengths = metadata.shape().iter().zip(&object_shape);
        let objects: Vec<u64> = match metadata.rectilinear() {
            None => lengths.map(|(length, extent)| length.div_ceil((*extent).max(1))).collect(),
            Some(grid) => grid.counts(metadata.shape()),
        };
        let shards = uneven_shards(metadata);
        let Unfolded { chunk_shape, codecs, mut levels, .. } = Unfolded::new(metadata, shards.as_ref())?;
        let chunks_per_object: Vec<u64> =
            object_shape.iter().zip(&chunk_shape).map(|(object, chunk)| object / (*chunk).max(1)).collect();
        if cell_count(&chunks_per_object).is_none() {
            return Err(Error::unsupported("a shard of more than 2^64 chunks"));
        }
        let foreign = foreign_units(metadata.data_type(), &codecs);
        let mut fill = metadata.fill_value().bytes().to_vec();
        swap_units(&mut fill, element.size_bytes, &foreign);
        let elements = metadata.data_type().variable();
        let ChunkChains { chain, variable } = chunk_chains(&codecs, &chunk_shape, element, elements)?;
        let shaped = metadata.rectilinear().map(|grid| {
            let codecs = shards.unwrap_or_else(|| ShapedCodecs::Same(codecs.clone()));
            Arc::new(ShapedChains::new(grid.clone(), objects.clone(), codecs, (element, elements)))
        });
        if let Some(variable) = elements {
            fill = fill_place(&fill, variable)?.to_vec();
        }
        let encoded_len_max = match &variable {
            None => chain.encoded_len_max(),
            Some(_) => VARIABLE_LEN_MAX,
        };
        for level in &mut levels {
            for (chunks, extent) in level.chunks_per_entry.iter_mut().zip(&chunk_shape) {
                *chunks /= (*extent).max(1);
            }
        }
        let part_strides = part_strides(&chain).filter(|_| shaped.is_none());
        let row_bytes = chunk_shape.last().map_or(0, |extent| extent.saturating_mul(element_bytes(&chain)));
        let takes_pieces = shaped.is_none() && chain.is_identity() && ROW_BYTES_MIN <= row_bytes;
        let is_flat = matches!(levels.as_slice(), [level] if level.is_row_major());
        Ok(Compiled {
            chunk_shape,
            objects,
            chunks_per_object,
            chain,
            levels,
            part_strides,
            takes_pieces,
            is_flat,
            fill: fill.into_boxed_slice(),
            foreign,
            variable,
            shaped,
            encoded_len_max,
        })
    }

    /// The same, with this treatment of the checksums of chunks; those of indexes are always compared.
    pub(crate) fn with_checksums(self, checksums: Checksums) -> Compiled {
        let variable = self.variable.map(|chain| chain.with_checksums(checksums));
        let shaped = self.shaped.map(|shaped| Arc::new(shaped.with_checksums(checksums)));
        Compiled { chain: self.chain.with_checksums(checksums), variable, shaped, ..self }
    }

    /// Chunks of one object in all; [`Compiled::new`] has checked that 64 bits count them.
    pub(crate) fn chunks_in_object(&self) -> u64 {
        self.chunks_per_object.iter().product()
    }

    /// One short phrase for each codec of a chunk, in encoding order.
    pub(crate) fn phrases(&self) -> Vec<String> {
        self.variable.as_ref().map_or_else(|| self.chain.describe(), VariableChain::describe)
    }

    /// Gives elements this machine's byte order where chunks are not decoded to it, or those that have it the order that chunks are
    /// encoded from.
    pub(crate) fn turn_foreign(&self, elements: &mut [u8]) {
        if !self.foreign.is_empty() {
            swap_units(elements, self.chain.layout().element.size_bytes, &self.foreign);
        }
    }

    /// The object that a chunk is in, and the chunk's number there, both in C order; `None` beyond the grid.
    pub(crate) fn place_of(&self, cell: &[u64]) -> Option<(u64, u64)> {
        let mut place = (0, 0);
        for ((cell, objects), chunks) in cell.iter().zip(&self.objects).zip(&self.chunks_per_object) {
            let object = cell.checked_div(*chunks).filter(|object| object < objects)?;
            place = (place.0 * objects + object, place.1 * chunks + cell % chunks);
        }
        Some(place)
    }

    /// The coordinates of an object's first chunk, written to `origin`.
    pub(crate) fn object_origin(&self, object: u64, origin: &mut [u64]) {
        unravel(object, &self.objects, origin);
        for (origin, chunks) in origin.iter_mut().zip(&self.chunks_per_object) {
            *origin = origin.saturating_mul(*chunks);
        }
    }
}

/// What takes shards apart that differ in shape; `None` of any other array.
fn uneven_shards(metadata: &ArrayMetadata) -> Option<ShapedCodecs> {
    let (ArrayCodecs::Sharding(sharding), Some(_)) = (metadata.codecs(), metadata.rectilinear()) else {
        return None;
    };
    let (sharding, data_type) = (sharding.clone(), metadata.data_type().clone());
    Some(ShapedCodecs::Shards { sharding, data_type, fill: metadata.fill_value().bytes().into() })
}

/// Fields of a structure have units of several sizes, which no codec swaps.
fn foreign_units(data_type: &DataType, codecs: &[Codec]) -> Vec<ForeignUnits> {
    let DataType::Struct(structure) = data_type else { return Vec::new() };
    let order = codecs.iter().find_map(|codec| match codec {
        Codec::Bytes(bytes) => bytes.order,
        _ => None,
    });
    structure.foreign_units(order)
}

/// Stored bytes of a chunk of elements of any length, at most: nothing but the stored object tells how many there are.
pub(crate) const VARIABLE_LEN_MAX: u64 = 1 << 30;

/// Rows of a chunk that are copied one by one, at least: copying shorter ones costs more than copying the chunk first.
const ROW_BYTES_MIN: u64 = 64;

fn element_bytes(chain: &Chain) -> u64 {
    swath_ioengine::storage_len(chain.layout().element.size_bytes)
}

/// Strides of chunks that can be read in part. Larger ones than 32 bits count are always read whole.
fn part_strides(chain: &Chain) -> Option<Vec<u64>> {
    u32::try_from(chain.decoded_len()).ok()?;
    let strides = chain.part_strides()?;
    Some(strides.iter().map(|stride| swath_ioengine::storage_len(*stride)).collect())
}

impl Level {
    /// True where an entry is a chunk, and its number the chunk's.
    fn is_row_major(&self) -> bool {
        let mut stride = 1;
        let mut axes = self.entries.iter().zip(&self.entry_strides).rev();
        self.chunks_per_entry.iter().all(|chunks| *chunks == 1)
            && axes.all(|(entries, found)| {
                let expected = stride;
                stride *= entries;
                *found == expected || *entries == 1
            })
    }

    /// Which axis of the array each axis is that the index counts, but for those of one entry, which come last.
    pub(crate) fn frame(&self) -> Vec<usize> {
        let mut frame: Vec<usize> = (0..self.entries.len()).collect();
        frame.sort_by_key(|axis| (self.entries[*axis] == 1, std::cmp::Reverse(self.entry_strides[*axis])));
        frame
    }

    /// The number of the entry at these coordinates, along each axis of the array.
    pub(crate) fn entry_number(&self, coordinates: &[u64]) -> u64 {
        coordinates.iter().zip(&self.entry_strides).map(|(at, stride)| at * stride).sum()
    }

    /// Elements of an entry along each axis of the array.
    pub(crate) fn entry_shape(&self, chunk_shape: &[u64]) -> Vec<u64> {
        self.chunks_per_entry.iter().zip(chunk_shape).map(|(chunks, extent)| chunks * extent).collect()
    }

    /// The index entry that the chunk at these coordinates of its object lies in, or below.
    pub(crate) fn entry_of(&self, chunk: &[u64]) -> u64 {
        let axes = chunk.iter().zip(&self.chunks_per_entry).zip(&self.entries).zip(&self.entry_strides);
        axes.map(|(((at, chunks), entries), stride)| at / chunks % entries * stride).sum()
    }
}

/// Shards in shards, followed from the outside in.
struct Unfolded {
    /// What an entry of the innermost level so far is, in elements along each axis of the array.
    chunk_shape: Vec<u64>,
    /// Which axis of the array each axis is that the codecs to come see.
    frame: Vec<usize>,
    /// The codecs of a chunk: the transposes on the way, and those of the innermost level.
    codecs: Vec<Codec>,
    /// `chunks_per_entry` of these holds elements for now.
    levels: Vec<Level>,
}

impl Unfolded {
    /// All levels of an array's codecs; none of shards that are decoded whole, by `whole`.
    fn new(metadata: &ArrayMetadata, whole: Option<&ShapedCodecs>) -> Result<Unfolded, Error> {
        let object_shape = metadata.chunk_shape().to_vec();
        let mut unfolded = Unfolded {
            frame: (0..object_shape.len()).collect(),
            chunk_shape: object_shape,
            codecs: Vec::new(),
            levels: Vec::new(),
        };
        match whole {
            Some(whole) => unfolded.codecs = whole.of(&unfolded.chunk_shape)?.into_owned(),
            None => {
                let (data_type, fill) = (metadata.data_type(), metadata.fill_value().bytes());
                unfolded.unfold(metadata.codecs(), ShardElements { data_type, fill })?;
            }
        }
        Ok(unfolded)
    }

    fn unfold(&mut self, codecs: &ArrayCodecs, elements: ShardElements<'_>) -> Result<(), Error> {
        let sharding = match codecs {
            ArrayCodecs::Chain(codecs) => {
                self.codecs.extend(codecs.iter().cloned());
                return Ok(());
            }
            ArrayCodecs::Sharding(sharding) => sharding,
        };
        if !sharding.outer.is_empty() {
            let shape: Vec<u64> = self.frame.iter().map(|axis| self.chunk_shape[*axis]).collect();
            self.codecs.extend(whole_shard_codecs(sharding, &shape, elements)?);
            return Ok(());
        }
        for codec in &sharding.transposes {
            self.frame = transposed(codec, &self.frame, "codecs")?;
            self.codecs.push(codec.clone());
        }
        let level = self.level(sharding)?;
        self.levels.push(level);
        self.unfold(&sharding.codecs, elements)
    }

    fn level(&mut self, sharding: &Sharding) -> Result<Level, Error> {
        let entries: Vec<u64> = self
            .frame
            .iter()
            .zip(&sharding.chunk_shape)
            .map(|(axis, chunk)| self.chunk_shape[*axis] / (*chunk).max(1))
            .collect();
        let entry_count =
            cell_count(&entries).ok_or_else(|| Error::invalid("a shard of more than 2^64 inner chunks"))?;
        let (index_chain, index_bytes) = index_chain(sharding, &entries)?;
        let mut level = Level {
            entries: vec![1; entries.len()],
            entry_strides: vec![0; entries.len()],
            entry_count,
            chunks_per_entry: Vec::new(),
            index_chain,
            index_bytes,
            index_location: sharding.index_location,
        };
        let mut stride = 1;
        for ((axis, entries), chunk) in self.frame.iter().zip(&entries).zip(&sharding.chunk_shape).rev() {
            level.entries[*axis] = *entries;
            level.entry_strides[*axis] = stride;
            stride *= entries;
            self.chunk_shape[*axis] = *chunk;
        }
        level.chunks_per_entry.clone_from(&self.chunk_shape);
        Ok(level)
    }
}

/// From the stored bytes of an index of so many entries to the index, and how many bytes those are.
pub(crate) fn index_chain(sharding: &Sharding, entries: &[u64]) -> Result<(Chain, u64), Error> {
    let mut shape = entries.to_vec();
    shape.push(2);
    let layout = ChunkLayout { shape, element: Element::number(NumberType::UInt64) };
    let chain = Chain::compile(&sharding.index_codecs, &layout)?;
    let bytes = chain.encoded_len_fixed().ok_or_else(|| {
        let codecs: Vec<&str> = sharding.index_codecs.iter().map(Codec::name).collect();
        Error::new(
            ErrorKind::Unsupported,
            format!("a shard index of no fixed length, by the codecs {}", codecs.join(", ")),
        )
    })?;
    Ok((chain, bytes))
}
