//! Keys: what can be asked for, and how URLs write it.

use super::place::unsupported;
use crate::Error;
use object_store::path::Path;

/// The key that a bucket's URL writes literally. One slash at each end is taken off.
pub(super) fn literal(path: &str) -> Result<String, Error> {
    // Path takes one leading slash off; a bucket's URL that has one there has an empty part.
    if path.starts_with('/') {
        return Err(unsupported(EMPTY_PART));
    }
    let empty = path.trim_end_matches('/').split('/').any(str::is_empty) && !path.is_empty();
    if empty || path.ends_with("//") {
        return Err(unsupported(EMPTY_PART));
    }
    let parsed = Path::parse(path).map_err(|_| {
        unsupported(
            "the key of the URL has '.' or '..' as a part or a control character, which cannot be asked for",
        )
    })?;
    Ok(parsed.as_ref().to_owned())
}

/// The key that the path of a web URL writes.
pub(super) fn decoded(path: &str) -> Result<String, Error> {
    if path.to_ascii_lowercase().contains("%2f") {
        return Err(unsupported(
            "the path of the URL has an encoded slash (%2F), which cannot be told from a plain one",
        ));
    }
    let text = percent_decoded(path).ok_or_else(|| unsupported("the path of the URL is not Unicode"))?;
    literal(text.strip_prefix('/').unwrap_or(&text))
}

const EMPTY_PART: &str = "the key of the URL has an empty part ('//'), which cannot be asked for";

/// A text with each `%XX` as the byte that it is; a `%` with anything else after it stands for itself. `None` where the
/// outcome is not Unicode.
pub(super) fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        match (first, after) {
            (b'%', [high, low, after @ ..]) if hex(high).is_some() && hex(low).is_some() => {
                bytes.push(hex(high)? * 16 + hex(low)?);
                rest = after;
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_signs() {
        assert_eq!(percent_decoded("a%20b%2Bc+%C3%BC%zz%").as_deref(), Some("a b+c+\u{fc}%zz%"));
        assert_eq!(percent_decoded("%ff"), None);
    }
}
