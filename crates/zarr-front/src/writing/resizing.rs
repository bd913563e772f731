//! Arrays that grow and shrink.

use super::at_once::each_at_once;
use super::documents::change_document;
use super::elements::Elements;
use super::grid_document::extend_grid;
use super::options::WriteOptions;
use super::shape_lock::ShapeLock;
use super::stored_object::delete;
use super::target::Target;
use crate::metadata::{ArrayMetadata, ZarrFormat, json};
use crate::raveling::{cell_count, unravel};
use crate::store::join;
use crate::{Array, Error, ErrorKind, ResolvedAxis};
use serde_json::{Map, Value};

/// Objects that are removed between two looks at what is left to remove.
const REMOVED_AT_ONCE: u64 = 4096;

impl Array {
    /// Gives the array another shape; the array that is returned has it. What lies outside a smaller shape is gone for
    /// readers once its metadata is written; then objects are removed that hold nothing else. Those at the new edge stay
    /// as they are, so that what they hold shows again where the array grows anew, as with zarr-python. Whatever shape
    /// others gave the array since it was opened is the old one; one that is being changed is waited for, as by
    /// [`append`](Array::append).
    ///
    /// # Errors
    ///
    /// `Invalid` for a shape of another rank; those of the store.
    pub fn resize(&self, shape: &[u64]) -> Result<Array, Error> {
        self.require_writable()?;
        let _alone = ShapeLock::take(self, None)?;
        let stored = self.as_stored()?;
        let resized = stored.store_shape(shape)?;
        stored.remove_outside(&resized)?;
        Ok(resized)
    }

    /// Writes elements behind the array's last ones along an axis, those that are stored by then; the array that is returned
    /// holds them. The elements are written first and the new shape last: a reader sees none of them, or all.
    ///
    /// Two that append at once do so one after the other: in one process, and of a local directory in several. Of a store
    /// behind a network they must be of one process: of two, one is refused once it is done, and may have written over what
    /// the other one appended.
    ///
    /// # Errors
    ///
    /// `Invalid` for elements of another shape, but for that axis; as [`Array::write_from`].
    pub fn append(
        &self,
        axis: usize,
        source: &Elements<'_>,
        options: &WriteOptions<'_>,
    ) -> Result<Array, Error> {
        self.require_writable()?;
        let _alone = ShapeLock::take(self, options.interrupt)?;
        self.as_stored()?.append_alone(axis, source, options)
    }

    fn append_alone(
        &self,
        axis: usize,
        source: &Elements<'_>,
        options: &WriteOptions<'_>,
    ) -> Result<Array, Error> {
        let own = self.shape();
        let is_alike = |(at, (own, added)): (usize, (&u64, &u64))| at == axis || own == added;
        let fits = own.len() == source.shape().len() && axis < own.len();
        if !fits || !own.iter().zip(source.shape()).enumerate().all(is_alike) {
            let message = format!(
                "wanted elements to append along axis {axis} of an array of shape {own:?}, found elements of shape {:?}",
                source.shape()
            );
            return Err(Error::invalid(message).with_object(&self.name()));
        }
        let mut shape = own.to_vec();
        shape[axis] = shape[axis].checked_add(source.shape()[axis]).ok_or_else(|| {
            Error::invalid("the array would have more than 2^64 elements along an axis")
                .with_object(&self.name())
        })?;
        let mut document = self.stored_document()?;
        set_shape(&mut document, self.metadata(), &shape).map_err(|error| error.with_object(&self.name()))?;
        let grown = self.with_metadata(self.metadata_of(document)?)?;
        let mut axes: Vec<ResolvedAxis> = grown.resolve(&crate::Selection::all())?.axes;
        (axes[axis].start, axes[axis].count) = (own[axis], source.shape()[axis]);
        grown.write_target(&Target::Axes(axes, Vec::new()), source, options)?;
        self.store_shape(&shape)
    }

    /// Where the array's own document is.
    pub(super) fn document_key(&self) -> String {
        let name = match self.zarr_format() {
            ZarrFormat::V3 => "zarr.json",
            ZarrFormat::V2 => ".zarray",
        };
        join(self.path(), name)
    }

