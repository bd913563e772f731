//! Codecs of `swath.codecs`, which are numcodecs' and zarr-python's, as codecs of the crate.

use crate::interpreter::attached;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use swath::codecs::{ChunkLayout, CodecClass, CodecCode, RegisteredCodec, register_codecs};

/// Chunks that were decoded or encoded in Python.
static CALLS: AtomicU64 = AtomicU64::new(0);

/// How many chunks were decoded or encoded in Python so far.
pub(crate) fn calls() -> u64 {
    CALLS.load(Ordering::Relaxed)
}

/// Has metadata that name codecs which swath lacks look for them in Python.
pub(crate) fn register() {
    register_codecs(|entry| find(entry).transpose());
}

fn find(entry: &Value) -> Result<Option<RegisteredCodec>, String> {
    in_python(|py| {
        let found = py.import("swath.codecs")?.call_method1("find", (entry.to_string(),))?;
        if found.is_none() {
            return Ok(None);
        }
        let kind: String = found.getattr("kind")?.extract()?;
        let class = match kind.as_str() {
            "array-to-bytes" => CodecClass::ArrayToBytes,
            _ => CodecClass::BytesToBytes,
        };
        Ok(Some(RegisteredCodec::new(entry, class, Arc::new(PythonCodec { codec: found.unbind() }))))
    })
}

/// An object with the methods of `swath.codecs.PythonCodec`.
struct PythonCodec {
    codec: Py<PyAny>,
}

impl CodecCode for PythonCodec {
    fn decode(
        &self,
        source: &[u8],
        content: Option<&ChunkLayout>,
        target: &mut [u8],
    ) -> Result<usize, String> {
        self.call("decode", source, content, |decoded| {
            let found = decoded.len();
            let most = target.len();
            let front = target.get_mut(..found);
            let front = front.ok_or_else(|| format!("wanted {most} decoded bytes at most, found {found}"))?;
            front.copy_from_slice(decoded);
            Ok(found)
        })
    }

    fn encode(
        &self,
        source: &[u8],
        content: Option<&ChunkLayout>,
        target: &mut Vec<u8>,
    ) -> Result<(), String> {
        self.call("encode", source, content, |encoded| {
            target.extend_from_slice(encoded);
            Ok(())
        })
    }
}

impl PythonCodec {
    /// Calls a method with bytes, and hands on those that it returns.
    fn call<T>(
        &self,
        method: &str,
        source: &[u8],
        content: Option<&ChunkLayout>,
        take: impl FnOnce(&[u8]) -> Result<T, String>,
    ) -> Result<T, String> {
        CALLS.fetch_add(1, Ordering::Relaxed);
        in_python(|py| {
            let (shape, dtype) = match content.and_then(|content| Some((content, dtype_of(content)?))) {
                Some((content, dtype)) => (Some(PyTuple::new(py, &content.shape)?), Some(dtype)),
                None => (None, None),
            };
            let arguments = (PyBytes::new(py, source), shape, dtype);
            let returned = self.codec.bind(py).call_method1(method, arguments)?;
            let bytes = returned.cast::<PyBytes>().map_err(PyErr::from)?;
            Ok(take(bytes.as_bytes()))
        })?
    }
}

/// NumPy's name for elements that are numbers.
fn dtype_of(content: &ChunkLayout) -> Option<String> {
    match content.element.components()? {
        (number, 1) => Some(number.name().to_owned()),
        (number, _) => match number.size_bytes() {
            4 => Some("complex64".to_owned()),
            8 => Some("complex128".to_owned()),
            _ => None,
        },
    }
}

/// Runs some Python, on any thread; an exception becomes its text, and an interrupt is handed on to the main thread too.
fn in_python<T>(work: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T, String> {
    let done = attached(|py| {
        work(py).map_err(|error| {
            let class =
                error.get_type(py).name().map_or_else(|_| "exception".into(), |name| name.to_string());
            let text = error.value(py).str().map_or_else(|_| String::new(), |text| text.to_string());
            // Last: what runs behind it on the main thread would raise it, where nobody looks.
            if error.is_instance_of::<PyKeyboardInterrupt>(py) {
                let sent = py.import("_thread").and_then(|thread| thread.call_method0("interrupt_main"));
                // Without a handler it is told as any exception is.
                let _ = sent;
            }
            format!("{class}: {text}")
        })
    });
    done.unwrap_or_else(|| Err("wanted a Python interpreter, found one that is ending".to_owned()))
}
