//! Chunks whose bytes Python has.

use crate::described::checked_metadata;
use crate::dtype;
use crate::errors::{raised, raised_about};
use crate::output::{Target, checked};
use crate::read::detached;
use numpy::{PyArray1, PyArrayDescr, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use swath::ChunkCodec as Codec;

/// The codecs of metadata in JSON, for chunks that are given as bytes.
#[pyclass(frozen, module = "swath._swath")]
pub(crate) struct ChunkCodec {
    codec: Codec,
    dtype: Py<PyArrayDescr>,
    shape: Vec<usize>,
}

#[pymethods]
impl ChunkCodec {
    #[new]
    fn new(py: Python<'_>, document: &str) -> PyResult<ChunkCodec> {
        let metadata = checked_metadata(py, document, NAME)?;
        let codec = Codec::new(&metadata).map_err(|error| raised_about(py, &error, NAME))?;
        let dtype = dtype::of(py, codec.data_type(), NAME)?.unbind();
        let shape = metadata.chunk_shape().iter().map(|extent| usize::try_from(*extent));
        Ok(ChunkCodec { codec, dtype, shape: shape.collect::<Result<_, _>>()? })
    }

    /// The dtype of decoded chunks.
    #[getter]
    fn dtype(&self, py: Python<'_>) -> Py<PyArrayDescr> {
        self.dtype.clone_ref(py)
    }

    /// Decode chunks, each a contiguous array of uint8, into an array of shape (n, *chunk).
    fn decode<'py>(
        &self,
        py: Python<'py>,
        chunks: Vec<Bound<'py, PyArray1<u8>>>,
        out: &Bound<'py, PyAny>,
    ) -> PyResult<()> {
        let chunks = readonly(&chunks)?;
        let chunks = slices(&chunks)?;
        let mut shape = vec![chunks.len()];
        shape.extend(&self.shape);
        let out = checked(out, &shape, self.dtype.bind(py), NAME)?;
        let mut target = Target::of(&out, NAME)?;
        let target = target.bytes()?;
        detached(py, |_| self.codec.decode_many(&chunks, target))
    }

    /// Encode chunks, each given as the contiguous uint8 view of its elements in C order.
    fn encode<'py>(
        &self,
        py: Python<'py>,
        chunks: Vec<Bound<'py, PyArray1<u8>>>,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let chunks = readonly(&chunks)?;
        let chunks = slices(&chunks)?;
        let encoded = py.detach(|| self.codec.encode_many(&chunks)).map_err(|error| raised(py, &error))?;
        Ok(encoded.iter().map(|chunk| PyBytes::new(py, chunk)).collect())
    }
}

/// What errors call chunks that no store is known of.
const NAME: &str = "chunks";

fn readonly<'py>(chunks: &[Bound<'py, PyArray1<u8>>]) -> PyResult<Vec<PyReadonlyArray1<'py, u8>>> {
    Ok(chunks.iter().map(PyArrayMethods::try_readonly).collect::<Result<_, _>>()?)
}

fn slices<'a>(chunks: &'a [PyReadonlyArray1<'_, u8>]) -> PyResult<Vec<&'a [u8]>> {
    Ok(chunks.iter().map(PyReadonlyArray1::as_slice).collect::<Result<_, _>>()?)
}
