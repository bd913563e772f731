//! Reading: selections in, arrays out, blocking and async over one batch.

use crate::array::Array;
use crate::array_data::ArrayData;
use crate::converted::{ConvertedArray, means_shape, refuse_means, trim, with_conversion};
use crate::picked::{Picked, PickedSelection};
use crate::picking::Room;
use crate::plan_memory::PlanMemory;
use crate::raveling::cell_count;
use crate::read_batch::{ReadBatch, Results};
use crate::selection::{Kind, ResolvedList, element_count, output_shape, resolve_blocks, resolve_into};
use crate::{AxisSelection, DataType, Error, ErrorKind, ResolvedAxis, Selection};
use std::sync::Arc;
use std::time::Instant;
use swath_codecs::{CompiledConversion, CutAxis, Output};
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
    pub(crate) fn run(&self) -> RunOptions<'a> {
        RunOptions {
            control: self.control.clone(),
            priority: self.priority,
            deadline: self.deadline,
            interrupt: self.interrupt,
            inline_bytes_max: None,
        }
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
        ReadPlan::new(self, selections)?.read(options)
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
        ReadPlan::new(self, selections)?.read_async(options).await
    }
}

/// Selections checked against an array, and how large their results are.
///
/// Bindings that bring their own output memory make one of these first, allocate, and then read into it.
pub struct ReadPlan<'a> {
    array: &'a Array,
    /// The axes of all selections, one selection behind the other.
    axes: Vec<ResolvedAxis>,
    /// What is picked one by one, by selection.
    picked: Vec<PickedSelection>,
    len: usize,
    total_bytes: usize,
    /// What is done to elements on the way.
    conversion: Option<&'a Arc<CompiledConversion>>,
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
            plan.push(selection)?;
        }
        Ok(plan)
    }

    /// A plan of no selections.
    #[must_use]
    pub fn empty(array: &'a Array) -> ReadPlan<'a> {
        ReadPlan { array, axes: Vec::new(), picked: Vec::new(), len: 0, total_bytes: 0, conversion: None }
    }

    /// A plan of no selections, whose elements are converted.
    #[must_use]
    pub fn converted(array: &'a ConvertedArray) -> ReadPlan<'a> {
        ReadPlan { conversion: array.conversion(), ..ReadPlan::empty(array.array()) }
    }

    /// True where elements are converted on the way.
    #[must_use]
    pub fn is_converted(&self) -> bool {
        self.conversion.is_some()
    }

    /// What an element of the results is.
    #[must_use]
    pub fn data_type(&self) -> DataType {
        let converted = self.conversion.and_then(|conversion| DataType::of_number(conversion.target()));
        converted.unwrap_or_else(|| self.array.data_type().clone())
    }

    /// Checks one more selection and adds it.
    ///
    /// # Errors
    ///
    /// `OutOfBounds` for a selection that does not fit the array; `Invalid` for results that this machine's memory
    /// cannot address. The plan is then of no further use.
    pub fn push(&mut self, selection: &Selection) -> Result<(), Error> {
        let shape = self.array.shape();
        let picked = match &selection.0 {
            Kind::Axes(axes) => return self.push_axes(axes),
            Kind::Blocks(blocks) => {
                let (extents, objects) = (self.array.metadata().chunk_shape(), self.array.stored_grid());
                let first_axis = self.axes.len();
                let grid = self.array.metadata().rectilinear();
                resolve_blocks(blocks, (shape, extents, objects), grid, &mut self.axes)?;
                let elements = self.trim(first_axis, &[])?;
                return self.add(elements);
            }
            Kind::Points(points) => {
                points.check(shape)?;
                Picked::Points(points.clone())
            }
            Kind::Mask(mask) => {
                mask.check(shape)?;
                Picked::Mask(mask.clone(), mask.count())
            }
        };
        refuse_means(self.conversion)?;
        let count = picked.shape().iter().product();
        self.axes.extend(shape.iter().map(|_| ResolvedAxis::of_nothing()));
        self.picked.push(PickedSelection { selection: self.len, picked });
        self.add(count)
    }

    /// Checks one more selection, given as the entries of a [`Selection`], and adds it.
    ///
    /// # Errors
    ///
    /// As [`push`](Self::push).
    pub fn push_axes(&mut self, selection: &[AxisSelection]) -> Result<(), Error> {
        let (first_axis, mut lists) = (self.axes.len(), Vec::new());
        resolve_into(selection, self.array.shape(), &mut self.axes, &mut lists)?;
        let elements = self.trim(first_axis, &lists)?;
        if !lists.is_empty() {
            self.picked.push(PickedSelection { selection: self.len, picked: Picked::Lists(lists) });
        }
        self.add(elements)
    }

    /// Elements of the result of the axes from one on; where several elements become one, what is left over is dropped.
    #[inline]
    fn trim(&mut self, first_axis: usize, lists: &[ResolvedList]) -> Result<u64, Error> {
        match self.conversion.filter(|conversion| conversion.has_means()) {
            None => element_count(&self.axes[first_axis..]),
            Some(conversion) => trim(&mut self.axes[first_axis..], lists, conversion),
        }
    }

    /// Makes room for a selection of so many elements.
    #[inline]
    fn add(&mut self, elements: u64) -> Result<(), Error> {
        let element = self.element_bytes();
        let count = usize::try_from(elements).ok();
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
    fn selections(&self) -> impl DoubleEndedIterator<Item = &[ResolvedAxis]> {
        (0..self.len).map(|number| self.selection(number))
    }

    fn selection(&self, number: usize) -> &[ResolvedAxis] {
        let rank = self.array.shape().len();
        self.axes.get(number * rank..(number + 1) * rank).unwrap_or_default()
    }

    /// What is picked of a selection.
    fn picked(&self, number: usize) -> Option<&Picked> {
        let place = self.picked.binary_search_by_key(&number, |picked| picked.selection).ok()?;
        Some(&self.picked[place].picked)
    }

    /// The shape of a selection's result. No axis for a number that no selection has.
    #[must_use]
    pub fn shape(&self, number: usize) -> Vec<u64> {
        match self.picked(number) {
            Some(Picked::Points(points)) => points.shape().to_vec(),
            Some(Picked::Mask(_, count)) => vec![*count],
            Some(Picked::Lists(_)) | None => self.axes_shape(number),
        }
    }

    fn axes_shape(&self, number: usize) -> Vec<u64> {
        match self.conversion {
            None => output_shape(self.selection(number)),
            Some(conversion) => means_shape(self.selection(number), conversion),
        }
    }

    /// Bytes of an element of the results.
    #[inline]
    fn element_bytes(&self) -> usize {
        let converted = self.conversion.map(|conversion| conversion.target().size_bytes());
        converted.unwrap_or_else(|| self.array.data_type().size_bytes())
    }

    /// The first selection whose result has another shape than the first one's; `None` where all are alike.
    #[must_use]
    pub fn other_shape(&self) -> Option<usize> {
        let (first, shape) = (self.selection(0), self.shape(0));
        let is_alike = |number: usize| {
            let axes = self.selection(number).iter().zip(first);
            let mut alike = axes.map(|(axis, first)| axis.kind == first.kind && axis.count == first.count);
            self.picked.is_empty() && alike.all(|alike| alike) || self.shape(number) == shape
        };
        (1..self.len).find(|number| !is_alike(*number))
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
        self.check_fixed_size()?;
        let engine = self.array.engine();
        let memory = engine.extension::<PlanMemory>();
        let output = Output::new(&mut *target, self.element_bytes(), self.array.shape().len())?;
        let results = Results::new(self.project(output.with_memory(memory.take()))?);
        let batch = ReadBatch::new(self.array, &results, &engine)?;
        let run = engine.run(&batch, &options.run());
        drop(batch);
        let judged = self.judge(run, results).map(|output| memory.put(output.into_parts().1));
        self.array.make_native(target);
        judged
    }

    /// Reads into arrays of their own, one a selection.
    ///
    /// # Errors
    ///
    /// As [`Array::read_many_with`].
    pub fn read(&self, options: &ReadOptions<'_>) -> Result<Vec<ArrayData>, Error> {
        self.check_fixed_size()?;
        let (engine, results) = (self.array.engine(), Results::new(self.owned_output()?));
        let batch = ReadBatch::new(self.array, &results, &engine)?;
        let run = engine.run(&batch, &options.run());
        drop(batch);
        Ok(self.cut(self.owned(run, results)?))
    }

    /// [`read`](Self::read) without blocking the caller. Dropping the future cancels the read.
    ///
    /// # Errors
    ///
    /// As [`Array::read_many_async`].
    pub async fn read_async(&self, options: &ReadOptions<'_>) -> Result<Vec<ArrayData>, Error> {
        self.check_fixed_size()?;
        let (engine, results) = (self.array.engine(), Results::new(self.owned_output()?));
        let batch = Arc::new(ReadBatch::new(self.array, &results, &engine)?);
        let run = engine.spawn(batch, &options.run()).await;
        Ok(self.cut(self.owned(run, results)?))
    }

    /// The array that the plan is of.
    pub(crate) fn array(&self) -> &'a Array {
        self.array
    }

    /// Elements that have lengths of their own are read by [`ReadPlan::read_variable`].
    pub(crate) fn check_fixed_size(&self) -> Result<(), Error> {
        let data_type = self.array.data_type();
        if !data_type.is_variable_length() {
            return Ok(());
        }
        Err(self.named(Error::unsupported(format!(
            "elements of data type `{data_type}` as bytes of a fixed size: `read_variable` reads them"
        ))))
    }

    pub(crate) fn owned_output(&self) -> Result<Output<'static>, Error> {
        let output = Output::owned(self.total_bytes, self.element_bytes(), self.array.shape().len());
        let output = output.map_err(|error| self.named(Error::from(error)))?;
        self.project(output)
    }

    pub(crate) fn owned(
        &self,
        run: Result<(), swath_ioengine::Error>,
        results: Arc<Results<'static>>,
    ) -> Result<Vec<u8>, Error> {
        let output = self.judge(run, results)?;
        let bytes = output.into_owned();
        let mut bytes = bytes.ok_or_else(|| Error::new(ErrorKind::Internal, "an output lost its memory"))?;
        self.array.make_native(&mut bytes);
        Ok(bytes)
    }

    /// Adds every selection to the output.
    fn project<'m>(&self, mut output: Output<'m>) -> Result<Output<'m>, Error> {
        let extents = self.array.chunk_shape();
        if let Some(conversion) = self.conversion {
            output = with_conversion(output, conversion, self.array)?;
        }
        output.reserve(self.len);
        if !self.picked.is_empty() || self.array.inner.compiled.shaped.is_some() {
            return self.project_picked(output);
        }
        let mut axes: Vec<CutAxis> = Vec::with_capacity(extents.len());
        for selection in self.selections() {
            axes.clear();
            let cut = selection.iter().zip(extents);
            axes.extend(cut.map(|(axis, extent)| CutAxis::new(axis.start, axis.count, axis.step, *extent)));
            output.push(&axes)?;
        }
        Ok(output)
    }

    /// [`project`](Self::project) where something is picked, or chunks differ in length.
    fn project_picked<'m>(&self, mut output: Output<'m>) -> Result<Output<'m>, Error> {
        let mut room = Room::new(self.array.engine().config().limits.plan_bytes_max);
        let mut picked = self.picked.iter().peekable();
        for (number, axes) in self.selections().enumerate() {
            let found = picked.next_if(|picked| picked.selection == number).map(|picked| &picked.picked);
            Picked::project(found, axes, self.array, &mut output, &mut room)?;
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

    pub(crate) fn named(&self, error: Error) -> Error {
        self.array.store().named(error)
    }

    /// Cuts the memory of all results into one array each.
    pub(crate) fn cut(&self, mut bytes: Vec<u8>) -> Vec<ArrayData> {
        let (element, data_type) = (self.element_bytes(), self.data_type());
        let mut cut = Vec::with_capacity(self.len);
        for number in (0..self.len).rev() {
            let shape = self.shape(number);
            let len = usize::try_from(cell_count(&shape).unwrap_or(0)).unwrap_or(0);
            let start = bytes.len().saturating_sub(len.saturating_mul(element));
            let own = if number == 0 { std::mem::take(&mut bytes) } else { bytes.split_off(start) };
            cut.push(ArrayData::new(data_type.clone(), shape, own));
        }
        cut.reverse();
        // It shall not keep the memory of all others.
        if let Some(first) = cut.first_mut() {
            first.shrink_to_fit();
        }
        cut
    }
}
