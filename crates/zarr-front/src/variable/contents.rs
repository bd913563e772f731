//! What of decoded chunks is kept until a read's elements are gathered.

use std::sync::{Mutex, MutexGuard, PoisonError};

use swath_codecs::{Scratch, Tile, VariableChain, VariableChunk};

use super::{Place, VariableArrayData, lost};
use crate::data_type::{PLACE_BYTES, VariableType};
use crate::{DataType, Error};

/// The bytes of the decoded chunks of one read, which places point into.
pub(crate) struct Contents {
    /// The fill value first.
    chunks: Mutex<Vec<Vec<u8>>>,
}

impl Contents {
    /// Of an array with this fill value; no chunk yet.
    pub(crate) fn new(fill: &[u8]) -> Contents {
        Contents { chunks: Mutex::new(vec![fill.to_vec()]) }
    }

    fn chunks(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.chunks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn take(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.chunks())
    }

    /// Keeps the bytes of a chunk, and returns its number.
    fn keep(&self, content: Vec<u8>) -> Result<u32, Error> {
        let mut chunks = self.chunks();
        let number = u32::try_from(chunks.len());
        let number =
            number.map_err(|_| Error::unsupported("a read of more than 2^32 chunks: read it in parts"))?;
        chunks.push(content);
        Ok(number)
    }

    /// Decodes a chunk, keeps the elements that are wanted of it, and puts their places where they are: into `first` and
    /// `others`.
    pub(crate) fn place<'t>(
        &self,
        chain: &VariableChain,
        stored: &[u8],
        scratch: &mut Scratch,
        first: Tile<'t>,
        others: impl Iterator<Item = Result<Tile<'t>, Error>>,
    ) -> Result<(), Error> {
        let chunk = chain.decode(stored, scratch)?;
        let strides: Vec<usize> =
            chain.strides().iter().map(|stride| stride.saturating_mul(PLACE_BYTES)).collect();
        self.place_tile((chain, &chunk), &strides, first)?;
        for tile in others {
            self.place_tile((chain, &chunk), &strides, tile?)?;
        }
        Ok(())
    }

    /// Keeps the elements of a tile, one behind the other, and puts their places into it. Places in the chunk would be
    /// `strides` apart.
    fn place_tile(
        &self,
        (chain, chunk): (&VariableChain, &VariableChunk),
        strides: &[usize],
        tile: Tile<'_>,
    ) -> Result<(), Error> {
        let number = self.keep(Vec::new())?;
        let (mut content, len) = (Vec::new(), chunk.places.len().saturating_mul(PLACE_BYTES));
        tile.fill_rows(strides, (0, len), |at: usize, stride: usize, rows: &mut [&mut [u8]]| {
            for (row, places) in rows.iter_mut().enumerate() {
                let first = at.saturating_add(row.saturating_mul(stride)) / PLACE_BYTES;
                for (element, place) in (first..).zip(places.as_chunks_mut::<PLACE_BYTES>().0) {
                    let found = match chain.missing(chunk, element) {
                        Some(present) => Place::Missing { present },
                        None => {
                            let source = chunk.places.get(element).cloned();
                            let bytes =
                                source.and_then(|source| chunk.content.get(source)).ok_or_else(lost)?;
                            let start = content.len();
                            reserve(&mut content, bytes.len())?;
                            content.extend_from_slice(bytes);
                            Place::At { chunk: number, bytes: start..content.len() }
                        }
                    };
                    *place = found.to_bytes().ok_or_else(lost)?;
                }
            }
            Ok::<(), Error>(())
        })?;
        let mut chunks = self.chunks();
        let kept = usize::try_from(number).ok().and_then(|number| chunks.get_mut(number));
        *kept.ok_or_else(lost)? = content;
        Ok(())
    }
}

/// Elements one behind the other.
pub(super) struct Gathered {
    /// Where each starts; one more at the end.
    offsets: Vec<usize>,
    bytes: Vec<u8>,
    presence: Vec<u8>,
}

impl Gathered {
    pub(super) fn into_data(self, data_type: DataType, shape: Vec<u64>) -> VariableArrayData {
        let Gathered { offsets, bytes, presence } = self;
        VariableArrayData { data_type, shape, offsets, bytes, presence }
    }
}

