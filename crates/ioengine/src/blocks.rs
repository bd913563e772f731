//! Reads in whole blocks, which go past the page cache.

use crate::CostModel;

/// How an object is read in whole blocks: see [`OpenObject::blocks`](crate::OpenObject::blocks).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blocks {
    /// Offsets and lengths of reads are multiples of this, in bytes: a power of two.
    pub block_bytes: u64,
    /// Addresses that are read to are multiples of this, in bytes: a power of two, a page at most.
    pub memory_alignment: usize,
    /// What such reads cost.
    pub cost: CostModel,
}

impl Blocks {
    /// True when a read of `target` at `offset` needs no bytes before, behind or elsewhere.
    pub(crate) fn fit(&self, offset: u64, target: &[u8]) -> bool {
        offset.is_multiple_of(self.block_bytes)
            && crate::storage_len(target.len()).is_multiple_of(self.block_bytes)
            && target.as_ptr().addr().is_multiple_of(self.memory_alignment)
    }
}
