//! Numbers that look random and come again with the same seed.

/// The `index`th number of a seed (SplitMix64).
pub(crate) fn throw(seed: u64, index: u64) -> u64 {
    let mut bits = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// The `index`th number of a seed, below `bound`; zero for a bound of zero.
pub(crate) fn throw_below(seed: u64, index: u64, bound: u64) -> u64 {
    throw(seed, index).checked_rem(bound).unwrap_or(0)
}
