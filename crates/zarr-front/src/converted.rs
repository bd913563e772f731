//! Arrays whose elements are converted while they are read.

use crate::array::Array;
use crate::array_data::ArrayData;
use crate::compiled::Compiled;
use crate::read::{ReadOptions, ReadPlan};
use crate::selection::ResolvedList;
use crate::{AxisKind, DataType, Error, ErrorKind, ResolvedAxis, Selection};
use std::sync::Arc;
use swath_codecs::{CompiledConversion, Conversion, Output};

/// An array as it is read through a [`Conversion`]: masked, scaled, normalised, averaged, filled and cast, chunk by chunk
/// while each is in cache, and never through an array of the result's size on the way. Cloning shares it.
///
/// Every kind of selection is read as of the [`Array`] itself. Where several elements become one, each axis of a selection
/// is divided into blocks from its first element on, and what is left over at its end is dropped.
///
/// ```
/// use swath_ioengine::MemoryMedium;
/// use swath_zarr_front::{Array, Conversion, NumberType, Store};
///
/// let memory = MemoryMedium::new();
/// memory.put("zarr.json", &br#"{"zarr_format": 3, "node_type": "array", "shape": [2, 4], "data_type": "int16",
///     "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 3]}}, "fill_value": -1,
///     "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}"#[..]);
/// memory.put("c/0/0", [10i16, 20, 30, 40, -1, 60].iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>());
///
/// let array = Array::open_in(&Store::memory(&memory), "")?;
/// let celsius = Conversion::to(NumberType::Float32).mask([-1]).scale(0.5).offset(-5.0);
/// let filled = array.converted(&celsius.clone().fill_nan(0.0))?;
/// assert_eq!(filled.read(&"1".parse()?)?.as_slice::<f32>()?, [15.0, 0.0, 25.0, 0.0]); // The last chunk is not stored.
/// let means = array.converted(&celsius.downsample(&[2, 1]))?.read(&"...".parse()?)?;
/// assert_eq!(means.shape(), [1, 4]);
/// assert_eq!(means.as_slice::<f32>()?[..1], [7.5]); // The others are NaN: each block holds a masked element.
/// # Ok::<(), swath_zarr_front::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ConvertedArray {
    array: Array,
    /// `None` where it changes nothing.
    conversion: Option<Arc<CompiledConversion>>,
}

impl Array {
    /// The array as it is read through a conversion, which is checked against it once.
    ///
    /// # Errors
    ///
    /// `Unsupported` for data types that are no numbers (dates and time spans, complex numbers, structures, text) and for
    /// targets that are no floats of 16 bits or more and no integers of 8 or more, and for means and normalising along an axis
    /// whose chunks differ in length. `Invalid` for a conversion that does not
    /// fit the array's axes, or would make NaN of integers without a value to fill with.
    pub fn converted(&self, conversion: &Conversion) -> Result<ConvertedArray, Error> {
        let named = |error: Error| error.with_object(&self.name());
        let Some(number) = self.data_type().quantity() else {
            let message =
                format!("converting elements of data type `{}`, which are no numbers", self.data_type());
            return Err(named(Error::unsupported(message)));
        };
        let compiled = conversion.compile(number, self.shape(), self.chunk_shape());
        let compiled = compiled.map_err(|error| named(Error::from(error)))?;
        compiled.as_ref().map_or(Ok(()), |compiled| self.check_grid(compiled)).map_err(named)?;
        Ok(ConvertedArray { array: self.clone(), conversion: compiled.map(Arc::new) })
    }

    /// Refuses what counts elements along axes whose chunks differ in length.
    fn check_grid(&self, conversion: &CompiledConversion) -> Result<(), Error> {
        let Some(grid) = self.metadata().rectilinear() else { return Ok(()) };
        let differ = (0..self.shape().len()).filter(|axis| grid.axis(*axis).is_some());
        for axis in differ {
            let what = match (conversion.factor(axis), conversion.channel_axis()) {
                (1, Some(channels)) if channels == axis => "normalising",
                (1, _) => continue,
                _ => "means",
            };
            return Err(Error::unsupported(format!(
                "{what} along axis {axis}, whose chunks differ in length"
            )));
        }
        Ok(())
    }
}

impl ConvertedArray {
    /// The array itself.
    #[must_use]
    pub fn array(&self) -> &Array {
        &self.array
    }

    pub(crate) fn conversion(&self) -> Option<&Arc<CompiledConversion>> {
        self.conversion.as_ref()
    }

    /// What an element of a result is.
    #[must_use]
    pub fn data_type(&self) -> DataType {
        ReadPlan::converted(self).data_type()
    }

