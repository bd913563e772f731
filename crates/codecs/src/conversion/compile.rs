//! Conversions compiled for the elements of an array.

use super::floats::{Floats, Normals, Working};
use super::integers::{Integers, WholeSteps, integers};
use super::load::{Decode, loading};
use super::number::Number;
use super::pairs::pairs;
use super::store::{BFloat, Half, Store, Storing, Target};
use super::straight::straight;
use super::{Conversion, NanMeans, Normal};
use crate::error::Error;
use crate::number::{NumberClass, NumberType};
use std::marker::PhantomData;

/// A conversion, checked against an array and compiled for its type of elements: what an [`Output`](crate::Output) runs.
pub struct CompiledConversion {
    pub(crate) source: NumberType,
    pub(crate) target: NumberType,
    pub(crate) steps: Steps,
    /// The axis along which what elements are normalised by changes.
    pub(crate) channels: Option<Channels>,
    /// Elements that become one along each axis; empty where none do.
    pub(crate) factors: Box<[usize]>,
    pub(crate) nan_means: NanMeans,
    /// Whether values are integers of at most 16 bits as they are stored.
    is_short: bool,
}

/// The steps, in the precision that they are done in.
pub(crate) enum Steps {
    Integers(Box<dyn Integers>),
    Single(Floats<f32>),
    Double(Floats<f64>),
}

/// How elements are told apart along an axis.
pub(crate) struct Channels {
    pub(crate) axis: usize,
    /// Elements of a chunk along the axis.
    pub(crate) extent: u64,
}

impl CompiledConversion {
    /// The type of the results.
    #[must_use]
    pub fn target(&self) -> NumberType {
        self.target
    }

    /// The axis of the array along which what elements are normalised by changes; `None` where nothing does.
    #[must_use]
    pub fn channel_axis(&self) -> Option<usize> {
        self.channels.as_ref().map(|channels| channels.axis)
    }

    /// Elements of the result that become one along an axis of the array.
    #[must_use]
    #[inline]
    pub fn factor(&self, axis: usize) -> u64 {
        self.factors.get(axis).map_or(1, |factor| *factor as u64)
    }

    /// Whether the sum of a block is exact in the working precision: `float32` has 24 bits.
    pub(crate) fn has_exact_sums(&self) -> bool {
        self.is_short
            && self.factors.iter().fold(1usize, |full, factor| full.saturating_mul(*factor)) <= 1 << 8
    }

    /// True where some elements of the result become one.
    #[must_use]
    #[inline]
    pub fn has_means(&self) -> bool {
        !self.factors.is_empty()
    }
}

impl std::fmt::Debug for CompiledConversion {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "CompiledConversion({:?} to {:?})", self.source, self.target)
    }
}

impl Conversion {
    /// Checks the conversion against an array of `shape` whose elements are of a type, in chunks of `chunk_shape`, and
    /// compiles it. `None` where it changes nothing.
    ///
    /// # Errors
    ///
    /// `Invalid` where the array does not have the axes that the conversion names, or as many elements along them as it has
    /// means; for deviations that are 0 or NaN; for a value to fill with that the target cannot hold; and where elements are
    /// masked, the target is an integer, and there is none. `Unsupported` for targets that it does not know.
    pub fn compile(
        &self,
        source: NumberType,
        shape: &[u64],
        chunk_shape: &[u64],
    ) -> Result<Option<CompiledConversion>, Error> {
        let channels = self.check_normal(shape, chunk_shape)?;
        let factors = self.check_factors(shape.len())?;
        let target = self.target_of(source, factors.is_empty());
        let is_float = target.class() == NumberClass::Float;
        self.check_fill(target)?;
        let calculates = self.calculates() || !factors.is_empty();
        if source == target && !calculates && !self.masks() && (self.fill.is_none() || !is_float) {
            return Ok(None);
        }
        if self.masks() && !is_float && self.fill.is_none() {
            let message = format!(
                "wanted a value to fill what is masked, as `{}` has no NaN; found none",
                target.name()
            );
            return Err(invalid(message));
        }
        let steps = self.steps(source, target, calculates).ok_or_else(|| {
            let message = format!(
                "conversion to `{}`: floats of 16 bits and more, and integers of 8 and more, are what elements are cast to",
                target.name()
            );
            Error::unsupported("conversion", message)
        })?;
        let (nan_means, steps) = (self.nan_means, steps?);
        let is_short = source.class() != NumberClass::Float && source.bits() <= 16 && !self.calculates();
        Ok(Some(CompiledConversion { source, target, steps, channels, factors, nan_means, is_short }))
    }

