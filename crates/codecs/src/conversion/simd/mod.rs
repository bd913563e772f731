//! Loops compiled once for every machine, and once for the widest vectors that the machine at hand has.

#[cfg_attr(target_arch = "x86_64", path = "avx2.rs")]
#[cfg_attr(not(target_arch = "x86_64"), path = "none.rs")]
mod dispatch;

pub(crate) use dispatch::run;

/// A loop over some elements, plain enough to vectorise. Its `run` is to be `#[inline(always)]`.
pub(crate) trait Loop {
    /// Does the work.
    fn run(self);
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
