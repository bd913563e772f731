//! One JSON object of numbers and strings: all that a stored calibration needs, so that every reader of files can use one
//! without a JSON library.
//!
//! What is written is JSON. What is read is the part of JSON that is written: nothing nested, no escapes, no `true`,
//! `false` or `null`. Anything else is refused.

use std::fmt::Write;

/// The value of a field.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// A finite number.
    Number(f64),
    /// Text without quotation marks, backslashes and control characters.
    Text(String),
}

/// Fields in their order.
pub(super) type Fields = Vec<(String, Value)>;

/// More fields than any version of the format has.
const FIELDS_MAX: usize = 64;

/// Writes an object, a field a line. Characters that would need an escape become spaces.
pub(super) fn write(fields: &[(&str, Value)]) -> String {
    let mut text = "{".to_owned();
    for (index, (name, value)) in fields.iter().enumerate() {
        text.push_str(if index == 0 { "\n" } else { ",\n" });
        // Writing to a string does not fail.
        let _ = match value {
            Value::Number(number) if number.is_finite() => write!(text, "  \"{name}\": {number}"),
            Value::Number(_) => write!(text, "  \"{name}\": \"not a number\""),
            Value::Text(words) => write!(text, "  \"{name}\": \"{}\"", plain(words)),
        };
    }
    text.push_str("\n}\n");
    text
}

fn plain(words: &str) -> String {
    let plain = |c: char| if c == '"' || c == '\\' || c.is_control() { ' ' } else { c };
    words.chars().map(plain).collect()
}

/// Reads an object; `None` for anything else.
pub(super) fn read(text: &str) -> Option<Fields> {
    let mut rest = text.trim().strip_prefix('{')?.strip_suffix('}')?.trim_start();
    let mut fields = Fields::new();
    while fields.len() < FIELDS_MAX {
        let (name, after) = quoted(rest)?;
        let (value, after) = value(after.trim_start().strip_prefix(':')?.trim_start())?;
        fields.push((name.to_owned(), value));
        rest = after.trim_start();
        if rest.is_empty() {
            return Some(fields);
        }
        rest = rest.strip_prefix(',')?.trim_start();
    }
    None
}

fn value(text: &str) -> Option<(Value, &str)> {
    if text.starts_with('"') {
        let (words, rest) = quoted(text)?;
        return Some((Value::Text(words.to_owned()), rest));
    }
    let end = text.find(|c: char| c == ',' || c.is_whitespace()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    // Rust's numbers include `inf` and `NaN`, JSON's do not.
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    let number: f64 = digits.parse().ok().filter(|number: &f64| is_number && number.is_finite())?;
    Some((Value::Number(number), rest))
}

fn quoted(text: &str) -> Option<(&str, &str)> {
    let (words, rest) = text.strip_prefix('"')?.split_once('"')?;
    (!words.contains(|c: char| c == '\\' || c.is_control())).then_some((words, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn calibration_text_goes_round() {
        let fields = [("a", Value::Number(0.1)), ("b", Value::Text("x, y: {z}".to_owned()))];
        let text = write(&fields);
        let found = read(&text).unwrap();
        assert!(found.iter().map(|(name, value)| (name.as_str(), value.clone())).eq(fields));
        assert_eq!(read(&write(&[("a", Value::Text("\"\\\n".to_owned()))])).unwrap()[0].1, text_of("   "));
        assert_eq!(read(&write(&[("a", Value::Number(f64::NAN))])).unwrap()[0].1, text_of("not a number"));
    }

    fn text_of(words: &str) -> Value {
        Value::Text(words.to_owned())
    }

    #[test]
    fn calibration_text_of_another_kind_is_refused() {
        for text in [
            "",
            "{",
            "}",
            "{}",
            "[]",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{\"a\":1 2}",
            "{\"a\":{}}",
            "{\"a\":inf}",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn calibration_text_of_any_kind_is_read_or_refused(text in "[{}\",:0-9eE.+\\-a\\\\ \n]{0,60}") {
            let _ = read(&text);
        }
    }
}
