//! Elements converted while they are stitched, against the same steps done one by one.

use half::{bf16, f16};
use proptest::prelude::*;
use std::sync::Arc;
use swath_codecs::{
    Conversion, Cut, CutAxis, DecodedChunk, ErrorKind, NanMeans, Number, NumberClass, NumberType, Output,
    Picks,
};

/// One axis of a result, and of the array.
#[derive(Clone, Debug)]
struct Axis {
    length: u64,
    extent: u64,
    /// Which elements are taken, in order.
    taken: Taken,
    factor: u64,
}

#[derive(Clone, Debug)]
enum Taken {
    /// From an element on, by steps, so many; what is left over by the factor is not taken.
    Steps(u64, i64, u64),
    List(Vec<u64>),
}

#[derive(Clone, Debug)]
struct Case {
    axes: Vec<Axis>,
    /// In which order the axes of chunks are stored.
    stored_axes: Vec<usize>,
    source: NumberType,
    target: NumberType,
    is_swapped: bool,
    steps: Steps,
    seed: u64,
}

#[derive(Clone, Debug)]
struct Steps {
    masked: Vec<i8>,
    valid: Option<(i16, i16)>,
    scale: Option<f64>,
    offset: Option<f64>,
    decode_in: Option<NumberType>,
    /// The axis, where there is one.
    normal: Option<Option<usize>>,
    fill: Option<u8>,
    nan_means: NanMeans,
}

const SOURCES: [NumberType; 15] = [
    NumberType::Bool,
    NumberType::Int4,
    NumberType::Int8,
    NumberType::Int16,
    NumberType::Int32,
    NumberType::Int64,
    NumberType::UInt8,
    NumberType::UInt16,
    NumberType::UInt32,
    NumberType::UInt64,
    NumberType::Float8E4M3,
    NumberType::BFloat16,
    NumberType::Float16,
    NumberType::Float32,
    NumberType::Float64,
];

const TARGETS: [NumberType; 12] = [
    NumberType::Int8,
    NumberType::Int16,
    NumberType::Int32,
    NumberType::Int64,
    NumberType::UInt8,
    NumberType::UInt16,
    NumberType::UInt32,
    NumberType::UInt64,
    NumberType::BFloat16,
    NumberType::Float16,
    NumberType::Float32,
    NumberType::Float64,
];

impl Axis {
    fn positions(&self) -> Vec<u64> {
        match &self.taken {
            Taken::List(positions) => positions.clone(),
            Taken::Steps(start, step, count) => {
                let at = |number: i64| start.checked_add_signed(step * number).filter(|at| *at < self.length);
                let found: Vec<u64> = (0..*count as i64).map_while(at).collect();
                found[..found.len() - found.len() % self.factor as usize].to_vec()
            }
        }
    }

    fn cut(&self) -> Cut {
        let positions = self.positions();
        match &self.taken {
            Taken::Steps(start, step, _) => {
                Cut::Stepped(CutAxis::new(*start, positions.len() as u64, *step, self.extent))
            }
            Taken::List(_) => {
                let chunks: Vec<u64> = positions.iter().map(|at| at / self.extent).collect();
                let sources: Vec<u32> = positions.iter().map(|at| (at % self.extent) as u32).collect();
                let mut picks = Picks::default();
                picks.push(&chunks, &sources).unwrap();
                Cut::Picked(picks.sorted())
            }
        }
    }
}

/// Arrays of one axis may be long, and of two have many rows: what is converted at a time is a thousand elements, and some
/// rows, at most.
fn axis(rank: usize) -> impl Strategy<Value = Axis> {
    let lengths = match rank {
        1 => prop_oneof![1u64..14, 250u64..3000].boxed(),
        2 => prop_oneof![3 => 1u64..11, 1 => 30u64..80].boxed(),
        _ => (1u64..11).boxed(),
    };
    (1u64..8, lengths).prop_flat_map(|(extent, length)| {
        let extent = match length {
            0..30 => extent,
            30..200 => extent * 11,
            _ => extent * 400,
        };
        let steps = (0..length, prop_oneof![3 => Just(1i64), 1 => -3i64..0, 1 => 2i64..4], 0..length + 1)
            .prop_map(|(start, step, count)| Taken::Steps(start, step, count));
        let list = prop::collection::vec(0..length, 0..9).prop_map(Taken::List);
        let factor = prop_oneof![2 => Just(1u64), 2 => 2u64..4, 1 => Just(4u64), 1 => 5u64..9];
        let steps = (steps, factor);
        let list = (list, Just(1u64));
        prop_oneof![4 => steps, 1 => list].prop_map(move |(taken, factor)| Axis {
            length,
            extent,
            taken,
            factor,
        })
    })
}

