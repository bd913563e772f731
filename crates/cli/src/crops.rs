//! Random crops: where they are, and which chunks they touch.

use anyhow::bail;
use std::ops::Range;
use std::str::FromStr;
use swath::Selection;

/// The shape of a crop as the command line has it: `4,10,128,128`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CropShape(pub(crate) Vec<u64>);

impl FromStr for CropShape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let extent = |part: &str| match part.trim().parse::<u64>() {
            Ok(0) => Err("a crop has at least one element along each axis".to_owned()),
            Ok(extent) => Ok(extent),
            Err(_) => Err("wanted one extent an axis, such as 4,10,128,128".to_owned()),
        };
        text.split(',').map(extent).collect::<Result<_, _>>().map(Self)
    }
}

/// Draws crops of one shape from an array, the same ones for the same seed.
pub(crate) struct Crops {
    shape: Vec<u64>,
    crop: Vec<u64>,
    random: SplitMix,
}

/// One crop: a range of elements along each axis.
pub(crate) type Crop = Vec<Range<u64>>;

impl Crops {
    /// Crops of `wanted` out of an array of `shape`, each extent no longer than its axis.
    ///
    /// # Errors
    ///
    /// Where the numbers of axes differ, or the array has no elements.
    pub(crate) fn new(shape: &[u64], wanted: &CropShape, seed: u64) -> anyhow::Result<Crops> {
        if shape.len() != wanted.0.len() {
            let (axes, extents) = (shape.len(), wanted.0.len());
            bail!("wanted {axes} extents in --crop, one for each axis of the array, found {extents}");
        }
        if shape.contains(&0) {
            bail!("the array has no elements");
        }
        let crop = shape.iter().zip(&wanted.0).map(|(length, extent)| *length.min(extent)).collect();
        Ok(Crops { shape: shape.to_vec(), crop, random: SplitMix(seed) })
    }

    /// The shape that crops have.
    pub(crate) fn crop_shape(&self) -> &[u64] {
        &self.crop
    }

    /// The next crop, anywhere within the array with equal probability.
    pub(crate) fn draw(&mut self) -> Crop {
        let axes = self.shape.iter().zip(&self.crop);
        axes.map(|(length, extent)| {
            let start = self.random.below(length - extent + 1);
            start..start + extent
        })
        .collect()
    }
}

/// The selection of a crop; `None` where an axis is longer than selections can name.
pub(crate) fn selection(crop: &Crop) -> Option<Selection> {
    let ranges: Option<Vec<Range<i64>>> = crop
        .iter()
        .map(|range| Some(i64::try_from(range.start).ok()?..i64::try_from(range.end).ok()?))
        .collect();
    ranges.map(Selection::from)
}

/// How many chunks of `chunk_shape` the crops touch together, one that several share counted once.
pub(crate) fn distinct_chunks(crops: &[Crop], shape: &[u64], chunk_shape: &[u64]) -> u64 {
    let mut chunks: Vec<u64> = Vec::new();
    for crop in crops {
        let first = chunks.len();
        chunks.push(0);
        for ((range, length), extent) in crop.iter().zip(shape).zip(chunk_shape) {
            let grid = length.div_ceil(*extent);
            let (low, high) = (range.start / extent, (range.end - 1) / extent);
            let outer = chunks.split_off(first);
            // Wraps only where a grid has more than 2^64 chunks, of which a run meets no two that collide.
            let inner =
                |base: u64| (low..=high).map(move |chunk| base.wrapping_mul(grid).wrapping_add(chunk));
            chunks.extend(outer.into_iter().flat_map(inner));
        }
    }
    chunks.sort_unstable();
    chunks.dedup();
    swath::ioengine::storage_len(chunks.len())
}

/// Sebastiano Vigna's SplitMix64: small, and the same everywhere.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is not 0; the bias, at most `bound` in 2^64, is of no matter here.
    fn below(&mut self, bound: u64) -> u64 {
        let wide = u128::from(self.next()) * u128::from(bound);
        u64::try_from(wide >> 64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crop_shapes_are_parsed_or_explained() {
        assert_eq!("4, 10,128".parse(), Ok(CropShape(vec![4, 10, 128])));
        for text in ["", "4,", "4,x", "-1", "4,0", "1.5"] {
            assert!(text.parse::<CropShape>().is_err(), "{text}");
        }
    }

    #[test]
    fn crops_lie_within_and_repeat_with_their_seed() {
        let wanted = CropShape(vec![3, 50]);
        let draw = |seed| {
            let mut crops = Crops::new(&[10, 20], &wanted, seed).unwrap();
            assert_eq!(crops.crop_shape(), [3, 20]);
            (0..200).map(|_| crops.draw()).collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        let starts: std::collections::BTreeSet<u64> = draw(3).iter().map(|crop| crop[0].start).collect();
        assert_eq!(starts, (0..=7).collect());
        assert!(draw(3).iter().all(|crop| crop[0].end - crop[0].start == 3 && crop[1] == (0..20)));
        assert!(Crops::new(&[10], &wanted, 1).is_err() && Crops::new(&[10, 0], &wanted, 1).is_err());
    }

    #[test]
    fn shared_chunks_count_once() {
        let crops = [vec![0..3, 0..5], vec![2..5, 4..10], vec![2..5, 4..10]];
        // Rows of chunks 0..=1 and 1..=2, columns 0..=1 and 1..=2, of 2 x 4.
        assert_eq!(distinct_chunks(&crops[..1], &[6, 10], &[2, 4]), 4);
        assert_eq!(distinct_chunks(&crops, &[6, 10], &[2, 4]), 7);
        assert_eq!(distinct_chunks(&[], &[6, 10], &[2, 4]), 0);
        assert_eq!(distinct_chunks(&[vec![]], &[], &[]), 1);
    }
}
