//! How the coder was set.

use crate::{Entropy, Error};

/// Numbers are signed.
const SIGNED: u8 = 1;

/// Differences are coded, and not the numbers themselves.
const DIFFERENCES: u8 = 8;

/// Numbers of few bits have shorter names of blocks.
const RESTRICTED: u8 = 16;

/// Each interval begins with an octet.
const PADDED: u8 = 32;

/// The most numbers of a block.
pub(super) const BLOCK_MAX: usize = 256;

/// What the coder was told, checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    /// Bits of a number, 1 to 32.
    pub(super) bits: u32,
    /// Bits of the name of a block's way.
    pub(super) name_bits: u32,
    /// Numbers of a block.
    pub(super) block: usize,
    /// Blocks of an interval, of which each begins with a number that is stored as it is, where differences are coded.
    pub(super) interval: u64,
    pub(super) has_differences: bool,
    pub(super) is_padded: bool,
}

impl Settings {
    pub(super) fn of(entropy: &Entropy, bits: u32) -> Result<Settings, Error> {
        let Entropy { flags, block, interval } = *entropy;
        if flags & SIGNED != 0 {
            return Err(Error::unsupported("entropy-coded numbers with a sign"));
        }
        if !(1..=32).contains(&bits) || block == 0 || !block.is_multiple_of(2) || interval == 0 {
            let text =
                format!("entropy-coded numbers of {bits} bits in blocks of {block}, {interval} an interval");
            return Err(Error::corrupt(text));
        }
        let name_bits = match bits {
            1..=2 if flags & RESTRICTED != 0 => 1,
            3..=4 if flags & RESTRICTED != 0 => 2,
            1..=8 => 3,
            9..=16 => 4,
            _ => 5,
        };
        Ok(Settings {
            bits,
            name_bits,
            block: usize::from(block),
            interval: u64::from(interval),
            has_differences: flags & DIFFERENCES != 0,
            is_padded: flags & PADDED != 0,
        })
    }
}
