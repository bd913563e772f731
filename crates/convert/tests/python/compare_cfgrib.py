"""Compares what `swath convert` makes of GRIB files with what `cfgrib.open_datasets` makes of them.

Usage: compare_cfgrib.py SWATH FILES...

SWATH is the program. Needs PyPI's `cfgrib` and `eccodes`, `xarray` and `zarr`. Prints a table of the files,
and ends with 1 where a difference is none of those below:

- `grid`: cfgrib has Mercator's grids as one dimension of points; swath as rows and columns.
- `name`: cfgrib calls all parameters that ecCodes does not know `unknown`; swath by their numbers.
- `seconds`: cfgrib drops the seconds of reference times.
- `level`: ecCodes takes the sign of some levels for a part of their value.
- `turned`: ecCodes rounds the places of rotated grids to 32 bits: up to a hundred-thousandth of a degree.

Not compared are fields of spherical harmonics, which swath does not unpack, and files with several statistics
over the members of an ensemble, of which cfgrib keeps one.
"""

import contextlib
import io
import logging
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import cfgrib
import numpy as np
import xarray as xr

# Attributes that both have where either knows them.
VARIABLE_ATTRIBUTES = (
    "units",
    "long_name",
    "standard_name",
    "GRIB_paramId",
    "GRIB_shortName",
    "GRIB_cfVarName",
    "GRIB_name",
    "GRIB_units",
    "GRIB_stepType",
    "GRIB_typeOfLevel",
    "GRIB_gridType",
    "GRIB_numberOfPoints",
)
COORDINATE_ATTRIBUTES = ("units", "standard_name", "long_name", "positive", "stored_direction")
GROUP_ATTRIBUTES = ("GRIB_edition", "GRIB_centre", "GRIB_subCentre")

# Degrees that coordinates may differ by, and those that ecCodes has turned.
NEAR, NEAR_TURNED = 1e-6, 1e-5


def groups(store: Path) -> list[xr.Dataset]:
    """Give the datasets of a store that have variables."""
    tree = xr.open_datatree(store, engine="zarr")
    nodes = [node.to_dataset(inherit=False) for node in tree.subtree]
    return [node for node in nodes if node.data_vars]


def differences(ours: xr.Dataset, theirs: xr.Dataset) -> list[str]:
    """Say in what two datasets of the same variables differ."""
    found = []
    if dict(ours.sizes) != dict(theirs.sizes):
        found.append(f"dimensions {dict(ours.sizes)}, not {dict(theirs.sizes)}")
    own = {"x", "y", "projection"}
    if set(ours.coords) - own != set(theirs.coords) - own:
        found.append(f"coordinates {sorted(ours.coords)}, not {sorted(theirs.coords)}")
    for name in set(ours.coords) & set(theirs.coords):
        found += [f"{name}: {text}" for text in coordinate(ours[name], theirs[name])]
    for name in theirs.data_vars:
        found += [f"{name}: {text}" for text in variable(ours[name], theirs[name])]
    found += attributes(ours.attrs, theirs.attrs, GROUP_ATTRIBUTES)
    return found


def coordinate(ours: xr.DataArray, theirs: xr.DataArray) -> list[str]:
    """Say in what two coordinates differ."""
    if ours.dims != theirs.dims or ours.shape != theirs.shape:
        return [f"{ours.dims} {ours.shape}, not {theirs.dims} {theirs.shape}"]
    if ours.dtype.kind != theirs.dtype.kind:
        return [f"type {ours.dtype}, not {theirs.dtype}"]
    found = attributes(ours.attrs, theirs.attrs, COORDINATE_ATTRIBUTES)
    if ours.name in ("latitude", "longitude"):
        apart = np.abs(ours.values - theirs.values)
        if ours.name == "longitude":
            apart = np.minimum(apart, np.abs(apart - 360))
        near = NEAR_TURNED if ours.attrs.get("turned") else NEAR
        if apart.size and near < apart.max():
            found.append(f"up to {apart.max():.3g} degrees apart")
    elif not np.array_equal(ours.values, theirs.values):
        found.append(f"{ours.values.ravel()[:3]}, not {theirs.values.ravel()[:3]}")
    return found


def variable(ours: xr.DataArray, theirs: xr.DataArray) -> list[str]:
    """Say in what two variables differ."""
    if ours.dims != theirs.dims or ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return [f"{ours.dims} {ours.shape} {ours.dtype}, not {theirs.dims} {theirs.shape} {theirs.dtype}"]
    found = attributes(ours.attrs, theirs.attrs, VARIABLE_ATTRIBUTES)
    if not np.array_equal(ours.values, theirs.values, equal_nan=True):
        found.append("other values")
    return found


