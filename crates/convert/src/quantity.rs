//! Numbers as people read them: how plans and the command line print them.

/// `1.23 GB`: three digits, powers of 1000.
#[must_use]
pub fn bytes(count: u64) -> String {
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

/// `1,234,567`.
#[must_use]
pub fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position != 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A shape as Python writes it: `()`, `(4,)`, `(4, 10)`.
#[must_use]
pub fn shape(extents: &[u64]) -> String {
    match extents {
        [only] => format!("({only},)"),
        _ => format!("({})", extents.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// `1 array`, `2 arrays`.
#[must_use]
pub fn plural(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(number), if number == 1 { "" } else { "s" })
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
        assert_eq!(bytes(12_340_000_000), "12.3 GB");
        assert_eq!([bytes(100_000_000_000_000), bytes(u64::MAX)], ["100 TB", "18.4 EB"]);
        assert_eq!([count(0), count(999), count(1000), count(1_234_567)], ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([shape(&[]), shape(&[4]), shape(&[4, 10])], ["()", "(4,)", "(4, 10)"]);
        assert_eq!([plural(1, "gap"), plural(2, "gap")], ["1 gap", "2 gaps"]);
    }
}
