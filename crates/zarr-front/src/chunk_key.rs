//! The name of a chunk's object, from its place in the grid.

use std::fmt::{self, Write as _};

/// The character between the coordinates of a chunk key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Separator {
    /// `/`: a folder a dimension.
    Slash,
    /// `.`: one flat folder.
    Dot,
}

impl Separator {
    /// The character itself.
    #[must_use]
    pub fn as_char(self) -> char {
        match self {
            Self::Slash => '/',
            Self::Dot => '.',
        }
    }

    /// The separator that a metadata document spells as `text`, if it is one.
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        match text {
            "/" => Some(Self::Slash),
            "." => Some(Self::Dot),
            _ => None,
        }
    }
}

impl fmt::Display for Separator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char(self.as_char())
    }
}

/// How the coordinates of a chunk become the last part of its object's name.
///
/// Source: Zarr v3 core specification, "Chunk key encoding"; Zarr v2 specification, "Chunks".
///
/// ```
/// use swath_zarr_front::{ChunkKeyEncoding, Separator};
///
/// let mut key = String::from("t2m/");
/// ChunkKeyEncoding::Default { separator: Separator::Slash }.write_key(&[0, 12], &mut key);
/// assert_eq!(key, "t2m/c/0/12");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ChunkKeyEncoding {
    /// Zarr v3's `default`: `c`, then each coordinate after a separator; `c` alone for no dimensions.
    Default {
        /// Between `c` and the coordinates, and between the coordinates.
        separator: Separator,
    },
    /// Zarr v3's `v2`, and every Zarr v2 array: the coordinates, separated; `0` for no dimensions.
    V2 {
        /// Between the coordinates.
        separator: Separator,
    },
    /// The registered extension `suffix`: another encoding's keys with text behind them, such as `.tiff`.
    Suffix {
        /// The other encoding; `Default` or `V2`.
        base: Box<ChunkKeyEncoding>,
        /// The text; without a slash.
        suffix: String,
    },
}

impl ChunkKeyEncoding {
    /// Appends the key of the chunk at `coords` to `out`, which may already hold the array's path.
    ///
    /// `coords` are in chunks, not elements, one a dimension. Nothing is allocated when `out` has room.
    pub fn write_key(&self, coords: &[u64], out: &mut String) {
        match self {
            Self::Default { separator } => {
                out.push('c');
                for coord in coords {
                    out.push(separator.as_char());
                    push_decimal(*coord, out);
                }
            }
            Self::V2 { .. } if coords.is_empty() => out.push('0'),
            Self::V2 { separator } => {
                for (axis, coord) in coords.iter().enumerate() {
                    if axis != 0 {
                        out.push(separator.as_char());
                    }
                    push_decimal(*coord, out);
                }
            }
            Self::Suffix { base, suffix } => {
                base.write_key(coords, out);
                out.push_str(suffix);
            }
        }
    }

    /// The separator between coordinates.
    #[must_use]
    pub fn separator(&self) -> Separator {
        match self {
            Self::Default { separator } | Self::V2 { separator } => *separator,
            Self::Suffix { base, .. } => base.separator(),
        }
    }
}

/// Appends `value` in decimal, without the formatting machinery: keys are written once a chunk object.
fn push_decimal(mut value: u64, out: &mut String) {
    // A u64 has at most 20 decimal digits.
    let mut digits = [b'0'; 20];
    let mut first = digits.len();
    loop {
        first -= 1;
        // The remainder is below 10, so the sum is an ASCII digit.
        digits[first] = b'0' + u8::try_from(value % 10).unwrap_or(0);
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend(digits[first..].iter().map(|digit| char::from(*digit)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(encoding: &ChunkKeyEncoding, coords: &[u64]) -> String {
        let mut out = String::new();
        encoding.write_key(coords, &mut out);
        out
    }

    #[test]
    fn keys_follow_the_specification() {
        let slash = ChunkKeyEncoding::Default { separator: Separator::Slash };
        let dot = ChunkKeyEncoding::Default { separator: Separator::Dot };
        let v2 = ChunkKeyEncoding::V2 { separator: Separator::Dot };
        let v2_nested = ChunkKeyEncoding::V2 { separator: Separator::Slash };
        assert_eq!(key(&slash, &[]), "c");
        assert_eq!(key(&slash, &[0, 1]), "c/0/1");
        assert_eq!(key(&dot, &[10, 0, 99]), "c.10.0.99");
        assert_eq!(key(&v2, &[]), "0");
        assert_eq!(key(&v2, &[7]), "7");
        assert_eq!(key(&v2, &[0, 1]), "0.1");
        assert_eq!(key(&v2_nested, &[3, 20]), "3/20");
        let suffix = |base| ChunkKeyEncoding::Suffix { base: Box::new(base), suffix: ".tiff".to_owned() };
        assert_eq!(key(&suffix(v2), &[0, 1]), "0.1.tiff");
        assert_eq!((key(&suffix(slash), &[]).as_str(), suffix(dot).separator()), ("c.tiff", Separator::Dot));
    }

    proptest::proptest! {
        #[test]
        fn decimals_match_the_standard_library(value: u64) {
            let mut out = String::new();
            push_decimal(value, &mut out);
            proptest::prop_assert_eq!(out, value.to_string());
        }
    }
}
