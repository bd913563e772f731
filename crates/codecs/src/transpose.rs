//! The `transpose` codec: axes in another order.
//!
//! Zarr v3 codec specification "transpose" 1.0: `order[i]` is the axis of the input that becomes axis `i` of the
//! output. Early drafts allowed the strings "C" and "F" in place of the list.

use serde_json::{Value, json};

use crate::configuration::Configuration;
use crate::error::Error;

const NAME: &str = "transpose";
const WANTED: &str = "a permutation of the axes, \"C\" or \"F\"";

/// In which order the axes are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransposeOrder {
    /// As they are.
    C,
    /// Reversed.
    F,
    /// Axis `i` of the stored array is axis `order[i]` of the logical one.
    Axes(Vec<usize>),
}

/// Stores the axes of a chunk in another order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransposeCodec {
    /// The order of the stored axes.
    pub order: TransposeOrder,
}

impl TransposeCodec {
    pub(crate) fn from_json(configuration: &Value) -> Result<Self, Error> {
        let fields = Configuration::new(NAME, configuration, &["order"])?;
        let order = match fields.get("order") {
            None => return Err(fields.missing("order", WANTED)),
            Some(Value::String(text)) if text == "C" => TransposeOrder::C,
            Some(Value::String(text)) if text == "F" => TransposeOrder::F,
            Some(value) => match axes_from_json(value) {
                Some(axes) if is_permutation(&axes) => TransposeOrder::Axes(axes),
                _ => return Err(fields.wrong("order", WANTED, value)),
            },
        };
        Ok(Self { order })
    }

    pub(crate) fn to_json(&self) -> Value {
        match &self.order {
            TransposeOrder::C => json!({"order": "C"}),
            TransposeOrder::F => json!({"order": "F"}),
            TransposeOrder::Axes(axes) => json!({"order": axes}),
        }
    }

    pub(crate) fn describe(&self) -> String {
        match &self.order {
            TransposeOrder::C => "transpose(C)".to_owned(),
            TransposeOrder::F => "transpose(F)".to_owned(),
            TransposeOrder::Axes(axes) => format!("transpose({axes:?})"),
        }
    }

    /// The input axis of each output axis, for an array of `rank` axes.
    pub(crate) fn axes(&self, rank: usize) -> Result<Vec<usize>, Error> {
        match &self.order {
            TransposeOrder::C => Ok((0..rank).collect()),
            TransposeOrder::F => Ok((0..rank).rev().collect()),
            TransposeOrder::Axes(axes) if axes.len() == rank && is_permutation(axes) => Ok(axes.clone()),
            TransposeOrder::Axes(axes) => Err(Error::invalid_field(
                NAME,
                "order",
                &format!("a permutation of {rank} axes"),
                format_args!("{axes:?}"),
            )),
        }
    }
}

fn axes_from_json(value: &Value) -> Option<Vec<usize>> {
    value.as_array()?.iter().map(|axis| usize::try_from(axis.as_u64()?).ok()).collect()
}

fn is_permutation(axes: &[usize]) -> bool {
    let mut seen = vec![false; axes.len()];
    axes.iter().all(|&axis| seen.get_mut(axis).is_some_and(|seen| !std::mem::replace(seen, true)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes(order: Value, rank: usize) -> Result<Vec<usize>, Error> {
        TransposeCodec::from_json(&json!({"order": order}))?.axes(rank)
    }

    #[test]
    fn orders_become_axes() {
        assert_eq!(axes(json!([2, 0, 1]), 3).unwrap(), [2, 0, 1]);
        assert_eq!(axes(json!("F"), 3).unwrap(), [2, 1, 0]);
        assert_eq!(axes(json!("C"), 2).unwrap(), [0, 1]);
        assert_eq!(axes(json!([]), 0).unwrap(), [0; 0]);
    }

    #[test]
    fn what_is_no_permutation_is_refused() {
        for order in [json!([0, 0]), json!([0, 2]), json!([-1, 0]), json!("K"), json!(null), json!([0])] {
            assert!(axes(order.clone(), 2).is_err(), "{order}");
        }
    }

    #[test]
    fn json_round_trips() {
        for order in [json!([1, 0]), json!("C"), json!("F")] {
            let configuration = json!({"order": order});
            assert_eq!(TransposeCodec::from_json(&configuration).unwrap().to_json(), configuration);
        }
    }
}
