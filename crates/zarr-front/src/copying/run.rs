//! Copying one array.

use super::intermediate::Intermediate;
use super::journal::Journal;
use super::options::{CopyExisting, CopyOptions, Verify};
use super::overlap::refuse_overlap;
use super::plan::{CopyPlan, CopyStage};
use super::target::Target;
use super::variable::copy_variable;
use crate::raveling::cell_count;
use crate::read::ReadOptions;
use crate::reading_ahead::Ahead;
use crate::region::{Region, RegionGrid};
use crate::store::Store;
use crate::{Array, Elements, Error, ErrorKind, Selection, WriteOptions};
use serde_json::json;
use swath_ioengine::{Control, Engine, EngineConfig, Limits, memory_len, storage_len};

/// How far a copy is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyProgress {
    /// The source array's name.
    pub array: String,
    /// The stage that runs, from 0.
    pub stage: usize,
    /// Bytes of elements that all stages have written, or found complete.
    pub bytes: u64,
    /// Bytes of elements that all stages write.
    pub bytes_total: u64,
    /// Bytes of the intermediate array on the local disk; 0 without one.
    pub intermediate_bytes: u64,
}

/// Bytes that are written before the journal is, or a hundredth of the array where that is less: so many are written again
/// at most, and one box.
const JOURNAL_BYTES: u64 = 64 << 20;

impl Array {
    /// How [`copy_to`](Self::copy_to) would copy the array; nothing is written, and nothing read but some chunks of one whose
    /// elements have lengths of their own, to know how long they are.
    ///
    /// # Errors
    ///
    /// `Invalid` and `Unsupported` for what cannot be made, or not in so little memory; those of reading these chunks.
    pub fn copy_plan(&self, options: &CopyOptions<'_>) -> Result<CopyPlan, Error> {
        Target::new(self, options)?.plan(self, options)
    }

    /// Copies the array to a path of a store, and gives the copy: the same elements, attributes, names of dimensions and fill
    /// value, in the chunks, codecs and format that the options say. Memory is bounded by [`CopyOptions::memory_bytes`].
    ///
    /// An interrupted copy leaves a journal beside what it wrote, and goes on with [`CopyExisting::Resume`] and the same
    /// options: boxes that are done are not read or written again. A target without a journal whose metadata is what the copy's
    /// would be counts as complete; any other is refused.
    ///
    /// ```
    /// use swath_zarr_front::{ArrayBuilder, CopyOptions, DataType, Store};
    /// use swath_ioengine::MemoryMedium;
    ///
    /// let store = Store::memory(&MemoryMedium::new());
    /// let array = ArrayBuilder::new(&[4, 6], DataType::UInt8).chunk_shape(&[1, 6]).create(&store, "by_row")?;
    /// array.write(&"...".parse()?, &(0..24).collect::<Vec<u8>>())?;
    /// let options = CopyOptions { chunk_shape: Some(vec![0, 2]), ..CopyOptions::default() };
    /// let copy = array.copy_to(&store, "by_column", &options)?;
    /// assert_eq!(copy.chunk_shape(), [4, 2]);
    /// assert_eq!(copy.read(&":, 1".parse()?)?.as_slice::<u8>()?, [1, 7, 13, 19]);
    /// # Ok::<(), swath_zarr_front::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `Invalid` for a copy onto itself, into itself or over what holds it; as [`copy_plan`](Self::copy_plan); those of reading the source and of writing the target; `Invalid` where a node is there
    /// that is not to be replaced or gone on with; `Corrupt` where what was read back is not what was written; `Cancelled`.
    pub fn copy_to(&self, store: &Store, path: &str, options: &CopyOptions<'_>) -> Result<Array, Error> {
        let path = crate::node::node_path(path)?;
        refuse_overlap((self.store(), self.path()), (store, &path))?;
        let target = Target::new(self, options)?;
        let plan = target.plan(self, options)?;
        let journal = Journal::new(store, &path, subject(self, &target, &plan));
        let (copy, done) = match start(store, &path, &target, &journal, options.existing)? {
            Start::Complete(copy) => return Ok(copy),
            Start::At(copy, done) => (copy, done),
        };
        // What is encoded gets new checksums: damage must not be sealed by them.
        let source = self.verifying().with_engine(engine(plan.in_flight_bytes, plan.lanes));
        let target_array = copy.verifying().with_engine(engine(plan.writing_bytes, u64::MAX));
        let copying = Copying { name: self.name(), plan: &plan, options };
        copying.run(&source, &target, &target_array, done, &journal)?;
        journal.remove()?;
        Ok(copy)
    }
}

