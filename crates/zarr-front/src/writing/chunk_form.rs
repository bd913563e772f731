//! The shape of a chunk that is written, and its codecs.

use crate::Error;
use crate::compiled::Compiled;
use swath_codecs::{Chain, Checksums, VariableChain};

/// What a chunk is: of an array whose chunks differ in shape, each has its own.
#[derive(Clone, Debug)]
pub(super) struct ChunkForm {
    /// Elements along each axis.
    pub(super) shape: Vec<u64>,
    /// Compares checksums whatever the store does: damage that is passed over here would get a checksum of its own.
    pub(super) chain: Chain,
    /// Where elements have lengths of their own, in place of `chain`, which is that of their places.
    pub(super) variable: Option<VariableChain>,
}

impl ChunkForm {
    /// That of every chunk of an array; of the longest ones, where they differ.
    pub(super) fn new(compiled: &Compiled) -> ChunkForm {
        let variable = compiled.variable.clone();
        ChunkForm {
            shape: compiled.chunk_shape.clone(),
            chain: compiled.chain.clone().with_checksums(Checksums::Verify),
            variable: variable.map(|chain| chain.with_checksums(Checksums::Verify)),
        }
    }

    /// That of the chunk at these coordinates of an array whose chunks differ in shape; `None` of any other array.
    pub(super) fn at(compiled: &Compiled, coordinates: &[u64]) -> Result<Option<ChunkForm>, Error> {
        let Some(shaped) = &compiled.shaped else { return Ok(None) };
        let (shape, chains) = shaped.at(coordinates)?;
        let variable = chains.variable.clone();
        Ok(Some(ChunkForm {
            shape,
            chain: chains.chain.clone().with_checksums(Checksums::Verify),
            variable: variable.map(|chain| chain.with_checksums(Checksums::Verify)),
        }))
    }
}
