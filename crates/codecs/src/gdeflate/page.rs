//! One page of GDEFLATE.
//!
//! Blocks, codes and lengths are those of DEFLATE64 (RFC 1951, with symbol 285 for lengths of 16 more bits, and with
//! distances up to 64 KiB), but bits come from 32 lanes that take turns, one symbol each. A lane that met the length of a copy
//! takes its distance at its next turn: meanwhile others write behind the place that it left.

use std::fmt;

use super::bits::{LANES, Lanes};
use super::huffman::Codes;

/// What is wrong with a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Broken {
    /// Bits are missing.
    Short,
    /// Its codes are none, or bits that none of them begins with.
    Codes,
    /// A block of no known type.
    Block,
    /// A copy of what lies before the page.
    Distance,
    /// It decodes to more or less than a page.
    Length,
}

impl fmt::Display for Broken {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Short => "its end missing",
            Self::Codes => "codes that are none",
            Self::Block => "a block of no known type",
            Self::Distance => "a copy of what lies before it",
            Self::Length => "another number of bytes",
        })
    }
}

/// Decodes a page to all of `target`.
pub(super) fn decode_page(page: &[u8], target: &mut [u8]) -> Result<(), Broken> {
    // A broken page copies what it has not written: that shall be nothing that was there before.
    target.fill(0);
    let mut page = Page {
        lanes: Lanes::new(page)?,
        target,
        written: 0,
        copies: [None; LANES],
        symbols: Codes::default(),
        distances: Codes::default(),
    };
    while !page.block()? {}
    if page.written == page.target.len() { Ok(()) } else { Err(Broken::Length) }
}

struct Page<'a> {
    lanes: Lanes<'a>,
    target: &'a mut [u8],
    written: usize,
    /// For each lane the copy whose distance it has not taken yet.
    copies: [Option<PendingCopy>; LANES],
    symbols: Codes,
    distances: Codes,
}

#[derive(Clone, Copy)]
struct PendingCopy {
    start: usize,
    length: usize,
}

/// The symbol that ends a block; greater ones are lengths.
const END: usize = 256;
const LENGTHS: [(u16, u8); 31] = [
    (3, 0),
    (4, 0),
    (5, 0),
    (6, 0),
    (7, 0),
    (8, 0),
    (9, 0),
    (10, 0),
    (11, 1),
    (13, 1),
    (15, 1),
    (17, 1),
    (19, 2),
    (23, 2),
    (27, 2),
    (31, 2),
    (35, 3),
    (43, 3),
    (51, 3),
    (59, 3),
    (67, 4),
    (83, 4),
    (99, 4),
    (115, 4),
    (131, 5),
    (163, 5),
    (195, 5),
    (227, 5),
    (3, 16),
    (3, 16),
    (3, 16),
];
/// The order in which the lengths of the codes for lengths are stored.
const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

