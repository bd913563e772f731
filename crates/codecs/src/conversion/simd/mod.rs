//! Loops compiled once for every machine, and once for the widest vectors that the machine at hand has.

#[cfg_attr(target_arch = "x86_64", path = "avx2.rs")]
#[cfg_attr(not(target_arch = "x86_64"), path = "none.rs")]
mod dispatch;

pub(super) use dispatch::run;

/// A loop over some elements, plain enough to vectorise. Its `run` is to be `#[inline(always)]`.
pub(super) trait Loop {
    /// Does the work.
    fn run(self);
}
