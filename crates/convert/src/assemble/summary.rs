//! A plan as text.

use super::plan::{Hypercube, Plan, Variable};
use std::fmt;

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
            plural(self.groups.len(), "group"),
            plural(variables, "variable"),
            plural(self.fields(), "field"),
            bytes(values.saturating_mul(ELEMENT)),
            grouped(objects)
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
    match variable.cells.iter().filter(|cell| cell.is_none()).count() {
        0 => line,
        gaps => line + &format!(", {}", plural(gaps, "gap")),
    }
}

/// A shape as Python writes it.
fn shape(extents: &[u64]) -> String {
    match extents {
        [only] => format!("({only},)"),
        _ => format!("({})", extents.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// `1 field`, `2 fields`.
fn plural(number: usize, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", grouped(swath_ioengine::storage_len(number)))
}

/// `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position != 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1.23 GB`: three digits, powers of 1000.
fn bytes(count: u64) -> String {
    let (mut value, mut unit) = (count as f64, "B");
    for next in ["kB", "MB", "GB", "TB", "PB", "EB"] {
        if value < 999.5 {
            break;
        }
        (value, unit) = (value / 1000.0, next);
    }
    match value {
        _ if unit == "B" => format!("{count} B"),
        _ if value < 9.995 => format!("{value:.2} {unit}"),
        _ if value < 99.95 => format!("{value:.1} {unit}"),
        _ => format!("{value:.0} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_people_read_them() {
        let cases =
            [(0, "0 B"), (999, "999 B"), (1000, "1.00 kB"), (999_499, "999 kB"), (999_500, "1.00 MB")];
        for (value, text) in cases {
            assert_eq!(bytes(value), text);
        }
        assert_eq!((bytes(12_340_000_000), bytes(u64::MAX)), ("12.3 GB".to_owned(), "18.4 EB".to_owned()));
        assert_eq!([grouped(0), grouped(999), grouped(1_234_567)], ["0", "999", "1,234,567"]);
        assert_eq!([shape(&[]), shape(&[4]), shape(&[4, 10])], ["()", "(4,)", "(4, 10)"]);
        assert_eq!([plural(1, "gap"), plural(2, "gap")], ["1 gap", "2 gaps"]);
    }

    #[test]
    fn a_plan_of_nothing_is_a_line() {
        let text = Plan::default().to_string();
        assert_eq!(text, "0 groups, 0 variables, 0 fields, 0 B before compression in up to 0 objects");
    }
}
