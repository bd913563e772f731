"""Whole images through `swath convert`, beside what satpy and GDAL read of the same files.

    python -m venv env
    env/bin/pip install -r python/requirements-satpy.txt
    cargo build --release -p swath-cli
    env/bin/python -m pytest crates/convert/tests/nat

`SWATH_BINARY` names another binary. The files have up to 271 MB, and lie in pytest's temporary folder.
"""

import os
import subprocess
import warnings
from datetime import datetime
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
xr = pytest.importorskip("xarray")
satpy = pytest.importorskip("satpy", reason="satpy is not installed: see the head of this file")

from nat_file import NAMES, SIZE, Image, Window, made  # noqa: E402

ROOT = Path(__file__).parents[4]
BINARY = Path(os.environ.get("SWATH_BINARY", ROOT / "target/release/swath"))
HEIGHT = 35785831.0
PHYSICAL = "reflectance-or-temperature"
RAPID = Image(
    south=SIZE - 1391,
    lines=1392,
    minutes=5,
    longitude=9.5,
    satellite=322,
    start=datetime(2020, 2, 29, 6, 5, 9),
    windows=(Window(6961, 11136, 2073, 7640),),
)
PART = Image(names=("IR_016", "WV_062", "IR_134", "HRV"), south=2503, lines=700, east=1203, columns=901)
CASES = {
    "whole": Image(gsics={"IR_108": (0.2071, -50.6)}),
    "bare": Image(has_product_header=False, satellite=323),
    "rapid": RAPID,
    "part": Image(**{**PART.__dict__, "hrv_columns": 904 * 3, "windows": ()}),
}


@pytest.fixture(scope="module", params=CASES)
def file(request, tmp_path_factory):
    if not BINARY.exists():
        pytest.skip(f"no binary at {BINARY}: cargo build --release -p swath-cli")
    image = CASES[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    path = made(folder, image)
    yield image, path
    path.unlink()


def converted(path, quantity, names, *options):
    """Convert some channels, and open what was written."""
    target = path.parent / f"{quantity}-{len(names)}{''.join(options)}.zarr"
    arguments = ["convert", "--calibrate", quantity, "--channels", ",".join(names), *options, path, target]
    subprocess.run([BINARY, *arguments], check=True, stdout=subprocess.DEVNULL)
    # An engine that is there as well may not know how the group is stored.
    return xr.open_dataset(target, engine="zarr", mask_and_scale=quantity != "counts", chunks={})


def seen(path, name, calibration, *, is_filled, mode="NOMINAL"):
    """Read a channel with satpy, from north to south and from west to east."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"fill_disk": is_filled, "calib_mode": mode}
        scene = satpy.Scene([str(path)], reader="seviri_l1b_native", reader_kwargs=options)
        scene.load([name], calibration=calibration, upper_right_corner="NE")
        return scene[name].compute()


def pixels(written, name):
    """Give a channel of what was written, at its only time."""
    for variable in written.data_vars.values():
        if variable.ndim == 3 and name == "HRV" and variable.dims[2] == "x_hrv":
            return variable.values[0]
        if variable.ndim == 4 and name in variable[variable.dims[1]]:
            return variable.sel({variable.dims[1]: name}).values[0]
    raise KeyError(name)


def like_satpy(image, array, name):
    """Give what satpy filled the disc with in the lines of the image, where swath fills the disc."""
    if name == "HRV" and image.columns == SIZE:
        north = 3 * (SIZE - (image.south + image.lines - 1))
        return array.values[north : north + 3 * image.lines]
    return array.values


def test_counts_and_places_are_those_of_satpy(file):
    image, path = file
    names = [name for name in ("VIS006", "WV_062", "IR_134", "HRV") if image.has(name)]
    written = converted(path, "counts", names)
    for name in names:
        is_filled = name == "HRV" and image.columns == SIZE
        array = seen(path, name, "counts", is_filled=is_filled)
        wanted = np.nan_to_num(like_satpy(image, array, name)).astype("u2")
        found = pixels(written, name)
        assert found.any()
        np.testing.assert_array_equal(found, wanted)
        suffix = "_hrv" if name == "HRV" else ""
        if not is_filled:
            for axis, metres in zip("xy", array.attrs["area"].get_proj_vectors(), strict=True):
                # satpy adds metres up in 32 bits.
                np.testing.assert_allclose(written[axis + suffix].values * HEIGHT, metres, atol=1.0)
            acquired = written["acquisition_time" + suffix]
            acquired = acquired.sel(channel=name) if not suffix else acquired
            np.testing.assert_array_equal(acquired.values[0], array.acq_time.values)
        times = array.attrs["time_parameters"]
        assert written.time.values[0] == np.datetime64(times["nominal_start_time"])
        for ours, theirs in (("scan_start", "observation_start_time"), ("scan_end", "observation_end_time")):
            assert written[ours].values[0] == np.datetime64(times[theirs])


@pytest.mark.parametrize("quantity", ["radiance", PHYSICAL])
def test_calibrated_values_are_those_of_satpy(file, quantity):
    image, path = file
    names = [name for name in ("IR_016", "IR_039", "IR_108", "HRV") if image.has(name)]
    written = converted(path, quantity, names)
    for name in names:
        is_solar = name in ("IR_016", "HRV")
        physical = "reflectance" if is_solar else "brightness_temperature"
        is_filled = name == "HRV" and image.columns == SIZE
        array = seen(path, name, physical if quantity == PHYSICAL else quantity, is_filled=is_filled)
        wanted, found = like_satpy(image, array, name), pixels(written, name)
        # What does not radiate has no temperature, where satpy has one of no meaning.
        wanted = wanted if is_solar or quantity == "radiance" else np.where(wanted < 50, np.nan, wanted)
        np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=2e-2 if physical[0] == "b" else 1e-4)


@pytest.mark.parametrize("quantity", ["radiance", PHYSICAL])
def test_calibrated_values_of_gsics_are_those_of_satpy(file, quantity):
    """satpy too takes the nominal coefficients of channels that have none of GSICS."""
    image, path = file
    names = [name for name in ("IR_039", "IR_108") if image.has(name)]
    if not names:
        pytest.skip("the file has no channel of these")
    written = converted(path, quantity, names, "--coefficients", "gsics")
    nominal = converted(path, quantity, names)
    for name in names:
        physical = "brightness_temperature" if quantity == PHYSICAL else quantity
        wanted = seen(path, name, physical, is_filled=False, mode="GSICS").values
        wanted = wanted if quantity == "radiance" else np.where(wanted < 50, np.nan, wanted)
        found = pixels(written, name)
        np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=2e-2 if quantity == PHYSICAL else 1e-4)
        is_same = np.array_equal(found, pixels(nominal, name), equal_nan=True)
        assert is_same == (name not in image.gsics)


def test_counts_are_those_of_gdal(file):
    rasterio = pytest.importorskip("rasterio", reason="rasterio is not installed")
    image, path = file
    if not image.has_product_header or not image.is_whole():
        pytest.skip("GDAL reads files with product headers only, and places no HRV of rapid scans")
    written = converted(path, "counts", NAMES)
    with rasterio.open(path) as source:
        for band, name in enumerate(NAMES[:11], 1):
            np.testing.assert_array_equal(pixels(written, name), source.read(band))
    with rasterio.open(f"HRV:{path}") as source:
        wrong = np.flatnonzero((pixels(written, "HRV") != source.read(1)).any(axis=1))
    # GDAL puts the first line of the upper window where the lower one is; satpy does not.
    assert wrong.tolist() == [3 * SIZE - image.windows[1].south]
