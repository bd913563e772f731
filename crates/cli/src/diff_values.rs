//! How the elements of two arrays of one shape differ.

use swath::ioengine::{memory_len, storage_len};
use swath::{Array, DataType, ReadOptions, Region, RegionGrid};

/// How far apart numbers may be that count as equal: `absolute + relative * |b|`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tolerance {
    pub(crate) relative: f64,
    pub(crate) absolute: f64,
}

/// What differs.
#[derive(Debug, Default)]
pub(crate) struct ValueDifferences {
    /// Elements of each array.
    pub(crate) elements: u64,
    /// Elements that differ.
    pub(crate) count: u64,
    /// The greatest difference of two numbers that differ; infinite where one is and `None` where none are numbers.
    pub(crate) greatest: Option<f64>,
    /// The first that differ, in C order of the boxes that are read.
    pub(crate) first: Vec<Different>,
}

/// An element that differs.
#[derive(Debug)]
pub(crate) struct Different {
    pub(crate) position: Vec<u64>,
    pub(crate) a: String,
    pub(crate) b: String,
}

/// Elements that differ and are listed.
const LISTED_MAX: usize = 5;

/// Bytes of a box of one array: three are in memory, one of them being read.
const PIECE_BYTES: u64 = 32 << 20;

/// Compares all elements; `None` where none differs.
///
/// # Errors
///
/// Those of reading, and `Cancelled` where the interrupt says so.
pub(crate) fn value_differences(
    a: &Array,
    b: &Array,
    tolerance: Tolerance,
    interrupt: &dyn Fn() -> bool,
    advance: &dyn Fn(u64),
) -> anyhow::Result<Option<ValueDifferences>> {
    let elements = a.shape().iter().try_fold(1_u64, |count, length| count.checked_mul(*length));
    let mut found =
        ValueDifferences { elements: elements.unwrap_or(u64::MAX), ..ValueDifferences::default() };
    let size = a.data_type().size_bytes().max(b.data_type().size_bytes());
    let unit = common_chunks(a.chunk_shape(), b.chunk_shape());
    let grid = RegionGrid::fitting(a.shape(), &unit, storage_len(size), PIECE_BYTES)?;
    let regions = (0..grid.len()).map(|number| grid.region(number));
    if a.data_type().is_variable_length() || b.data_type().is_variable_length() {
        for region in regions {
            if interrupt() {
                anyhow::bail!(crate::failure::Interrupted);
            }
            strings(a, b, &region, &mut found)?;
        }
    } else {
        let options = ReadOptions { interrupt: Some(interrupt), ..ReadOptions::default() };
        let mut other = Vec::new();
        a.visit_regions(regions, &options, &mut |region: &Region, bytes: &[u8]| {
            let count = region.element_count();
            other.resize(memory_len(count.saturating_mul(storage_len(b.data_type().size_bytes())))?, 0);
            let read = ReadOptions { interrupt: Some(interrupt), ..ReadOptions::default() };
            b.read_many_into(&[region.selection()?], &mut other, &read)?;
            found.add(region, (bytes, a.data_type()), (&other, b.data_type()), tolerance);
            advance(storage_len(bytes.len()));
            Ok::<(), anyhow::Error>(())
        })?;
    }
    Ok((found.count != 0).then_some(found))
}

/// Boxes that are whole chunks of both arrays, where those are not much larger than the chunks; else the larger ones.
fn common_chunks(a: &[u64], b: &[u64]) -> Vec<u64> {
    let common = |(a, b): (&u64, &u64)| {
        let (most, least) = (*a.max(b), (*a.min(b)).max(1));
        (1..5)
            .map(|times| most.saturating_mul(times))
            .find(|extent| extent.is_multiple_of(least))
            .unwrap_or(most)
    };
    a.iter().zip(b).map(common).collect()
}

fn strings(a: &Array, b: &Array, region: &Region, found: &mut ValueDifferences) -> anyhow::Result<()> {
    if a.data_type() != b.data_type() {
        found.count += region.element_count();
        return Ok(());
    }
    let selection = region.selection()?;
    let (a, b) = (a.read_variable(&selection)?, b.read_variable(&selection)?);
    for (number, (a, b)) in a.iter().zip(b.iter()).enumerate().filter(|(_, (a, b))| a != b) {
        let text = |bytes: &[u8]| format!("{:?}", String::from_utf8_lossy(bytes));
        found.note(region, number, || (text(a), text(b)));
    }
    Ok(())
}

