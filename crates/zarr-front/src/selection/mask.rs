//! Masks of whole arrays.

use crate::Error;
use crate::raveling::cell_count;
use std::sync::Arc;

/// Which elements of an array of one shape are taken, in C order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Mask {
    shape: Vec<u64>,
    values: Arc<[bool]>,
}

impl Mask {
    pub(crate) fn new(shape: Vec<u64>, values: Arc<[bool]>) -> Result<Mask, Error> {
        let found = swath_ioengine::storage_len(values.len());
        if cell_count(&shape) != Some(found) {
            return Err(Error::invalid(format!(
                "wanted a mask with a value for each element of the shape {shape:?}, found {found} values"
            )));
        }
        Ok(Mask { shape, values })
    }

    pub(crate) fn shape(&self) -> &[u64] {
        &self.shape
    }

    pub(crate) fn values(&self) -> &[bool] {
        &self.values
    }

    /// Elements that are taken.
    pub(crate) fn count(&self) -> u64 {
        swath_ioengine::storage_len(self.values.iter().filter(|value| **value).count())
    }

    /// Checks that the mask is of an array of `shape`.
    pub(crate) fn check(&self, shape: &[u64]) -> Result<(), Error> {
        if self.shape == shape {
            return Ok(());
        }
        let found = &self.shape;
        Err(Error::out_of_bounds(format!("wanted a mask of the array's shape {shape:?}, found {found:?}")))
    }
}
