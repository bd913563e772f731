//! What a chunk is once it is decoded: its shape, its element, its byte order.

use crate::error::Error;
use crate::number::NumberType;

/// How one element is stored: its size, the unit whose bytes are swapped for a foreign byte order, and what it means.
///
/// Both in bytes. complex128 is size 16, unit 8; raw bytes, bool and int8 have unit 1. The unit is 1, 2, 4 or 8 and
/// divides the size. Most codecs need no more; those that calculate (`delta`, `cast_value`, `packbits`) need a kind, and
/// refuse an opaque one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Element {
    /// Bytes of one element, at least 1.
    pub size_bytes: usize,
    /// Bytes of the unit that has a byte order: 1 when the element has none.
    pub swap_unit_bytes: usize,
    /// What the bytes mean, where codecs may have to know.
    pub kind: ElementKind,
}

/// What the bytes of an element mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ElementKind {
    /// Nothing that a codec can calculate with: raw bytes, text, structures.
    Opaque,
    /// One number, which is all of the element.
    Number(NumberType),
    /// Two numbers, real and imaginary.
    Complex(NumberType),
    /// One byte, 1 where the element is there and 0 where it is missing, and the element behind it, all zeros where it is
    /// missing.
    Optional(OptionalKind),
}

/// What an element is that may be missing: see [`Element::optional`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OptionalKind {
    /// How many bytes tell what is missing: more than one where an element that may be missing may be missing itself.
    levels: u8,
    /// Of the element behind them all.
    swap_unit_bytes: u8,
    components: Option<(NumberType, u8)>,
}

impl Element {
    /// Bytes that mean nothing to codecs, with a byte order in units of `swap_unit_bytes`.
    #[must_use]
    pub const fn opaque(size_bytes: usize, swap_unit_bytes: usize) -> Self {
        Self { size_bytes, swap_unit_bytes, kind: ElementKind::Opaque }
    }

    /// One number.
    #[must_use]
    pub fn number(number: NumberType) -> Self {
        let size_bytes = number.size_bytes();
        Self { size_bytes, swap_unit_bytes: size_bytes, kind: ElementKind::Number(number) }
    }

    /// Two numbers of one type: real, imaginary.
    #[must_use]
    pub fn complex(number: NumberType) -> Self {
        let unit_bytes = number.size_bytes();
        Self { size_bytes: 2 * unit_bytes, swap_unit_bytes: unit_bytes, kind: ElementKind::Complex(number) }
    }

    /// An element that may be missing: a byte that tells, and `inner` behind it. Only the `optional` codec stores such.
    #[must_use]
    pub fn optional(inner: Element) -> Self {
        let kind = match inner.kind {
            ElementKind::Optional(kind) => OptionalKind { levels: kind.levels.saturating_add(1), ..kind },
            _ => OptionalKind {
                levels: 1,
                // Units are of 8 bytes at most; layouts with another are refused.
                swap_unit_bytes: u8::try_from(inner.swap_unit_bytes).unwrap_or(0),
                components: inner
                    .components()
                    .map(|(number, count)| (number, if count == 1 { 1 } else { 2 })),
            },
        };
        let size_bytes = inner.size_bytes.saturating_add(1);
        Self { size_bytes, swap_unit_bytes: 1, kind: ElementKind::Optional(kind) }
    }

    /// What lies behind the byte that tells whether the element is missing; `None` of one that cannot be.
    #[must_use]
    pub fn present(&self) -> Option<Element> {
        let ElementKind::Optional(kind) = self.kind else { return None };
        let size_bytes = self.size_bytes.checked_sub(1)?;
        Some(match (kind.levels, kind.components) {
            (2.., _) => {
                let kind = ElementKind::Optional(OptionalKind { levels: kind.levels - 1, ..kind });
                Self { size_bytes, swap_unit_bytes: 1, kind }
            }
            (_, Some((number, 1))) => Self::number(number),
            (_, Some((number, _))) => Self::complex(number),
            (_, None) => Self::opaque(size_bytes, kind.swap_unit_bytes.into()),
        })
    }

    /// The type of its numbers, and how many there are: `None` for opaque ones, and for those that may be missing.
    #[must_use]
    pub fn components(&self) -> Option<(NumberType, usize)> {
        match self.kind {
            ElementKind::Opaque | ElementKind::Optional(_) => None,
            ElementKind::Number(number) => Some((number, 1)),
            ElementKind::Complex(number) => Some((number, 2)),
        }
    }

    /// Whether it has bytes, in units of a size that has a byte order.
    fn has_whole_units(&self) -> bool {
        self.size_bytes != 0
            && matches!(self.swap_unit_bytes, 1 | 2 | 4 | 8)
            && self.size_bytes.is_multiple_of(self.swap_unit_bytes)
    }

    fn is_sound(&self) -> bool {
        self.has_whole_units() && self.is_consistent()
    }

    /// Whether the kind's bytes are the size and the unit that are stated.
    fn is_consistent(&self) -> bool {
        if let ElementKind::Optional(_) = self.kind {
            let present = self.present();
            let fits = |present: &Element| Some(present.size_bytes) == self.size_bytes.checked_sub(1);
            return self.swap_unit_bytes == 1
                && present.is_some_and(|present| fits(&present) && present.is_sound());
        }
        self.components().is_none_or(|(number, count)| {
            let unit_bytes = number.size_bytes();
            self.size_bytes == count * unit_bytes && self.swap_unit_bytes == unit_bytes
        })
    }
}

