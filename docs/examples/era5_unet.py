"""A small U-Net learns the next step of ERA5-like fields, whole and normalised, from the archive itself.

Run as ``python era5_unet.py ARCHIVE``; without an archive it makes a small one. On CUDA where that is there.
"""

import sys
import tempfile

import numpy as np
import swath
import torch
from swath import train
from torch import nn

VARIABLES = ("temperature", "geopotential")


def make_archive(path: str) -> None:
    """Write waves that travel east, hour by hour, as two variables on a grid."""
    group = swath.create_group(path)
    hours, rows, columns = np.arange(200), np.linspace(-87, 87, 32), np.arange(64) * 360 / 64
    phases = np.deg2rad(columns)[None, None] * 3 - hours[:, None, None] * 0.2
    wave = np.cos(np.deg2rad(rows))[None, :, None] * np.sin(phases)
    dims = ("time", "latitude", "longitude")
    for name, values in (("temperature", 280 + 15 * wave), ("geopotential", 5e4 + 800 * wave)):
        array = group.create_array(
            name, shape=values.shape, chunks=(1, 32, 64), dtype="float32", dimension_names=dims
        )
        array[...] = values.astype("float32")
    for name, values in (("time", hours), ("latitude", rows), ("longitude", columns)):
        array = group.create_array(
            name, shape=values.shape, chunks=values.shape, dtype=values.dtype, dimension_names=(name,)
        )
        array[...] = values
    group["time"].attrs["units"] = "hours since 2020-01-01"


class UNet(nn.Module):
    """Two levels: down, through, and up again beside what came in; it predicts the change."""

    def __init__(self, channels: int, width: int = 16) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(channels, width, 3, padding=1), nn.GELU())
        self.through = nn.Sequential(
            nn.MaxPool2d(2), nn.Conv2d(width, width, 3, padding=1), nn.GELU(), nn.Upsample(scale_factor=2)
        )
        self.out = nn.Conv2d(2 * width, channels, 3, padding=1)

    def forward(self, fields: torch.Tensor) -> torch.Tensor:
        """Return the next step of fields of shape (samples, channels, rows, columns)."""
        fine = self.down(fields)
        return fields + self.out(torch.cat([fine, self.through(fine)], 1))


def main(path: str, epochs: int = 3) -> list[float]:
    """Train, and return the mean loss of each epoch."""
    group = swath.open_group(path)
    splits = train.Splits(
        {"train": ("2020-01-01", "2020-01-07"), "validation": ("2020-01-07", "2020-02-01")}, gap="6h"
    )
    crops = {"time": train.Window("1h", history=1, forecast=1)}
    plain = train.Dataset({name: train.source(group, name, crops=crops) for name in VARIABLES})
    found = {name: train.statistics(plain, name, split=(splits, "train"), samples=64) for name in VARIABLES}
    sources = {
        name: train.source(group, name, crops=crops, mean=found[name].mean[0], std=found[name].std[0])
        for name in VARIABLES
    }
    training = train.Dataset(sources).split(splits, "train")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    loader = train.Loader(training, batch_size=8, seed=0, to=device)
    model = UNet(len(VARIABLES)).to(device)
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    for _ in range(epochs):
        of_epoch = []
        for batch in loader:
            # (samples, time, rows, columns) of each variable: the first time predicts the second.
            fields = torch.stack([batch[name] for name in VARIABLES], 2)
            loss = nn.functional.mse_loss(model(fields[:, 0]), fields[:, 1])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            of_epoch.append(loss.item())
        losses.append(sum(of_epoch) / len(of_epoch))
        print(f"epoch {loader.epoch}: loss {losses[-1]:.4f}, waited {loader.stats()['waited_s']:.3f} s")
    return losses


if __name__ == "__main__":
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        if len(sys.argv) < 2:
            make_archive(f"{folder}/era5.zarr")
        main(sys.argv[1] if 1 < len(sys.argv) else f"{folder}/era5.zarr")
