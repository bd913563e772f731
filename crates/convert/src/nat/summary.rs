//! A plan as text.

use super::calibration::Quantity;
use super::conversion::Variable;
use super::conversion_plan::ConversionPlan;
use std::fmt;

/// A line for each variable: its dimensions with the lengths that the store will have, its type, its channels.
impl fmt::Display for ConversionPlan {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, variable) in self.variables().iter().enumerate() {
            if number != 0 {
                writeln!(out)?;
            }
            write!(out, "{}", self.line(variable))?;
        }
        Ok(())
    }
}

impl ConversionPlan {
    fn line(&self, variable: &Variable) -> String {
        let lens = self.shape(variable);
        let dimensions = variable.dimensions().into_iter().zip(lens);
        let dimensions: Vec<String> = dimensions.map(|(name, len)| format!("{name} {len}")).collect();
        let kind = if self.quantity == Quantity::Counts { "uint16" } else { "float32" };
        let channels: Vec<&str> = variable.channels.iter().map(|channel| channel.name()).collect();
        format!("{} ({}) {kind}: {}", variable.name, dimensions.join(", "), channels.join(" "))
    }
}
