//! Arrays in memory whose elements have lengths of their own.

use crate::raveling::cell_count;
use crate::{DataType, Error};

/// Strings or byte strings, in C order: what a selection of an array of them reads to, or what is written to one.
#[derive(Clone, PartialEq, Eq)]
pub struct VariableArrayData {
    pub(super) data_type: DataType,
    pub(super) shape: Vec<u64>,
    /// Where each element starts; one more at the end.
    pub(super) offsets: Vec<usize>,
    pub(super) bytes: Vec<u8>,
    /// Of elements that may be missing: how many of the times that each may be it is there.
    pub(super) presence: Vec<u8>,
}

impl VariableArrayData {
    /// Strings in C order, to be written.
    ///
    /// # Errors
    ///
    /// `Invalid` where they are not exactly as many as the shape needs.
    pub fn of_strings<T: AsRef<str>>(
        shape: &[u64],
        strings: impl IntoIterator<Item = T>,
    ) -> Result<VariableArrayData, Error> {
        let (offsets, bytes) = joined(strings.into_iter(), |bytes: &mut Vec<u8>, string| {
            bytes.extend_from_slice(string.as_ref().as_bytes());
        });
        VariableArrayData::new(DataType::String, shape, (offsets, bytes))
    }

    /// Byte strings in C order, to be written.
    ///
    /// # Errors
    ///
    /// As [`of_strings`](Self::of_strings).
    pub fn of_bytes<T: AsRef<[u8]>>(
        shape: &[u64],
        elements: impl IntoIterator<Item = T>,
    ) -> Result<VariableArrayData, Error> {
        let (offsets, bytes) = joined(elements.into_iter(), |bytes: &mut Vec<u8>, element| {
            bytes.extend_from_slice(element.as_ref());
        });
        VariableArrayData::new(DataType::Bytes, shape, (offsets, bytes))
    }

    /// The same elements as those of an array of `data_type`, where they may be missing: of how many of its `Optional`s there
    /// is something around each, as [`presence`](Self::presence) has it. What the elements are that are missing does not
    /// matter.
    ///
    /// # Errors
    ///
    /// `Invalid` where the elements are not those of `data_type`, or `presence` is not of as many.
    pub fn with_presence(self, data_type: DataType, presence: Vec<u8>) -> Result<VariableArrayData, Error> {
        let (own, wanted) = (self.data_type.variable(), data_type.variable());
        let is_same = own.zip(wanted).is_some_and(|(own, wanted)| own.elements == wanted.elements);
        if !is_same || presence.len() != self.len() {
            return Err(Error::invalid(format!(
                "wanted {} elements of `{}` and whether each is there, found {} of `{}`",
                self.len(),
                self.data_type,
                presence.len(),
                data_type
            )));
        }
        Ok(VariableArrayData { data_type, presence, ..self })
    }

    fn new(
        data_type: DataType,
        shape: &[u64],
        (offsets, bytes): (Vec<usize>, Vec<u8>),
    ) -> Result<VariableArrayData, Error> {
        let (wanted, found) = (cell_count(shape), swath_ioengine::storage_len(offsets.len()) - 1);
        if wanted != Some(found) {
            return Err(Error::invalid(format!("wanted elements of shape {shape:?}, found {found}")));
        }
        Ok(VariableArrayData { data_type, shape: shape.to_vec(), offsets, bytes, presence: Vec::new() })
    }

    /// Elements along each axis; axes selected by an index are gone.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// What an element is: `String` or `Bytes`, or `Optional` of one of them.
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

    /// Of elements that may be missing, for each of how many `Optional`s around it there is something, from the outside in: 0
    /// where the outermost is empty, as many as there are where there is an element. Empty of other elements.
    pub fn presence(&self) -> &[u8] {
        &self.presence
    }

    /// The bytes of the elements, in C order; none of one that is missing.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.offsets.windows(2).map(|ends| match ends {
            [start, end] => self.bytes.get(*start..*end).unwrap_or_default(),
            _ => &[],
        })
    }

    /// The elements as they may be missing: `None` of those that are, at whichever level.
    pub fn options(&self) -> impl Iterator<Item = Option<&[u8]>> {
        let times = self.data_type.variable().map_or(0, |variable| variable.times);
        self.iter().enumerate().map(move |(number, bytes)| {
            let is_present = self.presence.get(number).is_none_or(|present| *present == times);
            is_present.then_some(bytes)
        })
    }

    /// The elements as strings; empty ones where they are missing.
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

/// Elements one behind the other, and where each starts.
fn joined<T>(elements: impl Iterator<Item = T>, push: impl Fn(&mut Vec<u8>, T)) -> (Vec<usize>, Vec<u8>) {
    let (mut offsets, mut bytes) = (vec![0], Vec::new());
    for element in elements {
        push(&mut bytes, element);
        offsets.push(bytes.len());
    }
    (offsets, bytes)
}

impl std::fmt::Debug for VariableArrayData {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "VariableArrayData({:?}, {})", self.shape, self.data_type)
    }
}
