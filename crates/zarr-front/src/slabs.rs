//! How the chunks of a stored object are cut into windows. Pure.

use crate::stretches::Stretches;

/// Windows are made of whole slabs: boxes of one chunk along each of the leading axes, and all chunks along the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slabs {
    /// Leading axes along which a slab is one chunk.
    pub(crate) axes: usize,
    /// Slabs of one window.
    pub(crate) per_window: u64,
    /// Objects of which no more tiles are wanted are one window, whatever their slabs.
    pub(crate) window_tiles: u64,
    /// When an object that is one window otherwise is cut by where its chunks are stored.
    pub(crate) stretches: Option<Stretches>,
}

/// Chunks that one window aims at: few enough that lanes share a shard evenly, many enough that looking up the shard
/// (`statx` and `fstat`, about 0.5 µs: docs/decisions/0001-spike.md) costs little beside decoding its chunks.
const WINDOW_CHUNKS: u64 = 128;

/// Tiles up to which the chunks of one object are planned together: cutting them up would have each result's tiles looked
/// through once for every window.
const WINDOW_TILES: u64 = 512;

/// Chunks of a slab at most.
const SLAB_CHUNKS_MAX: u64 = 256;

impl Slabs {
    /// For media whose requests are dear: all that is wanted of an object is one window, of at most `reads_max` chunks.
    /// Writers lay chunks out as they like, in Morton order say, and what touches is only read together where it is
    /// planned together: where one object shall busy several lanes, it is cut by where its chunks are stored.
    pub(crate) fn of_whole_objects(
        chunks_per_object: &[u64],
        reads_max: u64,
        stretches: Option<Stretches>,
    ) -> Slabs {
        let Slabs { axes, .. } = Slabs::new(chunks_per_object, reads_max);
        let slab: u64 = chunks_per_object[axes..].iter().product();
        Slabs { axes, per_window: (reads_max / slab.max(1)).max(1), window_tiles: reads_max, stretches }
    }

    /// The fewest leading axes whose slabs, and windows of them, are of at most `reads_max` chunks.
    pub(crate) fn new(chunks_per_object: &[u64], reads_max: u64) -> Slabs {
        let slab_max = SLAB_CHUNKS_MAX.min(reads_max);
        let (mut slab, mut axes) = (1u64, chunks_per_object.len());
        for extent in chunks_per_object.iter().rev() {
            let chunks = slab.saturating_mul(*extent);
            if slab_max < chunks {
                break;
            }
            (slab, axes) = (chunks, axes - 1);
        }
        let per_window = (WINDOW_CHUNKS.min(reads_max) / slab.max(1)).max(1);
        Slabs { axes, per_window, window_tiles: WINDOW_TILES.min(reads_max), stretches: None }
    }

    /// Chunks of one slab.
    pub(crate) fn chunks(&self, chunks_per_object: &[u64]) -> u64 {
        chunks_per_object[self.axes..].iter().product()
    }

    /// Extents of the axes that number slabs.
    pub(crate) fn extents<'a>(&self, chunks_per_object: &'a [u64]) -> &'a [u64] {
        &chunks_per_object[..self.axes]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slabs_are_as_large_as_they_may_be() {
        let cut = |extents: &[u64], reads_max| {
            let slabs = Slabs::new(extents, reads_max);
            (slabs.axes, slabs.per_window)
        };
        assert_eq!(cut(&[1, 10, 16, 16], 16_384), (2, 1));
        assert_eq!(cut(&[1, 1, 1, 1], 16_384), (0, 128));
        assert_eq!(cut(&[100_000], 16_384), (1, 128));
        assert_eq!(cut(&[32, 32], 16_384), (1, 4));
        assert_eq!(cut(&[u64::MAX, 32], 16_384), (1, 4));
        assert_eq!(cut(&[], 1), (0, 1));
        assert_eq!(cut(&[32, 32], 16), (2, 16));
        assert_eq!(cut(&[32, 32], 1), (2, 1));
    }

    #[test]
    fn whole_objects_are_one_window_where_it_holds_them() {
        let cut = |extents: &[u64], reads_max| {
            let slabs = Slabs::of_whole_objects(extents, reads_max, None);
            (slabs.axes, slabs.per_window, slabs.window_tiles)
        };
        assert_eq!(cut(&[1, 10, 16, 16], 16_384), (2, 64, 16_384));
        assert_eq!(cut(&[1, 1, 1, 1], 16_384), (0, 16_384, 16_384));
        assert_eq!(cut(&[1024, 32], 16_384), (1, 512, 16_384));
        assert_eq!(cut(&[32, 32], 1), (2, 1, 1));
        assert_eq!(cut(&[], 1), (0, 1, 1));
    }
}
