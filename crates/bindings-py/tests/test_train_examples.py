"""The examples of docs/examples run, and what they train gets better."""

import importlib.util

import pytest
from conftest import ROOT

torch = pytest.importorskip("torch", reason="`make test-train` installs PyTorch")

EXAMPLES = {
    "era5_unet": lambda losses: losses[-1] < 0.5 * losses[0],
    "satellite_nowcast": lambda losses: sum(losses[-10:]) < 0.7 * sum(losses[:10]),
    "station_lstm": lambda losses: sum(losses[-10:]) < 0.3 * sum(losses[:10]),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_learn(name, tmp_path):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch.manual_seed(0)
    path = str(tmp_path / "archive.zarr")
    module.make_archive(path)
    losses = module.main(path)
    assert EXAMPLES[name](losses), losses
