//! Reads that many wait for, each of one selection: one batch, and each gets its own result or its own error.

use crate::array::Array;
use crate::array_data::ArrayData;
use crate::read::{ReadOptions, ReadPlan};
use crate::read_batch::{ReadBatch, Results};
use crate::{Error, ErrorKind, Selection};
use std::collections::BTreeMap;
use std::sync::Arc;
use swath_ioengine::Control;

/// What [`ReadPlan::read_each`] gives.
pub struct EachResult {
    /// All results one behind the other, in C order and native byte order. Those that failed are there too, as they are.
    pub bytes: Vec<u8>,
    /// Why selections could not be read, by their numbers.
    pub errors: BTreeMap<usize, Error>,
}

impl Array {
    /// Reads many selections at once without blocking the caller, as [`read_many_async`](Array::read_many_async) does, for
    /// waiters that know nothing of each other: a selection that cannot be read is an error of its own, and the others are
    /// given all the same. Dropping the future cancels the read.
    ///
    /// # Errors
    ///
    /// Of all selections together: `OutOfBounds` for one that does not fit, `Cancelled`, `DeadlineExceeded`.
    pub async fn read_each_async(
        &self,
        selections: &[Selection],
        options: &ReadOptions<'_>,
    ) -> Result<Vec<Result<ArrayData, Error>>, Error> {
        let plan = ReadPlan::new(self, selections)?;
        let EachResult { bytes, mut errors } = plan.read_each(&options.control).await?;
        let results = plan.cut(bytes).into_iter().enumerate();
        Ok(results.map(|(number, data)| errors.remove(&number).map_or(Ok(data), Err)).collect())
    }
}

impl ReadPlan<'_> {
    /// Reads without blocking the caller; what cannot be read fails its own selection only. Dropping the future cancels the
    /// read.
    ///
    /// # Errors
    ///
    /// Of all selections together: those of the engine, and `Unsupported` for elements that have lengths of their own.
    pub async fn read_each(&self, control: &Control) -> Result<EachResult, Error> {
        self.check_fixed_size()?;
        let (engine, results) = (self.array().engine(), Results::new(self.owned_output()?));
        let running = {
            let batch = Arc::new(ReadBatch::new(self.array(), &results, &engine)?);
            let options = ReadOptions { control: control.clone(), ..ReadOptions::default() };
            engine.spawn(batch, &options.run())
        };
        running.await.map_err(|error| self.named(error.into()))?;
        let (errors, output) =
            results.finish().ok_or_else(|| Error::new(ErrorKind::Internal, "a finished batch is in use"))?;
        if errors.is_empty() && output.unclaimed() != 0 {
            return Err(self.named(Error::new(ErrorKind::Internal, "tiles of the results were never filled")));
        }
        let bytes = output.into_owned();
        let mut bytes = bytes.ok_or_else(|| Error::new(ErrorKind::Internal, "an output lost its memory"))?;
        self.array().make_native(&mut bytes);
        let errors = errors.into_iter().map(|(number, error)| (number, self.named(error))).collect();
        Ok(EachResult { bytes, errors })
    }
}
