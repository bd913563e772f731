//! Into which group of `swath stats` each element goes: by its place along an axis, or by its time.

use crate::cf_time::{Moment, TimeScale};
use crate::place::Place;
use anyhow::{Context, bail};
use swath::{Array, DataType, Group, Node};

/// More groups than are kept: each has a histogram.
const GROUPS_MAX: usize = 20_000;

/// Spans of time that elements are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Period {
    /// Calendar years: 2020.
    Year,
    /// Calendar months: 2020-01.
    Month,
    /// Days: 2020-01-31.
    Day,
    /// Months of any year: 01 to 12.
    MonthOfYear,
    /// Hours of any day: 00 to 23.
    HourOfDay,
}

/// One axis that elements are grouped along.
#[derive(Clone, Debug)]
pub(crate) struct AxisGroups {
    pub(crate) axis: usize,
    /// What people call the axis.
    pub(crate) name: String,
    /// The group of each place along the axis, by its number among the labels.
    pub(crate) groups: Vec<usize>,
    pub(crate) labels: Vec<String>,
}

/// Groups along the axes that were asked for: every combination of theirs is one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grouping {
    pub(crate) axes: Vec<AxisGroups>,
}

impl Grouping {
    /// Of `--by` and `--period`, for the array at a place.
    ///
    /// # Errors
    ///
    /// Axes that the array does not have, times that cannot be read, and more groups than are kept.
    pub(crate) fn new(
        array: &Array,
        place: &Place,
        by: &[String],
        period: Option<Period>,
    ) -> anyhow::Result<Grouping> {
        let coordinates = Coordinates::new(array, place);
        let mut axes = Vec::new();
        for name in by {
            axes.push(coordinates.along(axis_of(array, name)?, name)?);
        }
        if let Some(period) = period {
            axes.push(coordinates.by_period(period)?);
        }
        axes.sort_by_key(|axis| axis.axis);
        if let Some(pair) = axes.windows(2).find(|pair| pair[0].axis == pair[1].axis) {
            bail!("{} is to be grouped twice", pair[0].name);
        }
        let grouping = Grouping { axes };
        let count =
            grouping.axes.iter().try_fold(1_usize, |count, axis| count.checked_mul(axis.labels.len()));
        match count {
            Some(count) if count <= GROUPS_MAX => Ok(grouping),
            _ => bail!("wanted at most {GROUPS_MAX} groups; group along fewer or shorter axes"),
        }
    }

    /// Groups in all: one where nothing is grouped.
    pub(crate) fn len(&self) -> usize {
        self.axes.iter().map(|axis| axis.labels.len()).product()
    }

    /// The labels of a group, one for each axis.
    pub(crate) fn labels(&self, mut group: usize) -> Vec<&str> {
        let mut labels = Vec::with_capacity(self.axes.len());
        for axis in self.axes.iter().rev() {
            let count = axis.labels.len().max(1);
            labels.push(axis.labels.get(group % count).map_or("", String::as_str));
            group /= count;
        }
        labels.reverse();
        labels
    }
}

/// The axis of a name, or of a number, negative from the end.
fn axis_of(array: &Array, name: &str) -> anyhow::Result<usize> {
    let names = array.metadata().dimension_names().unwrap_or_default();
    if let Some(axis) = names.iter().position(|own| own.as_deref() == Some(name)) {
        return Ok(axis);
    }
    let rank = array.shape().len();
    let number = name.parse::<i64>().ok().and_then(|number| {
        let from_end = usize::try_from(number.unsigned_abs()).ok()?;
        if number < 0 { rank.checked_sub(from_end) } else { Some(from_end).filter(|axis| *axis < rank) }
    });
    number.with_context(|| {
        let known: Vec<&str> = names.iter().flatten().map(String::as_str).collect();
        format!("{}: wanted an axis by its name ({}) or number, found {name}", array.name(), known.join(", "))
    })
}

/// The arrays beside an array that say where its elements are along their axes.
struct Coordinates<'a> {
    array: &'a Array,
    beside: Option<(Group, String)>,
}

impl<'a> Coordinates<'a> {
    fn new(array: &'a Array, place: &Place) -> Coordinates<'a> {
        Coordinates { array, beside: place.group_above() }
    }

    fn name(&self, axis: usize) -> Option<&'a str> {
        self.array.metadata().dimension_names()?.get(axis)?.as_deref()
    }

    /// The coordinate of an axis: the array of its name beside the array, as long as the axis.
    fn of(&self, axis: usize) -> Option<Array> {
        let (group, rest) = self.beside.as_ref()?;
        let folder = rest.rsplit_once('/').map(|(folder, _)| format!("{folder}/")).unwrap_or_default();
        match group.get(&format!("{folder}{}", self.name(axis)?)) {
            Ok(Node::Array(found)) if found.shape() == [self.array.shape()[axis]] => Some(found),
            _ => None,
        }
    }

    /// A group for each place along an axis, labelled by its coordinate where there is one.
    fn along(&self, axis: usize, name: &str) -> anyhow::Result<AxisGroups> {
        let length = usize::try_from(self.array.shape()[axis]).unwrap_or(usize::MAX);
        if GROUPS_MAX < length {
            bail!("wanted at most {GROUPS_MAX} groups, found {length} places along {name}");
        }
        let labels = match self.of(axis).map(|found| texts(&found)).transpose()?.flatten() {
            Some(labels) if labels.len() == length => labels,
            _ => (0..length).map(|number| number.to_string()).collect(),
        };
        let name = self.name(axis).unwrap_or(name).to_owned();
        Ok(AxisGroups { axis, name, groups: (0..length).collect(), labels })
    }

