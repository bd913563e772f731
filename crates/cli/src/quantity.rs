//! Numbers as people read them.

use std::time::Duration;
pub(crate) use swath::convert::quantity::{bytes, count, plural, shape};

/// Three significant digits, without an exponent from 0.001 up: `0.0123`, `1.23`, `123`, `12,345`.
pub(crate) fn significant(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        magnitude if !magnitude.is_finite() => value.to_string(),
        magnitude if magnitude < 0.001 => format!("{value:.2e}"),
        magnitude if magnitude < 0.0995 => format!("{value:.4}"),
        magnitude if magnitude < 0.9995 => format!("{value:.3}"),
        magnitude if magnitude < 9.995 => format!("{value:.2}"),
        magnitude if magnitude < 99.95 => format!("{value:.1}"),
        magnitude if magnitude < 1e15 => grouped(value),
        _ => format!("{value:.2e}"),
    }
}

/// Callers bound `value` well below 2^63.
#[expect(clippy::cast_possible_truncation, reason = "bounded by the caller")]
fn grouped(value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{}", count((value.round() as i64).unsigned_abs()))
}

/// `1.23 s`, `45.6 ms`, `78.9 µs`.
pub(crate) fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if seconds < 0.000_999_5 {
        format!("{} µs", significant(seconds * 1e6))
    } else if seconds < 0.9995 {
        format!("{} ms", significant(seconds * 1e3))
    } else {
        format!("{} s", significant(seconds))
    }
}

/// `text`, or as many of its characters as fit `characters_max` with an ellipsis.
pub(crate) fn abbreviated(text: &str, characters_max: usize) -> String {
    if text.chars().count() <= characters_max {
        return text.to_owned();
    }
    let kept: String = text.chars().take(characters_max.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_rounded() {
        assert_eq!([count(0), count(999), count(1000), count(1_234_567)], ["0", "999", "1,000", "1,234,567"]);
        let cases = [
            (0.0, "0"),
            (0.000_123, "1.23e-4"),
            (0.0123, "0.0123"),
            (0.999, "0.999"),
            (9.994, "9.99"),
            (12.34, "12.3"),
            (12_345.6, "12,346"),
            (-0.5, "-0.500"),
            (-1234.0, "-1,234"),
        ];
        for (value, text) in cases {
            assert_eq!(significant(value), text);
        }
    }

    #[test]
    fn durations_take_a_fitting_unit() {
        assert_eq!(duration(Duration::from_nanos(1500)), "1.50 µs");
        assert_eq!(duration(Duration::from_micros(1500)), "1.50 ms");
        assert_eq!(duration(Duration::from_millis(61_500)), "61.5 s");
    }

    #[test]
    fn shapes_and_words() {
        assert_eq!([shape(&[]), shape(&[4]), shape(&[4, 10])], ["()", "(4,)", "(4, 10)"]);
        assert_eq!([plural(1, "array"), plural(2, "array")], ["1 array", "2 arrays"]);
        assert_eq!([abbreviated("abc", 3), abbreviated("ab cd", 4)], ["abc", "ab…"]);
    }
}