/// What makes a copy the same copy.
fn subject(source: &Array, target: &Target, plan: &CopyPlan) -> serde_json::Value {
    let selection = target.selection(&Region::whole(&plan.shape));
    json!({
        "source": source.name(),
        "source_metadata": source.metadata().document(),
        "source_attributes": source.metadata().attributes(),
        "selection": selection.map(|selection| selection.to_string()).unwrap_or_default(),
        "target_metadata": target.model.metadata().document(),
        "box": plan.stages.last().map(|stage| stage.region.clone()),
    })
}

/// Where a copy begins.
enum Start {
    /// All is there already.
    Complete(Array),
    /// At the box of this number.
    At(Array, u64),
}

fn start(
    store: &Store,
    path: &str,
    target: &Target,
    journal: &Journal<'_>,
    existing: CopyExisting,
) -> Result<Start, Error> {
    match existing {
        CopyExisting::Replace => store.remove_node(path)?,
        CopyExisting::Resume => {
            let done = journal.done()?;
            if store.contains_node(path)? {
                let copy = Array::open_in(store, path)?;
                require_same(&copy, target)?;
                return Ok(done.map_or(Start::Complete(copy.clone()), |done| Start::At(copy, done)));
            }
        }
        CopyExisting::Refuse if store.contains_node(path)? => {
            let error = Error::invalid("wanted to copy to where nothing is, found an array or a group");
            return Err(error.with_object(&store.describe(path)));
        }
        CopyExisting::Refuse => {}
    }
    // Ahead of the metadata: an array without a journal is complete.
    journal.write(0)?;
    target.builder.create(store, path).map(|copy| Start::At(copy, 0))
}

fn require_same(copy: &Array, target: &Target) -> Result<(), Error> {
    let (found, wanted) = (copy.metadata(), target.model.metadata());
    if found.document() == wanted.document() && found.attributes() == wanted.attributes() {
        return Ok(());
    }
    Err(Error::invalid("wanted what this copy began, found an array with other metadata")
        .with_object(&copy.name()))
}

/// An engine that has so much in flight at once, and at most so many lanes.
fn engine(in_flight_bytes: u64, lanes_max: u64) -> Engine {
    let mut limits = Limits::default();
    limits.lanes = memory_len(lanes_max).unwrap_or(usize::MAX).min(limits.lanes);
    limits.in_flight_bytes_max =
        memory_len(in_flight_bytes).unwrap_or(usize::MAX).min(limits.in_flight_bytes_max);
    limits.pooled_bytes_max =
        limits.pooled_bytes_max.min(limits.in_flight_bytes_max / 4 / limits.lanes.max(1)).max(1 << 20);
    Engine::new(EngineConfig { limits, ..EngineConfig::default() })
}

struct Copying<'a> {
    name: String,
    plan: &'a CopyPlan,
    options: &'a CopyOptions<'a>,
}