    /// A group for each period of the first axis whose coordinate is a time.
    fn by_period(&self, period: Period) -> anyhow::Result<AxisGroups> {
        for axis in 0..self.array.shape().len() {
            let Some(found) = self.of(axis) else { continue };
            let Some(moments) = moments(&found).with_context(|| format!("{}: no times", found.name()))?
            else {
                continue;
            };
            let texts: Vec<String> = moments.iter().map(|moment| label(moment.as_ref(), period)).collect();
            let mut labels = texts.clone();
            labels.sort();
            labels.dedup();
            let groups = texts.iter().map(|text| labels.binary_search(text).unwrap_or(0)).collect();
            let name = self.name(axis).unwrap_or("time").to_owned();
            return Ok(AxisGroups { axis, name, groups, labels });
        }
        bail!(
            "{}: wanted a time coordinate beside the array: named as one of its axes, with units such as \"hours since \
             1970-01-01\", found none",
            self.array.name()
        )
    }
}

fn label(moment: Option<&Moment>, period: Period) -> String {
    let Some(Moment { year, month, day, hour }) = moment else { return "no time".to_owned() };
    match period {
        Period::Year => format!("{year:04}"),
        Period::Month => format!("{year:04}-{month:02}"),
        Period::Day => format!("{year:04}-{month:02}-{day:02}"),
        Period::MonthOfYear => format!("{month:02}"),
        Period::HourOfDay => format!("{hour:02}"),
    }
}

/// The values of a coordinate as people read them; `None` of types that are no labels.
fn texts(array: &Array) -> anyhow::Result<Option<Vec<String>>> {
    let all = swath::Selection::all();
    if array.data_type() == &DataType::String {
        let read = array.read_variable(&all)?;
        return Ok(Some(read.strings()?.into_iter().map(str::to_owned).collect()));
    }
    let data = array.read(&all)?;
    let size = array.data_type().size_bytes().max(1);
    let elements = data.as_bytes().chunks_exact(size);
    Ok(match array.data_type() {
        DataType::FixedString(_) => Some(elements.map(utf32).collect()),
        DataType::FixedBytes(_) => {
            let text = |element: &[u8]| String::from_utf8_lossy(element).trim_end_matches('\0').to_owned();
            Some(elements.map(text).collect())
        }
        data_type => {
            let data_type = data_type.clone();
            let labels = elements.map(|element| {
                let value = number(element, &data_type)?;
                Some(match value {
                    Number::Integer(value) => value.to_string(),
                    Number::Real(value) => value.to_string(),
                })
            });
            labels.collect()
        }
    })
}

/// NumPy's strings: UTF-32 in this machine's byte order, with zeros behind.
fn utf32(element: &[u8]) -> String {
    let codes = element.as_chunks::<4>().0.iter().map(|code| u32::from_ne_bytes(*code));
    let text: String =
        codes.map(|code| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    text.trim_end_matches('\0').to_owned()
}

/// The moments of a coordinate, `None` where one is missing; nothing of a coordinate that is no time.
fn moments(array: &Array) -> anyhow::Result<Option<Vec<Option<Moment>>>> {
    let scale = match array.data_type() {
        DataType::DateTime64(unit) => TimeScale::of_numpy(unit.unit(), unit.scale_factor()),
        _ => TimeScale::of_attributes(array.metadata().attributes())?,
    };
    let Some(scale) = scale else { return Ok(None) };
    let data = array.read(&swath::Selection::all())?;
    let data_type = array.data_type().clone();
    let moments = data.as_bytes().chunks_exact(data_type.size_bytes().max(1)).map(|element| {
        match number(element, &data_type) {
            // Not a time, as NumPy and xarray store it.
            Some(Number::Integer(value)) if value == i128::from(i64::MIN) => None,
            Some(Number::Integer(value)) => scale.moment(value),
            Some(Number::Real(value)) => scale.moment_of_real(value),
            None => None,
        }
    });
    Ok(Some(moments.collect()))
}

enum Number {
    Integer(i128),
    Real(f64),
}

/// An element as a number; `None` of types that are none.
fn number(element: &[u8], data_type: &DataType) -> Option<Number> {
    let integer = |value: i128| Some(Number::Integer(value));
    match data_type {
        DataType::Int8 => integer(i8::from_ne_bytes(element.try_into().ok()?).into()),
        DataType::Int16 => integer(i16::from_ne_bytes(element.try_into().ok()?).into()),
        DataType::Int32 => integer(i32::from_ne_bytes(element.try_into().ok()?).into()),
        DataType::Int64 | DataType::DateTime64(_) | DataType::TimeDelta64(_) => {
            integer(i64::from_ne_bytes(element.try_into().ok()?).into())
        }
        DataType::UInt8 => integer(u8::from_ne_bytes(element.try_into().ok()?).into()),
        DataType::UInt16 => integer(u16::from_ne_bytes(element.try_into().ok()?).into()),
        DataType::UInt32 => integer(u32::from_ne_bytes(element.try_into().ok()?).into()),
        DataType::UInt64 => integer(u64::from_ne_bytes(element.try_into().ok()?).into()),
        DataType::Float32 => Some(Number::Real(f32::from_ne_bytes(element.try_into().ok()?).into())),
        DataType::Float64 => Some(Number::Real(f64::from_ne_bytes(element.try_into().ok()?))),
        _ => None,
    }
}
