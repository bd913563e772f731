//! Means of the blocks that lie in several chunks.

use super::super::super::rows::TileMemory;
use super::super::fold::average;
use super::super::seams::{Seams, Share};
use super::{Means, claimed};
use crate::conversion::{Floats, Working};

/// Blocks whose means are made at a time.
const BATCH: usize = 128;

/// Sums on their way to means, and where in the output these go.
struct Batch<'b, 't, W> {
    floats: &'b Floats<W>,
    memory: &'b mut TileMemory<'t>,
    positions: [usize; BATCH],
    sums: [f64; BATCH],
    counts: [f64; BATCH],
    len: usize,
    means: [W; BATCH],
    /// The elements of the result.
    elements: Vec<u8>,
}

impl<W: Working> Means<'_, '_, W> {
    /// Makes the means of all blocks that lie in several chunks, once every tile of the result, whose first byte is `target`, has
    /// kept its shares of them.
    pub(super) fn finish_cut_blocks(&mut self, seams: &Seams, target: usize, strides: &[usize]) {
        let mut batch = Batch {
            floats: self.floats,
            memory: &mut self.memory,
            positions: [0; BATCH],
            sums: [0.0; BATCH],
            counts: [0.0; BATCH],
            len: 0,
            means: [W::ZERO; BATCH],
            elements: vec![0; BATCH * self.target_bytes],
        };
        seams.each_block(target, strides, |position, share| {
            batch.push(position, Share { count: seams.count(share), ..share });
        });
        batch.finish();
    }
}

impl<W: Working> Batch<'_, '_, W> {
    #[inline]
    fn push(&mut self, position: usize, share: Share) {
        if self.len == BATCH {
            self.finish();
        }
        self.positions[self.len] = position;
        self.sums[self.len] = share.sum;
        self.counts[self.len] = share.count;
        self.len += 1;
    }

    fn finish(&mut self) {
        let (len, size) = (self.len, self.elements.len() / BATCH);
        let (means, elements) = (&mut self.means[..len], &mut self.elements[..len * size]);
        average(&self.sums[..len], Some(&self.counts[..len]), 1.0, means);
        self.floats.finish(means, elements);
        match size {
            1 => self.put::<1>(),
            2 => self.put::<2>(),
            4 => self.put::<4>(),
            // There are no others.
            _ => self.put::<8>(),
        }
        self.len = 0;
    }

    fn put<const N: usize>(&mut self) {
        for (position, element) in self.positions[..self.len].iter().zip(self.elements.as_chunks::<N>().0) {
            claimed(self.memory, *position, N).copy_from_slice(element);
        }
    }
}