impl Page<'_> {
    /// Decodes a block; true of the last one.
    fn block(&mut self) -> Result<bool, Broken> {
        self.lanes.restart();
        let is_last = self.lanes.take(1)? == 1;
        let kind = self.lanes.take(2)?;
        self.lanes.refill()?;
        match kind {
            0 => self.stored()?,
            1 => {
                self.usual_codes()?;
                self.compressed()?;
            }
            2 => {
                self.own_codes()?;
                self.compressed()?;
            }
            _ => return Err(Broken::Block),
        }
        for _ in 0..LANES {
            self.copy()?;
            self.lanes.next_turn()?;
        }
        Ok(is_last)
    }

    /// A block of bytes as they are, one a turn.
    fn stored(&mut self) -> Result<(), Broken> {
        for _ in 0..self.lanes.take(16)? {
            let byte = self.lanes.take(8)?;
            self.literal(byte)?;
            self.lanes.next_turn()?;
        }
        Ok(())
    }

    fn literal(&mut self, byte: usize) -> Result<(), Broken> {
        let place = self.target.get_mut(self.written).ok_or(Broken::Length)?;
        *place = u8::try_from(byte).map_err(|_| Broken::Codes)?;
        self.written += 1;
        Ok(())
    }

    /// The codes that need not be stored.
    fn usual_codes(&mut self) -> Result<(), Broken> {
        let mut lengths = [8; 288];
        lengths[144..256].fill(9);
        lengths[256..280].fill(7);
        self.symbols.build(&lengths)?;
        self.distances.build(&[5; 32])
    }

    /// Reads the codes of a block.
    fn own_codes(&mut self) -> Result<(), Broken> {
        let symbols = self.lanes.take(5)? + 257;
        let distances = self.lanes.take(5)? + 1;
        let stored = self.lanes.take(4)? + 4;
        self.lanes.refill()?;
        let mut lengths = [0u8; ORDER.len()];
        for place in &ORDER[..stored] {
            lengths[*place] = u8::try_from(self.lanes.take(3)?).unwrap_or(0);
            self.lanes.next_turn()?;
        }
        let mut codes = Codes::default();
        codes.build(&lengths)?;
        self.lanes.restart();
        let mut lengths = [0u8; 288 + 32];
        let (mut at, count) = (0, symbols + distances);
        while at < count {
            let (length, times) = match codes.take(&mut self.lanes)? {
                16 => {
                    let before = at.checked_sub(1).ok_or(Broken::Codes)?;
                    (lengths[before], 3 + self.lanes.take(2)?)
                }
                17 => (0, 3 + self.lanes.take(3)?),
                18 => (0, 11 + self.lanes.take(7)?),
                length => (u8::try_from(length).unwrap_or(0), 1),
            };
            // What reaches past the last length says nothing.
            let end = (at + times).min(count);
            lengths[at..end].fill(length);
            at = end;
            self.lanes.next_turn()?;
        }
        self.symbols.build(&lengths[..symbols])?;
        self.distances.build(&lengths[symbols..count])
    }

    /// The symbols of a block, up to its end.
    fn compressed(&mut self) -> Result<(), Broken> {
        self.lanes.restart();
        loop {
            if !self.copy()? {
                match self.symbols.take(&mut self.lanes)? {
                    END => return Ok(()),
                    byte if byte < END => self.literal(byte)?,
                    length => self.begin_copy(length)?,
                }
            }
            self.lanes.next_turn()?;
        }
    }

    /// Leaves room for a copy.
    fn begin_copy(&mut self, symbol: usize) -> Result<(), Broken> {
        let (base, bits) = *LENGTHS.get(symbol - END - 1).ok_or(Broken::Codes)?;
        let length = usize::from(base) + self.lanes.take(bits.into())?;
        let start = self.written;
        self.written =
            start.checked_add(length).filter(|end| *end <= self.target.len()).ok_or(Broken::Length)?;
        self.copies[self.lanes.turn()] = Some(PendingCopy { start, length });
        Ok(())
    }

    /// Makes the copy that the lane has left room for; false where there is none.
    #[inline]
    fn copy(&mut self) -> Result<bool, Broken> {
        let Some(PendingCopy { start, length }) = self.copies[self.lanes.turn()].take() else {
            return Ok(false);
        };
        let symbol = self.distances.take(&mut self.lanes)?;
        // Two symbols for each number of bits, from the fifth on.
        let bits = u32::try_from(symbol / 2).unwrap_or(0).saturating_sub(1);
        let base = if symbol < 4 { symbol } else { (2 + symbol % 2) << bits };
        let distance = 1 + base + self.lanes.take(bits)?;
        let from = start.checked_sub(distance).ok_or(Broken::Distance)?;
        if length <= distance {
            self.target.copy_within(from..from + length, start);
        } else {
            for at in 0..length {
                self.target[start + at] = self.target[from + at];
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_pages_end() {
        for byte in 0..=255u8 {
            for length in [0, 1, 4, 127, 128, 200, 4096] {
                let mut target = [7; 300];
                assert!(decode_page(&vec![byte; length], &mut target).is_err(), "{length} times {byte}");
            }
        }
    }
}
