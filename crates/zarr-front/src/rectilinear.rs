//! Arrays whose chunks have lengths of their own along some axes: their metadata, and a chain for each shape of a chunk.
//!
//! Such an array is planned as if elements were picked along these axes, a run for each chunk that a slice crosses
//! ([`crate::picking`]); what is picked knows its chunk by number, and its place within it. Only where a chunk is decoded does it
//! matter what shape it has. Shards that differ in shape are such chunks: they are decoded whole.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use swath_codecs::{Chain, Checksums, ChunkLayout, Codec, Element, Output, VariableChain};

use crate::axis_edges::AxisEdges;
use crate::data_type::VariableType;
use crate::metadata::{Sharding, wrong};
use crate::placement::Placement;
use crate::shard_codec::{ShardElements, whole_shard_codecs};
use crate::{DataType, Error};

/// The chunks along each axis of an array, of which some axis has chunks of different lengths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rectilinear {
    axes: Vec<AxisEdges>,
}

impl Rectilinear {
    /// Parses the `chunk_shapes` of a `rectilinear` grid for an array of `shape`: for each axis a length, or a list of lengths
    /// and of pairs of a length and how many times it comes.
    ///
    /// Source: the Zarr extensions registry, chunk grid `rectilinear`.
    pub(crate) fn parse(value: &Value, shape: &[u64]) -> Result<Rectilinear, Error> {
        let broken = |wanted: &str| wrong("chunk_shapes", wanted, value);
        let entries = value.as_array().filter(|entries| entries.len() == shape.len());
        let entries = entries.ok_or_else(|| {
            broken(&format!("of as many dimensions as the array's `shape` ({})", shape.len()))
        })?;
        let axis = |(entry, length): (&Value, &u64)| {
            let lengths = match entry {
                Value::Array(lengths) => lengths.iter().map(run_of).collect::<Option<Vec<_>>>(),
                // As many as it takes; of an axis without elements, one.
                every => every
                    .as_u64()
                    .filter(|every| *every != 0)
                    .map(|every| vec![(every, length.div_ceil(every).max(1))]),
            };
            let lengths = lengths.ok_or_else(|| {
                broken(
                    "a length above 0 for each axis, or a list of such lengths and of pairs [length, count]",
                )
            })?;
            AxisEdges::new(&lengths, *length).ok_or_else(|| broken(&format!("chunks for all of {shape:?}")))
        };
        Ok(Rectilinear { axes: entries.iter().zip(shape).map(axis).collect::<Result<_, Error>>()? })
    }

    /// The shape of every chunk, where all have the same: the grid is a regular one then.
    pub(crate) fn common_shape(&self) -> Option<Vec<u64>> {
        self.axes.iter().map(AxisEdges::common).collect()
    }

    /// The longest chunk along each axis.
    pub(crate) fn longest(&self) -> Vec<u64> {
        self.axes.iter().map(AxisEdges::longest).collect()
    }

    /// Chunks along each axis of an array of `shape`.
    pub(crate) fn counts(&self, shape: &[u64]) -> Vec<u64> {
        self.axes.iter().zip(shape).map(|(axis, length)| axis.count(*length)).collect()
    }

    /// One axis's chunks, where they differ in length.
    pub(crate) fn axis(&self, axis: usize) -> Option<&AxisEdges> {
        self.axes.get(axis).filter(|edges| edges.common().is_none())
    }

    /// One axis's chunks.
    pub(crate) fn edges(&self, axis: usize) -> Option<&AxisEdges> {
        self.axes.get(axis)
    }

    /// Checks that all chunks, which are shards, are made of whole inner chunks of this shape.
    pub(crate) fn check_inner(&self, inner: &[u64]) -> Result<(), Error> {
        for (axis, (edges, extent)) in self.axes.iter().zip(inner).enumerate() {
            if let Some(length) = edges.not_a_multiple_of(*extent) {
                let message = format!(
                    "wanted shards of multiples of {extent} elements along axis {axis}, as inner chunks are, found one of {length}"
                );
                return Err(Error::invalid(message));
            }
        }
        Ok(())
    }

