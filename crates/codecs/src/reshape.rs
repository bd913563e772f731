//! The `reshape` and `squeeze` codecs: other axes over the same elements in the same order.
//!
//! Zarr v3 codec extension "reshape"; `squeeze` is the zarrs project's, which leaves out axes of one element.

use serde_json::{Value, json};

use crate::configuration::Configuration;
use crate::error::Error;

const NAME: &str = "reshape";
const WANTED: &str = "a list of lengths, lists of ascending axes, and at most one -1";

/// One axis of the shape that `reshape` makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReshapeAxis {
    /// So many elements.
    Length(u64),
    /// As many as these axes of the input have together.
    Axes(Vec<usize>),
    /// As many as are left.
    Rest,
}

/// Gives a chunk another shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReshapeCodec {
    /// The axes that it makes.
    pub shape: Vec<ReshapeAxis>,
}

impl ReshapeCodec {
    pub(crate) fn from_json(configuration: &Value) -> Result<Self, Error> {
        let fields = Configuration::new(NAME, configuration, &["shape"])?;
        let value = fields.get("shape").ok_or_else(|| fields.missing("shape", WANTED))?;
        let shape: Option<Vec<ReshapeAxis>> =
            value.as_array().and_then(|axes| axes.iter().map(ReshapeAxis::from_json).collect());
        let shape = shape.ok_or_else(|| fields.wrong("shape", WANTED, value))?;
        let axes: Vec<usize> = shape.iter().flat_map(ReshapeAxis::axes).copied().collect();
        let rests = shape.iter().filter(|axis| **axis == ReshapeAxis::Rest).count();
        if 1 < rests || !axes.is_sorted_by(|left, right| left < right) {
            return Err(fields.wrong("shape", WANTED, value));
        }
        Ok(Self { shape })
    }

    pub(crate) fn to_json(&self) -> Value {
        let axes: Vec<Value> = self.shape.iter().map(ReshapeAxis::to_json).collect();
        json!({"shape": axes})
    }

    pub(crate) fn describe(&self) -> String {
        format!("reshape({})", self.to_json()["shape"])
    }

    /// The shape that it makes of `input`.
    pub(crate) fn output_shape(&self, input: &[u64]) -> Result<Vec<u64>, Error> {
        let wrong = || {
            Error::invalid_field(
                NAME,
                "shape",
                &format!("as many elements as shape {input:?} has"),
                &self.to_json()["shape"],
            )
        };
        let lengths: Option<Vec<Option<u64>>> = self.shape.iter().map(|axis| axis.length(input)).collect();
        let lengths = lengths.ok_or_else(wrong)?;
        let total = product(input).ok_or_else(wrong)?;
        let known: Vec<u64> = lengths.iter().copied().flatten().collect();
        let known = product(&known).ok_or_else(wrong)?;
        let rest = total.checked_div(known).unwrap_or(0);
        let output: Vec<u64> = lengths.into_iter().map(|length| length.unwrap_or(rest)).collect();
        if product(&output) != Some(total) || !self.keeps_axes_in_place(input, &output) {
            return Err(wrong());
        }
        Ok(output)
    }

    /// Whether axes of the input that are named have the same elements before and behind them as what they become.
    fn keeps_axes_in_place(&self, input: &[u64], output: &[u64]) -> bool {
        self.shape.iter().enumerate().all(|(at, axis)| match axis.axes() {
            [] => true,
            axes => {
                let (first, last) = (axes[0], axes[axes.len() - 1]);
                product(&output[..at]) == product(&input[..first])
                    && product(&output[at + 1..]) == product(&input[last + 1..])
            }
        })
    }
}

impl ReshapeAxis {
    fn from_json(value: &Value) -> Option<Self> {
        match value {
            Value::Array(axes) => {
                let axes = axes.iter().map(|axis| usize::try_from(axis.as_u64()?).ok());
                Some(Self::Axes(axes.collect::<Option<Vec<usize>>>()?))
            }
            value if value.as_i64() == Some(-1) => Some(Self::Rest),
            value => value.as_u64().filter(|length| *length != 0).map(Self::Length),
        }
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Length(length) => json!(length),
            Self::Axes(axes) => json!(axes),
            Self::Rest => json!(-1),
        }
    }

    fn axes(&self) -> &[usize] {
        match self {
            Self::Axes(axes) => axes,
            Self::Length(_) | Self::Rest => &[],
        }
    }

    /// Elements, `Some(None)` where they are what is left.
    fn length(&self, input: &[u64]) -> Option<Option<u64>> {
        match self {
            Self::Length(length) => Some(Some(*length)),
            Self::Rest => Some(None),
            Self::Axes(axes) => {
                let lengths: Option<Vec<u64>> = axes.iter().map(|axis| input.get(*axis).copied()).collect();
                product(&lengths?).map(Some)
            }
        }
    }
}

/// The shape without its axes of one element.
pub(crate) fn squeezed(shape: &[u64]) -> Vec<u64> {
    shape.iter().copied().filter(|length| *length != 1).collect()
}

fn product(lengths: &[u64]) -> Option<u64> {
    lengths.iter().try_fold(1u64, |product, length| product.checked_mul(*length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reshaped(shape: Value, input: &[u64]) -> Result<Vec<u64>, Error> {
        let codec = ReshapeCodec::from_json(&json!({"shape": shape}))?;
        assert_eq!(codec.to_json(), json!({"shape": shape}));
        codec.output_shape(input)
    }

    #[test]
    fn shapes_follow_the_specification() {
        assert_eq!(reshaped(json!([[0, 1], [2], 3]), &[100, 50, 64, 3]).unwrap(), [5000, 64, 3]);
        assert_eq!(reshaped(json!([24]), &[2, 3, 4]).unwrap(), [24]);
        assert_eq!(reshaped(json!([4, -1]), &[2, 3, 4]).unwrap(), [4, 6]);
        assert_eq!(reshaped(json!([[0], -1, [3]]), &[2, 3, 4, 5]).unwrap(), [2, 12, 5]);
        assert_eq!(reshaped(json!([]), &[1, 1]).unwrap(), [0; 0]);
        assert_eq!(reshaped(json!([-1]), &[0, 5]).unwrap(), [0]);
        assert_eq!(squeezed(&[1, 8, 1, 3]), [8, 3]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for shape in [
            json!(3),
            json!([-1, -1]),
            json!([-2]),
            json!([0]),
            json!([[1], [0]]),
            json!([[1, 0], 4]),
            json!([5]),
            json!([[0], [2], 3]),
            json!([[7]]),
            json!([7, -1]),
            json!([u64::MAX, u64::MAX]),
        ] {
            assert!(reshaped(shape.clone(), &[2, 3, 4]).is_err(), "{shape}");
        }
    }
}
