//! 16-bit numbers of which the low ten or twelve bits are kept: four of them are whole bytes, which are taken as one word.
//!
//! Instruments count in so many bits. A bit at a time these take ten times as long.

/// Numbers that make a word of 64 bits.
const NUMBERS: usize = 4;

/// Unpacks numbers of 16 bits in native order, zeros above their bits; says how many, which is a multiple of four and may be none.
pub(crate) fn unpack(bits: u32, packed: &[u8], target: &mut [u8]) -> usize {
    match bits {
        _ if cfg!(target_endian = "big") => 0,
        10 => unpack_words::<10, 5>(packed, target),
        12 => unpack_words::<12, 6>(packed, target),
        _ => 0,
    }
}

/// Packs numbers of 16 bits in native order behind what is in `target`; says how many, as [`unpack`].
pub(crate) fn pack(bits: u32, source: &[u8], target: &mut Vec<u8>) -> usize {
    match bits {
        _ if cfg!(target_endian = "big") => 0,
        10 => pack_words::<10, 5>(source, target),
        12 => pack_words::<12, 6>(source, target),
        _ => 0,
    }
}

fn unpack_words<const BITS: u32, const BYTES: usize>(packed: &[u8], target: &mut [u8]) -> usize {
    let (words, _) = target.as_chunks_mut::<8>();
    let mut start = 0;
    for four in &mut *words {
        let rest = packed.get(start..).unwrap_or_default();
        // A load of eight bytes reads into the next four numbers; there are none behind the last ones.
        let bytes = rest.first_chunk::<8>().copied().unwrap_or_else(|| {
            let mut bytes = [0; 8];
            let len = rest.len().min(8);
            bytes[..len].copy_from_slice(&rest[..len]);
            bytes
        });
        *four = spread::<BITS>(u64::from_le_bytes(bytes)).to_le_bytes();
        start += BYTES;
    }
    words.len() * NUMBERS
}

fn pack_words<const BITS: u32, const BYTES: usize>(source: &[u8], target: &mut Vec<u8>) -> usize {
    let (words, _) = source.as_chunks::<8>();
    let before = target.len();
    target.resize(before + words.len() * BYTES, 0);
    let (packed, _) = target[before..].as_chunks_mut::<BYTES>();
    for (packed, four) in packed.iter_mut().zip(words) {
        let bytes = gathered::<BITS>(u64::from_le_bytes(*four)).to_le_bytes();
        packed.copy_from_slice(&bytes[..BYTES]);
    }
    words.len() * NUMBERS
}

/// Four numbers of so many bits each, in 16 bits each.
#[inline]
fn spread<const BITS: u32>(word: u64) -> u64 {
    let mask = u64::MAX >> (64 - BITS);
    (0..4).map(|number| (word >> (number * BITS) & mask) << (number * 16)).sum()
}

/// The low bits of four numbers of 16 bits each, one behind the other.
#[inline]
fn gathered<const BITS: u32>(word: u64) -> u64 {
    let mask = u64::MAX >> (64 - BITS);
    (0..4).map(|number| (word >> (number * 16) & mask) << (number * BITS)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bits one by one, as the specification has them.
    fn packed(bits: u32, numbers: &[u16]) -> Vec<u8> {
        let count = bits as usize;
        let mut bytes = vec![0u8; (numbers.len() * count).div_ceil(8)];
        for at in 0..numbers.len() * count {
            let bit = numbers[at / count] >> (at % count) & 1;
            bytes[at / 8] |= u8::try_from(bit).unwrap() << (at % 8);
        }
        bytes
    }

    #[test]
    fn words_are_those_of_single_bits() {
        for bits in [10, 12] {
            for count in [0usize, 1, 3, 4, 5, 8, 31, 1000] {
                let mut state = 7u32;
                let numbers: Vec<u16> = (0..count)
                    .map(|_| {
                        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        u16::try_from(state >> 16).unwrap()
                    })
                    .collect();
                let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
                let (whole, wanted) = (count / 4 * 4, packed(bits, &numbers));
                let mut found = vec![9];
                let done = pack(bits, &bytes, &mut found);
                if cfg!(target_endian = "big") {
                    assert_eq!(done, 0);
                    continue;
                }
                assert_eq!((done, found[0]), (whole, 9));
                assert_eq!(found[1..], wanted[..whole * bits as usize / 8], "{bits} {count}");
                let mut target = vec![0xA5; bytes.len()];
                assert_eq!(unpack(bits, &wanted, &mut target), whole);
                for (number, bytes) in numbers[..whole].iter().zip(target.chunks_exact(2)) {
                    assert_eq!(u16::from_ne_bytes([bytes[0], bytes[1]]), number & (u16::MAX >> (16 - bits)));
                }
            }
        }
        assert_eq!((unpack(11, &[0; 22], &mut [0; 32]), pack(11, &[0; 32], &mut Vec::new())), (0, 0));
    }
}