    /// The shape of the chunk at these coordinates.
    fn shape_at(&self, coordinates: &[u64]) -> Vec<u64> {
        self.axes.iter().zip(coordinates).map(|(axis, chunk)| axis.extent(*chunk)).collect()
    }
}

/// One length, once; or a pair of a length and how many times it comes.
fn run_of(value: &Value) -> Option<(u64, u64)> {
    match value {
        Value::Array(pair) if pair.len() == 2 => pair[0].as_u64().zip(pair[1].as_u64()),
        length => Some((length.as_u64()?, 1)),
    }
}

/// What chunks of any shape go through.
#[derive(Clone, Debug)]
pub(crate) enum ShapedCodecs {
    /// These codecs, whatever the shape.
    Same(Vec<Codec>),
    /// Chunks are whole shards: the codec that takes one apart knows its shape.
    Shards {
        sharding: Box<Sharding>,
        data_type: DataType,
        /// One element of an inner chunk that is not stored.
        fill: Box<[u8]>,
    },
}

impl ShapedCodecs {
    /// The codecs of a chunk of this shape.
    ///
    /// # Errors
    ///
    /// As [`whole_shard_codecs`].
    pub(crate) fn of(&self, shape: &[u64]) -> Result<Cow<'_, [Codec]>, Error> {
        match self {
            ShapedCodecs::Same(codecs) => Ok(Cow::Borrowed(codecs)),
            ShapedCodecs::Shards { sharding, data_type, fill } => {
                whole_shard_codecs(sharding, shape, ShardElements { data_type, fill }).map(Cow::Owned)
            }
        }
    }
}

/// From the stored bytes of one chunk to its elements.
#[derive(Debug)]
pub(crate) struct ChunkChains {
    pub(crate) chain: Chain,
    /// Where elements have lengths of their own; `chain` is then never run.
    pub(crate) variable: Option<VariableChain>,
}

/// The chains of an array whose chunks differ in shape, each compiled when the first chunk of its shape arrives.
#[derive(Debug)]
pub(crate) struct ShapedChains {
    pub(crate) grid: Rectilinear,
    /// Stored chunks along each axis.
    counts: Vec<u64>,
    codecs: ShapedCodecs,
    element: Element,
    variable: Option<VariableType>,
    checksums: Checksums,
    compiled: Mutex<HashMap<Vec<u64>, Arc<ChunkChains>>>,
}

/// Chains that are kept at most: grids have few shapes, but for those that somebody made to have many.
const KEPT_MAX: usize = 1 << 10;

impl ShapedChains {
    pub(crate) fn new(
        grid: Rectilinear,
        counts: Vec<u64>,
        codecs: ShapedCodecs,
        (element, variable): (Element, Option<VariableType>),
    ) -> ShapedChains {
        let (checksums, compiled) = (Checksums::Verify, Mutex::default());
        ShapedChains { grid, counts, codecs, element, variable, checksums, compiled }
    }

    /// The same, with this treatment of checksums.
    pub(crate) fn with_checksums(&self, checksums: Checksums) -> ShapedChains {
        let elements = (self.element, self.variable);
        let same = ShapedChains::new(self.grid.clone(), self.counts.clone(), self.codecs.clone(), elements);
        ShapedChains { checksums, ..same }
    }

    /// The chains of the chunk that a tile takes elements of.
    pub(crate) fn of(&self, placement: &Placement, output: &Output<'_>) -> Result<Arc<ChunkChains>, Error> {
        let mut coordinates = vec![0; self.counts.len()];
        if let Some(points) = output.points(placement.result()) {
            crate::raveling::unravel(points.chunk(placement.tile), &self.counts, &mut coordinates);
        } else {
            let mut rest = placement.tile;
            for (axis, coordinate) in coordinates.iter_mut().enumerate().rev() {
                let Some(cut) = output.cut(placement.result(), axis) else { continue };
                let tiles = cut.tile_count().max(1);
                *coordinate = cut.chunk(rest % tiles);
                rest /= tiles;
            }
        }
        self.compile(self.grid.shape_at(&coordinates))
    }

