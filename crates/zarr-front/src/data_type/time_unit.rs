//! Units of dates and durations.

use std::fmt;
use std::num::NonZeroU32;

use serde_json::Value;

use crate::Error;
use crate::metadata::json;

/// What 1 stands for in a date or a duration: so many of a unit, such as 10 milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimeUnit {
    unit: &'static str,
    scale_factor: NonZeroU32,
}

/// NumPy's names of units, from the longest to the shortest.
const UNITS: [&str; 14] = ["generic", "Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"];

/// NumPy keeps the factor in a signed integer of 32 bits.
const SCALE_FACTOR_MAX: u32 = i32::MAX.unsigned_abs();

impl TimeUnit {
    /// So many of the unit that NumPy calls `unit` (`"ns"`, `"D"`; `"generic"` for none); `None` where there is no such,
    /// and for a factor of 0 or of more than 2^31 - 1.
    #[must_use]
    pub fn new(unit: &str, scale_factor: u32) -> Option<Self> {
        let unit = if unit == "μs" { "us" } else { unit };
        let unit = UNITS.into_iter().find(|known| *known == unit)?;
        let scale_factor = NonZeroU32::new(scale_factor).filter(|factor| factor.get() <= SCALE_FACTOR_MAX)?;
        Some(Self { unit, scale_factor })
    }

    /// NumPy's name of the unit: `"ns"`, `"D"`, `"generic"`.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        self.unit
    }

    /// How many of the unit 1 stands for.
    #[must_use]
    pub fn scale_factor(&self) -> u32 {
        self.scale_factor.get()
    }

    /// From the `configuration` of a Zarr v3 data type.
    pub(super) fn from_v3(configuration: Option<&Value>, found: &Value) -> Result<Self, Error> {
        let field = |name| configuration.and_then(|configuration| configuration.get(name));
        let unit = field("unit").and_then(Value::as_str);
        let factor = field("scale_factor").and_then(Value::as_u64);
        let factor = factor.and_then(|factor| u32::try_from(factor).ok());
        unit.zip(factor).and_then(|(unit, factor)| Self::new(unit, factor)).ok_or_else(|| {
            Error::invalid(format!(
                "wanted a data type with NumPy's `unit` and a `scale_factor` from 1 to 2^31 - 1, found {}",
                json::brief(found)
            ))
        })
    }

    /// From what NumPy writes behind `M8`: `[ns]`, `[25us]`, or nothing.
    pub(super) fn from_numpy(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Self::new("generic", 1);
        }
        let text = text.strip_prefix('[')?.strip_suffix(']')?;
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (factor, unit) = text.split_at(digits);
        if factor.is_empty() { Self::new(unit, 1) } else { Self::new(unit, factor.parse().ok()?) }
    }
}

/// As NumPy writes it behind the name of a type: `[ns]`, `[25us]`, nothing for generic units.
impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.unit, self.scale_factor.get()) {
            ("generic", 1) => Ok(()),
            (unit, 1) => write!(f, "[{unit}]"),
            (unit, factor) => write!(f, "[{factor}{unit}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numpy_names_lead_back() {
        for text in ["", "[ns]", "[25us]", "[D]", "[Y]", "[7as]"] {
            assert_eq!(TimeUnit::from_numpy(text).unwrap().to_string(), text);
        }
        assert_eq!(TimeUnit::from_numpy("[μs]").unwrap().to_string(), "[us]");
        for text in ["ns", "[ns", "[]", "[0ns]", "[2147483648ns]", "[q]", "[-1s]", "[1]"] {
            assert_eq!(TimeUnit::from_numpy(text), None, "{text}");
        }
    }
}
