//! Complex packing: groups of numbers, each with a reference and a width of its own, and differences of them.

mod differences;
mod groups;

use super::sample::Sample;
use super::scale::Scale;
use super::vectors;
use crate::{Complex, Error};
use differences::Differences;
use groups::Groups;

/// Numbers that are summed up and scaled at once, of any number of groups: in the nearest cache, and so many that their loops' ends
/// do not count.
const BLOCK: usize = 1024;

/// What a packed number of a missing value becomes.
const MISSING: i64 = i64::MAX;

pub(super) fn unpack<T: Sample>(
    data: &[u8],
    bits: u32,
    complex: &Complex,
    scale: &Scale,
    target: &mut [T],
) -> Result<(), Error> {
    super::check_groups(u64::from(complex.groups), target.len())?;
    let groups = Groups::new(data, bits, complex, target.len())?;
    let differences = Differences::new(data, complex)?;
    vectors::run(
        #[inline(always)]
        || decode(groups, differences, scale, target),
    )
}

#[inline(always)]
fn decode<T: Sample>(
    mut groups: Groups<'_>,
    mut differences: Differences,
    scale: &Scale,
    target: &mut [T],
) -> Result<(), Error> {
    let mut numbers = [0i64; BLOCK];
    for block in target.chunks_mut(BLOCK) {
        let numbers = &mut numbers[..block.len()];
        groups.fill(numbers)?;
        differences.undo(numbers);
        if groups.has_missing() {
            for (value, number) in block.iter_mut().zip(numbers.iter()) {
                let scaled = T::from_f64(scale.value(*number as f64));
                *value = if *number == MISSING { T::MISSING } else { scaled };
            }
        } else {
            scale.fill_wide(numbers, block);
        }
    }
    groups.end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MissingValues;

    fn complex(groups: u32, order: u8) -> Complex {
        Complex {
            missing: MissingValues::None,
            groups,
            width_reference: 0,
            width_bits: 4,
            length_reference: 1,
            length_increment: 2,
            last_length: 2,
            length_bits: 4,
            order,
            extra_octets: u8::from(order != 0),
        }
    }

    #[test]
    fn a_hostile_list_is_an_error() {
        let scale = Scale::of(&crate::Packing {
            kind: crate::PackingKind::Simple,
            reference: 0.0,
            binary_scale: 0,
            decimal_scale: 0,
            bits: 8,
            values: None,
        });
        let unpacked = |data: &[u8], complex: &Complex| {
            let mut target = [0.0f64; 5];
            unpack(data, 8, complex, &scale, &mut target).map(|()| target)
        };
        // References 10 and 20, widths 4 and 0, lengths 1 + 1 * 2 and the last one's 2; numbers 1, 2, 3.
        let data = [10, 20, 0x40, 0x10, 0x12, 0x30];
        assert_eq!(unpacked(&data, &complex(2, 0)).ok(), Some([11.0, 12.0, 13.0, 20.0, 20.0]));
        // First value 7, least difference -1.
        let data = [7, 0x81, 1, 2, 0x40, 0x10, 0x00, 0x00];
        assert_eq!(unpacked(&data, &complex(2, 1)).ok(), Some([7.0, 7.0, 7.0, 8.0, 9.0]));
        for (groups, order, wanted) in [
            (u32::MAX, 0, "groups of 5 numbers"),
            (5, 0, "bits are left"),
            (1, 0, "the groups end where 3 more numbers are wanted"),
            (2, 3, "differences of order 3"),
        ] {
            let error =
                unpacked(&[10, 20, 0x40, 0x10, 0x12, 0x30, 0, 0, 0], &complex(groups, order)).unwrap_err();
            assert!(error.message().contains(wanted), "{error}");
        }
    }
}
