//! Copies of runs that are too long for a core's cache, past it where the machine can.

#[cfg_attr(target_arch = "x86_64", path = "sse2.rs")]
#[cfg_attr(not(target_arch = "x86_64"), path = "none.rs")]
mod dispatch;

pub(super) use dispatch::copy;

/// Runs from here on are copied past the cache: they are half of what a core's second-level cache holds, and would push out
/// everything else. A store to memory that is not cached reads it first; one past the cache does not. 96 runs of 4 MiB took
/// two cores 41 ms of processor time by memcpy and 29 in this way (Intel Xeon with AVX-512, 2 MiB of second-level cache).
pub(super) const STREAM_MIN: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(unsafe_code, reason = "calls an unsafe function")]
    fn streams_equal_slices() {
        let source: Vec<u8> = (0..100_000u32).map(|at| (at.wrapping_mul(0x9E37_79B9) >> 24) as u8).collect();
        for len in [0, 1, 63, 64, 16_383, 16_384, 16_447, 16_448, 33_000, 65_536 + 129] {
            for (from, to) in [(0, 0), (0, 1), (3, 16), (17, 63), (64, 64), (129, 5)] {
                let mut target = vec![0xA5; to + len + 100];
                // SAFETY: `len` bytes of either vector lie behind those places.
                unsafe { copy(source[from..].as_ptr(), target[to..].as_mut_ptr(), len) };
                assert!(target[..to].iter().all(|byte| *byte == 0xA5), "{len} from {from} to {to}");
                assert_eq!(target[to..to + len], source[from..from + len], "{len} from {from} to {to}");
                assert!(target[to + len..].iter().all(|byte| *byte == 0xA5), "{len} from {from} to {to}");
            }
        }
    }
}
