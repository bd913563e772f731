//! What reads give.

use crate::{DataType, Error};

/// What a selection reads to: elements in C order and native byte order.
#[derive(Clone, PartialEq, Eq)]
pub struct ArrayData {
    data_type: DataType,
    shape: Vec<u64>,
    bytes: Vec<u8>,
}

impl ArrayData {
    pub(crate) fn new(data_type: DataType, shape: Vec<u64>, bytes: Vec<u8>) -> ArrayData {
        ArrayData { data_type, shape, bytes }
    }

    /// Gives memory back that the elements do not take.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.bytes.shrink_to_fit();
    }

    /// Elements along each axis; axes selected by an index are gone.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// What an element is.
    pub fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// The elements' bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The elements' bytes, without a copy.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The elements. `T` must be as large as an element: `i16` for `int16`, `half::f16` for `float16`, and so on.
    ///
    /// # Errors
    ///
    /// `Invalid` where `T` has another size than an element, or needs an alignment that the bytes do not have.
    pub fn as_slice<T: bytemuck::AnyBitPattern>(&self) -> Result<&[T], Error> {
        let wanted = self.data_type.size_bytes();
        if size_of::<T>() != wanted {
            return Err(Error::invalid(format!(
                "wanted elements of {wanted} bytes, as {} has, found a type of {}",
                self.data_type,
                size_of::<T>()
            )));
        }
        // No bytes lie anywhere, as no type wants them.
        if self.bytes.is_empty() {
            return Ok(&[]);
        }
        bytemuck::try_cast_slice(&self.bytes)
            .map_err(|error| Error::invalid(format!("the bytes cannot be seen as that type: {error}")))
    }
}

impl std::fmt::Debug for ArrayData {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "ArrayData({:?}, {})", self.shape, self.data_type)
    }
}