/// In which order the bytes of one unit are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

impl ByteOrder {
    /// The order of the machine that this was compiled for.
    pub const NATIVE: Self = if cfg!(target_endian = "big") { Self::Big } else { Self::Little };
}

/// What a chunk is once decoded: its C-order shape and its element.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ChunkLayout {
    /// Elements along each axis, slowest first; empty for a scalar chunk of one element.
    pub shape: Vec<u64>,
    /// One element of the chunk.
    pub element: Element,
}

impl ChunkLayout {
    /// Bytes of the decoded chunk: product of the shape times the element's size, zero when an axis is zero.
    ///
    /// # Errors
    ///
    /// `Invalid` when the element is not one that [`Element`] allows, or when the product passes `isize::MAX`, which
    /// no memory can hold.
    pub fn decoded_len(&self) -> Result<usize, Error> {
        self.checked().map(|(_, decoded_len)| decoded_len)
    }

    /// The shape as memory lengths, and the decoded bytes.
    pub(crate) fn checked(&self) -> Result<(Vec<usize>, usize), Error> {
        let Element { size_bytes, swap_unit_bytes, .. } = self.element;
        if !self.element.has_whole_units() {
            return Err(Error::invalid(
                "chain",
                format!(
                    "wanted an element of at least 1 byte in units of 1, 2, 4 or 8 bytes, found {size_bytes} bytes in \
                     units of {swap_unit_bytes}"
                ),
            ));
        }
        if !self.element.is_consistent() {
            let Element { kind, .. } = self.element;
            return Err(Error::invalid(
                "chain",
                format!(
                    "wanted the bytes of {kind:?}, found {size_bytes} bytes in units of {swap_unit_bytes}"
                ),
            ));
        }
        let too_large = || {
            Error::invalid(
                "chain",
                format!(
                    "wanted a chunk of at most {} bytes, found shape {:?} of {size_bytes}-byte elements",
                    isize::MAX,
                    self.shape
                ),
            )
        };
        let mut shape = Vec::with_capacity(self.shape.len());
        for &length in &self.shape {
            shape.push(usize::try_from(length).map_err(|_| too_large())?);
        }
        // An axis of zero makes the chunk empty, but the others must still have strides that fit.
        let bytes = shape.iter().try_fold(size_bytes, |bytes, &length| bytes.checked_mul(length.max(1)));
        match bytes {
            Some(bytes) if isize::try_from(bytes).is_ok() => {
                let decoded_len = if shape.contains(&0) { 0 } else { bytes };
                Ok((shape, decoded_len))
            }
            _ => Err(too_large()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn decoded_len(shape: &[u64], size_bytes: usize, swap_unit_bytes: usize) -> Result<usize, Error> {
        ChunkLayout { shape: shape.to_vec(), element: Element::opaque(size_bytes, swap_unit_bytes) }
            .decoded_len()
    }

    #[test]
    fn lengths_are_products() {
        assert_eq!(decoded_len(&[2, 3], 4, 4).unwrap(), 24);
        assert_eq!(decoded_len(&[], 16, 8).unwrap(), 16);
        assert_eq!(decoded_len(&[5, 0], 4, 4).unwrap(), 0);
    }

    #[test]
    fn what_no_memory_holds_is_invalid() {
        for shape in [&[u64::MAX][..], &[1 << 62, 2], &[1 << 40, 1 << 40], &[0, 1 << 63, 4]] {
            assert_eq!(decoded_len(shape, 4, 4).unwrap_err().kind(), ErrorKind::Invalid);
        }
    }

    #[test]
    fn elements_of_another_kind_than_their_bytes_are_invalid() {
        let mut element = Element::complex(NumberType::Float32);
        assert_eq!((element.size_bytes, element.swap_unit_bytes), (8, 4));
        assert_eq!(element.components(), Some((NumberType::Float32, 2)));
        let layout = |element| ChunkLayout { shape: vec![3], element };
        assert_eq!(layout(element).decoded_len().unwrap(), 24);
        element.swap_unit_bytes = 8;
        assert_eq!(layout(element).decoded_len().unwrap_err().kind(), ErrorKind::Invalid);
    }

    #[test]
    fn elements_that_may_be_missing_nest() {
        for inner in [
            Element::number(NumberType::Float32),
            Element::complex(NumberType::Float64),
            Element::opaque(6, 2),
            Element::optional(Element::optional(Element::number(NumberType::Int8))),
        ] {
            let element = Element::optional(inner);
            assert_eq!((element.size_bytes, element.present()), (inner.size_bytes + 1, Some(inner)));
            assert!(element.components().is_none() && inner.present().is_none_or(|present| present != inner));
            let layout = |element| ChunkLayout { shape: vec![3], element };
            assert_eq!(layout(element).decoded_len().unwrap(), 3 * element.size_bytes);
            let longer = Element { size_bytes: element.size_bytes + 1, ..element };
            assert!(layout(longer).decoded_len().is_err());
        }
    }

    #[test]
    fn odd_elements_are_invalid() {
        for (size, unit) in [(0, 1), (4, 0), (4, 3), (6, 4), (16, 16)] {
            assert_eq!(decoded_len(&[1], size, unit).unwrap_err().kind(), ErrorKind::Invalid);
        }
    }
}
