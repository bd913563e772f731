//! The order in which the inner chunks of a shard lie.

/// The coordinates of every cell of a grid, one behind the other, in Morton order: the bits of the coordinates in turn, the
/// first axis with the lowest one; axes that have no more bits are left out. zarr-python lays inner chunks so.
///
/// `frame` names the axes in the order that counts; `None` where the grid is too large for memory.
pub(super) fn morton_order(extents: &[u64], frame: &[usize]) -> Option<Vec<u64>> {
    let rank = extents.len();
    let count = usize::try_from(crate::raveling::cell_count(extents)?).ok()?;
    let mut keyed: Vec<(u128, u64)> = Vec::new();
    keyed.try_reserve_exact(count).ok()?;
    let mut coordinates = vec![0; rank];
    for number in 0..swath_ioengine::storage_len(count) {
        crate::raveling::unravel(number, extents, &mut coordinates);
        keyed.push((morton_code(&coordinates, extents, frame), number));
    }
    keyed.sort_unstable();
    let mut order = Vec::new();
    order.try_reserve_exact(count.checked_mul(rank)?).ok()?;
    for (_, number) in keyed {
        crate::raveling::unravel(number, extents, &mut coordinates);
        order.extend_from_slice(&coordinates);
    }
    Some(order)
}

/// The place of a cell in Morton order, which grows with it: the bits of all coordinates, at most 64 and one more an axis, of which
/// there are no more than 32.
pub(super) fn morton_code(coordinates: &[u64], extents: &[u64], frame: &[usize]) -> u128 {
    let bits = |axis: usize| u64::BITS - extents[axis].saturating_sub(1).leading_zeros();
    let (mut code, mut place) = (0u128, 0u32);
    for bit in 0..frame.iter().map(|axis| bits(*axis)).max().unwrap_or(0) {
        for axis in frame.iter().filter(|axis| bit < bits(**axis)) {
            code |= u128::from(coordinates[*axis] >> bit & 1).checked_shl(place).unwrap_or(0);
            place += 1;
        }
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_zarr_pythons() {
        // zarr.core.indexing.morton_order_coords((2, 3)) and ((3, 1, 2)).
        let expected = [[0, 0], [1, 0], [0, 1], [1, 1], [0, 2], [1, 2]];
        assert_eq!(morton_order(&[2, 3], &[0, 1]).unwrap(), expected.concat());
        let expected = [[0, 0, 0], [1, 0, 0], [0, 0, 1], [1, 0, 1], [2, 0, 0], [2, 0, 1]];
        assert_eq!(morton_order(&[3, 1, 2], &[0, 1, 2]).unwrap(), expected.concat());
        assert!(morton_order(&[], &[]).unwrap().is_empty());
        assert!(morton_order(&[u64::MAX, 2], &[0, 1]).is_none());
    }
}