fn steps(rank: usize) -> impl Strategy<Value = Steps> {
    let number = || prop::option::of(prop_oneof![-4.0f64..4.0, Just(0.01), Just(273.15)]);
    let decode_in = prop::option::of(prop_oneof![Just(NumberType::Float32), Just(NumberType::Float64)]);
    let nan_means = prop_oneof![Just(NanMeans::Propagate), Just(NanMeans::Skip)];
    (
        prop_oneof![2 => Just(Vec::new()), 1 => prop::collection::vec(-1i8..4, 1..3)],
        prop_oneof![2 => Just(None), 1 => (-100i16..50, 0i16..300).prop_map(Some)],
        (number(), number()),
        decode_in,
        prop::option::weighted(0.4, prop::option::of(0..rank.max(1))),
        prop::option::of(0u8..100),
        nan_means,
    )
        .prop_map(move |(masked, valid, (scale, offset), decode_in, normal, fill, nan_means)| {
            let normal = normal.map(|axis| axis.filter(|axis| *axis < rank));
            Steps { masked, valid, scale, offset, decode_in, normal, fill, nan_means }
        })
}

fn case() -> impl Strategy<Value = Case> {
    let types = (prop::sample::select(SOURCES.to_vec()), prop::sample::select(TARGETS.to_vec()));
    (0usize..4, types, any::<bool>(), any::<u64>()).prop_flat_map(
        |(rank, (source, target), is_swapped, seed)| {
            let order: Vec<usize> = (0..rank).collect();
            (prop::collection::vec(axis(rank), rank), Just(order).prop_shuffle(), steps(rank)).prop_map(
                move |(axes, stored_axes, steps)| {
                    let is_swapped = is_swapped && 1 < source.size_bytes();
                    Case { axes, stored_axes, source, target, is_swapped, steps, seed }
                },
            )
        },
    )
}

/// A stored value: whole numbers keep all their digits.
#[derive(Clone, Copy, Debug)]
enum Stored {
    Whole(i128),
    Float(f64),
}

impl Case {
    /// The native bytes of the element at these coordinates.
    fn element(&self, coordinates: &[u64]) -> Vec<u8> {
        let number = coordinates.iter().fold(self.seed, |number, at| {
            (number ^ (*at + 1)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23)
        });
        let whole = i64::from_ne_bytes(number.to_ne_bytes());
        // Small numbers, which masks hit; large ones; and any bits.
        let (small, any) = ((whole >> 3) % 5, whole >> 8);
        let is_small = number % 4 != 0;
        match self.source {
            NumberType::Bool => vec![(number >> 9) as u8 & 1],
            NumberType::Int4 => vec![(((number >> 9) % 16) as i8 - 8) as u8],
            NumberType::Float16 if is_small => f16::from_f64(small as f64).to_ne_bytes().to_vec(),
            NumberType::BFloat16 if is_small => bf16::from_f64(small as f64).to_ne_bytes().to_vec(),
            NumberType::Float32 if is_small => (small as f32).to_ne_bytes().to_vec(),
            NumberType::Float64 if is_small => (small as f64).to_ne_bytes().to_vec(),
            _ => (if is_small { small } else { any }).to_le_bytes()[..self.source.size_bytes()].to_vec(),
        }
    }

