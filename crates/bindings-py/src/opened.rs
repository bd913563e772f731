//! An array once it is opened.

use crate::errors::warn;
use crate::location::Location;
use crate::{dtype, selection};
use numpy::PyArrayDescr;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use swath::codecs::Codec;
use swath::convert::GRIB_CODECS;
use swath::{ArrayCodecs, AxisSelection, Selection};

/// An array once it is opened, with what every read needs of Python.
pub(crate) struct Opened {
    pub(crate) array: swath::Array,
    dtype: PyOnceLock<Py<PyArrayDescr>>,
    pub(crate) name: String,
    pub(crate) attributes: PyOnceLock<Py<PyAny>>,
}

impl Opened {
    pub(crate) fn new(location: &Location, array: swath::Array) -> Opened {
        Opened {
            array: array.with_decoded_cache(location.decoded()),
            dtype: PyOnceLock::new(),
            name: location.name(),
            attributes: PyOnceLock::new(),
        }
    }

    /// The same array, seen through some of its fields.
    pub(crate) fn seen(&self, array: swath::Array) -> Opened {
        let (dtype, attributes) = (PyOnceLock::new(), PyOnceLock::new());
        Opened { array, dtype, name: self.name.clone(), attributes }
    }

    /// The dtype of what reads give. It is asked for late, as some are not NumPy's own: without the package that has them
    /// an array's metadata can be looked at all the same.
    pub(crate) fn dtype<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyArrayDescr>> {
        let made = || dtype::of(py, self.array.data_type(), &self.name).map(Bound::unbind);
        Ok(self.dtype.get_or_try_init(py, made)?.bind(py))
    }

    /// Writes the selection that an index stands for to `axes`; one by lists or masks is returned.
    pub(crate) fn parse(
        &self,
        index: &Bound<'_, PyAny>,
        axes: &mut Vec<AxisSelection>,
    ) -> PyResult<Option<Selection>> {
        selection::parse(index, self.array.shape(), &self.name, axes)
    }

    /// Codecs of the chunks that are decoded, each with its phrase, in encoding order.
    pub(crate) fn codecs(&self) -> impl Iterator<Item = (&Codec, String)> {
        let mut codecs = self.array.metadata().codecs();
        while let ArrayCodecs::Sharding(sharding) = codecs {
            codecs = &sharding.codecs;
        }
        let chain = match codecs {
            ArrayCodecs::Chain(chain) => chain.as_slice(),
            ArrayCodecs::Sharding(_) => &[],
        };
        chain.iter().map(|codec| (codec, codec.describe()))
    }

    /// Warns of codecs that are Python's.
    pub(crate) fn warn_of_python_codecs(&self, py: Python<'_>) -> PyResult<()> {
        let codecs = self.codecs().map(|(codec, _)| codec);
        // Those of GRIB are registered too, before any of Python.
        let is_python =
            |codec: &&Codec| matches!(codec, Codec::Registered(_)) && !GRIB_CODECS.contains(&codec.name());
        let slow: Vec<&str> = codecs.filter(is_python).map(Codec::name).collect();
        if slow.is_empty() {
            return Ok(());
        }
        let message = format!("{}: decoded by Python, which is slow: codec {}", self.name, slow.join(", "));
        warn(py, &message)
    }

    /// Chunks along each axis, those of shards counted one by one.
    pub(crate) fn chunk_grid(&self) -> Vec<u64> {
        let sharded = self.array.shard_shape().and_then(|_| self.array.common_chunk_shape());
        let Some(extents) = sharded else { return self.array.stored_grid().to_vec() };
        let axes = self.array.shape().iter().zip(&extents);
        axes.map(|(length, extent)| length.div_ceil((*extent).max(1))).collect()
    }
}
