//! Writing elements of any length.

use super::elements::Elements;
use super::options::WriteOptions;
use super::variable_chunk::WRITTEN;
use crate::data_type::PLACE_BYTES;
use crate::variable::{Place, VariableArrayData};
use crate::{Array, Error, Selection};

impl Array {
    /// Writes strings or byte strings to what a selection selects, broadcast to its shape as NumPy does: as
    /// [`Array::write_from`] for elements that have lengths of their own, which those that may be missing can have as well.
    ///
    /// ```
    /// use swath_zarr_front::{ArrayBuilder, DataType, Store, VariableArrayData, WriteOptions};
    /// use swath_ioengine::MemoryMedium;
    ///
    /// let store = Store::memory(&MemoryMedium::new());
    /// let array = ArrayBuilder::new(&[4], DataType::String).chunk_shape(&[2]).create(&store, "names")?;
    /// let names = VariableArrayData::of_strings(&[2], ["Oslo", "Jokkmokk"])?;
    /// array.write_variable(&"1:3".parse()?, &names, &WriteOptions::default())?;
    /// let read = array.read_variable(&"::-1".parse()?)?;
    /// assert_eq!(read.strings()?, ["", "Jokkmokk", "Oslo", ""]);
    /// # Ok::<(), swath_zarr_front::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Array::write_from`]; `Invalid` for elements of another type than the array's; `Unsupported` for an element of
    /// 2^32 bytes and for chunks of more bytes than are read again (2^30 as they are stored).
    pub fn write_variable(
        &self,
        selection: &Selection,
        data: &VariableArrayData,
        options: &WriteOptions<'_>,
    ) -> Result<(), Error> {
        let places = self.places_of(data)?;
        self.write_from(selection, &Elements::of_places(&places, data)?, options)
    }

    /// Writes strings or byte strings behind the array's last ones along an axis, as [`Array::append`]; the array that is
    /// returned holds them.
    ///
    /// # Errors
    ///
    /// As [`Array::append`] and [`Array::write_variable`].
    pub fn append_variable(
        &self,
        axis: usize,
        data: &VariableArrayData,
        options: &WriteOptions<'_>,
    ) -> Result<Array, Error> {
        let places = self.places_of(data)?;
        self.append(axis, &Elements::of_places(&places, data)?, options)
    }

    /// Where each element lies in the bytes of `data`.
    pub(super) fn places_of(&self, data: &VariableArrayData) -> Result<Vec<u8>, Error> {
        if data.data_type() != self.data_type() {
            let message = format!(
                "wanted elements of data type `{}` to write, found `{}`",
                self.data_type(),
                data.data_type()
            );
            return Err(Error::invalid(message).with_object(&self.name()));
        }
        let times = self.data_type().variable().map_or(0, |variable| variable.times);
        let mut places = Vec::with_capacity(data.len().saturating_mul(PLACE_BYTES));
        for (number, ends) in data.offsets().windows(2).enumerate() {
            let place = match data.presence().get(number) {
                Some(present) if *present < times => Place::Missing { present: *present },
                _ => Place::At { chunk: WRITTEN, bytes: ends[0]..ends[1] },
            };
            let place = place.to_bytes().ok_or_else(|| {
                Error::unsupported("writing an element of 2^32 bytes or more").with_object(&self.name())
            })?;
            places.extend(place);
        }
        Ok(places)
    }
}
