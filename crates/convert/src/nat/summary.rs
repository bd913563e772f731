//! A plan as text.

use super::calibration::Quantity;
use super::conversion::Variable;
use super::conversion_plan::ConversionPlan;
use super::pixel_layout::Cut;
use crate::quantity::{bytes, count, plural, shape};
use std::fmt;
use swath_ioengine::storage_len;

/// A line for each variable: its dimensions with the lengths that the store will have, its type, chunks, shards and channels; and sums.
impl fmt::Display for ConversionPlan {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let variables = self.variables();
        let (mut elements, mut objects) = (0u64, 0u64);
        for variable in &variables {
            writeln!(out, "{}", self.line(variable))?;
            let lens = self.shape(variable);
            elements = elements.saturating_add(product(lens.iter().copied()));
            if let Ok(cut) = self.cut(variable) {
                let grid = lens.iter().zip(cut.objects()).map(|(len, extent)| len.div_ceil(*extent));
                objects = objects.saturating_add(product(grid));
            }
        }
        let size = storage_len(self.quantity.element_bytes());
        write!(
            out,
            "{}, {}, {} before compression in up to {} objects",
            plural(storage_len(self.files.len()), "image"),
            plural(storage_len(variables.len()), "variable"),
            bytes(elements.saturating_mul(size)),
            count(objects)
        )
    }
}

fn product(lens: impl Iterator<Item = u64>) -> u64 {
    lens.fold(1, u64::saturating_mul)
}

impl ConversionPlan {
    fn line(&self, variable: &Variable) -> String {
        let lens = self.shape(variable);
        let dimensions = variable.dimensions().into_iter().zip(lens);
        let dimensions: Vec<String> = dimensions.map(|(name, len)| format!("{name} {len}")).collect();
        let kind = if self.quantity == Quantity::Counts { "uint16" } else { "float32" };
        let channels: Vec<&str> = variable.channels.iter().map(|channel| channel.name()).collect();
        let cut = match self.cut(variable) {
            Ok(Cut { chunks, shards: None }) => format!("chunks {}", shape(&chunks)),
            Ok(Cut { chunks, shards: Some(shards) }) => {
                format!("chunks {}, shards {}", shape(&chunks), shape(&shards))
            }
            Err(error) => error.to_string(),
        };
        format!("{} ({}) {kind}, {cut}: {}", variable.name, dimensions.join(", "), channels.join(" "))
    }
}
