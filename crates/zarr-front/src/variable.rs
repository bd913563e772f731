//! Reading elements of any length: strings, byte strings.
//!
//! Such elements take the way of all others, but not they themselves: a chunk is decoded to places, 16 bytes an element,
//! that say where in which chunk's bytes it lies. Places are stitched as numbers are, and the elements gathered by them when
//! all have arrived. Of a chunk's bytes only those are kept until then that are wanted: a read takes as much memory again as
//! its results, and that of one decoded chunk for each lane.

use crate::array::Array;
use crate::raveling::cell_count;
use crate::read::{ReadOptions, ReadPlan};
use crate::read_batch::{ReadBatch, Results};
use crate::{DataType, Error, ErrorKind, Selection};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use swath_codecs::{Scratch, Tile, VariableChain, VariableChunk};

/// What a selection of an array of strings or byte strings reads to, in C order.
#[derive(Clone, PartialEq, Eq)]
pub struct VariableArrayData {
    data_type: DataType,
    shape: Vec<u64>,
    /// Where each element starts; one more at the end.
    offsets: Vec<usize>,
    bytes: Vec<u8>,
}

impl VariableArrayData {
    /// Elements along each axis; axes selected by an index are gone.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// What an element is: `String` or `Bytes`.
    pub fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// Elements in all.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// True where nothing was selected.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where in [`as_bytes`](Self::as_bytes) each element starts, and at the end of them where the last one ends.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The bytes of all elements, one behind the other.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes of the elements, in C order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.offsets.windows(2).map(|ends| match ends {
            [start, end] => self.bytes.get(*start..*end).unwrap_or_default(),
            _ => &[],
        })
    }

    /// The elements as strings.
    ///
    /// # Errors
    ///
    /// `Invalid` where elements are byte strings that are not UTF-8; those of a `String` array always are.
    pub fn strings(&self) -> Result<Vec<&str>, Error> {
        let string = |bytes| {
            std::str::from_utf8(bytes)
                .map_err(|error| Error::invalid(format!("the bytes are no string: {error}")))
        };
        self.iter().map(string).collect()
    }
}

impl std::fmt::Debug for VariableArrayData {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "VariableArrayData({:?}, {})", self.shape, self.data_type)
    }
}

impl Array {
    /// Reads one selection of an array whose elements have lengths of their own.
    ///
    /// # Errors
    ///
    /// As [`Array::read`]; `Unsupported` where elements have a fixed size.
    pub fn read_variable(&self, selection: &Selection) -> Result<VariableArrayData, Error> {
        let mut read = self.read_many_variable(std::slice::from_ref(selection))?;
        read.pop().ok_or_else(|| Error::new(ErrorKind::Internal, "a read of one selection gave none"))
    }

    /// Reads many selections of such an array at once: each chunk that any of them needs is read and decoded once.
    ///
    /// # Errors
    ///
    /// As [`Array::read_many`]; `Unsupported` where elements have a fixed size.
    pub fn read_many_variable(&self, selections: &[Selection]) -> Result<Vec<VariableArrayData>, Error> {
        ReadPlan::new(self, selections)?.read_variable(&ReadOptions::default())
    }
}

