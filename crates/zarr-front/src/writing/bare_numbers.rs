//! Numbers that JSON does not have, in documents of others: kept as they were written.

use super::documents::document_bytes;
use crate::Error;
use crate::metadata::json;
use serde_json::{Map, Value};

/// A document in which `NaN`, `Infinity` or `-Infinity` stand where values do, as Python's `json` writes them. Everywhere
/// else they are read as strings of the same spelling; here they are told from those.
pub(super) struct BareNumbers {
    /// The document as it is stored, with a string of `mark` and its spelling in place of each.
    marked: Map<String, Value>,
    mark: String,
}

impl BareNumbers {
    /// Finds those of a stored document, which is to be changed to `document`; `None` where there are none.
    pub(super) fn find(stored: &[u8], document: &Map<String, Value>) -> Option<BareNumbers> {
        if json::parse_is_strict(stored) {
            return None;
        }
        let new = document_bytes(document).ok()?;
        let is_free = |mark: &String| !contains(stored, mark) && !contains(&new, mark);
        let mark = (0..MARKS_MAX).map(|number| format!("swath-bare-{number}-")).find(is_free)?;
        Some(BareNumbers { marked: json::parse_object_marked(stored, &mark).ok()?, mark })
    }

    /// The changed document's bytes: numbers that were bare, and are still there with the same spelling, are bare again.
    pub(super) fn document_bytes(&self, document: &Map<String, Value>) -> Result<Vec<u8>, Error> {
        let mut marked = Value::Object(document.clone());
        self.mark_again(&mut marked, &Value::Object(self.marked.clone()));
        let Value::Object(marked) = marked else { return document_bytes(document) };
        let mut bytes = document_bytes(&marked)?;
        for spelling in json::NON_FINITE {
            let quoted = format!("\"{}{spelling}\"", self.mark);
            bytes = replaced(&bytes, quoted.as_bytes(), spelling.as_bytes());
        }
        Ok(bytes)
    }

    fn mark_again(&self, value: &mut Value, stored: &Value) {
        match (value, stored) {
            (Value::Object(values), Value::Object(stored)) => {
                for (key, value) in values {
                    if let Some(stored) = stored.get(key) {
                        self.mark_again(value, stored);
                    }
                }
            }
            (Value::Array(values), Value::Array(stored)) => {
                values.iter_mut().zip(stored).for_each(|(value, stored)| self.mark_again(value, stored));
            }
            (Value::String(value), Value::String(stored))
                if stored.strip_prefix(&self.mark) == Some(value) =>
            {
                value.clone_from(stored);
            }
            _ => {}
        }
    }
}

/// Marks that are tried until one is in neither document.
const MARKS_MAX: usize = 1000;

fn contains(bytes: &[u8], mark: &str) -> bool {
    bytes.windows(mark.len()).any(|window| window == mark.as_bytes())
}

/// `bytes` with every `from` replaced.
fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let (mut left, mut found) = (bytes, Vec::with_capacity(bytes.len()));
    while let Some(at) = left.windows(from.len()).position(|window| window == from) {
        found.extend_from_slice(&left[..at]);
        found.extend_from_slice(to);
        left = &left[at + from.len()..];
    }
    found.extend_from_slice(left);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rewritten(stored: &[u8], change: impl FnOnce(&mut Map<String, Value>)) -> String {
        let mut document = json::parse_object(stored).unwrap();
        change(&mut document);
        let bytes = BareNumbers::find(stored, &document).unwrap().document_bytes(&document).unwrap();
        String::from_utf8(bytes).unwrap().replace([' ', '\n'], "")
    }

    #[test]
    fn bare_numbers_stay_bare_and_strings_strings() {
        let stored =
            br#"{"a": NaN, "b": {"c": [1, -Infinity, "NaN"]}, "d": "swath-bare-0-NaN", "e": Infinity}"#;
        let found = rewritten(stored, |document| {
            document.insert("new".to_owned(), json!("NaN"));
            document.insert("e".to_owned(), json!(1.5));
        });
        let expected =
            r#"{"a":NaN,"b":{"c":[1,-Infinity,"NaN"]},"d":"swath-bare-0-NaN","e":1.5,"new":"NaN"}"#;
        let sorted = |text: &str| json::parse_object_marked(text.as_bytes(), "bare-").unwrap();
        assert_eq!(sorted(&found), sorted(expected), "{found}");
        // What is removed is gone, and what is moved is what it was read as.
        let found = rewritten(br#"{"a": NaN, "b": NaN}"#, |document| {
            let moved = document.remove("a").unwrap();
            document.insert("c".to_owned(), moved);
        });
        assert_eq!(sorted(&found), sorted(r#"{"b": NaN, "c": "NaN"}"#), "{found}");
    }

    #[test]
    fn documents_without_any_are_left_alone() {
        let stored = br#"{"a": "NaN"}"#;
        assert!(BareNumbers::find(stored, &json::parse_object(stored).unwrap()).is_none());
    }
}
