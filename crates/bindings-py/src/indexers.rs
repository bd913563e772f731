//! `Array.oindex`, `Array.vindex` and `Array.blocks`.

use crate::array::Array;
use crate::selection::Way;
use numpy::PyUntypedArray;
use pyo3::prelude::*;

/// Selects along each axis by itself, by lists and masks too: `array.oindex[...]`.
///
/// Examples
/// --------
/// >>> array.oindex[[0, 5, 2], :, [1, 4], ::2].shape
/// (3, 3, 2, 128)
#[pyclass(frozen, module = "swath")]
pub(crate) struct OIndex(pub(crate) Py<Array>);

/// Selects single elements, by points or a mask: `array.vindex[...]`.
///
/// Examples
/// --------
/// >>> array.vindex[[0, 7], [1, 1], [20, 30], [40, -1]].shape
/// (2,)
#[pyclass(frozen, module = "swath")]
pub(crate) struct VIndex(pub(crate) Py<Array>);

/// Selects stored chunks, shards where there are some: `array.blocks[...]`.
///
/// Examples
/// --------
/// >>> array.blocks[0, 0].shape
/// (1, 3, 256, 256)
#[pyclass(frozen, module = "swath")]
pub(crate) struct BlockIndex(pub(crate) Py<Array>);

macro_rules! indexer {
    ($name:ident, $way:expr) => {
        #[pymethods]
        impl $name {
            fn __getitem__<'py>(
                &self,
                py: Python<'py>,
                index: &Bound<'py, PyAny>,
            ) -> PyResult<Bound<'py, PyUntypedArray>> {
                self.0.get().read_by(py, $way, index, None)
            }

            fn __setitem__(
                &self,
                py: Python<'_>,
                index: &Bound<'_, PyAny>,
                value: &Bound<'_, PyAny>,
            ) -> PyResult<()> {
                self.0.get().write_by(py, $way, index, value)
            }
        }
    };
}

indexer!(OIndex, Way::Orthogonal);
indexer!(VIndex, Way::Vectorised);
indexer!(BlockIndex, Way::Blocks);