impl ValueDifferences {
    /// Compares the elements of one box.
    fn add(
        &mut self,
        region: &Region,
        (a, a_type): (&[u8], &DataType),
        (b, b_type): (&[u8], &DataType),
        tolerance: Tolerance,
    ) {
        if a_type == b_type && a == b {
            return;
        }
        let (a_size, b_size) = (a_type.size_bytes().max(1), b_type.size_bytes().max(1));
        for (number, (a, b)) in a.chunks_exact(a_size).zip(b.chunks_exact(b_size)).enumerate() {
            if a_type == b_type && a == b {
                continue;
            }
            let (a_value, b_value) = (Scalar::of(a, a_type), Scalar::of(b, b_type));
            let distance = a_value.distance(&b_value);
            let is_near = distance.is_some_and(|distance| {
                let near = tolerance.absolute + tolerance.relative * b_value.magnitude();
                // What is infinitely far is near to nothing, however large that is.
                distance == 0.0 || (distance.is_finite() && distance <= near)
            });
            let are_nan = a_value.is_nan() && b_value.is_nan();
            if !is_near && !are_nan {
                let distance =
                    distance.map(|distance| if distance.is_nan() { f64::INFINITY } else { distance });
                self.greatest = match (self.greatest, distance) {
                    (Some(greatest), Some(distance)) => Some(greatest.max(distance)),
                    (greatest, distance) => greatest.or(distance),
                };
                self.note(region, number, || (a_value.text(), b_value.text()));
            }
        }
    }

    fn note(&mut self, region: &Region, number: usize, texts: impl FnOnce() -> (String, String)) {
        self.count += 1;
        if self.first.len() < LISTED_MAX {
            let mut left = storage_len(number);
            let mut position = region.start.clone();
            for (place, count) in position.iter_mut().zip(&region.shape).rev() {
                *place += left % (*count).max(1);
                left /= (*count).max(1);
            }
            let (a, b) = texts();
            self.first.push(Different { position, a, b });
        }
    }
}

/// An element as it is compared.
enum Scalar {
    Integer(i128),
    Real(f64),
    Complex(f64, f64),
    Opaque(Vec<u8>),
}

impl Scalar {
    fn of(bytes: &[u8], data_type: &DataType) -> Scalar {
        known(bytes, data_type).unwrap_or_else(|| Scalar::Opaque(bytes.to_vec()))
    }

    /// How far apart two numbers are, NaN where one is; `None` of what are no numbers, unless they are equal.
    fn distance(&self, other: &Scalar) -> Option<f64> {
        match (self, other) {
            (Scalar::Integer(a), Scalar::Integer(b)) => Some((a - b).unsigned_abs() as f64),
            (Scalar::Complex(a, b), Scalar::Complex(c, d)) => {
                Some(real_distance(*a, *c).hypot(real_distance(*b, *d)))
            }
            (Scalar::Opaque(a), Scalar::Opaque(b)) => (a == b).then_some(0.0),
            (Scalar::Integer(integer), Scalar::Real(real))
            | (Scalar::Real(real), Scalar::Integer(integer)) => Some(mixed_distance(*integer, *real)),
            (Scalar::Real(a), Scalar::Real(b)) => Some(real_distance(*a, *b)),
            _ => None,
        }
    }

    fn real(&self) -> f64 {
        match self {
            Scalar::Integer(value) => *value as f64,
            Scalar::Real(value) => *value,
            Scalar::Complex(..) | Scalar::Opaque(_) => f64::NAN,
        }
    }

    fn magnitude(&self) -> f64 {
        match self {
            Scalar::Complex(real, imaginary) => real.hypot(*imaginary),
            _ => self.real().abs(),
        }
    }

    fn is_nan(&self) -> bool {
        match self {
            Scalar::Real(value) => value.is_nan(),
            Scalar::Complex(real, imaginary) => real.is_nan() || imaginary.is_nan(),
            Scalar::Integer(_) | Scalar::Opaque(_) => false,
        }
    }