    /// Whether elements are more than masked, filled and cast.
    fn calculates(&self) -> bool {
        self.scale.is_some() || self.offset.is_some() || self.normal.is_some()
    }

    fn masks(&self) -> bool {
        !self.masked.is_empty() || self.valid_min.is_some() || self.valid_max.is_some()
    }

    fn target_of(&self, source: NumberType, has_no_means: bool) -> NumberType {
        if let Some(target) = self.target {
            return target;
        }
        let is_float = source.class() == NumberClass::Float;
        let is_kept = !self.calculates() && has_no_means && (is_float && 8 < source.bits() || !self.masks());
        match source {
            source if is_kept => source,
            source if is_exact_in_single(source) => NumberType::Float32,
            _ => NumberType::Float64,
        }
    }

    fn check_normal(&self, shape: &[u64], chunk_shape: &[u64]) -> Result<Option<Channels>, Error> {
        let Some(Normal { axis, means, deviations }) = &self.normal else { return Ok(None) };
        if let Some(zero) = deviations.iter().find(|deviation| deviation.is_nan() || **deviation == 0.0) {
            return Err(invalid(format!(
                "wanted deviations other than 0 and NaN to normalise by, found {zero}"
            )));
        }
        if means.len() != deviations.len() {
            let (means, deviations) = (means.len(), deviations.len());
            return Err(invalid(format!(
                "wanted as many means as deviations, found {means} and {deviations}"
            )));
        }
        let Some(axis) = *axis else { return Ok(None) };
        let Some((length, extent)) = shape.get(axis).zip(chunk_shape.get(axis)) else {
            return Err(invalid(format!(
                "wanted an axis to normalise along below {}, found {axis}",
                shape.len()
            )));
        };
        if usize::try_from(*length) != Ok(means.len()) {
            let found = means.len();
            return Err(invalid(format!(
                "wanted {length} means, one for each index along axis {axis}; found {found}"
            )));
        }
        Ok(Some(Channels { axis, extent: *extent }))
    }

    fn check_factors(&self, rank: usize) -> Result<Box<[usize]>, Error> {
        if self.downsample.is_empty() {
            return Ok(Box::default());
        }
        if self.downsample.len() != rank {
            let found = self.downsample.len();
            return Err(invalid(format!(
                "wanted {rank} factors to downsample by, one for each axis; found {found}"
            )));
        }
        let factors = self.downsample.iter().map(|factor| match usize::try_from(*factor) {
            Ok(factor) if 0 < factor => Ok(factor),
            _ => Err(invalid(format!("wanted factors of at least 1 to downsample by, found {factor}"))),
        });
        let factors = factors.collect::<Result<Box<[usize]>, Error>>()?;
        Ok(if factors.iter().all(|factor| *factor == 1) { Box::default() } else { factors })
    }

    fn check_fill(&self, target: NumberType) -> Result<(), Error> {
        let Some(fill) = self.fill else { return Ok(()) };
        let (bits, is_signed) = match target.class() {
            NumberClass::Float => return Ok(()),
            NumberClass::Bool => (1, false),
            NumberClass::Signed => (target.bits() - 1, true),
            NumberClass::Unsigned => (target.bits(), false),
        };
        let max = (1i128 << bits) - 1;
        let min = if is_signed { -max - 1 } else { 0 };
        match fill.whole() {
            Some(fill) if min <= fill && fill <= max => Ok(()),
            _ => {
                let name = target.name();
                Err(invalid(format!("wanted a value of `{name}` to fill with, found {}", fill.to_f64())))
            }
        }
    }

