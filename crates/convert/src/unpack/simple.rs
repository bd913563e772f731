//! Simple packing: numbers of one width, one behind the other.

use super::bits::Bits;
use super::sample::Sample;
use super::scale::Scale;
use super::{vectors, widths};
use crate::Error;

/// Numbers that are unpacked at once: small enough for the nearest cache, and a multiple of eight, so that each begins an octet.
pub(super) const BLOCK: usize = 512;

pub(super) fn unpack<T: Sample>(
    data: &[u8],
    bits: u32,
    scale: &Scale,
    target: &mut [T],
) -> Result<(), Error> {
    if 64 < bits {
        return Err(Error::corrupt(format!("packed numbers of {bits} bits: at most 64 are known")));
    }
    let mut stored = Bits::new(data);
    stored.check(swath_ioengine::storage_len(target.len()), bits, "packed numbers")?;
    if 32 < bits {
        for value in target {
            let number = u64::from(stored.take(bits - 32)) << 32 | u64::from(stored.take(32));
            *value = T::from_f64(scale.value(number as f64));
        }
        return Ok(());
    }
    let block_bytes = BLOCK / 8 * bits as usize;
    let mut packed = [0; BLOCK];
    for (number, block) in target.chunks_mut(BLOCK).enumerate() {
        let packed = &mut packed[..block.len()];
        widths::unpack(data.get(number * block_bytes..).unwrap_or_default(), bits, packed);
        vectors::run(
            #[inline(always)]
            || scale.fill(packed, block),
        );
    }
    Ok(())
}
