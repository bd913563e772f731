//! The types that values are unpacked to.

/// `f32` or `f64`.
pub trait Sample: Copy + Send + Sync + sealed::Sealed + 'static {
    /// What stands for a missing value.
    const MISSING: Self;

    /// The nearest number.
    fn from_f64(value: f64) -> Self;
}

mod sealed {
    /// Keeps implementations to this crate.
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

impl Sample for f32 {
    const MISSING: f32 = f32::NAN;

    #[inline(always)]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "rounding to the type of the target is what is asked for"
    )]
    fn from_f64(value: f64) -> f32 {
        value as f32
    }
}

impl Sample for f64 {
    const MISSING: f64 = f64::NAN;

    #[inline(always)]
    fn from_f64(value: f64) -> f64 {
        value
    }
}
