//! Complex packing: groups of numbers, each with a reference and a width of its own, and differences of them.

use super::bits::Bits;
use super::sample::Sample;
use super::scale::Scale;
use crate::{Complex, Error, MissingValues};

/// Numbers of a group that are unpacked at once.
const BLOCK: usize = 256;

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
    let mut groups = Groups::new(data, bits, complex)?;
    let mut sums = Differences::new(data, complex)?;
    let mut numbers = [0i64; BLOCK];
    let mut filled = 0;
    while let Some(group) = groups.next()? {
        let left = target.len() - filled;
        let len = usize::try_from(group.len).ok().filter(|len| *len <= left).ok_or_else(|| {
            Error::corrupt(format!("a group of {} numbers, where {left} are left", group.len))
        })?;
        for block in target[filled..filled + len].chunks_mut(BLOCK) {
            let numbers = &mut numbers[..block.len()];
            groups.fill(&group, numbers);
            sums.undo(numbers);
            for (value, number) in block.iter_mut().zip(numbers.iter()) {
                // Exact up to 2^53, as in ecCodes.
                let scaled = T::from_f64(scale.value(*number as f64));
                *value = if *number == MISSING { T::MISSING } else { scaled };
            }
        }
        filled += len;
    }
    if filled != target.len() {
        let wanted = target.len();
        return Err(Error::corrupt(format!("the groups have {filled} numbers, where {wanted} are wanted")));
    }
    Ok(())
}

/// One group.
struct Group {
    reference: u32,
    width: u32,
    len: u64,
}

/// The lists of references, widths and lengths, and the numbers behind them.
struct Groups<'a> {
    complex: &'a Complex,
    /// Bits of a reference.
    bits: u32,
    left: u32,
    references: Bits<'a>,
    widths: Bits<'a>,
    lengths: Bits<'a>,
    numbers: Bits<'a>,
}

impl<'a> Groups<'a> {
    /// Each list begins with an octet.
    fn new(data: &'a [u8], bits: u32, complex: &'a Complex) -> Result<Groups<'a>, Error> {
        let mut rest = Bits::new(data);
        let extra = u64::from(complex.extra_octets) * (u64::from(complex.order) + 1);
        if complex.order != 0 {
            rest.check(extra, 8, "octets of first values")?;
            rest.skip(extra * 8);
        }
        let mut list = |width: u32, what: &str| {
            if 32 < width {
                return Err(Error::corrupt(format!("{what} of {width} bits: at most 32 are known")));
            }
            let count = u64::from(complex.groups);
            rest.check(count, width, what)?;
            let begun = rest.clone();
            rest.skip(count * u64::from(width));
            rest.align();
            Ok(begun)
        };
        let references = list(bits, "groups' references")?;
        let widths = list(u32::from(complex.width_bits), "groups' widths")?;
        let lengths = list(u32::from(complex.length_bits), "groups' lengths")?;
        Ok(Groups { complex, bits, left: complex.groups, references, widths, lengths, numbers: rest })
    }

    /// The next group, whose numbers are there.
    fn next(&mut self) -> Result<Option<Group>, Error> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        let Complex { width_reference, width_bits, length_reference, length_increment, length_bits, .. } =
            *self.complex;
        let width = u32::from(width_reference).saturating_add(self.widths.take(u32::from(width_bits)));
        if 32 < width {
            return Err(Error::corrupt(format!("a group of numbers of {width} bits: at most 32 are known")));
        }
        let stored = u64::from(self.lengths.take(u32::from(length_bits)));
        let len = match left {
            0 => u64::from(self.complex.last_length),
            _ => u64::from(length_reference) + stored * u64::from(length_increment),
        };
        self.numbers.check(len, width, "numbers of a group")?;
        Ok(Some(Group { reference: self.references.take(self.bits), width, len }))
    }

    /// The next numbers of a group, those of missing values as [`MISSING`].
    fn fill(&mut self, group: &Group, numbers: &mut [i64]) {
        let reference = i64::from(group.reference);
        let is_plain = matches!(self.complex.missing, MissingValues::None);
        if group.width == 0 {
            // The largest number that a reference can be stands for a group of missing values.
            let is_missing = !is_plain && self.marks(group.reference, self.bits);
            numbers.fill(if is_missing { MISSING } else { reference });
        } else if is_plain {
            for number in numbers {
                *number = reference + i64::from(self.numbers.take(group.width));
            }
        } else {
            for number in numbers {
                let stored = self.numbers.take(group.width);
                let is_missing = self.marks(stored, group.width);
                *number = if is_missing { MISSING } else { reference + i64::from(stored) };
            }
        }
    }

    /// Whether a number of so many bits is one that stands for a missing value.
    #[inline]
    fn marks(&self, number: u32, bits: u32) -> bool {
        let largest = super::bits::low((1u64 << bits) - 1);
        match self.complex.missing {
            MissingValues::None => false,
            MissingValues::Primary => number == largest,
            MissingValues::PrimaryAndSecondary => largest.saturating_sub(1) <= number && 0 < bits,
        }
    }
}

/// Differences that are summed up again: of order 0, 1 or 2. Missing values have none, and are passed over.
struct Differences {
    order: u8,
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
    fn new(data: &[u8], complex: &Complex) -> Result<Differences, Error> {
        let order = complex.order;
        let mut sums = Differences { order, first: [0; 2], least: 0, used: 0, last: [0; 2] };
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
    fn undo(&mut self, numbers: &mut [i64]) {
        if self.order == 0 {
            return;
        }
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
            (1, 0, "the groups have 2 numbers"),
            (2, 3, "differences of order 3"),
        ] {
            let error =
                unpacked(&[10, 20, 0x40, 0x10, 0x12, 0x30, 0, 0, 0], &complex(groups, order)).unwrap_err();
            assert!(error.message().contains(wanted), "{error}");
        }
    }
}
