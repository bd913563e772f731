//! Differences of numbers, of order 0, 1 or 2, that are summed up again.

use super::MISSING;
use crate::unpack::bits::Bits;
use crate::{Complex, Error, MissingValues};

/// What differences are summed up from. Missing values have none, and are passed over.
pub(super) struct Differences {
    order: u8,
    has_missing: bool,
    /// The first numbers, which are stored as they are.
    first: [i64; 2],
    /// What all differences count from.
    least: i64,
    /// How many first numbers were used.
    used: u8,
    /// The last number, and the one before it.
    last: [i64; 2],
}

impl Differences {
    /// Differences whose first numbers begin the data.
    ///
    /// # Errors
    ///
    /// `Unsupported` for an order that is not known, `Corrupt` where first numbers are not there.
    pub(super) fn new(data: &[u8], complex: &Complex) -> Result<Differences, Error> {
        let order = complex.order;
        let has_missing = !matches!(complex.missing, MissingValues::None);
        let mut sums = Differences { order, has_missing, first: [0; 2], least: 0, used: 0, last: [0; 2] };
        if order == 0 {
            return Ok(sums);
        }
        let octets = usize::from(complex.extra_octets);
        if 2 < order || !(1..=4).contains(&octets) {
            return Err(Error::unsupported(format!("differences of order {order}, with {octets} octets")));
        }
        let mut bits = Bits::new(data);
        let width = u32::from(complex.extra_octets) * 8;
        bits.check(u64::from(order) + 1, width, "first values")?;
        for first in sums.first.iter_mut().take(usize::from(order)) {
            *first = i64::from(bits.take(width));
        }
        sums.least = i64::from(crate::grib::signed(bits.take(width), width));
        Ok(sums)
    }

    /// Replaces differences by the numbers that they are of.
    #[inline(always)]
    pub(super) fn undo(&mut self, numbers: &mut [i64]) {
        if self.order == 0 {
            return;
        }
        if self.has_missing || self.used < self.order {
            return self.one_by_one(numbers);
        }
        let [mut last, before] = self.last;
        let least = self.least;
        if self.order == 1 {
            for number in numbers.iter_mut() {
                last = last.wrapping_add(number.wrapping_add(least));
                *number = last;
            }
        } else {
            let mut step = last.wrapping_sub(before);
            for number in numbers.iter_mut() {
                step = step.wrapping_add(number.wrapping_add(least));
                last = last.wrapping_add(step);
                *number = last;
            }
            self.last[1] = last.wrapping_sub(step);
        }
        self.last[0] = last;
    }

    /// The same, where values may be missing, and for the first numbers.
    #[inline(never)]
    fn one_by_one(&mut self, numbers: &mut [i64]) {
        for number in numbers.iter_mut().filter(|number| **number != MISSING) {
            let next = match (self.first.get(usize::from(self.used)), self.order) {
                (Some(first), order) if self.used < order => {
                    self.used += 1;
                    *first
                }
                (_, 1) => self.last[0].wrapping_add(*number).wrapping_add(self.least),
                _ => {
                    let step = self.last[0].wrapping_sub(self.last[1]);
                    self.last[0].wrapping_add(step).wrapping_add(*number).wrapping_add(self.least)
                }
            };
            self.last = [next, self.last[0]];
            *number = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn fast_equals_one_by_one(
            blocks in proptest::collection::vec(proptest::collection::vec(any::<u32>(), 0..20), 1..5),
            first: [u32; 2],
            least: i32,
            order in 1u8..=2,
        ) {
            let sums = |has_missing| Differences {
                order,
                has_missing,
                first: first.map(i64::from),
                least: i64::from(least),
                used: 0,
                last: [0; 2],
            };
            let (mut fast, mut slow) = (sums(false), sums(true));
            for block in &blocks {
                let mut numbers: Vec<i64> = block.iter().map(|number| i64::from(*number)).collect();
                let mut wanted = numbers.clone();
                fast.undo(&mut numbers);
                slow.undo(&mut wanted);
                prop_assert_eq!(numbers, wanted);
            }
        }
    }
}