    fn text(&self) -> String {
        match self {
            Scalar::Integer(value) => value.to_string(),
            Scalar::Real(value) => format!("{value:?}"),
            Scalar::Complex(real, imaginary) => format!("{real:?} + {imaginary:?}i"),
            Scalar::Opaque(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        }
    }
}

/// How far an integer is from a real number: 0 only where they are equal, also beyond 2^53, where not every integer is a
/// double.
#[expect(clippy::cast_possible_truncation, reason = "whole, and bounded to 2^100 just before")]
fn mixed_distance(integer: i128, real: f64) -> f64 {
    let whole = real.floor();
    // NaN is not within either.
    if whole.is_nan() || 2_f64.powi(100) < whole.abs() {
        return real_distance(integer as f64, real);
    }
    ((integer - whole as i128) as f64 - (real - whole)).abs()
}

/// Equal infinities are not apart.
fn real_distance(a: f64, b: f64) -> f64 {
    if a == b { 0.0 } else { (a - b).abs() }
}

fn known(bytes: &[u8], data_type: &DataType) -> Option<Scalar> {
    let part = |at: usize| bytes.get(at * (bytes.len() / 2)..(at + 1) * (bytes.len() / 2));
    let single = |bytes: &[u8]| Some(f64::from(f32::from_ne_bytes(bytes.try_into().ok()?)));
    let double = |bytes: &[u8]| Some(f64::from_ne_bytes(bytes.try_into().ok()?));
    Some(match data_type {
        DataType::Bool | DataType::UInt8 => Scalar::Integer((*bytes.first()?).into()),
        DataType::Int8 => Scalar::Integer(i8::from_ne_bytes(bytes.try_into().ok()?).into()),
        DataType::Int16 => Scalar::Integer(i16::from_ne_bytes(bytes.try_into().ok()?).into()),
        DataType::Int32 => Scalar::Integer(i32::from_ne_bytes(bytes.try_into().ok()?).into()),
        DataType::Int64 | DataType::DateTime64(_) | DataType::TimeDelta64(_) => {
            Scalar::Integer(i64::from_ne_bytes(bytes.try_into().ok()?).into())
        }
        DataType::UInt16 => Scalar::Integer(u16::from_ne_bytes(bytes.try_into().ok()?).into()),
        DataType::UInt32 => Scalar::Integer(u32::from_ne_bytes(bytes.try_into().ok()?).into()),
        DataType::UInt64 => Scalar::Integer(u64::from_ne_bytes(bytes.try_into().ok()?).into()),
        DataType::Float16 => Scalar::Real(half::f16::from_ne_bytes(bytes.try_into().ok()?).to_f64()),
        DataType::Float32 => Scalar::Real(single(bytes)?),
        DataType::Float64 => Scalar::Real(double(bytes)?),
        DataType::Complex64 => Scalar::Complex(single(part(0)?)?, single(part(1)?)?),
        DataType::Complex128 => Scalar::Complex(double(part(0)?)?, double(part(1)?)?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(a: &[f64], b: &[f64], tolerance: Tolerance) -> ValueDifferences {
        let bytes = |values: &[f64]| values.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<u8>>();
        let region = Region { start: vec![10, 2], shape: vec![storage_len(a.len()) / 2, 2] };
        let mut found = ValueDifferences::default();
        found.add(&region, (&bytes(a), &DataType::Float64), (&bytes(b), &DataType::Float64), tolerance);
        found
    }

    #[test]
    fn nan_and_infinities_are_equal_to_themselves_only() {
        let (nan, infinity) = (f64::NAN, f64::INFINITY);
        let found = compare(
            &[nan, infinity, 0.0, 1.0, nan, infinity],
            &[-nan, infinity, -0.0, 1.0, 1.0, -infinity],
            Tolerance::default(),
        );
        assert_eq!((found.count, found.greatest), (2, Some(infinity)));
        assert_eq!(found.first[0].position, [12, 2]);
        assert_eq!((&*found.first[0].a, &*found.first[0].b), ("NaN", "1.0"));
    }

    #[test]
    fn tolerances_are_those_of_numpy() {
        let tolerance = Tolerance { relative: 0.1, absolute: 0.5 };
        let found = compare(&[10.0, 11.6, 8.4, 0.4], &[10.0, 10.0, 10.0, 0.0], tolerance);
        assert_eq!((found.count, found.greatest.unwrap()), (2, 1.5999999999999996));
        let found = compare(&[1.0, 2.0], &[1.5, 2.7], tolerance);
        assert_eq!(found.count, 0);
    }

    #[test]
    fn types_are_compared_by_value() {
        let region = Region { start: vec![0], shape: vec![2] };
        let mut found = ValueDifferences::default();
        let (a, b) =
            ([3_i16, -1].map(i16::to_ne_bytes).concat(), [3.0_f32, 65535.0].map(f32::to_ne_bytes).concat());
        found.add(&region, (&a, &DataType::Int16), (&b, &DataType::Float32), Tolerance::default());
        assert_eq!((found.count, found.greatest), (1, Some(65536.0)));
        // 2^53 + 1 is no double: the nearest one is 2^53.
        let (a, b) = (
            [9_007_199_254_740_993_i64, -7].map(i64::to_ne_bytes).concat(),
            [9_007_199_254_740_992.0_f64, -6.75].map(f64::to_ne_bytes).concat(),
        );
        let mut found = ValueDifferences::default();
        found.add(&region, (&a, &DataType::Int64), (&b, &DataType::Float64), Tolerance::default());
        assert_eq!((found.count, found.greatest), (2, Some(1.0)));
        for (integer, real, wanted) in [
            (0, 0.0, 0.0),
            (i128::from(u64::MAX), 18_446_744_073_709_551_616.0, 1.0),
            (i128::from(i64::MIN), -9_223_372_036_854_775_808.0, 0.0),
            (-3, -2.5, 0.5),
            (1, f64::INFINITY, f64::INFINITY),
        ] {
            assert_eq!(mixed_distance(integer, real), wanted, "{integer} {real}");
        }
        assert!(mixed_distance(1, f64::NAN).is_nan());
        assert_eq!(common_chunks(&[4, 10, 7], &[6, 5, 5]), [12, 10, 7]);
    }
}