    fn stored(&self, bytes: &[u8]) -> Stored {
        macro_rules! read {
            ($type:ty) => {
                <$type>::from_ne_bytes(bytes.try_into().unwrap())
            };
        }
        match self.source {
            NumberType::Bool | NumberType::UInt8 => Stored::Whole(bytes[0].into()),
            NumberType::Int4 | NumberType::Int8 => Stored::Whole(read!(i8).into()),
            NumberType::Int16 => Stored::Whole(read!(i16).into()),
            NumberType::Int32 => Stored::Whole(read!(i32).into()),
            NumberType::Int64 => Stored::Whole(read!(i64).into()),
            NumberType::UInt16 => Stored::Whole(read!(u16).into()),
            NumberType::UInt32 => Stored::Whole(read!(u32).into()),
            NumberType::UInt64 => Stored::Whole(read!(u64).into()),
            NumberType::Float16 => Stored::Float(read!(f16).to_f64()),
            NumberType::BFloat16 => Stored::Float(read!(bf16).to_f64()),
            NumberType::Float32 => Stored::Float(read!(f32).into()),
            NumberType::Float64 => Stored::Float(read!(f64)),
            NumberType::Float8E4M3 => Stored::Float(float8(bytes[0])),
            other => unreachable!("{other:?}"),
        }
    }

    fn is_masked(&self, stored: Stored) -> bool {
        let Steps { masked, valid, .. } = &self.steps;
        let equals = |number: i8| match stored {
            Stored::Whole(whole) => whole == i128::from(number),
            Stored::Float(float) => float == f64::from(number),
        };
        let is_outside = |(min, max): (i16, i16)| match stored {
            Stored::Whole(whole) => whole < min.into() || i128::from(max) < whole,
            Stored::Float(float) => float < min.into() || f64::from(max) < float,
        };
        masked.iter().any(|number| equals(*number)) || valid.is_some_and(is_outside)
    }

    fn calculates(&self) -> bool {
        let Steps { scale, offset, normal, .. } = &self.steps;
        scale.is_some()
            || offset.is_some()
            || normal.is_some()
            || self.axes.iter().any(|axis| axis.factor != 1)
    }

    fn is_whole(&self) -> bool {
        let is_whole = |number: NumberType| number.class() != NumberClass::Float;
        is_whole(self.source) && is_whole(self.target) && !self.calculates()
    }

    fn is_single(&self) -> bool {
        matches!(self.target, NumberType::Float16 | NumberType::BFloat16 | NumberType::Float32)
    }

    /// The value before the mean.
    fn value(&self, stored: Stored, coordinates: &[u64]) -> f64 {
        let Steps { scale, offset, decode_in, normal, .. } = &self.steps;
        let bits = self.source.bits();
        let is_exact = if self.source.class() == NumberClass::Float { bits <= 32 } else { bits <= 16 };
        let is_double =
            decode_in.map_or(!(self.is_single() && is_exact), |wanted| wanted == NumberType::Float64);
        let affine = scale.is_some() || offset.is_some();
        let decoded = if !affine {
            match stored {
                Stored::Whole(whole) if self.is_single() => f64::from(whole as f32),
                Stored::Whole(whole) => whole as f64,
                Stored::Float(float) => float,
            }
        } else if is_double {
            let value = match stored {
                Stored::Whole(whole) => whole as f64,
                Stored::Float(float) => float,
            };
            let scaled = scale.map_or(value, |scale| value * scale);
            offset.map_or(scaled, |offset| scaled + offset)
        } else {
            let value = match stored {
                Stored::Whole(whole) => whole as f32,
                Stored::Float(float) => float as f32,
            };
            let scaled = scale.map_or(value, |scale| value * scale as f32);
            f64::from(offset.map_or(scaled, |offset| scaled + offset as f32))
        };
        let decoded = if self.is_masked(stored) { f64::NAN } else { decoded };
        let Some(axis) = normal else {
            return if self.is_single() { f64::from(decoded as f32) } else { decoded };
        };
        let (mean, deviation) = pair(axis.map_or(0, |axis| coordinates[axis]));
        if self.is_single() {
            f64::from((decoded as f32 - mean as f32) / deviation as f32)
        } else {
            (decoded - mean) / deviation
        }
    }

