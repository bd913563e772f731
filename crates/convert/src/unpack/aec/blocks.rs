//! One block after the other.

use super::differences::{self, Sums};
use super::settings::{BLOCK_MAX, Settings};
use crate::Error;
use crate::unpack::bits::Bits;

/// What comes next.
pub(super) enum Next {
    /// So many numbers.
    Numbers(usize),
    /// One number, so many times.
    Same(u32, u64),
}

/// A run of zeros that reaches to the end of its segment.
const REST_OF_SEGMENT: u64 = 5;

/// Blocks of a segment.
const SEGMENT: u64 = 64;

/// The blocks of a stream.
pub(super) struct Blocks<'a> {
    bits: Bits<'a>,
    settings: Settings,
    /// Blocks of the interval that are done.
    done: u64,
    /// The number before the next one.
    last: u32,
    /// Memory in which differences are undone.
    sums: Sums,
}

impl<'a> Blocks<'a> {
    pub(super) fn new(bits: Bits<'a>, settings: Settings) -> Blocks<'a> {
        Blocks { bits, settings, done: 0, last: 0, sums: [0; BLOCK_MAX + 1] }
    }

    /// Decodes the next block, or run of blocks, into `numbers`, which have room for one.
    ///
    /// # Errors
    ///
    /// `Corrupt` where the stream ends before, or holds what no coder writes.
    #[inline(always)]
    pub(super) fn next(&mut self, numbers: &mut [u32]) -> Result<Next, Error> {
        let Settings { bits, name_bits, block, has_differences, .. } = self.settings;
        self.begin_interval();
        let name = self.bits.take(name_bits);
        let is_first = has_differences && self.done == 0;
        let numbers = numbers.get_mut(..block).unwrap_or_default();
        let is_plain = name == (1 << name_bits) - 1;
        let is_pairs = name == 0 && self.bits.take(1) == 1;
        // The first number is stored as it is, behind the name of its block's way.
        let coded = if is_first {
            self.last = self.bits.take(bits);
            numbers.get_mut(1..).unwrap_or_default()
        } else {
            &mut numbers[..]
        };
        if is_plain {
            self.bits.take_many(bits, coded);
        } else if is_pairs {
            self.pairs(coded, usize::from(is_first))?;
        } else if name == 0 {
            return self.zeros();
        } else {
            self.bits.unary(coded)?;
            self.bits.add_low(name - 1, coded);
        }
        self.done += 1;
        self.check()?;
        if has_differences {
            self.undo(numbers, is_first);
        }
        Ok(Next::Numbers(block))
    }

    fn begin_interval(&mut self) {
        if self.settings.interval <= self.done {
            self.done = 0;
            if self.settings.is_padded {
                self.bits.align();
            }
        }
    }

    fn check(&self) -> Result<(), Error> {
        if self.bits.is_overrun() {
            return Err(Error::corrupt("the entropy-coded numbers end too early"));
        }
        Ok(())
    }

    /// A run of blocks of zeros, none of which leaves its interval.
    fn zeros(&mut self) -> Result<Next, Error> {
        let mut count = [0];
        self.bits.unary(&mut count)?;
        self.check()?;
        let left = self.settings.interval - self.done;
        let blocks = match u64::from(count[0]) + 1 {
            REST_OF_SEGMENT => left.min(SEGMENT - self.done % SEGMENT),
            count if REST_OF_SEGMENT < count => count - 1,
            count => count,
        };
        if left < blocks {
            return Err(Error::corrupt(format!(
                "a run of {blocks} blocks of zeros, and the interval has {left} left"
            )));
        }
        self.done += blocks;
        let len = blocks * swath_ioengine::storage_len(self.settings.block);
        let number = if self.settings.has_differences { self.last } else { 0 };
        Ok(Next::Same(number, len))
    }

    /// Pairs of small numbers, each by its place in a list of all pairs: by their sum, then by the second. The first pair's first
    /// number is left out where the block's first is stored as it is.
    fn pairs(&mut self, numbers: &mut [u32], left_out: usize) -> Result<(), Error> {
        let mut place = left_out;
        let end = numbers.len() + left_out;
        while place < end {
            let mut code = [0];
            self.bits.unary(&mut code)?;
            let (first, second) = pair(code[0])?;
            if place.is_multiple_of(2) {
                numbers[place - left_out] = first;
                place += 1;
            }
            if let Some(number) = numbers.get_mut(place - left_out) {
                *number = second;
            }
            place += 1;
        }
        Ok(())
    }

    /// Replaces differences by the numbers that they lead to. Of the first block the first number is stored as it is.
    #[inline(always)]
    fn undo(&mut self, numbers: &mut [u32], is_first: bool) {
        let last = self.last;
        let differences = if is_first {
            let Some((first, rest)) = numbers.split_first_mut() else { return };
            *first = last;
            rest
        } else {
            numbers
        };
        self.last = differences::undo(differences, last, self.settings.bits, &mut self.sums);
    }
}

/// The largest sum of a coded pair.
const PAIR_SUM_MAX: u32 = 12;

/// The pair of a code: codes of a sum `s` begin at `s (s + 1) / 2`, and count the second number.
fn pair(code: u32) -> Result<(u32, u32), Error> {
    let (mut sum, mut first_code) = (0, 0);
    while first_code + sum < code && sum <= PAIR_SUM_MAX {
        first_code += sum + 1;
        sum += 1;
    }
    if PAIR_SUM_MAX < sum {
        return Err(Error::corrupt(format!("a pair of code {code}, and 90 is the largest")));
    }
    let second = code - first_code;
    Ok((sum - second, second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_listed_by_their_sum() {
        let pairs: Vec<_> = (0..6).filter_map(|code| pair(code).ok()).collect();
        assert_eq!(pairs, [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2)]);
        assert_eq!(pair(90).ok(), Some((0, 12)));
        assert!(pair(91).is_err() && pair(u32::MAX).is_err());
    }
}
