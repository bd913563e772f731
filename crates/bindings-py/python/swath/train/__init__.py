"""Training samples straight from archives: ``import swath.train``.

A `Dataset` is sources (`source`: an array, how it is cut, how it is converted) and origins at which all of
them can be cut; a `Loader` gives its samples in batches, in an order that is a pure function of seed and
epoch, read ahead in this process, as tensors where torch is installed. Needs nothing but NumPy.
"""

from swath.train.anemoi_layout import anemoi
from swath.train.axis import Axis
from swath.train.batch import Batch, Samples
from swath.train.blocks import Blocks, blocks_of
from swath.train.cells import Cells
from swath.train.chunk_aware import ChunkAware
from swath.train.crop import Crop
from swath.train.dataset import Dataset
from swath.train.dropout import Dropout
from swath.train.explanation import Explanation, SourceCost, explain
from swath.train.forecast import Forecast
from swath.train.loader import Loader
from swath.train.medium import MEDIA, Medium
from swath.train.moments import Statistics, statistics
from swath.train.observations import Observations
from swath.train.patch import Patch, Point
from swath.train.permutation import Permutation
from swath.train.sampler import Random, Sampler, Sequential, Stratified, Weighted
from swath.train.share import Share
from swath.train.simulation import Described, Simulated, simulate
from swath.train.sources import Source, source
from swath.train.splits import Splits
from swath.train.suited import Layout
from swath.train.tensors import collate
from swath.train.window import Window

__all__ = [
    "MEDIA",
    "Axis",
    "Batch",
    "Blocks",
    "Cells",
    "ChunkAware",
    "Crop",
    "Dataset",
    "Described",
    "Dropout",
    "Explanation",
    "Forecast",
    "Layout",
    "Loader",
    "Medium",
    "Observations",
    "Patch",
    "Permutation",
    "Point",
    "Random",
    "Sampler",
    "Samples",
    "Sequential",
    "Share",
    "Simulated",
    "Source",
    "SourceCost",
    "Splits",
    "Statistics",
    "Stratified",
    "Weighted",
    "Window",
    "anemoi",
    "blocks_of",
    "collate",
    "explain",
    "simulate",
    "source",
    "statistics",
]
