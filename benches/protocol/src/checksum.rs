//! The two checksums: of arrays, outside the clock, and of items, within it.

use std::sync::atomic::{AtomicU64, Ordering};

/// The checksum of an array's bytes: every word counts, and so does its position.
pub fn array_checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut sum = 0u64;
    let mut salt = 0u64;
    for word in words {
        sum = sum.wrapping_add(mixed(u64::from_le_bytes(*word), salt));
        salt = salt.wrapping_add(0x9E37_79B9_7F4A_7C15);
    }
    if rest.is_empty() { sum } else { sum.wrapping_add(mixed(padded(rest), salt)) }
}

fn mixed(word: u64, salt: u64) -> u64 {
    let product = (word ^ salt).wrapping_mul(0xD1B5_4A32_D192_ED03);
    product ^ (product >> 29)
}

/// The last word of bytes that are no multiple of eight.
fn padded(rest: &[u8]) -> u64 {
    let mut word = [0u8; 8];
    word[..rest.len()].copy_from_slice(rest);
    u64::from_le_bytes(word)
}

/// The sum of an item's words.
///
/// It is within the clock of every reader, and fio has none: so it is as fast as the processor has it.
pub fn item_sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let sum = sum_of_words(words);
    if rest.is_empty() { sum } else { sum.wrapping_add(padded(rest)) }
}

#[cfg(target_arch = "x86_64")]
fn sum_of_words(words: &[[u8; 8]]) -> u64 {
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, as was just looked up; nothing else is asked for.
        return unsafe { sum_of_words_avx2(words) };
    }
    sum_of_words_plainly(words)
}

#[cfg(not(target_arch = "x86_64"))]
fn sum_of_words(words: &[[u8; 8]]) -> u64 {
    sum_of_words_plainly(words)
}

/// The same loop, compiled for wider registers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn sum_of_words_avx2(words: &[[u8; 8]]) -> u64 {
    sum_of_words_plainly(words)
}

#[inline(always)]
fn sum_of_words_plainly(words: &[[u8; 8]]) -> u64 {
    words.iter().fold(0u64, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)))
}

/// What an item adds to the checksum of all items.
pub fn weighted(index: u64, sum: u64) -> u64 {
    sum.wrapping_mul(index.wrapping_mul(2).wrapping_add(1))
}

/// The sum of an item that arrives in pieces, in order.
#[derive(Clone, Copy, Debug, Default)]
pub struct ItemSum {
    sum: u64,
    held: [u8; 8],
    held_len: usize,
}

impl ItemSum {
    /// Adds the item's next bytes.
    pub fn add(&mut self, mut bytes: &[u8]) {
        if self.held_len != 0 {
            let taken = bytes.len().min(8 - self.held_len);
            self.held[self.held_len..self.held_len + taken].copy_from_slice(&bytes[..taken]);
            self.held_len += taken;
            bytes = &bytes[taken..];
            if self.held_len < 8 {
                return;
            }
            self.sum = self.sum.wrapping_add(u64::from_le_bytes(self.held));
        }
        let whole = bytes.len() & !7;
        self.sum = self.sum.wrapping_add(item_sum(&bytes[..whole]));
        self.held_len = bytes.len() - whole;
        self.held[..self.held_len].copy_from_slice(&bytes[whole..]);
    }

    /// The sum, the tail padded with zeros.
    pub fn finish(self) -> u64 {
        self.sum.wrapping_add(padded(&self.held[..self.held_len]))
    }
}

/// The checksum of all items, added to by many threads: each in a slot of its own where it can name one.
pub struct ItemSums {
    slots: Vec<Slot>,
}

/// A cache line, so that threads do not share one; two, for processors that fetch lines in pairs.
#[repr(align(128))]
#[derive(Default)]
struct Slot(AtomicU64);

impl ItemSums {
    /// A power of two, more than the threads that read at a time.
    const SLOTS: usize = 256;

    /// Nothing added yet.
    pub fn new() -> ItemSums {
        ItemSums { slots: (0..Self::SLOTS).map(|_| Slot::default()).collect() }
    }

    /// Adds the sum of item `index`. `near` is any number that threads seldom share at a time.
    pub fn add(&self, near: u64, index: u64, sum: u64) {
        let slot = &self.slots[near as usize % Self::SLOTS];
        slot.0.fetch_add(weighted(index, sum), Ordering::Relaxed);
    }

    /// The checksum, and starts anew.
    pub fn take(&self) -> u64 {
        self.slots.iter().fold(0u64, |sum, slot| sum.wrapping_add(slot.0.swap(0, Ordering::Relaxed)))
    }
}

impl Default for ItemSums {
    fn default() -> ItemSums {
        ItemSums::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_by_numpy() {
        // NumPy 2.5 with the contract's formula over np.arange(n, dtype=np.uint8) * 37.
        let bytes: Vec<u8> = (0..100u32).map(|i| (i * 37) as u8).collect();
        assert_eq!(format!("{:016x}", array_checksum(&bytes[..96])), "d0dff228354242ee");
        assert_eq!(format!("{:016x}", array_checksum(&bytes)), "6f5e267561fe0c08");
        assert_eq!(array_checksum(&[]), 0);
    }

    #[test]
    fn pieces_sum_as_the_whole() {
        let bytes: Vec<u8> = (0..1000u32).map(|i| (i * 31 % 251) as u8).collect();
        for len in [0, 1, 7, 8, 9, 64, 999, 1000] {
            for step in [1, 3, 8, 13, 500] {
                let mut sum = ItemSum::default();
                bytes[..len].chunks(step).for_each(|piece| sum.add(piece));
                assert_eq!(sum.finish(), item_sum(&bytes[..len]), "{len} bytes by {step}");
            }
        }
    }

    #[test]
    fn items_weigh_by_their_index() {
        let sums = ItemSums::new();
        sums.add(7, 0, 5);
        sums.add(9, 3, 2);
        assert_eq!(sums.take(), 5 + 2 * 7);
        assert_eq!(sums.take(), 0);
    }
}
