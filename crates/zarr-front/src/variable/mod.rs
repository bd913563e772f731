//! Reading elements of any length: strings, byte strings, and those of them that may be missing.
//!
//! Such elements take the way of all others, but not they themselves: a chunk is decoded to places, 16 bytes an element,
//! that say where in which chunk's bytes it lies. Places are stitched as numbers are, and the elements gathered by them when
//! all have arrived. Of a chunk's bytes only those are kept until then that are wanted: a read takes as much memory again as
//! its results, and that of one decoded chunk for each lane.

mod contents;
mod data;
mod place;

use crate::array::Array;
use crate::raveling::cell_count;
use crate::read::{ReadOptions, ReadPlan};
use crate::read_batch::{ReadBatch, Results};
use crate::{Error, ErrorKind, Selection};
pub(crate) use contents::Contents;
use contents::gathered;
pub use data::VariableArrayData;
pub(crate) use place::{Place, fill_place};

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
        let Some(variable) = data_type.variable() else {
            return Err(Error::unsupported(format!(
                "elements of data type `{data_type}` by `read_variable`: they have a fixed size, `read` reads them"
            )));
        };
        let contents = Contents::new(inner.metadata.fill_value().bytes());
        let engine = self.array().engine();
        let results = Results::with_contents(self.owned_output()?, contents);
        let batch = ReadBatch::new(self.array(), &results, &engine)?;
        let run = engine.run(&batch, &options.run());
        drop(batch);
        let chunks = results.contents().map(Contents::take).unwrap_or_default();
        let places = self.owned(run, results)?;
        let mut places = places.as_chunks().0;
        let mut read = Vec::with_capacity(self.len());
        for number in 0..self.len() {
            let shape = self.shape(number);
            let count = cell_count(&shape).and_then(|count| usize::try_from(count).ok()).ok_or_else(lost)?;
            let (own, rest) = places.split_at_checked(count).ok_or_else(lost)?;
            places = rest;
            read.push(gathered(own, &chunks, variable)?.into_data(data_type.clone(), shape));
        }
        Ok(read)
    }
}

#[cold]
fn lost() -> Error {
    Error::new(ErrorKind::Internal, "an element of a chunk has no place")
}