    /// The plan to read some selections.
    ///
    /// # Errors
    ///
    /// As [`ReadPlan::new`]. `Unsupported` where several elements that are picked one by one were to become one: points,
    /// masks, and axes that lists pick from. `Invalid` where those of an axis were that is taken at one index.
    pub fn plan(&self, selections: &[Selection]) -> Result<ReadPlan<'_>, Error> {
        let mut plan = ReadPlan::converted(self);
        for selection in selections {
            plan.push(selection)?;
        }
        Ok(plan)
    }

    /// Reads one selection: see [`Array::read`].
    ///
    /// # Errors
    ///
    /// As [`Array::read`] and [`plan`](Self::plan).
    pub fn read(&self, selection: &Selection) -> Result<ArrayData, Error> {
        self.read_with(selection, &ReadOptions::default())
    }

    /// [`read`](Self::read) with options.
    ///
    /// # Errors
    ///
    /// As [`Array::read_with`] and [`plan`](Self::plan).
    pub fn read_with(&self, selection: &Selection, options: &ReadOptions<'_>) -> Result<ArrayData, Error> {
        only(self.read_many_with(std::slice::from_ref(selection), options)?)
    }

    /// Reads one selection into `target`: see [`Array::read_into`].
    ///
    /// # Errors
    ///
    /// As [`Array::read_into`] and [`plan`](Self::plan).
    pub fn read_into(&self, selection: &Selection, target: &mut [u8]) -> Result<(), Error> {
        self.read_many_into(std::slice::from_ref(selection), target, &ReadOptions::default())
    }

    /// Reads many selections at once: see [`Array::read_many`].
    ///
    /// # Errors
    ///
    /// As [`Array::read_many`] and [`plan`](Self::plan).
    pub fn read_many(&self, selections: &[Selection]) -> Result<Vec<ArrayData>, Error> {
        self.read_many_with(selections, &ReadOptions::default())
    }

    /// [`read_many`](Self::read_many) with options.
    ///
    /// # Errors
    ///
    /// As [`Array::read_many_with`] and [`plan`](Self::plan).
    pub fn read_many_with(
        &self,
        selections: &[Selection],
        options: &ReadOptions<'_>,
    ) -> Result<Vec<ArrayData>, Error> {
        self.plan(selections)?.read(options)
    }

    /// Reads many selections, one behind the other, into `target`: see [`Array::read_many_into`].
    ///
    /// # Errors
    ///
    /// As [`Array::read_many_into`] and [`plan`](Self::plan).
    pub fn read_many_into(
        &self,
        selections: &[Selection],
        target: &mut [u8],
        options: &ReadOptions<'_>,
    ) -> Result<(), Error> {
        self.plan(selections)?.read_into(target, options)
    }

    /// [`read`](Self::read) without blocking the caller. Dropping the future cancels the read.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub async fn read_async(&self, selection: &Selection) -> Result<ArrayData, Error> {
        only(self.read_many_async(std::slice::from_ref(selection), &ReadOptions::default()).await?)
    }

    /// [`read_many_with`](Self::read_many_with) without blocking the caller. Dropping the future cancels the read.
    ///
    /// # Errors
    ///
    /// As [`read_many_with`](Self::read_many_with).
    pub async fn read_many_async(
        &self,
        selections: &[Selection],
        options: &ReadOptions<'_>,
    ) -> Result<Vec<ArrayData>, Error> {
        self.plan(selections)?.read_async(options).await
    }
}

fn only(mut read: Vec<ArrayData>) -> Result<ArrayData, Error> {
    read.pop().ok_or_else(|| Error::new(ErrorKind::Internal, "a read of one selection gave none"))
}

/// The output of a read that converts.
pub(crate) fn with_conversion<'m>(
    output: Output<'m>,
    conversion: &Arc<CompiledConversion>,
    array: &Array,
) -> Result<Output<'m>, Error> {
    let seam_bytes_max = array.engine().config().limits.plan_bytes_max;
    let coordinate = coordinate(&array.inner.compiled, conversion.channel_axis().unwrap_or(0));
    Ok(output.with_conversion(Arc::clone(conversion), seam_bytes_max, coordinate)?)
}

/// From a chunk's number, as [`crate::picking`] counts the chunks of points, to its coordinate along an axis.
fn coordinate(compiled: &Compiled, axis: usize) -> Box<dyn Fn(u64) -> u64 + Send + Sync> {
    let along = |extents: &[u64]| {
        let behind: u64 = extents.iter().skip(axis + 1).product();
        (behind.max(1), extents.get(axis).copied().unwrap_or(1).max(1))
    };
    let (objects, chunks) = (along(&compiled.objects), along(&compiled.chunks_per_object));
    let chunks_in_object = compiled.chunks_in_object().max(1);
    Box::new(move |number| {
        let (object, chunk) = (number / chunks_in_object, number % chunks_in_object);
        object / objects.0 % objects.1 * chunks.1 + chunk / chunks.0 % chunks.1
    })
}

/// Drops what blocks leave over of each axis; returns the blocks in all.
pub(crate) fn trim(
    axes: &mut [ResolvedAxis],
    lists: &[ResolvedList],
    conversion: &CompiledConversion,
) -> Result<u64, Error> {
    for (number, axis) in axes.iter_mut().enumerate() {
        let factor = conversion.factor(number);
        if factor == 1 {
            continue;
        }
        if axis.kind == AxisKind::Dropped {
            let message = format!(
                "wanted a factor of 1 along axis {number}, which is taken at one index; found {factor}"
            );
            return Err(Error::invalid(message));
        }
        if lists.iter().any(|list| list.axis == number) {
            return Err(Error::unsupported(format!("means along axis {number}, which a list picks from")));
        }
        axis.count -= axis.count % factor;
    }
    let counts = axes.iter().enumerate().map(|(number, axis)| axis.count / conversion.factor(number));
    let blocks = counts.clone().try_fold(1u64, u64::checked_mul);
    let blocks = if counts.clone().any(|count| count == 0) { Some(0) } else { blocks };
    blocks.ok_or_else(|| Error::invalid("wanted a selection of at most 2^64 - 1 elements, found more"))
}

/// The shape of a result of blocks.
pub(crate) fn means_shape(axes: &[ResolvedAxis], conversion: &CompiledConversion) -> Vec<u64> {
    let kept = axes.iter().enumerate().filter(|(_, axis)| axis.kind == AxisKind::Kept);
    kept.map(|(number, axis)| axis.count / conversion.factor(number)).collect()
}

/// Refuses elements that are picked from anywhere, where several of them were to become one.
pub(crate) fn refuse_means(conversion: Option<&Arc<CompiledConversion>>) -> Result<(), Error> {
    match conversion {
        Some(conversion) if conversion.has_means() => {
            Err(Error::unsupported("means of elements that points or a mask pick"))
        }
        _ => Ok(()),
    }
}
