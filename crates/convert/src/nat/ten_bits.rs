//! Numbers of ten bits, four in five octets.

/// Octets of four numbers.
const GROUP_BYTES: usize = 5;

/// Groups that are taken at once, so that what one load reads beyond its group is the next one's.
const GROUPS: usize = 8;

/// Unpacks all numbers into `target`, the last one first: lines are stored from east to west, and images are kept from west to
/// east. `target` has four elements for each five octets.
pub(super) fn unpack_reversed(packed: &[u8], target: &mut [u16]) {
    let mut blocks = packed.chunks_exact(GROUPS * GROUP_BYTES);
    let mut targets = target.rchunks_exact_mut(GROUPS * 4);
    for (block, target) in (&mut blocks).zip(&mut targets) {
        // A fixed length lets the compiler drop all checks of bounds.
        let Ok(block) = <&[u8; GROUPS * GROUP_BYTES]>::try_from(block) else { continue };
        unpack_block(block, target);
    }
    let rest = targets.into_remainder();
    for (group, target) in blocks.remainder().chunks_exact(GROUP_BYTES).zip(rest.rchunks_exact_mut(4)) {
        let mut word = [0; 8];
        word[3..].copy_from_slice(group);
        target.copy_from_slice(&four(u64::from_be_bytes(word)));
    }
}

#[inline]
fn unpack_block(block: &[u8; GROUPS * GROUP_BYTES], target: &mut [u16]) {
    for (group, target) in target.rchunks_exact_mut(4).enumerate() {
        // The last group is read with octets before it, all others with octets behind them.
        let (start, shift) = if group + 1 < GROUPS { (group * GROUP_BYTES, 24) } else { (32, 0) };
        let word = block.get(start..start + 8).and_then(|octets| octets.first_chunk()).copied();
        let word = u64::from_be_bytes(word.unwrap_or_default()) >> shift;
        target.copy_from_slice(&four(word));
    }
}

/// The four numbers of the low forty bits, the last one first.
#[inline]
fn four(word: u64) -> [u16; 4] {
    let spread = word & 0x3ff
        | (word & 0x000f_fc00) << 6
        | (word & 0x3ff0_0000) << 12
        | (word & 0x00ff_c000_0000) << 18;
    let octets = spread.to_le_bytes();
    let [a, b, c, d, e, f, g, h] = octets;
    [[a, b], [c, d], [e, f], [g, h]].map(u16::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packed(numbers: &[u16]) -> Vec<u8> {
        let mut bytes = vec![0; numbers.len() / 4 * 5];
        for (place, number) in numbers.iter().enumerate() {
            for bit in 0..10 {
                let at = place * 10 + bit;
                let set = number >> (9 - bit) & 1 == 1;
                bytes[at / 8] |= u8::from(set) << (7 - at % 8);
            }
        }
        bytes
    }

    proptest! {
        #[test]
        fn numbers_are_those_of_single_bits(groups in proptest::collection::vec(any::<[u16; 4]>(), 0..40)) {
            let mut numbers: Vec<u16> = groups.into_iter().flatten().map(|number| number & 0x3ff).collect();
            let bytes = packed(&numbers);
            let mut target = vec![u16::MAX; numbers.len()];
            unpack_reversed(&bytes, &mut target);
            numbers.reverse();
            prop_assert_eq!(target, numbers);
        }
    }
}
