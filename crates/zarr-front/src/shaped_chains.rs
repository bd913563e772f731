//! What decodes and encodes a chunk of each shape, where an array's chunks differ in shape ([`crate::rectilinear`]). Shards that
//! differ are such chunks: they are decoded whole.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use swath_codecs::{Chain, Checksums, ChunkLayout, Codec, Element, Output, VariableChain};

use crate::data_type::VariableType;
use crate::metadata::Sharding;
use crate::placement::Placement;
use crate::rectilinear::Rectilinear;
use crate::shard_codec::{ShardElements, whole_shard_codecs};
use crate::{DataType, Error};

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