impl Copying<'_> {
    fn run(
        &self,
        source: &Array,
        target: &Target,
        copy: &Array,
        done: u64,
        journal: &Journal<'_>,
    ) -> Result<(), Error> {
        let selection = |region: &Region| target.selection(region);
        match &self.plan.stages[..] {
            [only] => self.stage((0, only), source, selection, copy, done, Some(journal)),
            [_, second] if second.region_count <= done => Ok(()),
            [first, second] => {
                let scratch = self.options.scratch.as_deref();
                let between = Intermediate::new(first, &self.plan.shape, source.data_type(), scratch)?;
                let written = between.array.with_engine(copy.engine());
                self.stage((0, first), source, selection, &written, 0, None)?;
                let read = between.array.with_engine(source.engine());
                self.stage((1, second), &read, Region::selection, copy, done, Some(journal))
            }
            _ => Err(Error::new(ErrorKind::Internal, "a plan without a stage")),
        }
    }

    /// Reads and writes every box of a stage from number `done` on.
    fn stage(
        &self,
        (number, stage): (usize, &CopyStage),
        source: &Array,
        selection: impl Fn(&Region) -> Result<Selection, Error> + Sync,
        target: &Array,
        done: u64,
        journal: Option<&Journal<'_>>,
    ) -> Result<(), Error> {
        let grid = RegionGrid::new(&self.plan.shape, &stage.region)?;
        let boxes = (done..grid.len()).map(|number| {
            let region = grid.region(number);
            selection(&region).map(|selection| (region, selection))
        });
        let verifies = self.options.verify == Verify::Yes;
        let control = Control::new();
        let read = ReadOptions { control, interrupt: self.options.interrupt, ..ReadOptions::default() };
        let said_after = JOURNAL_BYTES.min(self.plan.total_bytes() / 100);
        let (mut next, mut unsaid) = (done, 0);
        let before: u64 = self.plan.total_bytes().saturating_mul(storage_len(number));
        let mut bytes =
            before.saturating_add(done.saturating_mul(stage.region_bytes).min(self.plan.total_bytes()));
        let mut is_done = |region: &Region| {
            let elements = cell_count(&region.shape).unwrap_or(u64::MAX);
            let len = elements.saturating_mul(self.plan.element_bytes);
            next += 1;
            unsaid += len;
            if let Some(journal) = journal.filter(|_| said_after <= unsaid) {
                journal.write(next)?;
                unsaid = 0;
            }
            bytes = bytes.saturating_add(len);
            self.report(number, bytes);
            Ok::<(), Error>(())
        };
        let verifies_here = verifies && journal.is_some();
        if source.data_type().is_variable_length() {
            let write = WriteOptions { interrupt: self.options.interrupt, ..WriteOptions::default() };
            for found in boxes {
                let (region, selection) = found?;
                copy_variable((source, &selection, &read), (target, &region, &write), verifies_here)?;
                is_done(&region)?;
            }
            return Ok(());
        }
        let is_ahead = 1 + u64::from(verifies) < self.plan.boxes_in_memory;
        let ahead = if is_ahead { Ahead::One } else { Ahead::None };
        let mut again = Vec::new();
        source.visit_boxes(boxes, ahead, &read, &mut |region: &Region, elements: &[u8]| {
            self.write(target, region, elements)?;
            if verifies_here {
                verify(target, region, elements, &mut again)?;
            }
            is_done(region)
        })
    }

    fn write(&self, target: &Array, region: &Region, elements: &[u8]) -> Result<(), Error> {
        let options = WriteOptions { interrupt: self.options.interrupt, ..WriteOptions::default() };
        let elements = Elements::new(elements, &region.shape, target.data_type().size_bytes())?;
        target.write_from(&region.selection()?, &elements, &options)
    }

    fn report(&self, stage: usize, bytes: u64) {
        let Some(progress) = self.options.progress else { return };
        let bytes_total = self.plan.total_bytes().saturating_mul(storage_len(self.plan.stages.len()));
        progress(&CopyProgress {
            array: self.name.clone(),
            stage,
            bytes: bytes.min(bytes_total),
            bytes_total,
            intermediate_bytes: self.plan.intermediate_bytes,
        });
    }
}

/// Reads a box back, and compares it bit by bit.
fn verify(target: &Array, region: &Region, wanted: &[u8], again: &mut Vec<u8>) -> Result<(), Error> {
    again.resize(wanted.len(), 0);
    target.read_many_into(&[region.selection()?], again, &ReadOptions::default())?;
    if again == wanted {
        return Ok(());
    }
    let first = again.iter().zip(wanted).position(|(found, wanted)| found != wanted).unwrap_or(0);
    Err(differing(target, region, first / target.data_type().size_bytes().max(1)))
}

/// What was read back of a box is not what was written, first at an element of it.
pub(super) fn differing(target: &Array, region: &Region, element: usize) -> Error {
    let selection = region.selection().map(|selection| selection.to_string()).unwrap_or_default();
    let message = format!(
        "what was read back from {selection} differs from what was written, first at element {element} of the box: a codec that \
         does not keep all bits, or storage that fails"
    );
    Error::new(ErrorKind::Corrupt, message).with_object(&target.name())
}
