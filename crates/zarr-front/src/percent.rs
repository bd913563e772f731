//! Percent signs in URLs.

use crate::Error;
use std::borrow::Cow;

/// The text with what is percent-encoded in it decoded.
///
/// Source: RFC 3986, section 2.1.
///
/// # Errors
///
/// `Invalid` where that is not UTF-8.
pub(crate) fn decoded(text: &str) -> Result<Cow<'_, str>, Error> {
    if !text.contains('%') {
        return Ok(Cow::Borrowed(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let found = match (first, after) {
            (b'%', [high, low, after @ ..]) => byte_of(*high, *low).map(|byte| (byte, after)),
            _ => None,
        };
        let (byte, after) = found.unwrap_or((*first, after));
        bytes.push(byte);
        rest = after;
    }
    let path = String::from_utf8(bytes).map_err(|_| Error::invalid("wanted a path in UTF-8"))?;
    Ok(Cow::Owned(path))
}

fn byte_of(high: u8, low: u8) -> Option<u8> {
    let digit = |digit: u8| char::from(digit).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}
