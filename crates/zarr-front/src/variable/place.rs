//! Where an element of any length lies while it is on its way.

use std::ops::Range;

use crate::data_type::{PLACE_BYTES, VariableType};
use crate::{Error, ErrorKind};

/// Where an element's bytes are, or that it is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the bytes of a chunk, which has a number.
    At { chunk: u32, bytes: Range<usize> },
    /// Nowhere: of the times that the element may be missing it is there so many, from the outside in.
    Missing { present: u8 },
}

/// The number that stands for no chunk: what is missing has no bytes.
const NO_CHUNK: u32 = u32::MAX;

impl Place {
    /// The place in the form that is stitched; `None` of a place that it has no room for: lengths have 32 bits where they are
    /// stored.
    pub(crate) fn to_bytes(&self) -> Option<[u8; PLACE_BYTES]> {
        let (chunk, length, start) = match self {
            Place::At { chunk: NO_CHUNK, .. } => return None,
            Place::At { chunk, bytes } => {
                (*chunk, u32::try_from(bytes.len()).ok()?, u64::try_from(bytes.start).ok()?)
            }
            Place::Missing { present } => (NO_CHUNK, 0, u64::from(*present)),
        };
        let mut found = [0; PLACE_BYTES];
        found[..4].copy_from_slice(&chunk.to_ne_bytes());
        found[4..8].copy_from_slice(&length.to_ne_bytes());
        found[8..].copy_from_slice(&start.to_ne_bytes());
        Some(found)
    }

    /// The place of that form; `None` of one that memory cannot have.
    pub(crate) fn from_bytes(bytes: &[u8; PLACE_BYTES]) -> Option<Place> {
        let (numbers, start) = (bytes.first_chunk::<8>()?, bytes.last_chunk::<8>()?);
        let [chunk, length] = [numbers.first_chunk::<4>()?, numbers.last_chunk::<4>()?]
            .map(|number| u32::from_ne_bytes(*number));
        let start = usize::try_from(u64::from_ne_bytes(*start)).ok()?;
        if chunk == NO_CHUNK {
            return Some(Place::Missing { present: u8::try_from(start).ok()? });
        }
        let end = start.checked_add(usize::try_from(length).ok()?)?;
        Some(Place::At { chunk, bytes: start..end })
    }
}

/// The place of a fill value of these bytes, which are those of chunk 0: a byte for each time that it may be missing, and
/// the element behind them where none of them says that it is.
pub(crate) fn fill_place(fill: &[u8], variable: VariableType) -> Result<[u8; PLACE_BYTES], Error> {
    let times = usize::from(variable.times);
    let place = match (0..variable.times).zip(fill).find(|(_, byte)| **byte == 0) {
        Some((present, _)) => Place::Missing { present },
        None => Place::At { chunk: 0, bytes: times.min(fill.len())..fill.len() },
    };
    place.to_bytes().ok_or_else(|| Error::new(ErrorKind::Internal, "a fill value has no place"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use swath_codecs::VariableElements;

    #[test]
    fn places_lead_back_to_themselves() {
        for place in [
            Place::At { chunk: 0, bytes: 0..0 },
            Place::At { chunk: 7, bytes: 3..4_000_000_000 },
            Place::Missing { present: 0 },
            Place::Missing { present: 255 },
        ] {
            assert_eq!(Place::from_bytes(&place.to_bytes().unwrap()), Some(place));
        }
        assert!(Place::At { chunk: u32::MAX, bytes: 0..1 }.to_bytes().is_none());
        assert!(Place::At { chunk: 1, bytes: 0..5_000_000_000 }.to_bytes().is_none());
    }

    #[test]
    fn fill_values_have_places() {
        let place = |fill: &[u8], times| {
            let variable = VariableType { elements: VariableElements::Strings, times };
            Place::from_bytes(&fill_place(fill, variable).unwrap()).unwrap()
        };
        assert_eq!(place(b"abc", 0), Place::At { chunk: 0, bytes: 0..3 });
        assert_eq!(place(b"\x01\x01abc", 2), Place::At { chunk: 0, bytes: 2..5 });
        assert_eq!(place(b"\x01\x00", 2), Place::Missing { present: 1 });
        assert_eq!(place(b"\x00", 2), Place::Missing { present: 0 });
    }
}
