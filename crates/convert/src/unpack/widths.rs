//! Many numbers of one width: eight of them are as many octets as one has bits, so that every shift is a constant.

use super::bits::Bits;
use super::vectors;

/// Unpacks `target.len()` numbers of `width` bits, 1 to 32, from the first octet on; bits behind the end count as zeros.
pub(super) fn unpack(bytes: &[u8], width: u32, target: &mut [u32]) {
    macro_rules! widths {
        ($($width:literal)*) => {
            match width {
                $($width => eights::<$width>(bytes, target),)*
                _ => target.fill(0),
            }
        };
    }
    widths!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32);
}

/// Octets that are looked at for eight numbers: those of eight of 32 bits, and as many behind them as one look has.
const WINDOW: usize = 40;

fn eights<const WIDTH: usize>(bytes: &[u8], target: &mut [u32]) {
    let done = vectors::run(
        #[inline(always)]
        || whole_eights::<WIDTH>(bytes, target),
    );
    // The last numbers, of which there are no eight, or behind which there are too few octets.
    let mut bits = Bits::new(bytes.get(done * WIDTH..).unwrap_or_default());
    let rest = target.get_mut(done * 8..).unwrap_or_default();
    bits.take_many(u32::try_from(WIDTH).unwrap_or(0), rest);
}

/// Unpacks eights of numbers as long as there are octets behind them, and returns how many.
#[inline(always)]
fn whole_eights<const WIDTH: usize>(bytes: &[u8], target: &mut [u32]) -> usize {
    match WIDTH {
        8 => return whole_octets(bytes, target, |[a]| u32::from(a)),
        16 => return whole_octets(bytes, target, |octets| u32::from(u16::from_be_bytes(octets))),
        32 => return whole_octets(bytes, target, u32::from_be_bytes),
        _ => {}
    }
    let mut done = 0;
    for (numbers, window) in target.chunks_exact_mut(8).zip(bytes.windows(WINDOW).step_by(WIDTH)) {
        let (Some(numbers), Some(window)) = (numbers.first_chunk_mut(), window.first_chunk()) else { break };
        eight::<WIDTH>(window, numbers);
        done += 1;
    }
    done
}

/// The same of numbers that are octets each, in a loop that has vectors of them.
#[inline(always)]
fn whole_octets<const OCTETS: usize>(
    bytes: &[u8],
    target: &mut [u32],
    number: impl Fn([u8; OCTETS]) -> u32,
) -> usize {
    let (octets, _) = bytes.as_chunks::<OCTETS>();
    let whole = octets.len().min(target.len()) / 8;
    for (target, octets) in target.iter_mut().zip(octets).take(whole * 8) {
        *target = number(*octets);
    }
    whole
}

/// Eight numbers out of as many octets as one has bits.
#[inline(always)]
fn eight<const WIDTH: usize>(window: &[u8; WINDOW], numbers: &mut [u32; 8]) {
    for (place, number) in numbers.iter_mut().enumerate() {
        let (octet, passed) = (place * WIDTH / 8, place * WIDTH % 8);
        // Four octets hold 25 bits that begin within the first, and five hold 32.
        *number = if WIDTH <= 25 {
            let [a, b, c, d] = [window[octet], window[octet + 1], window[octet + 2], window[octet + 3]];
            u32::from_be_bytes([a, b, c, d]) << passed >> (32 - WIDTH)
        } else {
            let mut word = 0u64;
            for octet in &window[octet..octet + 5] {
                word = word << 8 | u64::from(*octet);
            }
            super::bits::low(word << (24 + passed) >> (64 - WIDTH))
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn fast_equals_slow(bytes in proptest::collection::vec(any::<u8>(), 0..200), width in 1u32..=32, count in 0usize..60) {
            let mut fast = vec![0; count];
            unpack(&bytes, width, &mut fast);
            let mut bits = Bits::new(&bytes);
            let slow: Vec<u32> = (0..count).map(|_| bits.take(width)).collect();
            prop_assert_eq!(fast, slow);
        }
    }
}
