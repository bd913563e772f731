//! Many numbers of one width: eight of them are as many octets as one has bits, so that every shift is a constant.

use super::bits::Bits;

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

fn eights<const WIDTH: usize>(bytes: &[u8], target: &mut [u32]) {
    let mut eights = target.chunks_exact_mut(8);
    let mut groups = bytes.chunks_exact(WIDTH);
    let mut done = 0;
    for (numbers, octets) in eights.by_ref().zip(groups.by_ref()) {
        let (Some(numbers), Some(octets)) = (numbers.first_chunk_mut::<8>(), octets.first_chunk::<WIDTH>())
        else {
            return;
        };
        eight(octets, numbers);
        done += 1;
    }
    // The last numbers, of which there are no eight, or not all octets.
    let mut bits = Bits::new(bytes.get(done * WIDTH..).unwrap_or_default());
    for number in target.iter_mut().skip(done * 8) {
        *number = bits.take(u32::try_from(WIDTH).unwrap_or(0));
    }
}

/// Eight numbers out of as many octets as one has bits.
#[inline(always)]
fn eight<const WIDTH: usize>(octets: &[u8; WIDTH], numbers: &mut [u32; 8]) {
    let mask = if WIDTH == 32 { u32::MAX } else { (1 << WIDTH) - 1 };
    for (place, number) in numbers.iter_mut().enumerate() {
        let (first, last) = (place * WIDTH / 8, ((place + 1) * WIDTH - 1) / 8);
        // At most five octets: 32 bits that begin within one.
        let mut word = 0u64;
        for octet in &octets[first..=last] {
            word = word << 8 | u64::from(*octet);
        }
        let behind = (last + 1) * 8 - (place + 1) * WIDTH;
        *number = super::bits::low(word >> behind) & mask;
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