/// The elements that lie at `places`, one behind the other.
pub(super) fn gathered(
    places: &[[u8; PLACE_BYTES]],
    chunks: &[Vec<u8>],
    variable: VariableType,
) -> Result<Gathered, Error> {
    let element = |place: &[u8; PLACE_BYTES]| match Place::from_bytes(place)? {
        Place::Missing { present } => Some((present, &[][..])),
        Place::At { chunk, bytes } => {
            Some((variable.times, chunks.get(usize::try_from(chunk).ok()?)?.get(bytes)?))
        }
    };
    // One element may be wanted many times, and so may the fill value: together they may be more than memory holds.
    let lengths = places.iter().map(|place| element(place).map_or(0, |(_, bytes)| bytes.len()));
    let total = lengths.fold(0usize, usize::saturating_add);
    let mut found = Gathered { offsets: Vec::new(), bytes: Vec::new(), presence: Vec::new() };
    reserve(&mut found.offsets, places.len().saturating_add(1))?;
    reserve(&mut found.bytes, total)?;
    if variable.times != 0 {
        reserve(&mut found.presence, places.len())?;
    }
    found.offsets.push(0);
    for place in places {
        let (present, bytes) = element(place).ok_or_else(lost)?;
        found.bytes.extend_from_slice(bytes);
        found.offsets.push(found.bytes.len());
        if variable.times != 0 {
            found.presence.push(present);
        }
    }
    Ok(found)
}

/// Makes room for so many more; an error where the system has none.
fn reserve<T>(room: &mut Vec<T>, count: usize) -> Result<(), Error> {
    room.try_reserve(count).map_err(|_| {
        let bytes = count.saturating_mul(size_of::<T>());
        Error::unsupported(format!(
            "the system gave no memory for {bytes} bytes of elements: read them in parts"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use swath_codecs::{Codec, CutAxis, Output, VariableElements};

    #[test]
    fn memory_that_there_is_not_is_an_error() {
        let error = reserve(&mut vec![0u32], usize::MAX / 8).unwrap_err();
        assert!(error.kind() == ErrorKind::Unsupported && error.message().contains("memory"), "{error}");
    }

    #[test]
    fn only_what_is_wanted_of_a_chunk_is_kept() {
        let codec = Codec::from_v3("vlen-utf8", &serde_json::Value::Null).unwrap();
        let chain = VariableChain::compile(&[codec], &[1000], VariableElements::Strings).unwrap();
        let mut stored = 1000u32.to_le_bytes().to_vec();
        for number in 0..1000 {
            let text = format!("{number:099}");
            stored.extend(99u32.to_le_bytes());
            stored.extend(text.as_bytes());
        }
        let mut output = Output::owned(5 * PLACE_BYTES, PLACE_BYTES, 1).unwrap();
        output.push(&[CutAxis::new(998, 3, -400, 1000)]).unwrap();
        output.push(&[CutAxis::new(998, 2, 1, 1000)]).unwrap();
        let contents = Contents::new(b"fill");
        let (first, second) = (output.claim(0, 0).unwrap(), output.claim(1, 0).unwrap());
        let others = std::iter::once(Ok(second));
        contents.place(&chain, &stored, &mut Scratch::default(), first, others).unwrap();
        let chunks = contents.take();
        assert_eq!(chunks.iter().map(Vec::len).collect::<Vec<_>>(), [4, 3 * 99, 2 * 99]);
        let places = output.into_owned().unwrap();
        let variable = VariableType { elements: VariableElements::Strings, times: 0 };
        let Gathered { offsets, bytes, presence } =
            gathered(places.as_chunks().0, &chunks, variable).unwrap();
        assert!(presence.is_empty());
        assert_eq!(offsets, [0, 99, 198, 297, 396, 495]);
        let numbers: Vec<usize> =
            bytes.chunks(99).map(|text| std::str::from_utf8(text).unwrap().parse().unwrap()).collect();
        assert_eq!(numbers, [998, 598, 198, 998, 999]);
    }
}
