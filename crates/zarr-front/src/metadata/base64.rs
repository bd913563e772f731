//! Base64, for the fill values of bytes.

/// The bytes that `text` encodes in the standard alphabet, padding required, or `None` when it is malformed.
///
/// Source: RFC 4648, section 4. Bits that padding leaves over must be 0, so that a value has one spelling.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let bytes = text.as_bytes();
    if !bytes.len().is_multiple_of(4) {
        return None;
    }
    let padding = bytes.iter().rev().take(2).take_while(|byte| **byte == b'=').count();
    let digits = &bytes[..bytes.len() - padding];
    let mut out = Vec::with_capacity(bytes.len() / 4 * 3);
    for group in digits.chunks(4) {
        let mut bits = 0_u32;
        for digit in group {
            bits = bits << 6 | digit_value(*digit)?;
        }
        bits <<= 6 * (4 - group.len());
        let [_, decoded @ ..] = bits.to_be_bytes();
        let (kept, rest) = decoded.split_at(group.len() - 1);
        if rest.iter().any(|byte| *byte != 0) {
            return None;
        }
        out.extend_from_slice(kept);
    }
    Some(out)
}

/// `bytes` in the standard alphabet, with padding.
///
/// Source: RFC 4648, section 4.
pub(crate) fn encode(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits =
            group.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for digit in 0..4 {
            // Six bits are an index of the 64 digits.
            let place = usize::try_from(bits >> (18 - 6 * digit) & 63).unwrap_or(0);
            out.push(if group.len() < digit { '=' } else { char::from(DIGITS[place]) });
        }
    }
    out
}

fn digit_value(digit: u8) -> Option<u32> {
    let value = match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_of_rfc_4648_decode() {
        let vectors = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
        for (length, text) in vectors.iter().enumerate() {
            assert_eq!(decode(text).unwrap(), b"foobar"[..length]);
            assert_eq!(encode(&b"foobar"[..length]), *text);
        }
        assert_eq!(decode("+/+/").unwrap(), [0xfb, 0xff, 0xbf]);
        assert_eq!(encode(&[0xfb, 0xff, 0xbf]), "+/+/");
    }

    #[test]
    fn malformed_text_is_refused() {
        for text in ["Z", "Zg", "Zg=", "Zh==", "Z===", "====", "Zm9v!A==", "Zg==Zg==", "Zm 8", "é=="] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