    /// What a value becomes behind the mean.
    fn finished(&self, value: f64) -> Vec<u8> {
        let value = match self.steps.fill {
            Some(fill) if value.is_nan() => f64::from(fill),
            _ => value,
        };
        let single = value as f32;
        match self.target {
            NumberType::Int8 => (value as i8).to_ne_bytes().to_vec(),
            NumberType::Int16 => (value as i16).to_ne_bytes().to_vec(),
            NumberType::Int32 => (value as i32).to_ne_bytes().to_vec(),
            NumberType::Int64 => (value as i64).to_ne_bytes().to_vec(),
            NumberType::UInt8 => (value as u8).to_ne_bytes().to_vec(),
            NumberType::UInt16 => (value as u16).to_ne_bytes().to_vec(),
            NumberType::UInt32 => (value as u32).to_ne_bytes().to_vec(),
            NumberType::UInt64 => (value as u64).to_ne_bytes().to_vec(),
            NumberType::BFloat16 => bf16::from_f32(single).to_ne_bytes().to_vec(),
            NumberType::Float16 => f16::from_f32(single).to_ne_bytes().to_vec(),
            NumberType::Float32 => single.to_ne_bytes().to_vec(),
            NumberType::Float64 => value.to_ne_bytes().to_vec(),
            other => unreachable!("{other:?}"),
        }
    }

    /// What integers that are never floats become.
    fn whole(&self, stored: Stored) -> Vec<u8> {
        let Stored::Whole(whole) = stored else { unreachable!("{stored:?}") };
        let whole = if self.is_masked(stored) { self.steps.fill.unwrap().into() } else { whole };
        let bits = self.target.bits();
        let (min, max) = match self.target.class() {
            NumberClass::Signed => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
            _ => (0, (1i128 << bits) - 1),
        };
        whole.clamp(min, max).to_le_bytes()[..self.target.size_bytes()].to_vec()
    }

    fn conversion(&self) -> Conversion {
        let Steps { masked, valid, scale, offset, decode_in, normal, fill, nan_means } = &self.steps;
        let mut conversion = Conversion::to(self.target).mask(masked.iter().copied()).nan_means(*nan_means);
        if let Some((min, max)) = valid {
            conversion = conversion.valid_range(Some((*min).into()), Some(f64::from(*max).into()));
        }
        conversion = scale.map_or(conversion.clone(), |scale| conversion.scale(scale));
        conversion = offset.map_or(conversion.clone(), |offset| conversion.offset(offset));
        conversion = decode_in.map_or(conversion.clone(), |precision| conversion.decode_in(precision));
        conversion = fill.map_or(conversion.clone(), |fill| conversion.fill_nan(fill));
        conversion = match normal {
            None => conversion,
            Some(None) => conversion.normalise(pair(0).0, pair(0).1),
            Some(Some(axis)) => {
                let (means, deviations): (Vec<f64>, Vec<f64>) =
                    (0..self.axes[*axis].length).map(pair).unzip();
                conversion.normalise_along(*axis, &means, &deviations)
            }
        };
        conversion.downsample(&self.axes.iter().map(|axis| axis.factor).collect::<Vec<_>>())
    }

    fn expected(&self) -> Vec<Vec<u8>> {
        let positions: Vec<Vec<u64>> = self.axes.iter().map(Axis::positions).collect();
        let blocks: Vec<u64> =
            self.axes.iter().zip(&positions).map(|(axis, at)| at.len() as u64 / axis.factor).collect();
        let factors: Vec<u64> = self.axes.iter().map(|axis| axis.factor).collect();
        let mut elements = Vec::new();
        odometer(&blocks, |block| {
            let (mut sum, mut count, mut only) = (0.0, 0.0, None);
            odometer(&factors, |within| {
                let coordinates: Vec<u64> = (0..factors.len())
                    .map(|axis| positions[axis][(block[axis] * factors[axis] + within[axis]) as usize])
                    .collect();
                let stored = self.stored(&self.element(&coordinates));
                let value = self.value(stored, &coordinates);
                only = Some((stored, value));
                if self.steps.nan_means == NanMeans::Propagate || !value.is_nan() {
                    (sum, count) = (sum + value, count + 1.0);
                }
            });
            let (stored, value) = only.unwrap();
            let has_means = factors.iter().any(|factor| *factor != 1);
            elements.push(match has_means {
                _ if self.is_whole() => self.whole(stored),
                false => self.finished(value),
                true if self.is_single() => self.finished(f64::from((sum / count) as f32)),
                true => self.finished(sum / count),
            });
        });
        elements
    }

