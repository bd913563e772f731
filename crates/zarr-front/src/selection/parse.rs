//! Selections from NumPy's notation, as the command line takes them.

use std::num::NonZeroI64;
use std::str::FromStr;

use super::{AxisSelection, ONE, Selection};
use crate::Error;
use crate::metadata::json;

/// The longest text that is read: a selection of NumPy's most dimensions, each with three numbers, fits many times.
const TEXT_BYTES_MAX: usize = 1 << 16;

/// Parses what stands between the brackets of a NumPy expression, or the brackets too: `0:4, :, -10:, ::2, 3, ...`.
/// Lists have no text.
///
/// Nothing at all selects everything. One comma may follow the last entry.
impl FromStr for Selection {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if TEXT_BYTES_MAX < text.len() {
            let length = text.len();
            return Err(Error::invalid(format!(
                "wanted a selection of at most {TEXT_BYTES_MAX} bytes, found {length}"
            )));
        }
        let trimmed = text.trim();
        let inner =
            trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(trimmed).trim();
        if inner.is_empty() {
            return Ok(Self::all());
        }
        let entries = inner.strip_suffix(',').unwrap_or(inner);
        entries
            .split(',')
            .map(|entry| parse_axis(entry.trim()))
            .collect::<Result<Vec<_>, Error>>()
            .map(Self::new)
    }
}

fn parse_axis(entry: &str) -> Result<AxisSelection, Error> {
    if entry == "..." {
        return Ok(AxisSelection::Ellipsis);
    }
    let broken = || {
        let found = json::cut(entry);
        Error::invalid(format!("wanted an index, `start:stop:step` or `...` in a selection, found {found:?}"))
    };
    let number = |text: &str| match text.trim() {
        "" => Ok(None),
        text => text.parse::<i64>().map(Some).map_err(|error| broken().with_source(error)),
    };
    let parts: Vec<&str> = entry.splitn(4, ':').collect();
    let (start, stop, step) = match parts.as_slice() {
        [index] => return number(index)?.map(AxisSelection::Index).ok_or_else(broken),
        [start, stop] => (number(start)?, number(stop)?, None),
        [start, stop, step] => (number(start)?, number(stop)?, number(step)?),
        _ => return Err(broken()),
    };
    let step = match step {
        None => ONE,
        Some(step) => NonZeroI64::new(step).ok_or_else(|| {
            let found = json::cut(entry);
            Error::invalid(format!("wanted a slice step other than 0, found {found:?}"))
        })?,
    };
    Ok(AxisSelection::Slice { start, stop, step })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ErrorKind;

    #[test]
    fn every_form_is_read() {
        let selection: Selection = " [ 0:4, :, -10:, ::2, 3, ..., 5 : 1 : -2, ] ".parse().unwrap();
        assert_eq!(selection.to_string(), "0:4, :, -10:, ::2, 3, ..., 5:1:-2");
        for text in ["", " ", "[]", "[ ]"] {
            assert_eq!(text.parse::<Selection>().unwrap(), Selection::all());
        }
        assert_eq!("9223372036854775807".parse::<Selection>().unwrap(), Selection::from(i64::MAX));
    }

    #[test]
    fn other_text_is_invalid_and_named() {
        let texts = [
            ",",
            "1,,2",
            "a",
            "1:2:3:4",
            "::0",
            "....",
            "1.5",
            "1 2",
            "0x1",
            "[1",
            "--1",
            "99999999999999999999",
            "é:",
            "1,2,,",
        ];
        for text in texts {
            let error = text.parse::<Selection>().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{text}");
        }
        assert!("0:4, x".parse::<Selection>().unwrap_err().message().contains("\"x\""));
        assert!(":".repeat(1 << 17).parse::<Selection>().is_err());
    }

    proptest! {
        #[test]
        fn any_text_gives_an_answer_and_what_is_read_prints_back(text in "[0-9:,. \\-\\[\\]]{0,24}") {
            if let Ok(selection) = text.parse::<Selection>() {
                prop_assert_eq!(selection.to_string().parse::<Selection>().unwrap(), selection);
            }
        }
    }
}
