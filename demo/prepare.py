"""Writes the demo's array: satellite-like imagery, sharded and compressed, with zarr-python.

The imagery is made of smooth random fields (surface, cloud, water vapour) that drift with time, mixed in ten
channels, with noise in the low bits as a sensor's counts have it, so that it compresses about two to one.
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
import zarr
from zarr.codecs import BloscCodec

from demo.readers import FUSED_PIPELINE

type Field = npt.NDArray[np.float32]

TIMES = 24
CHANNELS = 10
SIZE = 1024
INNER_CHUNK = 64
SEED = 20200611

# Pixels that the weather moves between two images, and the edge of the fields that it moves over.
DRIFT_PIXELS = (9, 14)
FIELD_SIZE = 2048

# For each channel: counts at rest, then what full surface, cloud and vapour add, and the noise's deviation.
# The first four are reflectances of ten bits, the others brightnesses of twelve bits, where cloud is cold.
CHANNEL_RESPONSES = np.array(
    [
        [40, 220, 640, 0, 2.0],
        [50, 300, 560, 0, 2.2],
        [60, 360, 480, -20, 2.5],
        [30, 260, 420, -60, 2.0],
        [2300, 900, -1100, -150, 6.0],
        [1500, 200, -500, 900, 5.0],
        [1700, 350, -700, 700, 5.0],
        [2500, 800, -1300, -200, 6.0],
        [2600, 850, -1350, -250, 6.0],
        [2000, 500, -900, -100, 7.0],
    ],
    dtype=np.float32,
)
COUNTS_MAX = np.array([1023] * 4 + [4095] * 6, dtype=np.float32)


def blosc() -> BloscCodec:
    """Return the compressor of the demo's arrays: LZ4 after a bit shuffle."""
    return BloscCodec(cname="lz4", clevel=5, shuffle="bitshuffle")


def smooth_field(rng: np.random.Generator, steepness: float) -> Field:
    """Return a periodic random field in 0..1 whose spectrum falls with wave number to the ``-steepness``."""
    rows = np.fft.fftfreq(FIELD_SIZE)[:, np.newaxis]
    columns = np.fft.rfftfreq(FIELD_SIZE)[np.newaxis, :]
    wave_number = np.hypot(rows, columns)
    wave_number[0, 0] = np.inf
    phases = rng.uniform(0.0, 2.0 * np.pi, wave_number.shape)
    field = np.fft.irfft2(np.exp(1j * phases) * wave_number**-steepness, s=(FIELD_SIZE, FIELD_SIZE))
    field -= field.min()
    return (field / field.max()).astype(np.float32)


def window(field: Field, row: int, column: int) -> Field:
    """Return the image-sized part of a periodic field that starts at a row and column."""
    rows = np.arange(row, row + SIZE) % FIELD_SIZE
    columns = np.arange(column, column + SIZE) % FIELD_SIZE
    return field[np.ix_(rows, columns)]


def images(time_index: int, surface: Field, cloud: Field, vapour: Field) -> npt.NDArray[np.int16]:
    """Return the (channel, y, x) counts of one time step."""
    rng = np.random.default_rng((SEED, time_index))
    down, right = (time_index * step for step in DRIFT_PIXELS)
    # Cloud is patchy: sharp edges where a smooth field crosses a threshold.
    patches = 1.0 / (1.0 + np.exp(-18.0 * (window(cloud, down, right) - 0.55)))
    layers = np.stack([window(surface, 0, 0), patches, window(vapour, down // 2, right // 2)])
    responses = CHANNEL_RESPONSES[:, 1:4]
    counts = np.tensordot(responses, layers, axes=1) + CHANNEL_RESPONSES[:, 0, None, None]
    noise = rng.standard_normal(counts.shape, dtype=np.float32)
    counts += noise * CHANNEL_RESPONSES[:, 4, None, None]
    np.clip(counts, 0.0, COUNTS_MAX[:, None, None], out=counts)
    return np.rint(counts).astype(np.int16)


def write(target: Path) -> None:
    """Write the demo's array, (time, channel, y, x) int16, one shard for each time step."""
    array = zarr.create_array(
        store=target,
        shape=(TIMES, CHANNELS, SIZE, SIZE),
        shards=(1, CHANNELS, SIZE, SIZE),
        chunks=(1, 1, INNER_CHUNK, INNER_CHUNK),
        dtype="int16",
        compressors=[blosc()],
        dimension_names=["time", "channel", "y", "x"],
        attributes={"description": "made up by swath's demo: smooth fields, drifting cloud, sensor noise"},
    )
    rng = np.random.default_rng(SEED)
    surface, cloud, vapour = (smooth_field(rng, steepness) for steepness in (1.6, 1.8, 2.4))
    for time_index in range(TIMES):
        array[time_index] = images(time_index, surface, cloud, vapour)


def prepare(target: Path) -> None:
    """Write the demo's array unless it is there; a run that is stopped half-way leaves none behind."""
    if target.exists():
        return
    print(f"Preparing {target} (once) ...", flush=True)
    started = time.perf_counter()
    partial = target.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.parent.mkdir(parents=True, exist_ok=True)
    # zarr-python's opt-in pipeline writes the same bytes in a third of the time.
    with zarr.config.set({"codec_pipeline.path": FUSED_PIPELINE}):
        write(partial)
    partial.rename(target)
    stored = sum(file.stat().st_size for file in target.rglob("*") if file.is_file())
    logical = TIMES * CHANNELS * SIZE * SIZE * np.dtype(np.int16).itemsize
    ratio = f"{logical / 1e6:.0f} MB of counts in {stored / 1e6:.0f} MB, {logical / stored:.2f} : 1"
    print(f"  {ratio}, in {time.perf_counter() - started:.0f} s")
