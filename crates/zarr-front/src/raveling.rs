//! Row-major numbers of coordinates.

/// The coordinates of a row-major number, written to `coordinates`.
pub(crate) fn unravel(mut number: u64, extents: &[u64], coordinates: &mut [u64]) {
    for (coordinate, extent) in coordinates.iter_mut().zip(extents).rev() {
        let extent = (*extent).max(1);
        *coordinate = number % extent;
        number /= extent;
    }
}

/// Cells of a grid, where 64 bits hold their number. None of an empty grid's other extents matters.
pub(crate) fn cell_count(extents: &[u64]) -> Option<u64> {
    if extents.contains(&0) {
        return Some(0);
    }
    extents.iter().try_fold(1u64, |product, extent| product.checked_mul(*extent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_coordinates_agree() {
        let extents = [3, 1, 4];
        let mut coordinates = [0; 3];
        for number in 0..12 {
            unravel(number, &extents, &mut coordinates);
            assert_eq!(coordinates[0] * 4 + coordinates[1] * 4 + coordinates[2], number);
        }
        assert_eq!(coordinates, [2, 0, 3]);
        assert_eq!(cell_count(&[u64::MAX, 2]), None);
        assert_eq!(cell_count(&[u64::MAX, 2, 0]), Some(0));
        assert_eq!(cell_count(&[]), Some(1));
    }
}