    /// The bytes and the strides of the chunk at these coordinates.
    fn chunk(&self, chunk: &[u64]) -> (Vec<u8>, Vec<usize>) {
        let size = self.source.size_bytes();
        let (mut strides, mut len) = (vec![0; self.axes.len()], size);
        for axis in self.stored_axes.iter().rev() {
            strides[*axis] = len;
            len *= self.axes[*axis].extent as usize;
        }
        let mut bytes = vec![0; len];
        let extents: Vec<u64> = self.axes.iter().map(|axis| axis.extent).collect();
        odometer(&extents, |within| {
            let at: Vec<u64> =
                (0..extents.len()).map(|axis| chunk[axis] * extents[axis] + within[axis]).collect();
            let mut element = self.element(&at);
            if self.is_swapped {
                element.reverse();
            }
            let place: usize = within.iter().zip(&strides).map(|(at, stride)| *at as usize * stride).sum();
            bytes[place..place + size].copy_from_slice(&element);
        });
        (bytes, strides)
    }

    /// Both ends of what a float of the target may be off by: one unit in the last place.
    fn is_near(&self, found: &[u8], wanted: &[u8]) -> bool {
        macro_rules! near {
            ($type:ty, $bits:ty) => {{
                let read = |bytes: &[u8]| <$type>::from_ne_bytes(bytes.try_into().unwrap());
                let (found, wanted) = (read(found), read(wanted));
                found.is_nan() && wanted.is_nan()
                    || found == wanted
                    || (found.to_bits() as i64 - wanted.to_bits() as i64).abs() <= 1
            }};
        }
        let is_sum = self.axes.iter().any(|axis| axis.factor != 1);
        match self.target {
            NumberType::Float32 if is_sum || found != wanted => {
                near!(f32, u32) && (is_sum || is_nan_pair(found, wanted))
            }
            NumberType::Float64 => {
                let read = |bytes: &[u8]| f64::from_ne_bytes(bytes.try_into().unwrap());
                let (found, wanted) = (read(found), read(wanted));
                let is_close =
                    (found - wanted).abs() <= wanted.abs() * 1e-12 || wanted.abs().max(found.abs()) < 1e-300;
                found.to_bits() == wanted.to_bits() || found.is_nan() && wanted.is_nan() || is_sum && is_close
            }
            NumberType::Float16 => near!(f16, u16) && (is_sum || found == wanted || f16_nan(found)),
            NumberType::BFloat16 => near!(bf16, u16) && (is_sum || found == wanted || bf16_nan(found)),
            // Of sums in another order, a mean may be rounded to a neighbour.
            _ if is_sum => {
                let share = if self.is_single() { f64::from(f32::EPSILON) } else { 1e-12 };
                let (found, wanted) = (integer(found, self.target), integer(wanted, self.target));
                found.abs_diff(wanted) as f64 <= 1.0 + share * wanted.unsigned_abs() as f64
            }
            _ => found == wanted,
        }
    }
}

/// A number of an integer type of at most 8 bytes.
fn integer(bytes: &[u8], target: NumberType) -> i128 {
    let is_negative = target.name().starts_with("int") && bytes.last().is_some_and(|last| 127 < *last);
    let mut wide = if is_negative { [255; 16] } else { [0; 16] };
    wide[..bytes.len()].copy_from_slice(bytes);
    i128::from_le_bytes(wide)
}

fn is_nan_pair(found: &[u8], wanted: &[u8]) -> bool {
    let is_nan = |bytes: &[u8]| f32::from_ne_bytes(bytes.try_into().unwrap()).is_nan();
    is_nan(found) && is_nan(wanted)
}

fn f16_nan(bytes: &[u8]) -> bool {
    f16::from_ne_bytes(bytes.try_into().unwrap()).is_nan()
}

fn bf16_nan(bytes: &[u8]) -> bool {
    bf16::from_ne_bytes(bytes.try_into().unwrap()).is_nan()
}

