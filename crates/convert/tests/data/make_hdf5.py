"""Make the HDF5 and NetCDF-4 files of the tests, and what h5py and netCDF4 read in them.

Needs h5py, hdf5plugin and netCDF4; run it in this folder.
"""

import hashlib
import json
import zlib
from pathlib import Path

import h5py
import hdf5plugin
import netCDF4
import numpy as np

FOLDER = Path("hdf5")
GRID = np.arange(600).reshape(20, 30)
FILTERS = {
    "plain": {},
    "deflate": {"compression": "gzip", "compression_opts": 4},
    "shuffled": {"compression": "gzip", "shuffle": True},
    "checked": {"compression": "gzip", "shuffle": True, "fletcher32": True},
    "blosc": hdf5plugin.Blosc(cname="zstd", clevel=3, shuffle=hdf5plugin.Blosc.SHUFFLE),
    "zstd": hdf5plugin.Zstd(clevel=5),
    "lz4": hdf5plugin.LZ4(nbytes=256),
}
LEFT_OUT = {
    "bitshuffle": hdf5plugin.Bitshuffle(),
    "scaled": {"scaleoffset": 2},
}


def fill(file: h5py.File) -> None:
    """Write datasets of every kind."""
    for name, filters in FILTERS.items():
        file.create_dataset(f"filters/{name}", data=GRID.astype("<f4") / 7, chunks=(7, 8), **filters)
    for name, filters in LEFT_OUT.items():
        file.create_dataset(f"left_out/{name}", data=GRID.astype("<i4"), chunks=(7, 8), **filters)
    # What a filter would make longer may skip it.
    for name, bytes_of, mask in (
        ("filters/skips_all", lambda chunk: chunk.tobytes(), 0b11),
        ("filters/skips_last", lambda chunk: chunk.view("u1").reshape(-1, 4).T.tobytes(), 0b10),
        ("left_out/skipped", lambda chunk: zlib.compress(chunk.tobytes()), 0b01),
    ):
        skipped = file.create_dataset(name, (8, 6), "<i4", chunks=(4, 6), compression="gzip", shuffle=True)
        skipped[:] = GRID[:8, :6]
        skipped.id.write_direct_chunk((0, 0), bytes_of(GRID[:4, :6].astype("<i4")), filter_mask=mask)
    file.create_dataset("left_out/empty", dtype="f4")
    file["left_out/away"] = h5py.ExternalLink("elsewhere.h5", "/x")
    types(file)
    growing = {"grown": (None, 30), "grown_both": (None, None), "fixed": (20, 30)}
    for name, maxshape in growing.items():
        found = file.create_dataset(
            f"indexes/{name}", (9, 30), ">i2", chunks=(4, 9), maxshape=maxshape, fillvalue=-3
        )
        found.resize((20, 30))
        found[:10, 3:25] = GRID[:10, 3:25]
    shrunk = file.create_dataset("indexes/shrunk", data=GRID, chunks=(4, 9), maxshape=(None, None))
    shrunk.resize((7, 12))
    file.create_dataset("indexes/single", data=GRID, chunks=GRID.shape, compression="gzip")
    create = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    create.set_chunk((5, 7))
    create.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    space = h5py.h5s.create_simple(GRID.shape)
    early = h5py.h5d.create(file["indexes"].id, b"implicit", h5py.h5t.STD_I64LE, space, create)
    h5py.Dataset(early)[...] = GRID
    file.create_dataset("indexes/unwritten", (5, 6), "<u2", chunks=(2, 2), fillvalue=9)
    file.create_dataset("indexes/no_rows", (0, 6), "<u2", chunks=(2, 2), maxshape=(None, 6))
    file["link"] = h5py.SoftLink("/filters/plain")
    file["hard"] = file["filters/plain"]


def types(file: h5py.File) -> None:
    """Write datasets of types and layouts."""
    group = file.create_group("types")
    group["contiguous"] = GRID.astype(">f8")
    group["scalar"] = np.float32(2.5)
    group["booleans"] = GRID % 3 == 0
    group["complex"] = (GRID + 1j * GRID[::-1]).astype("<c8")
    group["texts"] = np.array([b"one", b"", b"three"], "S5")
    group["halves"] = np.array([1, -2.5, np.inf], "<f2")
    group.create_dataset(
        "strings",
        data=["\u00e4", "", "three"] * 3,
        dtype=h5py.string_dtype(),
        chunks=(4,),
        compression="gzip",
    )
    group.create_dataset(
        "levels", data=[0, 2, 1], dtype=h5py.enum_dtype({"LOW": 0, "MID": 1, "TOP": 2}, "u1")
    )
    pairs = np.zeros(5, np.dtype([("a", "u1"), ("b", "<f8")], align=True))
    pairs["a"], pairs["b"] = np.arange(5), np.linspace(0, 1, 5)
    group.create_dataset("pairs", data=pairs, chunks=(2,))
    create = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    create.set_layout(h5py.h5d.COMPACT)
    space = h5py.h5s.create_simple((4,))
    compact = h5py.h5d.create(group.id, b"compact", h5py.h5t.STD_I32LE, space, create)
    h5py.Dataset(compact)[...] = [4, 3, 2, 1]
    group.attrs.update(
        {
            "words": ["a", "bc"],
            "one": [7],
            "pi": 3.25,
            "flag": np.True_,
            "many": np.arange(3.0),
            "nothing": h5py.Empty("f4"),
        }
    )
    group.attrs["not_a_number"] = np.float32("nan")


