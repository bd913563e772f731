//! The `json2` codec of numcodecs: a JSON array of the elements, with two more at its end, which name NumPy's type and the
//! chunk's shape.
//!
//! Elements of several axes are arrays in arrays. Only strings are read and written: of other elements an array could not say what they
//! are before it has seen them all.

use std::fmt;
use std::ops::Range;

use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};

use crate::error::Error;

const NAME: &str = "json2";

/// The bytes of `count` strings, and where each lies.
pub(crate) fn elements_of_json(source: &[u8], count: usize) -> Result<(Vec<u8>, Vec<Range<usize>>), Error> {
    // Each element takes two quotes and a comma.
    if source.len() / 3 < count {
        let found = source.len();
        return Err(Error::corrupt(NAME, format!("wanted {count} elements, found {found} bytes")));
    }
    let mut found = Found { content: Vec::new(), places: Vec::with_capacity(count), count, is_typed: false };
    found.content.reserve(source.len());
    let mut document = serde_json::Deserializer::from_slice(source);
    let read = Items(&mut found).deserialize(&mut document).and_then(|()| document.end());
    read.map_err(|error| match error.classify() {
        serde_json::error::Category::Data => {
            Error::unsupported(NAME, format!("wanted strings, found other elements: {error}"))
        }
        _ => Error::corrupt(NAME, format!("wanted strings, their type and shape: {error}")),
    })?;
    if found.places.len() == count && found.is_typed {
        return Ok((found.content, found.places));
    }
    let places = found.places.len();
    Err(Error::corrupt(NAME, format!("wanted {count} elements, their type and shape, found {places}")))
}

/// Strings in arrays of the chunk's `shape`, with NumPy's type for objects and the shape behind them. All characters are
/// ASCII, whichever encoding the codec was given: others are escaped, as numcodecs does.
pub(crate) fn elements_as_json(elements: &[&[u8]], shape: &[u64]) -> Result<Vec<u8>, Error> {
    let mut text = String::from("[");
    // Of each axis but the first, after how many elements its arrays end.
    let runs: Vec<u64> = (1..shape.len()).map(|axis| shape[axis..].iter().product()).collect();
    for (number, element) in (0u64..).zip(elements) {
        runs.iter().filter(|run| number.is_multiple_of(**run)).for_each(|_| text.push('['));
        let string = std::str::from_utf8(element)
            .map_err(|error| Error::invalid(NAME, format!("wanted UTF-8: {error}")))?;
        push_string(&mut text, string);
        let next = number + 1;
        runs.iter().filter(|run| next.is_multiple_of(**run)).for_each(|_| text.push(']'));
        text.push(',');
    }
    let extents: Vec<String> = shape.iter().map(u64::to_string).collect();
    text.push_str(&format!("\"|O\",[{}]]", extents.join(",")));
    Ok(text.into_bytes())
}

/// Adds a string in quotes.
fn push_string(text: &mut String, string: &str) {
    text.push('"');
    for character in string.chars() {
        match character {
            '"' | '\\' => text.extend(['\\', character]),
            ' '..='~' => text.push(character),
            other => {
                let mut units = [0; 2];
                for unit in other.encode_utf16(&mut units) {
                    text.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    text.push('"');
}

struct Found {
    content: Vec<u8>,
    places: Vec<Range<usize>>,
    count: usize,
    /// The type behind all elements was met.
    is_typed: bool,
}

struct Items<'a>(&'a mut Found);

impl<'de> DeserializeSeed<'de> for Items<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, document: D) -> Result<(), D::Error> {
        document.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Items<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("strings, or arrays of them")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<(), E> {
        let Found { content, places, count, is_typed } = self.0;
        if places.len() < *count {
            let start = content.len();
            content.extend_from_slice(text.as_bytes());
            places.push(start..content.len());
        } else if std::mem::replace(is_typed, true) {
            return Err(E::custom(format_args!("{count} of them, their type, and another string")));
        }
        Ok(())
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<(), E> {
        if self.0.is_typed {
            return Ok(());
        }
        Err(E::custom(format_args!("the number {number}")))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Items(found) = self;
        while items.next_element_seed(Items(found))?.is_some() {}
        Ok(())
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        Err(E::custom("null"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(source: &str, count: usize) -> Option<Vec<String>> {
        let (content, places) = elements_of_json(source.as_bytes(), count).ok()?;
        Some(places.into_iter().map(|place| String::from_utf8(content[place].to_vec()).unwrap()).collect())
    }

    #[test]
    fn strings_are_found() {
        let found = strings(r#"["foo","b\u00e4r","",  "|O",[3]]"#, 3).unwrap();
        assert_eq!(found, ["foo", "bär", ""]);
        assert_eq!(strings(r#"[["a","b"],["c","d"],"|O",[2,2]]"#, 4).unwrap(), ["a", "b", "c", "d"]);
        assert_eq!(strings(r#"["|O",[0]]"#, 0).unwrap(), [""; 0]);
    }

    #[test]
    fn strings_are_written_as_numcodecs_does() {
        let written = |elements: &[&str], shape: &[u64]| {
            let elements: Vec<&[u8]> = elements.iter().map(|element| element.as_bytes()).collect();
            String::from_utf8(elements_as_json(&elements, shape).unwrap()).unwrap()
        };
        assert_eq!(
            written(&["a", "b\u{e4}r\n\"", "\u{1f600}"], &[3]),
            r#"["a","b\u00e4r\u000a\"","\ud83d\ude00","|O",[3]]"#
        );
        assert_eq!(written(&["a", "b", "c", "d"], &[2, 2]), r#"[["a","b"],["c","d"],"|O",[2,2]]"#);
        assert_eq!(written(&["a", "b"], &[2, 1, 1]), r#"[[["a"]],[["b"]],"|O",[2,1,1]]"#);
        assert_eq!(written(&["a"], &[]), r#"["a","|O",[]]"#);
    }

    #[test]
    fn what_else_there_may_be_is_refused() {
        for source in [
            "",
            "[",
            r#"["a","b"]"#,
            r#"["a","|O",[1]]"#,
            r#"["a",1,"|O",[2]]"#,
            r#"["a",null,"|O",[2]]"#,
            r#"["a",{"b":"c"},"|O",[2]]"#,
            r#"["a","b","c","|O",[3]]"#,
            r#"["a","\ud800","|O",[2]]"#,
            r#"["a","b","|O",[2]] x"#,
        ] {
            assert_eq!(strings(source, 2), None, "{source}");
        }
        assert!(elements_of_json("[".repeat(9000).as_bytes(), 2).is_err());
    }
}
