//! Codes of DEFLATE (RFC 1951, 3.2.2).

use super::bits::Lanes;
use super::page::Broken;

/// The longest code.
const CODE_BITS_MAX: usize = 15;

/// From the next bits of a lane to a symbol and the length of its code.
#[derive(Default)]
pub(super) struct Codes {
    /// By as many bits as the longest code has; a symbol in the upper bits, in the lowest 4 the length of its code, which is 0
    /// where no code begins with these bits.
    table: Vec<u16>,
    bits: u32,
}

impl Codes {
    /// The codes of symbols with codes of these lengths; 0 for a symbol without one.
    ///
    /// # Errors
    ///
    /// `Codes` where there are more codes of these lengths than bits can tell apart.
    pub(super) fn build(&mut self, lengths: &[u8]) -> Result<(), Broken> {
        let mut counts = [0usize; CODE_BITS_MAX + 1];
        for length in lengths {
            counts[usize::from(*length).min(CODE_BITS_MAX)] += 1;
        }
        counts[0] = 0;
        let longest = counts.iter().rposition(|count| *count != 0).unwrap_or(1);
        let (mut next, mut code) = ([0usize; CODE_BITS_MAX + 2], 0);
        for length in 1..=longest {
            next[length] = code;
            code += counts[length];
            if 1 << length < code {
                return Err(Broken::Codes);
            }
            code <<= 1;
        }
        self.bits = u32::try_from(longest).unwrap_or(0);
        self.table.clear();
        self.table.resize(1 << longest, 0);
        for (symbol, length) in (0u16..).zip(lengths.iter().map(|length| usize::from(*length))) {
            if length == 0 {
                continue;
            }
            let code = next[length];
            next[length] += 1;
            // The first bit of a code is its highest, and the first bit of a lane its lowest.
            let start = code.reverse_bits() >> (usize::BITS as usize - length);
            let entry = symbol << 4 | u16::from(lengths[usize::from(symbol)]);
            self.table[start..].iter_mut().step_by(1 << length).for_each(|place| *place = entry);
        }
        Ok(())
    }

    /// Takes the next symbol of a lane.
    #[inline]
    pub(super) fn take(&self, lanes: &mut Lanes<'_>) -> Result<usize, Broken> {
        let entry = self.table[lanes.peek(self.bits)];
        let length = u32::from(entry & 0xf);
        if length == 0 {
            return Err(Broken::Codes);
        }
        lanes.take(length)?;
        Ok(usize::from(entry >> 4))
    }
}
