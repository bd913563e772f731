//! Loops compiled for wide vectors as well, and run so where the processor has them.

#[cfg(target_arch = "x86_64")]
use fearless_simd::{Level, Simd};

/// Runs a loop with AVX2 and the bit instructions that came with it, where the processor has them. What the loop calls has to be
/// inlined into it: the rest runs as it is compiled elsewhere.
#[inline(always)]
pub(super) fn run<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if let Some(vectors) = Level::new().as_avx2() {
        return vectors.vectorize(work);
    }
    work()
}
