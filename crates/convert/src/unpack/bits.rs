//! Numbers of any width out of a row of bits, the first bit first.

use crate::Error;

/// Bits that a look ahead has at least.
const WORD_BITS: u32 = 57;

/// A row of bits, and how many were taken.
#[derive(Clone)]
pub(super) struct Bits<'a> {
    bytes: &'a [u8],
    /// Bits that were taken. Those of a slice never overflow 64 bits.
    at: u64,
}

impl<'a> Bits<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Bits<'a> {
        Bits { bytes, at: 0 }
    }

    /// Bits that are left.
    pub(super) fn left(&self) -> u64 {
        (swath_ioengine::storage_len(self.bytes.len()) * 8).saturating_sub(self.at)
    }

    /// Checks that so many numbers of a width are left.
    ///
    /// # Errors
    ///
    /// `Corrupt` where they are not; `what` names them.
    pub(super) fn check(&self, count: u64, width: u32, what: &str) -> Result<(), Error> {
        let left = self.left();
        let wanted = count.checked_mul(u64::from(width));
        if wanted.is_some_and(|wanted| wanted <= left) {
            return Ok(());
        }
        Err(Error::corrupt(format!("{count} {what} of {width} bits are wanted, and {left} bits are left")))
    }

    /// The next number of at most 32 bits; bits behind the end count as zeros.
    #[inline(always)]
    pub(super) fn take(&mut self, width: u32) -> u32 {
        let word = self.word();
        self.at += u64::from(width);
        if width == 0 {
            return 0;
        }
        low(word >> (64 - width.min(32)))
    }

    /// The next 57 bits at least, from the highest bit on, without taking them.
    #[inline(always)]
    fn word(&self) -> u64 {
        let byte = usize::try_from(self.at >> 3).unwrap_or(usize::MAX);
        let rest = self.bytes.get(byte..).unwrap_or_default();
        let word = match rest.first_chunk::<8>() {
            Some(bytes) => u64::from_be_bytes(*bytes),
            None => {
                let mut padded = [0; 8];
                padded[..rest.len()].copy_from_slice(rest);
                u64::from_be_bytes(padded)
            }
        };
        word << (self.at & 7)
    }

    /// Goes on at the next whole octet.
    pub(super) fn align(&mut self) {
        self.at = self.at.next_multiple_of(8);
    }

    /// Passes over so many bits, at most to a little behind the end.
    pub(super) fn skip(&mut self, bits: u64) {
        let end = swath_ioengine::storage_len(self.bytes.len()) * 8;
        self.at = self.at.saturating_add(bits).min(end + 64);
    }

    /// Whether more bits were taken than there are.
    pub(super) fn is_overrun(&self) -> bool {
        swath_ioengine::storage_len(self.bytes.len()) * 8 < self.at
    }

    /// The next numbers of one width, at most 32; bits behind the end count as zeros.
    #[inline(always)]
    pub(super) fn take_many(&mut self, width: u32, numbers: &mut [u32]) {
        self.each(width, numbers, |_, taken| taken);
    }

    /// Replaces each number by what `put` makes of it and the next one of `width` bits, at most 32.
    ///
    /// One look ahead has several numbers, and each is what is highest in it.
    #[inline(always)]
    fn each(&mut self, width: u32, numbers: &mut [u32], put: impl Fn(u32, u32) -> u32) {
        if width == 0 {
            numbers.iter_mut().for_each(|number| *number = put(*number, 0));
            return;
        }
        let width = width.min(32);
        let at_once = (WORD_BITS / width) as usize;
        for numbers in numbers.chunks_mut(at_once) {
            let mut word = self.word();
            for number in numbers.iter_mut() {
                *number = put(*number, low(word >> (64 - width)));
                word <<= width;
            }
            self.at += u64::from(width) * numbers.len() as u64;
        }
    }

    /// The next numbers, each as many zeros before a one.
    ///
    /// # Errors
    ///
    /// `Corrupt` where the bits end before the last one's one.
    #[inline(always)]
    pub(super) fn unary(&mut self, numbers: &mut [u32]) -> Result<(), Error> {
        let (mut word, mut valid) = (self.word(), WORD_BITS);
        for number in numbers {
            let mut zeros = word.leading_zeros();
            if valid <= zeros {
                self.at += u64::from(WORD_BITS - valid);
                (word, valid) = (self.word(), WORD_BITS);
                zeros = word.leading_zeros();
                if valid <= zeros {
                    *number = self.long_unary()?;
                    self.at += 1;
                    word = self.word();
                    continue;
                }
            }
            word = word << zeros << 1;
            valid -= zeros + 1;
            *number = zeros;
        }
        self.at += u64::from(WORD_BITS - valid);
        Ok(())
    }

    /// Zeros up to the next one, which may be further away than a word.
    #[cold]
    fn long_unary(&mut self) -> Result<u32, Error> {
        let mut zeros = 0u32;
        loop {
            let next = self.word().leading_zeros();
            if next < WORD_BITS {
                self.at += u64::from(next);
                return Ok(zeros.saturating_add(next));
            }
            if self.left() == 0 {
                return Err(Error::corrupt("a run of zeros without an end"));
            }
            zeros = zeros.saturating_add(WORD_BITS);
            self.at += u64::from(WORD_BITS);
        }
    }

    /// Puts as many of the next bits behind each number.
    #[inline(always)]
    pub(super) fn add_low(&mut self, width: u32, numbers: &mut [u32]) {
        if width != 0 {
            self.each(width, numbers, |high, taken| high.wrapping_shl(width) | taken);
        }
    }
}

