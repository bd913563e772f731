//! Which pixels of a stored line go where in a row.

use super::ten_bits::unpack_reversed;
use std::ops::Range;

/// Pixels of a group, and its octets.
const GROUP: usize = 4;
const GROUP_BYTES: usize = 5;

/// A part of a line and the part of a row that it fills. Lines run from east to west, rows from west to east.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Placement {
    /// The octets of the line's pixels that are wanted: whole groups.
    pub(super) octets: Range<usize>,
    /// The elements of the row.
    pub(super) columns: Range<usize>,
    /// Pixels of the groups that lie west of the wanted ones.
    skipped: usize,
}

impl Placement {
    /// Places a line of `width` pixels, the easternmost of which is `east` columns from the image's eastern edge, in a row that
    /// has `wanted` of the image's `columns`. `None` where they have nothing in common.
    pub(super) fn new(width: usize, east: usize, columns: usize, wanted: &Range<usize>) -> Option<Placement> {
        // Counted from the east, as the line is.
        let from_east = columns.checked_sub(wanted.end)?..columns.checked_sub(wanted.start)?;
        let first = from_east.start.max(east);
        let end = from_east.end.min(east.checked_add(width)?);
        if end <= first {
            return None;
        }
        let pixels = first - east..end - east;
        let groups = pixels.start / GROUP..pixels.end.div_ceil(GROUP);
        let start = from_east.end - end;
        Some(Placement {
            octets: groups.start * GROUP_BYTES..groups.end * GROUP_BYTES,
            columns: start..start + pixels.len(),
            skipped: groups.end * GROUP - pixels.end,
        })
    }

    /// Unpacks the octets into the row. Nothing happens where they are too few.
    pub(super) fn unpack(&self, octets: &[u8], row: &mut [u16]) {
        let pixels = octets.len() / GROUP_BYTES * GROUP;
        let Some(target) = row.get_mut(self.columns.clone()) else { return };
        if pixels == target.len() {
            return unpack_reversed(octets, target);
        }
        let mut whole = vec![0; pixels];
        unpack_reversed(octets, &mut whole);
        if let Some(wanted) = whole.get(self.skipped..self.skipped + target.len()) {
            target.copy_from_slice(wanted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A line whose pixels, from the east, are 1, 2, ...
    fn line(width: u16) -> Vec<u8> {
        let pixels: Vec<u64> = (1..=u64::from(width)).collect();
        let group = |four: &[u64]| {
            let word = four.iter().fold(0, |word, pixel| word << 10 | pixel);
            word.to_be_bytes()[3..].to_vec()
        };
        pixels.chunks(4).flat_map(group).collect()
    }

    proptest! {
        #[test]
        fn any_part_is_that_of_the_whole(groups in 1u16..20, east in 0usize..30, more in 0usize..30, ends in any::<[u8; 2]>()) {
            let width = groups * 4;
            let columns = usize::from(width) + east + more;
            let mut image: Vec<u16> = vec![0; east];
            image.extend(1..=width);
            image.resize(columns, 0);
            image.reverse();
            let [one, other] = ends.map(|end| usize::from(end) % (columns + 1));
            let wanted = one.min(other)..one.max(other);
            let mut row = vec![0; wanted.len()];
            let placement = Placement::new(usize::from(width), east, columns, &wanted);
            if let Some(placement) = &placement {
                placement.unpack(&line(width)[placement.octets.clone()], &mut row);
            }
            prop_assert_eq!(&row, &image[wanted]);
            prop_assert_eq!(placement.is_none(), row.iter().all(|pixel| *pixel == 0));
        }
    }
}
