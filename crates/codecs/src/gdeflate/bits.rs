//! The bits of a page: 32 lanes, which take turns, each with words of its own from one stream of words.

use super::page::Broken;

/// Lanes of a page.
pub(super) const LANES: usize = 32;
/// A lane takes its next word when it has fewer bits left.
const WORD_BITS: u32 = 32;
/// Bytes that may be missing behind the last word that bits are taken of: each lane reads on ahead by one.
const MISSING_WORDS_MAX: usize = 2 * LANES;

/// The lanes of a page, and which one's turn it is.
pub(super) struct Lanes<'a> {
    bits: [u64; LANES],
    counts: [u32; LANES],
    turn: usize,
    rest: &'a [u8],
    missing: usize,
}

impl<'a> Lanes<'a> {
    /// The lanes of a page, each with its first word.
    pub(super) fn new(page: &'a [u8]) -> Result<Self, Broken> {
        let mut lanes = Lanes { bits: [0; LANES], counts: [0; LANES], turn: 0, rest: page, missing: 0 };
        for _ in 0..LANES {
            lanes.next_turn()?;
        }
        Ok(lanes)
    }

    /// Whose turn it is.
    pub(super) fn turn(&self) -> usize {
        self.turn
    }

    /// Starts again with the first lane.
    pub(super) fn restart(&mut self) {
        self.turn = 0;
    }

    /// Has the lane take its next word, if it is short of bits, and hands on to the next lane.
    #[inline]
    pub(super) fn next_turn(&mut self) -> Result<(), Broken> {
        self.refill()?;
        self.turn = (self.turn + 1) % LANES;
        Ok(())
    }

    /// Has the lane take its next word, if it is short of bits.
    #[inline]
    pub(super) fn refill(&mut self) -> Result<(), Broken> {
        let count = self.counts[self.turn];
        if count < WORD_BITS {
            let word = self.word()?;
            self.bits[self.turn] |= u64::from(word) << count;
            self.counts[self.turn] = count + WORD_BITS;
        }
        Ok(())
    }

    #[inline]
    fn word(&mut self) -> Result<u32, Broken> {
        if let Some((word, rest)) = self.rest.split_first_chunk::<4>() {
            self.rest = rest;
            return Ok(u32::from_le_bytes(*word));
        }
        self.missing += 1;
        if MISSING_WORDS_MAX < self.missing {
            return Err(Broken::Short);
        }
        let mut word = [0; 4];
        word[..self.rest.len()].copy_from_slice(self.rest);
        self.rest = &[];
        Ok(u32::from_le_bytes(word))
    }

    /// The lane's next bits, below 2^16, without taking them. What it does not have is 0.
    #[inline]
    pub(super) fn peek(&self, count: u32) -> usize {
        let bits = self.bits[self.turn] & ((1 << count) - 1);
        // Fewer than 32 bits.
        usize::try_from(bits).unwrap_or(0)
    }

    /// Takes the lane's next bits.
    #[inline]
    pub(super) fn take(&mut self, count: u32) -> Result<usize, Broken> {
        let found = self.peek(count);
        self.counts[self.turn] = self.counts[self.turn].checked_sub(count).ok_or(Broken::Short)?;
        self.bits[self.turn] >>= count;
        Ok(found)
    }
}
