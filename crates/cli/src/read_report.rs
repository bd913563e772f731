//! What `swath read` prints.

use crate::number::Extreme;
use crate::quantity;
use crate::statistics::Statistics;
use serde_json::{Value, json};
use std::io::{Result, Write};
use std::path::Path;
use std::time::Duration;
use swath::{Array, Selection};

/// For whom the output is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// People.
    Text,
    /// Programs.
    Json,
}

/// What was read.
pub(crate) struct Report<'a> {
    pub(crate) array: &'a Array,
    pub(crate) selection: &'a Selection,
    /// The result's shape.
    pub(crate) shape: &'a [u64],
    pub(crate) format: Format,
}

impl Report<'_> {
    /// Prints the statistics of the result.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub(crate) fn statistics(&self, statistics: &Statistics, out: &mut impl Write) -> Result<()> {
        if self.format == Format::Json {
            return writeln!(out, "{}", self.statistics_json(statistics));
        }
        let mut row = |name: &str, value: &str| writeln!(out, "{name:<11}{value}");
        let share = |part: u64| match part {
            0 => "0".to_owned(),
            part => {
                let percent = 100.0 * part as f64 / statistics.count as f64;
                format!("{} ({} %)", quantity::count(part), quantity::significant(percent))
            }
        };
        let none = || "none".to_owned();
        let (least, greatest) = statistics.extremes.unzip();
        let mean = statistics.mean().map(|(real, imaginary)| match imaginary {
            None => rounded(real),
            Some(imaginary) => format!("{} + {}i", rounded(real), rounded(imaginary)),
        });
        row("array", &self.array.name())?;
        row("selection", &self.selection_text())?;
        row("shape", &quantity::shape(self.shape))?;
        row("dtype", &self.array.data_type().to_string())?;
        row("count", &quantity::count(statistics.count))?;
        row("missing", &format!("{} NaN", share(statistics.missing)))?;
        let fill = self.array.fill_value();
        row("filled", &format!("{} equal to the fill value {fill}", share(statistics.filled)))?;
        row("min", &least.map_or_else(none, |extreme| extreme.to_string()))?;
        row("max", &greatest.map_or_else(none, |extreme| extreme.to_string()))?;
        row("mean", &mean.unwrap_or_else(none))?;
        row("std", &statistics.deviation().map_or_else(none, rounded))
    }

    fn statistics_json(&self, statistics: &Statistics) -> Value {
        let (least, greatest) = statistics.extremes.unzip();
        let mean = statistics.mean().map(|(real, imaginary)| match imaginary {
            None => number(real),
            Some(imaginary) => json!([number(real), number(imaginary)]),
        });
        json!({
            "array": self.array.name(),
            "selection": self.selection_text(),
            "shape": self.shape,
            "data_type": self.array.data_type().name(),
            "count": statistics.count,
            "missing": statistics.missing,
            "filled": statistics.filled,
            "fill_value": self.array.fill_value().to_json(),
            "min": least.map(extreme_json),
            "max": greatest.map(extreme_json),
            "mean": mean,
            "std": statistics.deviation().map(number),
        })
    }

    /// Says that the result's `bytes` were written to `target`.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub(crate) fn written(
        &self,
        target: &Path,
        bytes: u64,
        elapsed: Duration,
        out: &mut impl Write,
    ) -> Result<()> {
        let data_type = self.array.data_type();
        if self.format == Format::Json {
            let written = json!({
                "array": self.array.name(),
                "selection": self.selection_text(),
                "shape": self.shape,
                "data_type": data_type.name(),
                "output": target.to_string_lossy(),
                "bytes": bytes,
                "seconds": elapsed.as_secs_f64(),
            });
            return writeln!(out, "{written}");
        }
        let (shape, size) = (quantity::shape(self.shape), quantity::bytes(bytes));
        let rate = quantity::significant(bytes as f64 / elapsed.as_secs_f64().max(1e-9) / 1e9);
        let (target, time) = (target.display(), quantity::duration(elapsed));
        writeln!(out, "wrote {target}: {data_type} {shape}, {size} in {time} ({rate} GB/s)")
    }

    fn selection_text(&self) -> String {
        match self.selection.axes() {
            Some([]) => "...".to_owned(),
            _ => self.selection.to_string(),
        }
    }
}

/// Nine significant digits: more are rounding.
pub(crate) fn rounded(value: f64) -> String {
    let shortened = format!("{value:.8e}").parse().unwrap_or(value);
    format!("{shortened:?}")
}

/// JSON has no NaN and no infinities; Zarr's own spelling stands in.
pub(crate) fn number(value: f64) -> Value {
    if value.is_finite() { json!(value) } else { json!(format!("{value}").replace("inf", "Infinity")) }
}

/// An extreme, exact where JSON has numbers for it.
pub(crate) fn extreme_json(extreme: Extreme) -> Value {
    match extreme {
        Extreme::Bool(value) => json!(value),
        // The shortest digits that give the element back, not those of its widened value.
        Extreme::Single(value) => number(format!("{value:?}").parse().unwrap_or(f64::from(value))),
        Extreme::Double(value) => number(value),
        Extreme::Integer(value) => match (i64::try_from(value), u64::try_from(value)) {
            (Ok(value), _) => json!(value),
            (Err(_), Ok(value)) => json!(value),
            (Err(_), Err(_)) => json!(value.to_string()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back() {
        assert_eq!(rounded(0.1 + 0.2), "0.3");
        assert_eq!(rounded(f64::NAN), "NaN");
        assert_eq!(number(f64::NEG_INFINITY), json!("-Infinity"));
        assert_eq!(extreme_json(Extreme::Single(0.1)), json!(0.1));
        assert_eq!(extreme_json(Extreme::Integer(u64::MAX.into())), json!(u64::MAX));
    }
}
