//! Reading: selections in, arrays out, blocking and async over one batch.

use crate::array::Array;
use crate::plan_memory::PlanMemory;
use crate::read_batch::{ReadBatch, Results};
use crate::selection::{element_count, output_shape, resolve_into};
use crate::{AxisSelection, DataType, Error, ErrorKind, ResolvedAxis, Selection};
use std::sync::Arc;
use std::time::Instant;
use swath_codecs::{CutAxis, Output};
use swath_ioengine::{Control, RunOptions};

/// How a read is run.
#[derive(Clone, Default)]
pub struct ReadOptions<'a> {
    /// Cancels the read and tells its progress.
    pub control: Control,
    /// Reads of a higher priority go first. Default 0.
    pub priority: i32,
    /// When the read shall end with an error of kind `DeadlineExceeded`.
    pub deadline: Option<Instant>,
    /// Called about every 50 ms on the waiting thread; returning true cancels the read. Not used by async reads.
    pub interrupt: Option<&'a dyn Fn() -> bool>,
}

impl<'a> ReadOptions<'a> {
    fn run(&self) -> RunOptions<'a> {
        RunOptions {
            control: self.control.clone(),
            priority: self.priority,
            deadline: self.deadline,
            interrupt: self.interrupt,
        }
    }
}

/// What a selection reads to: elements in C order and native byte order.
#[derive(Clone, PartialEq, Eq)]
pub struct ArrayData {
    data_type: DataType,
    shape: Vec<u64>,
    bytes: Vec<u8>,
}

impl ArrayData {
    /// Elements along each axis; axes selected by an index are gone.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// What an element is.
    pub fn data_type(&self) -> DataType {
        self.data_type
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
        bytemuck::try_cast_slice(&self.bytes)
            .map_err(|error| Error::invalid(format!("the bytes cannot be seen as that type: {error}")))
    }
}

impl std::fmt::Debug for ArrayData {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "ArrayData({:?}, {})", self.shape, self.data_type)
    }
}

impl Array {
    /// [`Array::read`] with options.
    ///
    /// # Errors
    ///
    /// As [`Array::read`], and `Cancelled`, `DeadlineExceeded`.
    pub fn read_with(&self, selection: &Selection, options: &ReadOptions<'_>) -> Result<ArrayData, Error> {
        let mut read = self.read_many_with(std::slice::from_ref(selection), options)?;
        read.pop().ok_or_else(|| Error::new(ErrorKind::Internal, "a read of one selection gave none"))
    }

    /// [`Array::read_many`] with options.
    ///
    /// # Errors
    ///
    /// As [`Array::read_many`], and `Cancelled`, `DeadlineExceeded`.
    pub fn read_many_with(
        &self,
        selections: &[Selection],
        options: &ReadOptions<'_>,
    ) -> Result<Vec<ArrayData>, Error> {
        let plan = ReadPlan::new(self, selections)?;
        let (engine, results) = (self.engine(), Results::new(plan.owned_output()?));
        let batch = ReadBatch::new(self, &results, &engine)?;
        let run = engine.run(&batch, &options.run());
        drop(batch);
        Ok(plan.cut(plan.owned(run, results)?))
    }

    /// Reads many selections, one behind the other, into `target`: each in C order and native byte order.
    ///
    /// # Errors
    ///
    /// As [`Array::read_many`]; `Invalid` where `target` is not as long as all results together.
    pub fn read_many_into(
        &self,
        selections: &[Selection],
        target: &mut [u8],
        options: &ReadOptions<'_>,
    ) -> Result<(), Error> {
        ReadPlan::new(self, selections)?.read_into(target, options)
    }

    /// Reads one selection without blocking the caller. Dropping the future cancels the read.
    ///
    /// # Errors
    ///
    /// As [`Array::read`].
    pub async fn read_async(&self, selection: &Selection) -> Result<ArrayData, Error> {
        let mut read = self.read_many_async(std::slice::from_ref(selection), &ReadOptions::default()).await?;
        read.pop().ok_or_else(|| Error::new(ErrorKind::Internal, "a read of one selection gave none"))
    }