/// By the definition: a sign, four bits of exponent with a bias of 7, three of mantissa; IEEE's infinities and NaN.
fn float8(bits: u8) -> f64 {
    let (exponent, mantissa) = (i32::from(bits >> 3 & 15), f64::from(bits & 7));
    let magnitude = match (exponent, bits & 7) {
        (15, 0) => f64::INFINITY,
        (15, _) => f64::NAN,
        (0, _) => mantissa / 8.0 * 2f64.powi(-6),
        _ => (1.0 + mantissa / 8.0) * 2f64.powi(exponent - 7),
    };
    if bits < 128 { magnitude } else { -magnitude }
}

/// What elements of an index are normalised by.
fn pair(index: u64) -> (f64, f64) {
    (index as f64 * 0.3 - 1.1, 0.5 + index as f64 * 0.7)
}

fn odometer(extents: &[u64], mut each: impl FnMut(&[u64])) {
    let total: u64 = extents.iter().product();
    let mut coordinates = vec![0; extents.len()];
    for number in 0..total {
        let mut rest = number;
        for (coordinate, extent) in coordinates.iter_mut().zip(extents).rev() {
            *coordinate = rest % extent;
            rest /= extent;
        }
        each(&coordinates);
    }
}

/// Tiles in any order.
fn shuffled(count: u64, seed: u64) -> Vec<u64> {
    let mut numbers: Vec<u64> = (0..count).collect();
    numbers.sort_by_key(|number| (number ^ seed).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    numbers
}

fn stitch(case: &Case, order: u64) -> Option<Vec<u8>> {
    let shape: Vec<u64> = case.axes.iter().map(|axis| axis.length).collect();
    let extents: Vec<u64> = case.axes.iter().map(|axis| axis.extent).collect();
    let conversion = case.conversion().compile(case.source, &shape, &extents).unwrap()?;
    let size = case.target.size_bytes();
    let count: u64 = case.axes.iter().map(|axis| axis.positions().len() as u64 / axis.factor).product();
    let output = Output::owned(count as usize * size, size, shape.len()).unwrap();
    let mut output = output.with_conversion(Arc::new(conversion), usize::MAX, Box::new(|_| 0)).unwrap();
    output.push_cuts(case.axes.iter().map(Axis::cut).collect()).unwrap();
    for number in shuffled(output.tile_count(0), order) {
        let mut rest = number;
        let mut chunk = vec![0; shape.len()];
        for axis in (0..shape.len()).rev() {
            let cut = output.cut(0, axis).unwrap();
            chunk[axis] = cut.chunk(rest % cut.tile_count());
            rest /= cut.tile_count();
        }
        let (bytes, strides) = case.chunk(&chunk);
        let swap_unit_bytes = case.is_swapped.then(|| case.source.size_bytes());
        let chunk = DecodedChunk { bytes: &bytes, start: 0, strides: &strides, swap_unit_bytes };
        output.claim(0, number).unwrap().write(&chunk).unwrap();
    }
    Some(output.into_owned().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]
    #[test]
    fn fused_equals_step_by_step(case in case()) {
        let masks = !case.steps.masked.is_empty() || case.steps.valid.is_some();
        if masks && case.target.class() != NumberClass::Float && case.steps.fill.is_none() {
            let shape: Vec<u64> = case.axes.iter().map(|axis| axis.length).collect();
            let refused = case.conversion().compile(case.source, &shape, &shape).unwrap_err();
            prop_assert_eq!(refused.kind(), ErrorKind::Invalid);
            return Ok(());
        }
        let Some(found) = stitch(&case, case.seed) else { return Ok(()) };
        let expected = case.expected();
        prop_assert_eq!(found.len(), expected.len() * case.target.size_bytes());
        for (number, (found, wanted)) in found.chunks(case.target.size_bytes()).zip(&expected).enumerate() {
            prop_assert!(case.is_near(found, wanted), "element {}: {:?}, not {:?}", number, found, wanted);
        }
        // Whatever the order in which chunks arrive.
        prop_assert_eq!(stitch(&case, !case.seed).unwrap(), found);
    }
}

fn compile(conversion: &Conversion, source: NumberType) -> Result<Option<NumberType>, ErrorKind> {
    let compiled = conversion.compile(source, &[4, 3], &[2, 2]);
    compiled.map(|found| found.map(|found| found.target())).map_err(|error| error.kind())
}

#[test]
fn targets_follow_from_the_steps() {
    let of = |conversion: &Conversion, source| compile(conversion, source).unwrap();
    assert_eq!(of(&Conversion::default(), NumberType::Int16), None);
    assert_eq!(of(&Conversion::to(NumberType::Int16), NumberType::Int16), None);
    assert_eq!(of(&Conversion::default().fill_nan(0.0), NumberType::Float32), Some(NumberType::Float32));
    assert_eq!(of(&Conversion::default().mask([1]), NumberType::Int16), Some(NumberType::Float32));
    assert_eq!(of(&Conversion::default().mask([1]), NumberType::Float16), Some(NumberType::Float16));
    assert_eq!(of(&Conversion::default().scale(2.0), NumberType::Int16), Some(NumberType::Float32));
    assert_eq!(of(&Conversion::default().scale(2.0), NumberType::Int32), Some(NumberType::Float64));
    assert_eq!(of(&Conversion::default().downsample(&[1, 2]), NumberType::UInt8), Some(NumberType::Float32));
    assert_eq!(of(&Conversion::default().downsample(&[1, 1]), NumberType::UInt8), None);
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = |conversion: Conversion| compile(&conversion, NumberType::Int16).unwrap_err();
    for conversion in [
        Conversion::default().downsample(&[2]),
        Conversion::default().downsample(&[2, 0]),
        Conversion::default().normalise(0.0, 0.0),
        Conversion::default().normalise(0.0, f64::NAN),
        Conversion::default().normalise_along(2, &[0.0], &[1.0]),
        Conversion::default().normalise_along(1, &[0.0; 2], &[1.0; 2]),
        Conversion::default().normalise_along(1, &[0.0; 3], &[1.0; 2]),
        Conversion::to(NumberType::UInt8).fill_nan(-1),
        Conversion::to(NumberType::UInt8).fill_nan(0.5),
        Conversion::to(NumberType::UInt8).mask([1]),
        Conversion::to(NumberType::Float32).scale(1.0).decode_in(NumberType::Float16),
    ] {
        assert_eq!(refused(conversion.clone()), ErrorKind::Invalid, "{conversion:?}");
    }
    assert_eq!(refused(Conversion::to(NumberType::Bool)), ErrorKind::Unsupported);
    assert_eq!(refused(Conversion::to(NumberType::Float8E5M2)), ErrorKind::Unsupported);
}

#[test]
fn masks_compare_stored_values_in_their_type() {
    let masked = |conversion: Conversion, source: NumberType, bytes: &[u8]| {
        let conversion = conversion.cast(NumberType::Float64).compile(source, &[1], &[1]).unwrap().unwrap();
        let mut output = Output::owned(8, 8, 1)
            .unwrap()
            .with_conversion(Arc::new(conversion), 0, Box::new(|_| 0))
            .unwrap();
        output.push(&[CutAxis::new(0, 1, 1, 1)]).unwrap();
        output.claim(0, 0).unwrap().fill(bytes).unwrap();
        f64::from_ne_bytes(output.into_owned().unwrap().try_into().unwrap()).is_nan()
    };
    let single = |value: f32| value.to_ne_bytes();
    // 1e20 is no float32: the one next to it is what is stored.
    assert!(masked(Conversion::default().mask([1e20]), NumberType::Float32, &single(1e20)));
    assert!(!masked(Conversion::default().mask([f64::NAN]), NumberType::Float32, &single(1.0)));
    let large = i64::MAX.to_ne_bytes();
    assert!(masked(Conversion::default().mask([i64::MAX]), NumberType::Int64, &large));
    assert!(!masked(Conversion::default().mask([i64::MAX - 1]), NumberType::Int64, &large));
    assert!(!masked(Conversion::default().mask([255]), NumberType::Int8, &[0xff]));
    assert!(!masked(Conversion::default().mask([0.5]), NumberType::Int8, &[0]));
    let range = |min: f64, max: f64| {
        Conversion::default().valid_range(Some(Number::Float(min)), Some(Number::Float(max)))
    };
    assert!(!masked(range(0.5, 1.5), NumberType::Int8, &[1]));
    assert!(masked(range(1.5, 1.9), NumberType::Int8, &[1]));
    assert!(masked(range(300.0, 400.0), NumberType::Int8, &[127]));
    assert!(!masked(range(-300.0, 400.0), NumberType::Int8, &[0x80]));
    assert!(!masked(range(f64::NAN, f64::INFINITY), NumberType::Int8, &[0x80]));
}

#[test]
fn points_are_normalised_by_where_they_lie() {
    // A chunk of 2 x 3 at (0, 1), stored in columns; elements (1, 2) and (0, 0) of it, and (1, 0) and (1, 1).
    let conversion =
        Conversion::to(NumberType::Float32).normalise_along(1, &[0., 1., 2., 3., 4., 5.], &[1.0; 6]);
    let conversion = conversion.compile(NumberType::UInt8, &[2, 6], &[2, 3]).unwrap().unwrap();
    let output = Output::owned(16, 4, 2).unwrap();
    let mut output = output.with_conversion(Arc::new(conversion), 0, Box::new(|number| number % 2)).unwrap();
    let mut picks = Picks::default();
    picks.push(&[1; 4], &[5, 0, 3, 4]).unwrap();
    output.push_points(picks.sorted(), &[2, 3]).unwrap();
    let chunk =
        DecodedChunk { bytes: &[10, 11, 12, 13, 14, 15], start: 0, strides: &[1, 2], swap_unit_bytes: None };
    output.claim(0, 0).unwrap().write(&chunk).unwrap();
    let found = output.into_owned().unwrap();
    let found: Vec<f32> =
        found.chunks(4).map(|bytes| f32::from_ne_bytes(bytes.try_into().unwrap())).collect();
    assert_eq!(found, [15.0 - 5.0, 10.0 - 3.0, 11.0 - 3.0, 13.0 - 4.0]);
}

#[test]
fn what_converted_outputs_cannot_do_is_refused() {
    let conversion = || {
        let conversion = Conversion::to(NumberType::Float32).downsample(&[2]);
        Arc::new(conversion.compile(NumberType::UInt8, &[8], &[3]).unwrap().unwrap())
    };
    let output = |room| {
        let output = Output::owned(16, 4, 1).unwrap();
        output.with_conversion(conversion(), room, Box::new(|_| 0)).unwrap()
    };
    assert_eq!(
        Output::owned(8, 2, 1)
            .unwrap()
            .with_conversion(conversion(), 0, Box::new(|_| 0))
            .err()
            .map(|error| error.kind()),
        Some(ErrorKind::Internal)
    );
    let cut = |count| CutAxis::new(0, count, 1, 3);
    // Shares of two blocks, and where blocks lie.
    assert_eq!(output(8).push(&[cut(8)]).unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(output(1 << 10).push(&[cut(7)]).unwrap_err().kind(), ErrorKind::Internal);
    let mut picks = Picks::default();
    picks.push(&[0, 0], &[0, 1]).unwrap();
    let picks = picks.sorted();
    let refused = output(1 << 10).push_cuts(vec![Cut::Picked(picks.clone())]).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
    assert_eq!(output(1 << 10).push_points(picks, &[3]).unwrap_err().kind(), ErrorKind::Unsupported);
    let mut output = output(1 << 10);
    output.push(&[cut(8)]).unwrap();
    let outside = DecodedChunk { bytes: &[1, 2], start: 0, strides: &[1], swap_unit_bytes: None };
    assert_eq!(output.claim(0, 0).unwrap().write(&outside).unwrap_err().kind(), ErrorKind::Internal);
    assert_eq!(output.claim(0, 1).unwrap().fill(&[1, 2]).unwrap_err().kind(), ErrorKind::Internal);
    let rows = |_: usize, _: usize, _: &mut [&mut [u8]]| Ok::<(), swath_codecs::Error>(());
    assert_eq!(
        output.claim(0, 2).unwrap().fill_rows(&[1], (0, 3), rows).unwrap_err().kind(),
        ErrorKind::Internal
    );
}
