//! Values of options, from the text that Python, environment and files give. Errors name the option, never its value:
//! what stands in a wrong place may be a secret.

use crate::{Error, ErrorKind};
use std::time::Duration;

/// The longest time that an option may be: a year.
pub(crate) const DURATION_MAX: Duration = Duration::from_secs(365 * 86_400);

/// `true`, `1`, `yes`, `on` and their opposites, in any case.
///
/// # Errors
///
/// [`Unsupported`](ErrorKind::Unsupported) for anything else.
pub(crate) fn truth(name: &str, value: &str) -> Result<bool, Error> {
    match value.trim().to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" | "y" | "t" => Ok(true),
        "false" | "0" | "no" | "off" | "n" | "f" | "none" | "" => Ok(false),
        _ => Err(wrong(name, "true or false")),
    }
}

/// A whole number from 0.
///
/// # Errors
///
/// [`Unsupported`](ErrorKind::Unsupported) for anything else.
pub(crate) fn number(name: &str, value: &str) -> Result<u64, Error> {
    value.trim().replace('_', "").parse().map_err(|_| wrong(name, "a whole number"))
}

/// A time: seconds as `30` or `0.5`, or with a unit: `500ms`, `30s`, `2m`, `1h`, and sums of them (`1m 30s`), as obstore
/// and object_store take them. Python's `timedelta` as text (`0:01:30`, `1 day, 0:00:00`) is understood too.
///
/// # Errors
///
/// [`Unsupported`](ErrorKind::Unsupported) for anything else, for negative times and for more than [`DURATION_MAX`].
pub(crate) fn duration(name: &str, value: &str) -> Result<Duration, Error> {
    let text = value.trim().to_ascii_lowercase();
    let seconds = text.parse().ok().or_else(|| clock(&text)).or_else(|| sum(&text));
    match seconds {
        Some(seconds) if (0.0..=DURATION_MAX.as_secs_f64()).contains(&seconds) => {
            Ok(Duration::from_secs_f64(seconds))
        }
        _ => Err(wrong(name, "a time such as 30, 0.5, 500ms or 2m")),
    }
}

/// `[D day[s], ]H:MM:SS[.ffffff]`.
fn clock(text: &str) -> Option<f64> {
    let (days, rest) = match text.split_once("day") {
        Some((days, rest)) => {
            (days.trim().parse::<f64>().ok()?, rest.trim_start_matches('s').trim_start_matches(','))
        }
        None => (0.0, text),
    };
    let parts: Option<Vec<f64>> = rest.trim().split(':').map(|part| part.parse().ok()).collect();
    match parts?.as_slice() {
        [hours, minutes, seconds] => Some(((days * 24.0 + hours) * 60.0 + minutes) * 60.0 + seconds),
        _ => None,
    }
}

/// Numbers each followed by a unit.
fn sum(text: &str) -> Option<f64> {
    let mut rest = text.trim();
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (count, after) = rest.split_at(digits);
        let after = after.trim_start();
        let letters = after.find(|c: char| !c.is_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        seconds += count.parse::<f64>().ok()? * unit_seconds(unit)?;
        rest = after.trim_start();
    }
    (!text.is_empty()).then_some(seconds)
}

fn unit_seconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" | "nsec" => 1e-9,
        "us" | "usec" | "µs" => 1e-6,
        "ms" | "msec" | "millis" => 1e-3,
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hr" | "hour" | "hours" => 3600.0,
        "d" | "day" | "days" => 86400.0,
        _ => return None,
    })
}

fn wrong(name: &str, wanted: &str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("the option {name:?} should be {wanted}, and is not"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let cases = [
            ("30", 30_000),
            ("0.5", 500),
            ("500ms", 500),
            ("30s", 30_000),
            ("1m 30s", 90_000),
            ("2h", 7_200_000),
            ("0:01:30", 90_000),
            ("1 day, 0:00:00.5", 86_400_500),
        ];
        for (text, millis) in cases {
            assert_eq!(duration("timeout", text).unwrap(), Duration::from_millis(millis), "{text}");
        }
        for text in ["", "abc", "-1", "nan", "inf", "5 parsecs", "1:2", "1e300", "s"] {
            assert!(duration("timeout", text).is_err(), "{text}");
        }
    }

    #[test]
    fn truths_and_numbers() {
        assert!(truth("anon", "True").unwrap() && truth("anon", "1").unwrap());
        assert!(!truth("anon", "FALSE").unwrap() && !truth("anon", "no").unwrap());
        assert_eq!(number("max_retries", "1_000").unwrap(), 1000);
        let error = truth("anon", "S3CRET").unwrap_err();
        assert!(error.message().contains("anon") && !error.message().contains("S3CRET"));
        assert!(number("max_retries", "-1").is_err());
    }
}