def netcdf(path: Path) -> None:
    """Write what NetCDF-4 has beyond HDF5: dimensions."""
    with netCDF4.Dataset(path, "w") as file:
        file.title = "dimensions"
        file.createDimension("time", None)
        file.createDimension("y", 3)
        file.createDimension("x", 4)
        file.createDimension("xc", 4)
        file.createVariable("time", "f8", ("time",))[:] = [0.5, 1.5]
        file["time"].units = "days since 2000-01-01"
        # A variable that has a dimension's name, and other dimensions as well.
        file.createVariable("x", "f4", ("y", "x"))[:] = np.arange(12).reshape(3, 4)
        # And one that has a dimension's name, but not that dimension.
        file.createVariable("xc", "i4", ("y",))[:] = [5, 6, 7]
        packed = file.createVariable(
            "t", "i2", ("time", "y", "x"), zlib=True, fill_value=-999, chunksizes=(1, 2, 3)
        )
        packed.scale_factor, packed.valid_range = 0.5, np.array([0, 100], "i2")
        packed.set_auto_maskandscale(False)
        packed[:] = np.arange(24).reshape(2, 3, 4)
        group = file.createGroup("below")
        group.createDimension("z", 2)
        group.createVariable("w", "f4", ("z", "x"))[:] = np.ones((2, 4))


def virtual(path: Path) -> None:
    """Write groups of each kind that have a virtual dataset among others."""
    with h5py.File(path, "w", libver=("earliest", "v110")) as file:
        file["plain"] = GRID.astype("<i2")
        for kind, sound, is_tracked in (("old", 3, False), ("compact", 3, True), ("dense", 20, True)):
            group = file.create_group(f"left_out/{kind}", track_order=is_tracked)
            for number in range(sound):
                group[f"sound_{number}"] = GRID[number]
            layout = h5py.VirtualLayout((20, 30), "<i2")
            layout[:] = h5py.VirtualSource(".", "plain", (20, 30))
            group.create_virtual_dataset("virtual", layout)
            group.create_group("below")["sound"] = GRID[0]
            group["away"] = h5py.SoftLink("/nowhere")
            group["type"] = np.dtype("<f4")


def digest(values: np.ndarray) -> str:
    """Return the sum of values in C order, little-endian; of texts of any length, of them in JSON."""
    if values.dtype == object:
        texts = [value.decode() if isinstance(value, bytes) else value for value in values.ravel().tolist()]
        return hashlib.sha256(
            json.dumps(texts, ensure_ascii=False, separators=(",", ":")).encode()
        ).hexdigest()
    return hashlib.sha256(np.ascontiguousarray(values, values.dtype.newbyteorder("<")).tobytes()).hexdigest()


def found(path: Path) -> dict[str, object]:
    """Return what h5py reads in a file."""
    arrays: dict[str, object] = {}

    def add(name: str, node: object) -> None:
        if isinstance(node, h5py.Dataset) and node.shape is not None:
            try:
                arrays[name] = f"{list(node.shape)} {digest(np.asarray(node[()]))}"
            except OSError as error:
                print(path, name, error)

    with h5py.File(path) as file:
        file.visititems(add)
    return arrays


def main() -> None:
    """Write everything."""
    FOLDER.mkdir(exist_ok=True)
    expected = {}
    for name, options in {
        "earliest": {"libver": "earliest"},
        "latest": {"libver": "latest"},
        "user_block": {"libver": "v110", "userblock_size": 1024},
    }.items():
        path = FOLDER / f"{name}.h5"
        with h5py.File(path, "w", **options) as file:
            fill(file)
        expected[path.name] = found(path)
    path = FOLDER / "dimensions.nc"
    netcdf(path)
    expected[path.name] = found(path)
    path = FOLDER / "virtual.h5"
    virtual(path)
    expected[path.name] = found(path)
    (FOLDER / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