    pub(super) fn stored_document(&self) -> Result<Map<String, Value>, Error> {
        let key = self.document_key();
        match self.store().document(&self.engine(), &key)? {
            crate::store::Document::Here(bytes) => {
                json::parse_object(&bytes).map_err(|error| error.with_object(&self.store().describe(&key)))
            }
            _ => Err(Error::new(ErrorKind::NotFound, "the array is gone").with_object(&self.name())),
        }
    }

    /// The metadata that a document describes, with the array's own attributes where they lie elsewhere.
    pub(super) fn metadata_of(&self, document: Map<String, Value>) -> Result<ArrayMetadata, Error> {
        let name = self.store().describe(&self.document_key());
        match self.zarr_format() {
            ZarrFormat::V3 => ArrayMetadata::from_v3(document, &name),
            ZarrFormat::V2 => ArrayMetadata::from_v2(document, self.metadata().attributes().clone(), &name),
        }
    }

    /// The array as it is stored by now.
    fn as_stored(&self) -> Result<Array, Error> {
        let stored = Array::open_in(self.store(), self.path())?;
        if stored.data_type() != self.data_type() {
            let message = format!(
                "wanted an array of data type `{}`, as when it was opened, found one of `{}`: open it again",
                self.data_type(),
                stored.data_type()
            );
            return Err(Error::invalid(message).with_object(&self.name()));
        }
        self.with_metadata(stored.metadata().clone())
    }

    fn store_shape(&self, shape: &[u64]) -> Result<Array, Error> {
        let own = self.shape();
        if shape.len() != own.len() {
            let message = format!("wanted a shape of {} axes, found {shape:?}", own.len());
            return Err(Error::invalid(message).with_object(&self.name()));
        }
        let document = change_document(self.store(), &self.document_key(), |document| {
            set_shape(document, self.metadata(), shape)?;
            // What cannot be opened again is not stored.
            self.with_metadata(self.metadata_of(document.clone())?).map(|_| ())
        })?;
        self.with_metadata(self.metadata_of(document)?)
    }

    /// Removes the objects that lie outside the shape that the array has now.
    fn remove_outside(&self, resized: &Array) -> Result<(), Error> {
        let (before, after) = (self.stored_grid(), resized.stored_grid());
        for axis in 0..before.len() {
            // Each object outside counts for the first axis along which it is.
            let starts: Vec<u64> =
                (0..before.len()).map(|at| if at == axis { after[at].min(before[at]) } else { 0 }).collect();
            let ends =
                (0..before.len()).map(|at| if at < axis { after[at].min(before[at]) } else { before[at] });
            let counts: Vec<u64> = ends.zip(&starts).map(|(end, start)| end - start).collect();
            let Some(count) = cell_count(&counts) else { continue };
            let mut first = 0;
            while first < count {
                let end = first.saturating_add(REMOVED_AT_ONCE).min(count);
                let numbers: Vec<u64> = (first..end).collect();
                each_at_once(self.store(), &numbers, |number| {
                    let mut coordinates = vec![0; counts.len()];
                    unravel(*number, &counts, &mut coordinates);
                    coordinates.iter_mut().zip(&starts).for_each(|(at, start)| *at += start);
                    delete(&self.inner.chunk_object(&coordinates))
                })
                .map_err(|error| self.store().named(error))?;
                first = end;
            }
        }
        Ok(())
    }
}

/// Puts a shape into an array's document, in place of the one that `metadata` have.
fn set_shape(
    document: &mut Map<String, Value>,
    metadata: &ArrayMetadata,
    shape: &[u64],
) -> Result<(), Error> {
    let expected = metadata.shape();
    let found = document.get("shape").cloned().unwrap_or_default();
    if found != Value::from(expected) {
        let found = json::brief(&found);
        return Err(Error::invalid(format!(
            "wanted the shape {expected:?}, as when the array was opened, found {found}: open it again"
        )));
    }
    document.insert("shape".to_owned(), Value::from(shape));
    extend_grid(document, shape, metadata.inner_chunk_shape().as_deref())
}
