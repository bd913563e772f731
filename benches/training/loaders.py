"""The loaders: each gives the batches of a case in its order, again and again, with its settings told."""

from __future__ import annotations

import itertools
import multiprocessing
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benches.cloud.readers.location import Location
from benches.training.cases import VARIABLES, Case, Values

type Batches = Iterator[Any]
type Settings = Mapping[str, Any]


def swath(case: Case, settings: Settings) -> Batches:
    """Give batches of `swath.train`, read ahead in this process."""
    from swath import train

    dims = ("time", "level", "latitude", "longitude")
    corners = np.array(case.corners[: len(case.batches) * case.batch_size])
    cut = [axis for axis, length in enumerate(case.shape) if len(set(corners[:, axis])) != 1]
    crops: dict[str | tuple[str, ...], train.Crop] = {
        dims[axis]: train.Window(1, history=0, forecast=case.shape[axis])
        if axis == 0
        else train.Patch(case.shape[axis])
        for axis in cut
    }
    normal: dict[str, Any] = {} if case.mean is None else {"mean": case.mean, "std": case.std, "per": "level"}
    sources = {
        path.name: train.source(opened(path, settings), dims=dims, crops=crops, **normal)
        for path in case.paths
    }
    # Windows without history begin behind their origin.
    origins = corners[:, cut] - np.array([int(axis == 0) for axis in cut])
    dataset = train.Dataset(sources, origins={tuple(dims[axis] for axis in cut): origins})
    if len(dataset) != len(corners):
        raise SystemExit(f"bench: swath.train refuses {dataset.refused}")
    loader = train.Loader(
        dataset,
        case.batch_size,
        sampler="sequential",
        prefetch=settings["prefetch"],
        to=settings.get("to", "auto"),
    )
    return loader.endless()


def opened(path: Path, settings: Settings) -> Any:
    """Open an array from its folder, or from the bucket of a server that has the folder."""
    import swath

    if "endpoint" not in settings:
        return swath.open_array(path)
    place = Location("s3", settings["endpoint"], "training", f"{path.parent.name}/{path.name}")
    return swath.open_array(place.url, storage_options=place.storage_options() | {"hedge": "true"})


class Crops:
    """A map-style dataset whose samples are read by a function, a batch at once."""

    def __init__(self, case: Case, opened: Callable[[Case], Callable[[list[int]], Any]]) -> None:
        self.case, self.opened = case, opened
        self.read: Callable[[list[int]], Any] | None = None

    def __len__(self) -> int:
        return len(self.case.corners)

    def __getitems__(self, numbers: list[int]) -> Any:
        """Read samples together; what is opened is opened by the process that reads."""
        if self.read is None:
            self.read = self.opened(self.case)
        return self.read(numbers)


def tensorstore(case: Case, settings: Settings) -> Batches:
    """Give batches of TensorStore, whose reads of a batch are all in flight at once, in a DataLoader."""
    return loaded(Crops(case, opened_by_tensorstore), case, settings)


def opened_by_tensorstore(case: Case) -> Callable[[list[int]], Any]:
    """Open the arrays, and return what reads a batch."""
    import tensorstore as ts

    arrays = [
        ts.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": str(path)}}).result()
        for path in case.paths
    ]

    def read(numbers: list[int]) -> dict[str, Values]:
        pending = [[array[case.index(number)].read() for number in numbers] for array in arrays]
        return {
            path.name: np.stack([case.finished(crop.result()) for crop in crops])
            for path, crops in zip(case.paths, pending, strict=True)
        }

    return read


def zarr_python(case: Case, settings: Settings) -> Batches:
    """Give batches of zarr-python in a DataLoader, crop by crop."""
    return loaded(Crops(case, opened_by_zarr), case, settings)


def opened_by_zarr(case: Case) -> Callable[[list[int]], Any]:
    """Open the arrays, and return what reads a batch."""
    import zarr

    arrays = [zarr.open_array(path, mode="r") for path in case.paths]

    def read(numbers: list[int]) -> dict[str, Values]:
        return {
            path.name: np.stack([case.finished(np.asarray(array[case.index(number)])) for number in numbers])
            for path, array in zip(case.paths, arrays, strict=True)
        }

    return read


def xbatcher(case: Case, settings: Settings) -> Batches:
    """Give batches of the public demo's way: xbatcher over a dataset of dask, in a DataLoader."""
    return loaded(Crops(case, opened_by_xbatcher), case, settings)


def opened_by_xbatcher(case: Case) -> Callable[[list[int]], Any]:
    """Open the dataset, and return what reads a batch, sample by sample as the demo does."""
    import xarray
    from xbatcher import BatchGenerator

    from benches.training.cases import LATITUDES, LONGITUDES, OVERLAP, PATCH, STEPS

    dataset = xarray.open_zarr(case.paths[0].parent, consolidated=False)[list(VARIABLES)]
    generator = BatchGenerator(
        dataset,
        input_dims={"time": STEPS, "latitude": PATCH, "longitude": PATCH},
        input_overlap={"latitude": OVERLAP, "longitude": OVERLAP},
        preload_batch=False,
    )
    stride = PATCH - OVERLAP
    rows, columns = (LATITUDES - OVERLAP) // stride, (LONGITUDES - OVERLAP) // stride

    def read(numbers: list[int]) -> list[dict[str, Values]]:
        found = []
        for number in numbers:
            time, _, row, column = case.corners[number]
            place = (time // STEPS * rows + row // stride) * columns + column // stride
            sample = generator[place].load()
            found.append({name: case.finished(sample[name].values) for name in VARIABLES})
        return found

    return read


def loaded(dataset: Crops, case: Case, settings: Settings) -> Batches:
    """Give batches of torch's DataLoader over a dataset, epoch after epoch."""
    from torch.utils.data import DataLoader

    workers = settings["workers"]
    options: dict[str, Any] = {}
    if workers:
        options = {
            "multiprocessing_context": multiprocessing.get_context(settings["start"]),
            "persistent_workers": True,
            "prefetch_factor": settings["prefetch"],
        }
    if settings.get("dask"):
        import dask

        dask.config.set(scheduler=settings["dask"])
    samples: Any = dataset
    loader = DataLoader(
        samples, batch_sampler=case.batches, num_workers=workers, collate_fn=collated, **options
    )
    return itertools.chain.from_iterable(loader for _ in itertools.count())


def collated(samples: Any) -> Any:
    """Make tensors of a batch that was stacked, and stack samples that were not."""
    from torch import from_numpy
    from torch.utils.data import default_collate

    if isinstance(samples, dict):
        return {name: from_numpy(values) for name, values in samples.items()}
    return default_collate(samples)


LOADERS: dict[str, Callable[[Case, Settings], Batches]] = {
    "swath": swath,
    "tensorstore": tensorstore,
    "zarr-python": zarr_python,
    "xbatcher": xbatcher,
}
