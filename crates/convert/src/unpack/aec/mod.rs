//! CCSDS 121.0-B: blocks of numbers, each coded in the way that takes the fewest bits, as differences of neighbours.

mod blocks;
mod differences;
mod settings;

use super::bits::Bits;
use super::sample::Sample;
use super::scale::Scale;
use super::vectors;
use crate::{Entropy, Error};
use blocks::{Blocks, Next};
use settings::Settings;

/// Unpacks `target.len()` numbers of `bits` bits.
pub(super) fn unpack<T: Sample>(
    data: &[u8],
    bits: u32,
    entropy: &Entropy,
    scale: &Scale,
    target: &mut [T],
) -> Result<(), Error> {
    let blocks = Blocks::new(Bits::new(data), Settings::of(entropy, bits)?);
    vectors::run(
        #[inline(always)]
        || decode(blocks, scale, target),
    )
}

#[inline(always)]
fn decode<T: Sample>(mut blocks: Blocks<'_>, scale: &Scale, target: &mut [T]) -> Result<(), Error> {
    let mut numbers = [0; settings::BLOCK_MAX];
    let mut filled = 0;
    while filled < target.len() {
        let rest = target.get_mut(filled..).unwrap_or_default();
        // The last block may have more numbers than are wanted.
        let len = match blocks.next(&mut numbers)? {
            Next::Numbers(len) => {
                let len = len.min(rest.len());
                scale.fill(&numbers[..len], &mut rest[..len]);
                len
            }
            Next::Same(number, len) => {
                let len = usize::try_from(len).unwrap_or(usize::MAX).min(rest.len());
                rest[..len].fill(T::from_f64(scale.value(f64::from(number))));
                len
            }
        };
        filled += len;
    }
    Ok(())
}
