//! HDF5's Fletcher-32.

/// Words between reductions: as many as leave both sums within 32 bits.
const WORDS_MAX: usize = 360;

/// Two sums of the content's big-endian 16-bit words modulo 65,535, an odd last byte being the high half of a word.
///
/// Source: `H5_checksum_fletcher32` in HDF5's `H5checksum.c`.
pub(super) fn fletcher32(content: &[u8]) -> u32 {
    let (mut sum, mut sum_of_sums) = (0u32, 0u32);
    let (words, odd) = content.as_chunks::<2>();
    for words in words.chunks(WORDS_MAX) {
        for word in words {
            sum += u32::from(u16::from_be_bytes(*word));
            sum_of_sums += sum;
        }
        sum = folded(sum);
        sum_of_sums = folded(sum_of_sums);
    }
    if let [odd] = odd {
        sum += u32::from(*odd) << 8;
        sum_of_sums += sum;
        sum = folded(sum);
        sum_of_sums = folded(sum_of_sums);
    }
    folded(sum_of_sums) << 16 | folded(sum)
}

/// One step of the reduction modulo 65,535.
fn folded(sum: u32) -> u32 {
    (sum & 0xffff) + (sum >> 16)
}
