//! Bytes to JSON values: strict, bounded, and tolerant only of what Zarr v2 writers are known to write.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::Error;

/// Parses one JSON document.
///
/// Duplicate keys, nesting deeper than 128 and numbers beyond a double are refused. Bare `NaN`, `Infinity` and
/// `-Infinity`, which Python's `json` writes into Zarr v2 documents, become the strings of the same spelling; that
/// pass runs only where the strict one failed. A UTF-8 byte order mark is skipped.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value, Error> {
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    match parse_strict(bytes) {
        Ok(value) => Ok(value),
        Err(first) => {
            let again = quote_non_finite(bytes, "").and_then(|quoted| parse_strict(&quoted).ok());
            again.ok_or_else(|| {
                Error::invalid(format!("wanted a JSON document, found: {first}")).with_source(first)
            })
        }
    }
}

/// Parses one JSON document which must be an object.
pub(crate) fn parse_object(bytes: &[u8]) -> Result<Map<String, Value>, Error> {
    object(parse(bytes)?)
}

/// As [`parse_object`], and the strings that bare numbers become begin with `mark`.
pub(crate) fn parse_object_marked(bytes: &[u8], mark: &str) -> Result<Map<String, Value>, Error> {
    let plain = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    object(parse(&quote_non_finite(plain, mark).unwrap_or_else(|| plain.to_vec()))?)
}

/// Whether a document is JSON as the standard has it, without bare numbers that it has not.
pub(crate) fn parse_is_strict(bytes: &[u8]) -> bool {
    parse_strict(bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes)).is_ok()
}

fn object(value: Value) -> Result<Map<String, Value>, Error> {
    match value {
        Value::Object(object) => Ok(object),
        other => Err(Error::invalid(format!("wanted a JSON object, found {}", brief(&other)))),
    }
}

/// UTF-8's.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The numbers that JSON has not, as Python spells them.
pub(crate) const NON_FINITE: [&str; 3] = ["NaN", "Infinity", "-Infinity"];

/// `value` as JSON on one line, cut so that a message stays readable.
pub(crate) fn brief(value: &Value) -> String {
    cut(&value.to_string())
}

/// The first 80 characters of `text`.
pub(crate) fn cut(text: &str) -> String {
    const CHARACTERS_MAX: usize = 80;
    match text.char_indices().nth(CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn parse_strict(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice::<UniqueKeys>(bytes).map(|document| document.0)
}

/// Replaces bare non-finite tokens that stand where a value stands by strings, of `mark` and the token; `None` when there
/// are none.
pub(crate) fn quote_non_finite(bytes: &[u8], mark: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len() + 16);
    let (mut position, mut replaced, mut previous) = (0, false, b'[');
    while let Some(&byte) = bytes.get(position) {
        let rest = &bytes[position..];
        let token = NON_FINITE.iter().find(|token| rest.starts_with(token.as_bytes()));
        if let Some(token) = token
            && matches!(previous, b':' | b'[' | b',')
            && ends_a_value(&rest[token.len()..])
        {
            out.push(b'"');
            out.extend_from_slice(mark.as_bytes());
            out.extend_from_slice(token.as_bytes());
            out.push(b'"');
            position += token.len();
            (previous, replaced) = (b'"', true);
            continue;
        }
        let length = if byte == b'"' { string_length(rest) } else { 1 };
        out.extend_from_slice(&rest[..length]);
        position += length;
        if !byte.is_ascii_whitespace() {
            previous = byte;
        }
    }
    replaced.then_some(out)
}

/// Whether what follows a value closes it: so a key is never taken for a value.
fn ends_a_value(rest: &[u8]) -> bool {
    matches!(rest.iter().find(|byte| !byte.is_ascii_whitespace()), None | Some(b',' | b']' | b'}'))
}

/// The length of the JSON string literal that `bytes` starts with, quotes included, or of all of an open one.
fn string_length(bytes: &[u8]) -> usize {
    let mut position = 1;
    while let Some(byte) = bytes.get(position) {
        match byte {
            b'"' => return position + 1,
            b'\\' => position += 2,
            _ => position += 1,
        }
    }
    bytes.len()
}

/// A [`Value`] whose objects have no key twice: two readers could each take another one for true.
struct UniqueKeys(Value);

impl<'de> Deserialize<'de> for UniqueKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor).map(UniqueKeys)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(UniqueKeys(value)) = sequence.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if object.contains_key(&key) {
                return Err(A::Error::custom(format!("the key {:?} twice in one object", cut(&key))));
            }
            let UniqueKeys(value) = entries.next_value()?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(bytes: &[u8]) -> String {
        parse(bytes).unwrap_err().to_string()
    }

    #[test]
    fn bare_non_finite_tokens_become_strings() {
        let document = br#"{"a": NaN, "b": [Infinity,-Infinity , "NaN, NaN \" Infinity"], "NaN": "x"}"#;
        let expected =
            json!({"a": "NaN", "b": ["Infinity", "-Infinity", "NaN, NaN \" Infinity"], "NaN": "x"});
        assert_eq!(parse(document).unwrap(), expected);
        assert_eq!(parse(b"NaN").unwrap(), json!("NaN"));
    }

    #[test]
    fn tokens_that_are_no_values_stay_errors() {
        for text in [
            "{NaN: 1}",
            "{\"a\": NaNa}",
            "[1 NaN]",
            "[-NaN]",
            "{\"a\":1, Infinity: 2}",
            "nan",
            "[NaN",
            "\"NaN",
        ] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn hostile_documents_are_refused() {
        assert!(message(br#"{"a": 1, "b": {"c": 1, "c": 2}}"#).contains("\"c\" twice"));
        assert!(message(&[b'['; 100_000]).contains("recursion limit"));
        assert!(message(b"{\"a\": 1e999}").contains("out of range"));
        assert!(message(b"\xff\xfe").contains("JSON"));
        assert!(message(b"").contains("EOF"));
        assert!(message(b"{} {}").contains("trailing"));
    }

    #[test]
    fn numbers_are_exact() {
        let value = parse(b"[18446744073709551615, -9223372036854775808, 0.1, 1e23]").unwrap();
        assert_eq!(value, json!([u64::MAX, i64::MIN, 0.1, 1e23]));
    }

    #[test]
    fn a_byte_order_mark_is_skipped_and_long_values_are_cut() {
        assert_eq!(parse(b"\xef\xbb\xbf{}").unwrap(), json!({}));
        assert_eq!(brief(&json!("é".repeat(200))).chars().count(), 81);
    }
}