    /// The steps; `None` for a target that there is no cast to.
    fn steps(
        &self,
        source: NumberType,
        target: NumberType,
        calculates: bool,
    ) -> Option<Result<Steps, Error>> {
        let valid = (self.valid_min.is_some() || self.valid_max.is_some()).then(|| {
            let end = |end: Option<Number>, none: f64| end.unwrap_or(Number::Float(none));
            (end(self.valid_min, f64::NEG_INFINITY), end(self.valid_max, f64::INFINITY))
        });
        let is_whole = |number: NumberType| number.class() != NumberClass::Float;
        if !calculates && is_whole(source) && is_whole(target) {
            let steps = WholeSteps { masked: &self.masked, valid, fill: self.fill };
            return Some(Ok(Steps::Integers(integers(source, target, &steps)?)));
        }
        let is_single = !is_whole(target) && target.bits() <= 32;
        let is_double = match self.decode_in {
            None => !(is_single && is_exact_in_single(source)),
            Some(NumberType::Float32) => false,
            Some(NumberType::Float64) => true,
            Some(other) => {
                let name = other.name();
                return Some(Err(invalid(format!(
                    "wanted `float32` or `float64` to decode in, found `{name}`"
                ))));
            }
        };
        let affine = (self.scale.is_some() || self.offset.is_some())
            .then(|| (self.scale.unwrap_or(1.0), self.offset.unwrap_or(-0.0)));
        let decode = Decode { masked: &self.masked, valid, affine, is_double };
        Some(Ok(match is_single {
            true => {
                let fill = self.fill.map(|fill| f32::of(fill.to_f64()));
                let floats = self.floats(source, &decode, storing(target)?)?;
                Steps::Single(Floats { straight: straight(source, target, &decode, fill), ..floats })
            }
            false => Steps::Double(self.floats(source, &decode, storing(target)?)?),
        }))
    }

    fn floats<W: Working>(
        &self,
        source: NumberType,
        decode: &Decode<'_>,
        store: Storage<W>,
    ) -> Option<Floats<W>> {
        let load = loading::<W>(source, decode)?;
        let all = |values: &[f64]| values.iter().map(|value| W::of(*value)).collect();
        let normal = self.normal.as_ref();
        let normal =
            normal.map(|normal| Normals { means: all(&normal.means), deviations: all(&normal.deviations) });
        let fill = self.fill.map(|fill| W::of(fill.to_f64()));
        let store = match store {
            Storage::AsIs => None,
            Storage::Cast(store) => Some(store),
        };
        let pairs = if self.calculates() || self.masks() { None } else { pairs(source) };
        Some(Floats { load, straight: None, pairs, normal, fill, store })
    }
}

/// How values are stored.
enum Storage<W> {
    AsIs,
    Cast(Box<dyn Store<W>>),
}

/// What stores values as elements of a type; `None` of one that there is no cast to.
fn storing<W: Working>(target: NumberType) -> Option<Storage<W>> {
    Some(match target {
        NumberType::Float16 => cast_to::<Half, W>(),
        NumberType::BFloat16 => cast_to::<BFloat, W>(),
        // The working precision is that of the target.
        NumberType::Float32 | NumberType::Float64 => Storage::AsIs,
        NumberType::Int8 => cast_to::<i8, W>(),
        NumberType::Int16 => cast_to::<i16, W>(),
        NumberType::Int32 => cast_to::<i32, W>(),
        NumberType::Int64 => cast_to::<i64, W>(),
        NumberType::UInt8 => cast_to::<u8, W>(),
        NumberType::UInt16 => cast_to::<u16, W>(),
        NumberType::UInt32 => cast_to::<u32, W>(),
        NumberType::UInt64 => cast_to::<u64, W>(),
        _ => return None,
    })
}

fn cast_to<T: Target, W: Working>() -> Storage<W> {
    Storage::Cast(Box::new(Storing::<T>(PhantomData)))
}

/// Whether `float32` holds every value of a type.
fn is_exact_in_single(number: NumberType) -> bool {
    match number.class() {
        NumberClass::Float => number.bits() <= 32,
        NumberClass::Bool | NumberClass::Signed | NumberClass::Unsigned => number.bits() <= 16,
    }
}

fn invalid(message: String) -> Error {
    Error::invalid("conversion", message)
}
