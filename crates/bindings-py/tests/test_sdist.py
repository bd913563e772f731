"""What is in the source distribution: all that a wheel is built from, and what its licences want."""

import importlib.util
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CRATES = ("bindings-py", "codecs", "convert", "ioengine", "swath", "zarr-front")


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    if importlib.util.find_spec("maturin") is None:
        pytest.skip("maturin is not installed")
    folder = tmp_path_factory.mktemp("sdist")
    manifest = ROOT / "crates/bindings-py/Cargo.toml"
    command = [sys.executable, "-m", "maturin", "sdist", "--manifest-path", str(manifest)]
    subprocess.run([*command, "--out", str(folder)], check=True, capture_output=True, timeout=300)
    (made,) = folder.iterdir()
    assert made.name == "swath-0.1.0.tar.gz"
    with tarfile.open(made) as archive:
        names = archive.getnames()
    assert all(name.startswith("swath-0.1.0/") for name in names)
    return {name.removeprefix("swath-0.1.0/") for name in names}


def test_what_surrounds_the_code(names):
    assert {
        "Cargo.lock",
        "Cargo.toml",
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "PKG-INFO",
        "README.md",
        "pyproject.toml",
    } <= names


@pytest.mark.parametrize("crate", CRATES)
def test_every_crate_of_the_wheel_is_whole(names, crate):
    folder = ROOT / "crates" / crate
    wanted = {path for path in (folder / "src").rglob("*") if path.suffix in (".rs", ".c", ".h", ".json")}
    wanted |= {folder / "Cargo.toml"}
    assert {path.relative_to(ROOT).as_posix() for path in wanted} <= names


def test_the_python_package_is_whole(names):
    folder = ROOT / "crates/bindings-py/python"
    wanted = [path for path in folder.rglob("*") if path.suffix in (".py", ".pyi") or path.name == "py.typed"]
    assert wanted
    assert {path.relative_to(folder.parent).as_posix() for path in wanted} <= names


def test_nothing_else_is_there(names):
    """No other crate, no build and no virtual environment."""
    crates = {name.split("/")[1] for name in names if name.startswith("crates/")}
    assert crates == set(CRATES)
    allowed = {"Cargo.lock", "Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "PKG-INFO", "README.md"}
    assert {name.split("/")[0] for name in names} == allowed | {"crates", "pyproject.toml", "python"}
    assert not [name for name in names if "/target/" in name or name.endswith((".so", ".pyc", ".whl"))]