    /// The shape of the chunk at these coordinates, and its chains.
    pub(crate) fn at(&self, coordinates: &[u64]) -> Result<(Vec<u64>, Arc<ChunkChains>), Error> {
        let shape = self.grid.shape_at(coordinates);
        self.compile(shape.clone()).map(|chains| (shape, chains))
    }

    /// The chains of chunks of a shape.
    fn compile(&self, shape: Vec<u64>) -> Result<Arc<ChunkChains>, Error> {
        let compiled = || self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = compiled().get(&shape) {
            return Ok(Arc::clone(found));
        }
        let ChunkChains { chain, variable } =
            chunk_chains(&self.codecs.of(&shape)?, &shape, self.element, self.variable)?;
        let chains = Arc::new(ChunkChains {
            chain: chain.with_checksums(self.checksums),
            variable: variable.map(|chain| chain.with_checksums(self.checksums)),
        });
        let mut compiled = compiled();
        if KEPT_MAX <= compiled.len() {
            compiled.clear();
        }
        compiled.insert(shape, Arc::clone(&chains));
        Ok(chains)
    }
}

/// The chains of chunks of a shape.
pub(crate) fn chunk_chains(
    codecs: &[Codec],
    shape: &[u64],
    element: Element,
    variable: Option<VariableType>,
) -> Result<ChunkChains, Error> {
    let layout = ChunkLayout { shape: shape.to_vec(), element };
    let compile = |of: VariableType| VariableChain::compile_optional(codecs, shape, of.elements, of.times);
    let variable = variable.map(compile).transpose()?;
    let chain = match &variable {
        None => Chain::compile(codecs, &layout)?,
        Some(_) => chain_of_places(&layout)?,
    };
    Ok(ChunkChains { chain, variable })
}

/// What stands for the chain of a chunk that is decoded to places: one by which stored bytes are not the elements and
/// chunks are not decoded in place, so that they come to where chunks of elements of any length are told apart.
fn chain_of_places(layout: &ChunkLayout) -> Result<Chain, Error> {
    let codec = |name| Codec::from_v3(name, &Value::Null);
    Ok(Chain::compile(&[codec("bytes")?, codec("crc32c")?, codec("zstd")?], layout)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use serde_json::json;

    fn grid(value: &Value, shape: &[u64]) -> Result<Rectilinear, ErrorKind> {
        Rectilinear::parse(value, shape).map_err(|error| error.kind())
    }

    #[test]
    fn every_form_of_lengths_is_read() {
        let found = grid(&json!([[[10, 5], 5, 5], [15, 16], 7]), &[60, 30, 20]).unwrap();
        assert_eq!(found.longest(), [10, 16, 7]);
        assert_eq!(found.counts(&[60, 30, 20]), [7, 2, 3]);
        assert_eq!(found.shape_at(&[5, 1, 2]), [5, 16, 7]);
        assert!(found.axis(0).is_some() && found.axis(2).is_none() && found.common_shape().is_none());
        let regular = grid(&json!([[[10, 3]], [4, 4], 7]), &[30, 7, 0]).unwrap();
        assert_eq!(regular.common_shape().unwrap(), [10, 4, 7]);
    }

    #[test]
    fn broken_lengths_are_invalid() {
        for value in [
            json!(null),
            json!([4]),
            json!([4, 0]),
            json!([4, [3, 3]]),
            json!([4, []]),
            json!([4, [[4, 0], 9]]),
            json!([4, [0, 9]]),
            json!([4, [[4, 1, 1], 9]]),
            json!([4, [-1, 9]]),
            json!([4, "9"]),
        ] {
            assert_eq!(grid(&value, &[8, 9]), Err(ErrorKind::Invalid), "{value}");
        }
    }
}
