//! Work that is done on elements while they are stitched: masks, scale and offset, normalising, means, the cast.
//!
//! A [`Conversion`] says what is wanted; compiled for a type of elements it is a [`CompiledConversion`], which an
//! [`Output`](crate::Output) runs on each chunk while it is in cache, some hundred elements at a time: no array of the
//! result's size is made on the way.

mod compile;
mod floats;
mod half_float;
mod integers;
mod lanes;
mod load;
mod number;
mod pairs;
mod rows;
mod simd;
mod source;
mod store;
mod straight;

pub use compile::CompiledConversion;
pub(crate) use compile::{Channels, Steps};
pub(crate) use floats::{ChannelRow, Floats, Working};
pub(crate) use rows::{Blocks, ROWS_MAX, StoredRows};
pub(crate) use simd::{LANES, Loop, Vectors, run as run_loop};

pub use number::Number;

use crate::number::NumberType;

/// Elements that are worked on at a time, at most: what is known of them fits a first-level cache.
pub(crate) const BLOCK: usize = 1024;

/// What is done to the elements of an array while they are read. Each step is left out where nothing was said of it; the
/// order is always this, whatever the order of calls:
///
/// 1. **Mask.** A stored element that equals one of [`mask`](Self::mask)'s values, or lies outside the
///    [`valid_range`](Self::valid_range), becomes NaN. Compared is what is stored, before it is scaled, in its own type.
/// 2. **Decode**, as the CF conventions say: `element * scale + offset`, each step rounded in the *decoding precision*.
///    That is `float32` where the next steps are done in it and every element is exact in it (floats of up to 32 bits,
///    integers of up to 16), else `float64`; [`decode_in`](Self::decode_in) says otherwise. xarray decodes attributes that
///    are Python floats in `float64`.
/// 3. The result is rounded to the *working precision*: `float32` where the target is a float of up to 32 bits, else
///    `float64`.
/// 4. **Normalise**: `(element - mean) / deviation`, one pair for all, or one for each index along an axis of the array.
/// 5. **Mean** of blocks, over as many elements of the result along each axis as [`downsample`](Self::downsample) says. Sums
///    are `float64`, of integers that are not scaled hence exact up to 2^53. NaN in a block makes its mean NaN, unless
///    [`NanMeans::Skip`] leaves NaN out; a mean of nothing is NaN. What is left over at the end of an axis is dropped, as
///    xarray's `coarsen(boundary="trim")` does.
/// 6. **Fill**: NaN, whatever it came from, becomes [`fill_nan`](Self::fill_nan)'s value.
/// 7. **Cast** to the target: floats to the nearest value, ties to even; floats to integers towards zero. What an integer type
///    cannot hold becomes its nearest value, and NaN 0: NumPy wraps integers around there, and leaves floats undefined.
///
/// Integers that are only masked, filled and cast to integers are never floats on the way. What is not stored goes the same
/// way as the array's fill value.
///
/// Equal calls give equal bits, whatever the order in which chunks arrive.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct Conversion {
    target: Option<NumberType>,
    masked: Vec<Number>,
    valid_min: Option<Number>,
    valid_max: Option<Number>,
    scale: Option<f64>,
    offset: Option<f64>,
    decode_in: Option<NumberType>,
    normal: Option<Normal>,
    downsample: Vec<u64>,
    nan_means: NanMeans,
    fill: Option<Number>,
}

/// What to normalise by.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Normal {
    /// The axis of the array; `None` for one pair for all.
    pub(crate) axis: Option<usize>,
    pub(crate) means: Vec<f64>,
    pub(crate) deviations: Vec<f64>,
}

/// What NaN among the elements of a block makes of their mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NanMeans {
    /// NaN.
    #[default]
    Propagate,
    /// It is left out: the mean is that of the others.
    Skip,
}

impl Conversion {
    /// No steps but the cast to `target`.
    pub fn to(target: NumberType) -> Conversion {
        Conversion { target: Some(target), ..Conversion::default() }
    }

    /// The type of the results: a float of 16, 32 or 64 bits, `bfloat16`, or an integer of 8 to 64. Without one it is the
    /// array's own where elements are at most masked and filled and the type has NaN or none is made; else `float32`
    /// where every element is exact in it, and `float64` otherwise.
    pub fn cast(self, target: NumberType) -> Conversion {
        Conversion { target: Some(target), ..self }
    }

    /// Stored values that stand for what is missing: CF's `_FillValue` and `missing_value`. One that the array's type
    /// cannot hold masks nothing; of floats, values are rounded to the type first.
    pub fn mask<N: Into<Number>>(self, values: impl IntoIterator<Item = N>) -> Conversion {
        Conversion { masked: values.into_iter().map(Into::into).collect(), ..self }
    }

    /// The stored values that are valid, both ends included: CF's `valid_min` and `valid_max`. What is NaN already stays
    /// NaN.
    pub fn valid_range(self, min: Option<Number>, max: Option<Number>) -> Conversion {
        Conversion { valid_min: min, valid_max: max, ..self }
    }

    /// What elements are multiplied by: CF's `scale_factor`.
    pub fn scale(self, scale: f64) -> Conversion {
        Conversion { scale: Some(scale), ..self }
    }

    /// What is added to elements once they are scaled: CF's `add_offset`.
    pub fn offset(self, offset: f64) -> Conversion {
        Conversion { offset: Some(offset), ..self }
    }

    /// The precision to scale and offset in: `float32` or `float64`.
    pub fn decode_in(self, precision: NumberType) -> Conversion {
        Conversion { decode_in: Some(precision), ..self }
    }

    /// One mean and one deviation for all elements.
    pub fn normalise(self, mean: f64, deviation: f64) -> Conversion {
        let normal = Normal { axis: None, means: vec![mean], deviations: vec![deviation] };
        Conversion { normal: Some(normal), ..self }
    }

    /// A mean and a deviation for each index along an axis of the array, of channels say: as many as the axis has elements,
    /// whichever of them a selection takes.
    pub fn normalise_along(self, axis: usize, means: &[f64], deviations: &[f64]) -> Conversion {
        let normal = Normal { axis: Some(axis), means: means.to_vec(), deviations: deviations.to_vec() };
        Conversion { normal: Some(normal), ..self }
    }

    /// Elements of the result that become one, along each axis of the array. Axes that are picked from by lists, or taken
    /// at one index, have 1.
    pub fn downsample(self, factors: &[u64]) -> Conversion {
        Conversion { downsample: factors.to_vec(), ..self }
    }

    /// What NaN does to a mean.
    pub fn nan_means(self, nan_means: NanMeans) -> Conversion {
        Conversion { nan_means, ..self }
    }

    /// What NaN becomes.
    pub fn fill_nan(self, value: impl Into<Number>) -> Conversion {
        Conversion { fill: Some(value.into()), ..self }
    }
}