/// The low 32 bits.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the low bits are what is asked for")]
pub(super) fn low(word: u64) -> u32 {
    word as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn one_by_one(bytes: &[u8], at: usize, width: u32) -> u32 {
        (0..width as usize).fold(0, |sum, bit| {
            let place = at + bit;
            let set = bytes.get(place / 8).is_some_and(|byte| byte >> (7 - place % 8) & 1 == 1);
            sum << 1 | u32::from(set)
        })
    }

    proptest! {
        #[test]
        fn numbers_are_those_of_single_bits(
            bytes in proptest::collection::vec(any::<u8>(), 0..40),
            widths in proptest::collection::vec(0u32..=32, 0..20),
        ) {
            let mut bits = Bits::new(&bytes);
            let mut at = 0;
            for width in widths {
                prop_assert_eq!(bits.take(width), one_by_one(&bytes, at, width));
                at += width as usize;
            }
        }

        #[test]
        fn many_numbers_are_those_of_one_by_one(
            bytes in proptest::collection::vec(any::<u8>(), 0..60),
            groups in proptest::collection::vec((0u32..=32, 0usize..40), 0..6),
        ) {
            let (mut fast, mut slow, mut behind) = (Bits::new(&bytes), Bits::new(&bytes), Bits::new(&bytes));
            for (width, count) in groups {
                let mut numbers = vec![7; count];
                fast.take_many(width, &mut numbers);
                let wanted: Vec<u32> = (0..count).map(|_| slow.take(width)).collect();
                prop_assert_eq!(&numbers, &wanted);
                prop_assert_eq!(fast.at, slow.at);
                let mut numbers = vec![1; count];
                behind.add_low(width.min(31), &mut numbers);
                behind.at = slow.at;
                let low = |wanted: &u32| 1 << width | wanted;
                prop_assert!(width == 32 || numbers.iter().eq(wanted.iter().map(low).collect::<Vec<_>>().iter()));
            }
        }
    }

    proptest! {
        #[test]
        fn zeros_are_counted(counts in proptest::collection::vec(0u32..200, 0..30)) {
            let mut bytes = Vec::new();
            let mut at = 0usize;
            for count in &counts {
                at += *count as usize;
                bytes.resize(at / 8 + 1, 0);
                bytes[at / 8] |= 0x80 >> (at % 8);
                at += 1;
            }
            let mut found = vec![0; counts.len()];
            let mut bits = Bits::new(&bytes);
            bits.unary(&mut found).unwrap();
            prop_assert_eq!(&found, &counts);
            prop_assert!(bits.unary(&mut [0]).is_err());
        }
    }

    #[test]
    fn octets_are_gone_on_with() {
        let mut bits = Bits::new(&[0xf0, 1, 2]);
        assert_eq!((bits.take(4), bits.left()), (15, 20));
        bits.align();
        assert_eq!(bits.take(16), 0x0102);
        assert!(bits.check(1, 1, "numbers").unwrap_err().message().contains("0 bits are left"));
        bits.skip(u64::MAX);
        assert_eq!((bits.left(), bits.take(32)), (0, 0));
    }
}