impl ReadPlan<'_> {
    /// Reads elements that have lengths of their own.
    ///
    /// # Errors
    ///
    /// As [`Array::read_many_variable`], and `Cancelled`, `DeadlineExceeded`.
    pub fn read_variable(&self, options: &ReadOptions<'_>) -> Result<Vec<VariableArrayData>, Error> {
        let inner = &self.array().inner;
        let data_type = inner.metadata.data_type();
        if inner.compiled.variable.is_none() {
            return Err(Error::unsupported(format!(
                "elements of data type `{data_type}` by `read_variable`: they have a fixed size, `read` reads them"
            )));
        }
        let contents = Contents::new(inner.metadata.fill_value().bytes());
        let engine = self.array().engine();
        let results = Results::with_contents(self.owned_output()?, contents);
        let batch = ReadBatch::new(self.array(), &results, &engine)?;
        let run = engine.run(&batch, &options.run());
        drop(batch);
        let chunks = results.contents().map(Contents::take).unwrap_or_default();
        let places = self.owned(run, results)?;
        let mut places = places.as_chunks::<PLACE_BYTES>().0;
        let mut read = Vec::with_capacity(self.len());
        for number in 0..self.len() {
            let shape = self.shape(number);
            let count = cell_count(&shape).and_then(|count| usize::try_from(count).ok()).ok_or_else(lost)?;
            let (own, rest) = places.split_at_checked(count).ok_or_else(lost)?;
            places = rest;
            let (offsets, bytes) = gathered(own, &chunks)?;
            read.push(VariableArrayData { data_type: data_type.clone(), shape, offsets, bytes });
        }
        Ok(read)
    }
}

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

    fn take(&self) -> Vec<Vec<u8>> {
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
        self.place_tile(&chunk, &strides, first)?;
        for tile in others {
            self.place_tile(&chunk, &strides, tile?)?;
        }
        Ok(())
    }

    /// Keeps the elements of a tile, one behind the other, and puts their places into it. Places in the chunk would be
    /// `strides` apart.
    fn place_tile(&self, chunk: &VariableChunk, strides: &[usize], tile: Tile<'_>) -> Result<(), Error> {
        let number = self.keep(Vec::new())?;
        let (mut content, len) = (Vec::new(), chunk.places.len().saturating_mul(PLACE_BYTES));
        tile.fill_rows(strides, (0, len), |at: usize, stride: usize, rows: &mut [&mut [u8]]| {
            for (row, places) in rows.iter_mut().enumerate() {
                let first = at.saturating_add(row.saturating_mul(stride)) / PLACE_BYTES;
                for (element, place) in (first..).zip(places.as_chunks_mut::<PLACE_BYTES>().0) {
                    let source = chunk.places.get(element).cloned();
                    let bytes = source.and_then(|source| chunk.content.get(source)).ok_or_else(lost)?;
                    let start = content.len();
                    reserve(&mut content, bytes.len())?;
                    content.extend_from_slice(bytes);
                    *place = place_bytes(number, &(start..content.len())).ok_or_else(lost)?;
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

const PLACE_BYTES: usize = crate::data_type::PLACE_BYTES;

/// The place of the fill value, of `length` bytes.
pub(crate) fn fill_place(length: usize) -> Result<[u8; PLACE_BYTES], Error> {
    place_bytes(0, &(0..length)).ok_or_else(lost)
}

/// A place: chunk, length, start. Lengths have 32 bits where they are stored.
fn place_bytes(chunk: u32, place: &Range<usize>) -> Option<[u8; PLACE_BYTES]> {
    let length = u32::try_from(place.len()).ok()?;
    let mut bytes = [0; PLACE_BYTES];
    bytes[..4].copy_from_slice(&chunk.to_ne_bytes());
    bytes[4..8].copy_from_slice(&length.to_ne_bytes());
    bytes[8..].copy_from_slice(&u64::try_from(place.start).ok()?.to_ne_bytes());
    Some(bytes)
}

/// The elements that lie at `places`, one behind the other, and where each starts.
fn gathered(places: &[[u8; PLACE_BYTES]], chunks: &[Vec<u8>]) -> Result<(Vec<usize>, Vec<u8>), Error> {
    let element = |place: &[u8; PLACE_BYTES]| {
        let (numbers, start) = (place.first_chunk::<8>()?, place.last_chunk::<8>()?);
        let [chunk, length] = [numbers.first_chunk::<4>()?, numbers.last_chunk::<4>()?]
            .map(|number| usize::try_from(u32::from_ne_bytes(*number)).ok());
        let start = usize::try_from(u64::from_ne_bytes(*start)).ok()?;
        chunks.get(chunk?)?.get(start..start.checked_add(length?)?)
    };
    // One element may be wanted many times, and so may the fill value: together they may be more than memory holds.
    let lengths = places.iter().map(|place| element(place).map_or(0, <[u8]>::len));
    let total = lengths.fold(0usize, usize::saturating_add);
    let (mut offsets, mut bytes) = (Vec::new(), Vec::new());
    reserve(&mut offsets, places.len().saturating_add(1))?;
    reserve(&mut bytes, total)?;
    offsets.push(0);
    for place in places {
        bytes.extend_from_slice(element(place).ok_or_else(lost)?);
        offsets.push(bytes.len());
    }
    Ok((offsets, bytes))
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

#[cold]
fn lost() -> Error {
    Error::new(ErrorKind::Internal, "an element of a chunk has no place")
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let (offsets, bytes) = gathered(places.as_chunks().0, &chunks).unwrap();
        assert_eq!(offsets, [0, 99, 198, 297, 396, 495]);
        let numbers: Vec<usize> =
            bytes.chunks(99).map(|text| std::str::from_utf8(text).unwrap().parse().unwrap()).collect();
        assert_eq!(numbers, [998, 598, 198, 998, 999]);
    }
}
