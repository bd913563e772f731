"""swath under zarr-python: a codec pipeline that reads and writes its arrays, and a store.

``zarr.config.set({"codec_pipeline.path": "swath.zarr.CodecPipeline"})``, or ``swath.zarr.enable()``, which
can be a context manager, has arrays that zarr-python opens from then on read and written by swath.
``swath.zarr.report()`` says what was, and what zarr-python's own pipeline did instead and why.

Which way chunks go is found out batch by batch:

1. *Native reads*: where the store is exactly one whose storage swath reads by itself, one read of swath's
   fills the output: LocalStore, ObjectStore, FsspecStore and a ZipStore that is only read, over the storage
   that ``swath.open`` knows, and ``swath.zarr.Store``. Subclasses and wrappers may do more than read, so they
   are none of these.
2. *Native decoding*: bytes come and go through the store's own methods, whatever it is; swath decodes and
   encodes.
3. *zarr-python's own pipeline*: what swath has no native way for, such as codecs that were registered in
   place of zarr-python's. Each array warns once (``FallbackWarning``), each batch is counted, and
   ``enable(strict=True)`` raises.
"""

from swath.zarr.fallback import FallbackWarning, Report, report
from swath.zarr.pipeline import SwathCodecPipeline, enable
from swath.zarr.store import SwathStore

CodecPipeline = SwathCodecPipeline
Store = SwathStore

# Tracebacks and pickles name what is public.
for public in (SwathCodecPipeline, SwathStore):
    public.__module__ = __name__

__all__ = [
    "CodecPipeline",
    "FallbackWarning",
    "Report",
    "Store",
    "SwathCodecPipeline",
    "SwathStore",
    "enable",
    "report",
]
