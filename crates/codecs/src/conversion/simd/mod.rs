//! Loops compiled once for every machine, and once for the widest vectors that the machine at hand has.

#[cfg_attr(target_arch = "x86_64", path = "avx2.rs")]
#[cfg_attr(not(target_arch = "x86_64"), path = "none.rs")]
mod dispatch;
mod eight;

use super::half_float::to_half;
pub(crate) use dispatch::run;
pub(crate) use eight::Eight;

/// A loop over some elements, plain enough to vectorise. Its `run` is to be `#[inline(always)]`.
pub(crate) trait Loop {
    /// Does the work.
    fn run<V: Vectors>(self);
}

/// What a loop is compiled for.
pub(crate) trait Vectors {
    /// Eight values at a time.
    type Eight: Eight;

    /// The IEEE 754 binary16 nearest to each value, ties to even.
    fn halves(values: [f32; LANES]) -> [u16; LANES];
}

/// Elements that loops work on at a time.
pub(crate) const LANES: usize = 16;

/// Every machine.
struct Plain;

impl Vectors for Plain {
    type Eight = [f32; 8];

    #[inline(always)]
    fn halves(values: [f32; LANES]) -> [u16; LANES] {
        let mut halves = [0; LANES];
        for (half, value) in halves.iter_mut().zip(values) {
            *half = to_half(value);
        }
        halves
    }
}

/// Whether loops are to run as on a machine without wide vectors: tests compare the two.
#[cfg(not(test))]
#[inline(always)]
const fn is_plain() -> bool {
    false
}

#[cfg(test)]
mod tests;
#[cfg(test)]
use tests::is_plain;
