//! A plan as text.

use super::plan::{Hypercube, Plan, Variable};
use crate::quantity::{bytes, count, plural, shape};
use serde_json::Value;
use std::fmt;
use swath_ioengine::storage_len;

/// Bytes of a value.
const ELEMENT: u64 = 4;

/// The groups of a plan, their variables with dimensions, chunks and gaps, coordinates that are no dimensions, and sums: a line each.
impl fmt::Display for Plan {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut values, mut objects) = (0u64, 0u64);
        for group in &self.groups {
            if !group.path.is_empty() {
                writeln!(out, "{}:", group.path)?;
            }
            let indent = if group.path.is_empty() { "" } else { "  " };
            for variable in &group.variables {
                writeln!(out, "{indent}{}", line(group, variable))?;
                let product =
                    |lens: &[u64]| lens.iter().fold(1u64, |product, len| product.saturating_mul(*len));
                let extents = variable.shards.as_ref().unwrap_or(&variable.chunks);
                let lens = group.shape(variable);
                let grid: Vec<u64> =
                    lens.iter().zip(extents).map(|(len, extent)| len.div_ceil(*extent)).collect();
                values = values.saturating_add(product(&lens));
                objects = objects.saturating_add(product(&grid));
            }
            for coordinate in group.coordinates.iter().filter(|coordinate| coordinate.dimensions.is_empty()) {
                let value = coordinate.values.first().copied().unwrap_or(f64::NAN);
                writeln!(out, "{indent}{} = {value}", coordinate.name)?;
            }
        }
        let variables: usize = self.groups.iter().map(|group| group.variables.len()).sum();
        write!(
            out,
            "{}, {}, {}, {} before compression in up to {} objects",
            plural(storage_len(self.groups.len()), "group"),
            plural(storage_len(variables), "variable"),
            plural(storage_len(self.fields()), "field"),
            bytes(values.saturating_mul(ELEMENT)),
            count(objects)
        )
    }
}

/// A variable's name, dimensions, chunks and gaps.
fn line(group: &Hypercube, variable: &Variable) -> String {
    let (names, lens) = (group.dimension_names(variable), group.shape(variable));
    let dimensions: Vec<String> = names.iter().zip(lens).map(|(name, len)| format!("{name} {len}")).collect();
    let mut line =
        format!("{} ({}) float32, chunks {}", variable.name, dimensions.join(", "), shape(&variable.chunks));
    if let Some(shards) = &variable.shards {
        line += &format!(", shards {}", shape(shards));
    }
    for compressor in &variable.compressors {
        line += &format!(", codec {}", codec(compressor));
    }
    match variable.cells.iter().filter(|cell| cell.is_none()).count() {
        0 => line,
        gaps => line + &format!(", {}", plural(storage_len(gaps), "gap")),
    }
}

/// A compressor's name, and what blosc does.
fn codec(compressor: &Value) -> String {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let name = text(compressor, "name").unwrap_or_default();
    let inner =
        compressor.get("configuration").and_then(|of| Some((text(of, "cname")?, text(of, "shuffle")?)));
    inner.map_or_else(|| name.clone(), |(inner, shuffle)| format!("{name} ({inner}, {shuffle})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_of_nothing_is_a_line() {
        let text = Plan::default().to_string();
        assert_eq!(text, "0 groups, 0 variables, 0 fields, 0 B before compression in up to 0 objects");
    }
}
