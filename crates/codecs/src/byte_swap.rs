//! Reverses the bytes of every unit, in place.

/// Reverses the bytes of each unit of `unit_bytes`, which is 1, 2, 4 or 8; other units, and bytes after the last whole
/// unit, are left alone.
///
/// Plain loops over fixed-size chunks: they compile to vector shuffles.
pub(crate) fn swap_in_place(bytes: &mut [u8], unit_bytes: usize) {
    match unit_bytes {
        2 => swap_units::<2>(bytes),
        4 => swap_units::<4>(bytes),
        8 => swap_units::<8>(bytes),
        _ => {}
    }
}

fn swap_units<const N: usize>(bytes: &mut [u8]) {
    let (units, _) = bytes.as_chunks_mut::<N>();
    for unit in units {
        unit.reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_reversed() {
        let mut bytes: Vec<u8> = (0..64).collect();
        for unit in [1, 2, 4, 8] {
            let wanted: Vec<u8> = bytes.chunks(unit).flat_map(|unit| unit.iter().rev().copied()).collect();
            swap_in_place(&mut bytes, unit);
            assert_eq!(bytes, wanted);
        }
    }

    #[test]
    fn a_rest_is_left_alone() {
        let mut bytes = [1, 2, 3, 4, 5, 6, 7];
        swap_in_place(&mut bytes, 4);
        assert_eq!(bytes, [4, 3, 2, 1, 5, 6, 7]);
    }
}