def attributes(ours: dict, theirs: dict, names: tuple[str, ...]) -> list[str]:
    """Say in what attributes differ: `unknown` is none."""
    found = []
    for name in names:
        own, other = ours.get(name), theirs.get(name)
        if own != other and not (own is None and other in ("unknown", "undef")):
            found.append(f"{name} is {own!r}, not {other!r}")
    return found


def unknown(theirs: xr.Dataset, ours: list[xr.Dataset]) -> xr.Dataset:
    """Give a dataset whose unknown parameter is called as swath calls it."""
    others = set(theirs.data_vars) - {"unknown"}
    is_own = lambda name: name.startswith("parameter_")  # noqa: E731
    fits = [each for each in ours if others <= set(each.data_vars) and any(map(is_own, each.data_vars))]
    if not fits:
        return theirs
    (name,) = [name for name in fits[0].data_vars if is_own(name)][:1]
    renamed = theirs.rename({"unknown": name})
    renamed[name].attrs = {**fits[0][name].attrs, "GRIB_stepType": theirs["unknown"].attrs["GRIB_stepType"]}
    return renamed


def as_ours(theirs: xr.Dataset, ours: list[xr.Dataset]) -> tuple[xr.Dataset, list[str]]:
    """Give a dataset as swath has it, and the known differences that were mended."""
    mended = []
    if "unknown" in theirs.data_vars:
        theirs = unknown(theirs, ours)
        mended.append("name")
    if "potentialVorticity" in theirs.coords and 1e9 < abs(float(theirs["potentialVorticity"])):
        right = next(each["potentialVorticity"] for each in ours if "potentialVorticity" in each.coords)
        theirs = theirs.assign_coords(potentialVorticity=right)
        mended.append("level")
    if any(
        "time" in each.coords and (each["time"].values.astype("int64") // 10**9 % 60).any() for each in ours
    ):
        right = next(each for each in ours if "time" in each.coords)
        theirs = theirs.assign_coords(time=right["time"], valid_time=right["valid_time"])
        mended.append("seconds")
    kinds = {each.attrs.get("GRIB_gridType", "") for each in theirs.data_vars.values()}
    if any("rotated" in kind for kind in kinds):
        for each in ours:
            for name in ("latitude", "longitude"):
                each[name].attrs["turned"] = True
        mended.append("turned")
    if "mercator" in kinds:
        plane = next(each for each in ours if "y" in each.dims)
        sizes = (plane.sizes["y"], plane.sizes["x"])
        folded = {
            name: (("y", "x"), value.values.reshape(sizes), value.attrs)
            for name, value in theirs.variables.items()
            if value.dims == ("values",)
        }
        theirs = theirs.drop_vars(list(folded)).assign(folded).set_coords(["latitude", "longitude"])
        mended.append("grid")
    return theirs, mended


def compare(program: str, path: Path) -> tuple[str, list[str]]:
    """Give a line of the table, and what differs."""
    with contextlib.redirect_stderr(io.StringIO()):
        try:
            opened = cfgrib.open_datasets(str(path), backend_kwargs={"indexpath": ""})
            theirs = [dataset.load() for dataset in opened]
        except Exception as error:
            return f"cfgrib cannot read it: {type(error).__name__}", []
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder, "made.zarr")
        made = subprocess.run([program, "convert", path, store], capture_output=True, text=True, check=False)
        if not store.exists():
            return "not converted", [made.stdout + made.stderr]
        ours = groups(store)
        variables = [each for dataset in ours for each in dataset.data_vars.values()]
        if any(each.attrs.get("GRIB_gridType") == "sh" for each in variables):
            return "not compared: spherical harmonics", []
        if any("GRIB_statisticOfMembers" in each.attrs for each in variables):
            return "not compared: statistics over members", []
        found: list[str] = []
        mended: list[str] = []
        for dataset in theirs:
            other, names = as_ours(dataset, ours)
            mended += names
            every = [each for each in ours if set(other.data_vars) <= set(each.data_vars)]
            alike = sorted((differences(each, other) for each in every), key=len)
            if not alike:
                found.append(
                    f"no group of {sorted(other.data_vars)}: {[sorted(each.data_vars) for each in ours]}"
                )
            else:
                found += alike[0]
        if len(ours) != len(theirs):
            found.append(f"{len(ours)} groups, not {len(theirs)}")
        verdict = "equal" if not found else "DIFFERENT"
        verdict += f", but for {', '.join(sorted(set(mended)))}" if mended else ""
        return f"{verdict}; {len(theirs)} datasets", found


def main() -> int:
    """Compares all files."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    program, paths = sys.argv[1], [Path(path) for path in sys.argv[2:]]
    count = 0
    print("| file | |\n| --- | --- |")
    for path in paths:
        line, found = compare(program, path)
        print(f"| {path.name} | {line} |")
        for text in found:
            print(f"    {text}")
        count += bool(found)
        sys.stdout.flush()
    print(f"{len(paths)} files, {count} different")
    return min(count, 1)


sys.exit(main())
