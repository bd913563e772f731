//! Groups of packed numbers.

use super::MISSING;
use crate::unpack::bits::{Bits, low};
use crate::{Complex, Error, MissingValues};

/// Numbers that are unpacked at once.
const STEP: usize = 128;

/// One group, or what is left of it.
#[derive(Clone, Copy, Default)]
struct Group {
    reference: u32,
    width: u32,
    len: usize,
}

/// The lists of references, widths and lengths, and the numbers behind them.
pub(super) struct Groups<'a> {
    complex: &'a Complex,
    /// Bits of a reference.
    bits: u32,
    /// Groups behind the one under way.
    left: u32,
    references: Bits<'a>,
    widths: Bits<'a>,
    lengths: Bits<'a>,
    numbers: Bits<'a>,
    /// The group under way.
    group: Group,
    /// Numbers that are wanted of the groups behind it.
    wanted: usize,
}

impl<'a> Groups<'a> {
    /// Groups of so many numbers. Each list begins with an octet.
    ///
    /// # Errors
    ///
    /// `Corrupt` where the lists are longer than the data.
    pub(super) fn new(
        data: &'a [u8],
        bits: u32,
        complex: &'a Complex,
        wanted: usize,
    ) -> Result<Groups<'a>, Error> {
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
        let (left, group) = (complex.groups, Group::default());
        Ok(Groups { complex, bits, left, references, widths, lengths, numbers: rest, group, wanted })
    }

    /// Whether numbers may stand for missing values.
    #[inline(always)]
    pub(super) fn has_missing(&self) -> bool {
        !matches!(self.complex.missing, MissingValues::None)
    }

    /// The next numbers, those of missing values as [`MISSING`].
    ///
    /// # Errors
    ///
    /// `Corrupt` where a group has more numbers than are left of the data or of what is wanted, or all of them have too few.
    #[inline(always)]
    pub(super) fn fill(&mut self, mut numbers: &mut [i64]) -> Result<(), Error> {
        while !numbers.is_empty() {
            if self.group.len == 0 {
                self.group = self.next()?;
            }
            let len = self.group.len.min(numbers.len()).min(STEP);
            let Some((first, rest)) = numbers.split_at_mut_checked(len) else { return Ok(()) };
            self.take(first);
            self.group.len -= len;
            numbers = rest;
        }
        Ok(())
    }

    /// Checks that no group has numbers left.
    ///
    /// # Errors
    ///
    /// `Corrupt` where one has.
    pub(super) fn end(mut self) -> Result<(), Error> {
        while 0 < self.left {
            self.group = self.next()?;
        }
        Ok(())
    }

    /// The next group, whose numbers are there.
    #[inline(always)]
    fn next(&mut self) -> Result<Group, Error> {
        let wanted = self.wanted;
        let Some(left) = self.left.checked_sub(1) else {
            return Err(Error::corrupt(format!("the groups end where {wanted} more numbers are wanted")));
        };
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
        let len = usize::try_from(len)
            .ok()
            .filter(|len| *len <= wanted)
            .ok_or_else(|| Error::corrupt(format!("a group of {len} numbers, where {wanted} are left")))?;
        self.wanted -= len;
        Ok(Group { reference: self.references.take(self.bits), width, len })
    }

    /// The next numbers of the group under way, at most [`STEP`].
    #[inline(always)]
    fn take(&mut self, numbers: &mut [i64]) {
        let Group { reference, width, .. } = self.group;
        let sum = i64::from(reference);
        if width == 0 {
            // The largest number that a reference can be stands for a group of missing values.
            let is_missing = self.least_mark(self.bits) <= sum;
            numbers.fill(if is_missing { MISSING } else { sum });
            return;
        }
        let mut stored = [0u32; STEP];
        let Some(stored) = stored.get_mut(..numbers.len()) else { return };
        self.numbers.take_many(width, stored);
        if !self.has_missing() {
            for (number, stored) in numbers.iter_mut().zip(stored.iter()) {
                *number = sum + i64::from(*stored);
            }
            return;
        }
        let least_mark = self.least_mark(width);
        for (number, stored) in numbers.iter_mut().zip(stored.iter()) {
            let stored = i64::from(*stored);
            *number = if least_mark <= stored { MISSING } else { sum + stored };
        }
    }

    /// The least number of so many bits that stands for a missing value; one that no number reaches where none does.
    #[inline(always)]
    fn least_mark(&self, bits: u32) -> i64 {
        let largest = i64::from(low((1u64 << bits) - 1));
        match self.complex.missing {
            MissingValues::Primary => largest,
            MissingValues::PrimaryAndSecondary if bits != 0 => largest - 1,
            MissingValues::PrimaryAndSecondary | MissingValues::None => MISSING,
        }
    }
}