    /// Reads many selections without blocking the caller. Dropping the future cancels the read.
    ///
    /// # Errors
    ///
    /// As [`Array::read_many`].
    pub async fn read_many_async(
        &self,
        selections: &[Selection],
        options: &ReadOptions<'_>,
    ) -> Result<Vec<ArrayData>, Error> {
        let plan = ReadPlan::new(self, selections)?;
        let bytes = plan.read_async(options).await?;
        Ok(plan.cut(bytes))
    }
}

/// Selections checked against an array, and how large their results are.
///
/// Bindings that bring their own output memory make one of these first, allocate, and then read into it.
pub struct ReadPlan<'a> {
    array: &'a Array,
    /// The axes of all selections, one selection behind the other.
    axes: Vec<ResolvedAxis>,
    len: usize,
    total_bytes: usize,
}

impl<'a> ReadPlan<'a> {
    /// Checks `selections`.
    ///
    /// # Errors
    ///
    /// As [`push`](Self::push).
    pub fn new(array: &'a Array, selections: &[Selection]) -> Result<ReadPlan<'a>, Error> {
        let mut plan = ReadPlan::empty(array);
        plan.axes.reserve(selections.len().saturating_mul(array.shape().len()));
        for selection in selections {
            plan.push(selection.axes())?;
        }
        Ok(plan)
    }

    /// A plan of no selections.
    #[must_use]
    pub fn empty(array: &'a Array) -> ReadPlan<'a> {
        ReadPlan { array, axes: Vec::new(), len: 0, total_bytes: 0 }
    }

    /// Checks one more selection, given as the entries of a [`Selection`], and adds it.
    ///
    /// # Errors
    ///
    /// `OutOfBounds` for a selection that does not fit the array; `Invalid` for results that this machine's memory
    /// cannot address. The plan is then of no further use.
    pub fn push(&mut self, selection: &[AxisSelection]) -> Result<(), Error> {
        let first_axis = self.axes.len();
        let element = self.array.data_type().size_bytes();
        resolve_into(selection, self.array.shape(), &mut self.axes)?;
        let count = usize::try_from(element_count(&self.axes[first_axis..])?).ok();
        let bytes = count.and_then(|count| count.checked_mul(element));
        let total = bytes.and_then(|bytes| self.total_bytes.checked_add(bytes));
        self.total_bytes = total
            .filter(|total| isize::try_from(*total).is_ok())
            .ok_or_else(|| Error::invalid("the results are larger than this machine can address"))?;
        self.len += 1;
        Ok(())
    }

    /// Selections of the plan.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True for a plan of no selections.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The checked selections in order, each as one entry an axis of the array.
    pub fn selections(&self) -> impl DoubleEndedIterator<Item = &[ResolvedAxis]> {
        let rank = self.array.shape().len();
        (0..self.len).map(move |number| &self.axes[number * rank..][..rank])
    }

    /// Bytes of all results together.
    pub fn total_bytes(&self) -> usize {
        self.total_bytes
    }

    /// Reads into `target`, one result behind the other.
    ///
    /// # Errors
    ///
    /// As [`Array::read_many_into`].
    pub fn read_into(&self, target: &mut [u8], options: &ReadOptions<'_>) -> Result<(), Error> {
        if target.len() != self.total_bytes {
            return Err(Error::invalid(format!(
                "wanted a target of {} bytes, found {}",
                self.total_bytes,
                target.len()
            )));
        }
        let engine = self.array.engine();
        let memory = engine.extension::<PlanMemory>();
        let output = Output::new(target, self.array.data_type().size_bytes(), self.array.shape().len())?;
        let results = Results::new(self.project(output.with_memory(memory.take()))?);
        let batch = ReadBatch::new(self.array, &results, &engine)?;
        let run = engine.run(&batch, &options.run());
        drop(batch);
        let output = self.judge(run, results)?;
        memory.put(output.into_parts().1);
        Ok(())
    }

    async fn read_async(&self, options: &ReadOptions<'_>) -> Result<Vec<u8>, Error> {
        let (engine, results) = (self.array.engine(), Results::new(self.owned_output()?));
        let batch = Arc::new(ReadBatch::new(self.array, &results, &engine)?);
        let run = engine.spawn(batch, &options.run()).await;
        self.owned(run, results)
    }

    fn owned_output(&self) -> Result<Output<'static>, Error> {
        let element = self.array.data_type().size_bytes();
        let output = Output::owned(self.total_bytes, element, self.array.shape().len());
        let output = output.map_err(|error| self.named(Error::from(error)))?;
        self.project(output)
    }

    fn owned(
        &self,
        run: Result<(), swath_ioengine::Error>,
        results: Arc<Results<'static>>,
    ) -> Result<Vec<u8>, Error> {
        let output = self.judge(run, results)?;
        output.into_owned().ok_or_else(|| Error::new(ErrorKind::Internal, "an output lost its memory"))
    }

    /// Adds every selection to the output.
    fn project<'m>(&self, mut output: Output<'m>) -> Result<Output<'m>, Error> {
        let extents = self.array.chunk_shape();
        output.reserve(self.len);
        let mut axes: Vec<CutAxis> = Vec::with_capacity(extents.len());
        for selection in self.selections() {
            axes.clear();
            let cut = selection.iter().zip(extents);
            axes.extend(cut.map(|(axis, extent)| CutAxis::new(axis.start, axis.count, axis.step, *extent)));
            output.push(&axes)?;
        }
        Ok(output)
    }

    /// The output, unless the batch or a result failed; every tile must have been filled.
    fn judge<'m>(
        &self,
        run: Result<(), swath_ioengine::Error>,
        results: Arc<Results<'m>>,
    ) -> Result<Output<'m>, Error> {
        run.map_err(|error| self.named(error.into()))?;
        let finished = results.finish();
        let (errors, output) =
            finished.ok_or_else(|| Error::new(ErrorKind::Internal, "a finished batch is in use"))?;
        let failed = errors.len();
        match errors.into_iter().next() {
            None if output.unclaimed() == 0 => Ok(output),
            None => {
                let message = format!("{} tiles of the results were never filled", output.unclaimed());
                Err(self.named(Error::new(ErrorKind::Internal, message)))
            }
            Some((_, error)) if self.len == 1 => Err(self.named(error)),
            Some((first, error)) => {
                let message = format!("{failed} of {} selections failed, number {first} first: ", self.len);
                Err(self.named(error.with_message_prefix(&message)))
            }
        }
    }

    fn named(&self, error: Error) -> Error {
        self.array.store().named(error)
    }

    /// Cuts the memory of all results into one array each.
    fn cut(&self, mut bytes: Vec<u8>) -> Vec<ArrayData> {
        let element = self.array.data_type().size_bytes();
        let mut cut = Vec::with_capacity(self.len);
        for (left, selection) in (0..self.len).rev().zip(self.selections().rev()) {
            let len = usize::try_from(element_count(selection).unwrap_or(0)).unwrap_or(0);
            let start = bytes.len().saturating_sub(len.saturating_mul(element));
            let own = if left == 0 { std::mem::take(&mut bytes) } else { bytes.split_off(start) };
            cut.push(ArrayData {
                data_type: self.array.data_type(),
                shape: output_shape(selection),
                bytes: own,
            });
        }
        cut.reverse();
        // It shall not keep the memory of all others.
        if let Some(first) = cut.first_mut() {
            first.bytes.shrink_to_fit();
        }
        cut
    }
}
