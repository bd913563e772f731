//! Differences of neighbours: small ones go up and down by turns, and those that the nearer end of the range has no room for count
//! on in the other direction.

use super::settings::BLOCK_MAX;

/// The number before a block, and those of it.
pub(super) type Sums = [u32; BLOCK_MAX + 1];

/// Replaces the differences of a block by the numbers of `bits` bits that they lead to, from `last` on, and returns the last one.
/// `sums` is memory to work in.
///
/// Nearly all blocks stay away from the ends of the range. There, numbers are plain sums, which are made without a look at them, and
/// kept where a look at all of them together finds that none came too near to an end.
#[inline(always)]
pub(super) fn undo(numbers: &mut [u32], last: u32, bits: u32, sums: &mut Sums) -> u32 {
    let Some((first, behind)) = sums.get_mut(..=numbers.len()).and_then(<[u32]>::split_first_mut) else {
        return one_by_one(numbers, last, bits);
    };
    *first = last;
    for (step, difference) in behind.iter_mut().zip(numbers.iter()) {
        *step = step_of(*difference);
    }
    let mut sum = last;
    for number in behind.iter_mut() {
        sum = sum.wrapping_add(*number);
        *number = sum;
    }
    let has_room = |all: u32, (difference, before): (&u32, &u32)| {
        all & u32::from(size_of(*difference) <= room(*before, bits))
    };
    if numbers.iter().zip(sums.iter()).fold(1, has_room) == 0 {
        return one_by_one(numbers, last, bits);
    }
    numbers.copy_from_slice(&sums[1..=numbers.len()]);
    sum
}

/// How far a difference goes: even ones go up by their half, odd ones down by theirs, rounded up.
#[inline(always)]
fn step_of(difference: u32) -> u32 {
    (difference >> 1) ^ (difference & 1).wrapping_neg()
}

/// A step without its sign.
#[inline(always)]
fn size_of(difference: u32) -> u32 {
    (difference >> 1) + (difference & 1)
}

/// How far it is from a number to the nearer end of the range.
#[inline(always)]
fn room(number: u32, bits: u32) -> u32 {
    number.min((u32::MAX >> (32 - bits)).wrapping_sub(number))
}

/// The same as [`undo`], whatever the numbers are.
#[inline(never)]
fn one_by_one(numbers: &mut [u32], mut last: u32, bits: u32) -> u32 {
    let largest = u32::MAX >> (32 - bits);
    let middle = 1 << (bits - 1);
    for number in numbers {
        let difference = *number;
        last = if size_of(difference) <= room(last, bits) {
            last.wrapping_add(step_of(difference))
        } else if last & middle == 0 {
            difference
        } else {
            largest ^ difference
        };
        *number = last;
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The differences that lead to numbers, as the standard's mapping has it.
    fn differences(numbers: &[u32], last: u32, bits: u32) -> Vec<u32> {
        let mut last = i64::from(last);
        let mut mapped = Vec::new();
        for number in numbers {
            let (step, room) = (i64::from(*number) - last, i64::from(room(last.try_into().unwrap(), bits)));
            let code = match step {
                step if (0..=room).contains(&step) => 2 * step,
                step if (-room..0).contains(&step) => -2 * step - 1,
                step => room + step.abs(),
            };
            mapped.push(code.try_into().unwrap());
            last = i64::from(*number);
        }
        mapped
    }

    proptest! {
        #[test]
        fn numbers_of_any_kind_come_back(
            numbers in proptest::collection::vec(any::<u32>(), 0..BLOCK_MAX),
            steps in proptest::collection::vec(0u32..50, 0..BLOCK_MAX),
            last: u32,
            bits in 1u32..=32,
        ) {
            let largest = u32::MAX >> (32 - bits);
            let last = last & largest;
            let smooth: Vec<u32> =
                steps.iter().map(|step| (last / 2).saturating_add(*step).min(largest)).collect();
            for wanted in [numbers.iter().map(|number| number & largest).collect::<Vec<u32>>(), smooth] {
                let coded = differences(&wanted, last, bits);
                let (mut fast, mut slow, mut sums) = (coded.clone(), coded, [0; BLOCK_MAX + 1]);
                prop_assert_eq!(undo(&mut fast, last, bits, &mut sums), wanted.last().copied().unwrap_or(last));
                one_by_one(&mut slow, last, bits);
                prop_assert_eq!(&fast, &wanted);
                prop_assert_eq!(&slow, &wanted);
            }
        }

        /// Also of differences that no coder writes.
        #[test]
        fn fast_equals_slow(numbers in proptest::collection::vec(any::<u32>(), 0..40), last: u32, bits in 1u32..=32) {
            let last = last & (u32::MAX >> (32 - bits));
            let (mut fast, mut slow, mut sums) = (numbers.clone(), numbers, [0; BLOCK_MAX + 1]);
            prop_assert_eq!(undo(&mut fast, last, bits, &mut sums), one_by_one(&mut slow, last, bits));
            prop_assert_eq!(fast, slow);
        }
    }
}
