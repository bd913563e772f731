"""A small net of convolutions predicts the next satellite images of random crops, a forecast beside them.

Run as ``python satellite_nowcast.py``; it makes a small archive with a gap. On CUDA where that is there.
"""

import tempfile

import numpy as np
import swath
import torch
from swath import train
from torch import nn

CHANNELS, SIDE, HISTORY, FORECAST = 4, 64, 3, 1
MEANS, DEVIATIONS = [300.0] * CHANNELS, [80.0] * CHANNELS


def store(
    group: swath.Group, name: str, values: np.ndarray, dims: tuple[str, ...], chunks: tuple[int, ...]
) -> None:
    """Write an array with names for its axes."""
    array = group.create_array(
        name, shape=values.shape, chunks=chunks, dtype=values.dtype, dimension_names=dims
    )
    array[...] = values


def make_archive(path: str) -> None:
    """Write clouds that drift, every 5 minutes, and an hourly wind of the same place on a coarser grid."""
    group, random = swath.create_group(path), np.random.default_rng(0)
    steps = np.delete(np.arange(120), 50)
    clouds = random.normal(size=(160, 160))
    for _ in range(6):
        clouds = (clouds + np.roll(clouds, 1, 0) + np.roll(clouds, 1, 1) + np.roll(clouds, 1, (0, 1))) / 2.5
    images = np.stack([np.roll(clouds, step, 1) for step in steps])[:, None] * 60 + 300
    images = images + np.arange(CHANNELS)[:, None, None] * 5
    store(group, "image", images.astype("int16"), ("time", "channel", "y", "x"), (4, CHANNELS, 64, 64))
    store(group, "time", steps * 5, ("time",), (len(steps),))
    group["time"].attrs["units"] = "minutes since 2020-06-01"
    for name in ("y", "x"):
        store(group, name, np.arange(160) * 3.0, (name,), (160,))
    wind = random.normal(size=(4, 12, 20, 20)).astype("float32")
    store(group, "wind", wind, ("init_time", "step", "lat", "lon"), (1, 12, 20, 20))
    store(group, "init_time", np.arange(4) * 6 - 12, ("init_time",), (4,))
    group["init_time"].attrs["units"] = "hours since 2020-06-01"
    store(group, "step", np.arange(12), ("step",), (12,))
    group["step"].attrs["units"] = "hours"
    for name in ("lat", "lon"):
        store(group, name, np.arange(20) * 24.0 + 10, (name,), (20,))


def samples_of(path: str) -> train.Dataset:
    """Return crops of the images with the forecast that was there when they were taken."""
    group = swath.open_group(path)
    image = train.source(
        group,
        "image",
        crops={
            "time": train.Window("5min", history=HISTORY, forecast=FORECAST),
            "y": train.Patch(SIDE, anchor="center"),
            "x": train.Patch(SIDE, anchor="center"),
        },
        mean=MEANS,
        std=DEVIATIONS,
        per="channel",
    )
    wind = train.source(
        group,
        "wind",
        crops={
            ("init_time", "step"): train.Forecast(train.Window("1h"), delay="4h"),
            "lat": train.Patch(4, anchor="center", along="y"),
            "lon": train.Patch(4, anchor="center", along="x"),
        },
    )
    # Full hours, where the hourly forecast has a value.
    hours = np.datetime64("2020-06-01", "ns") + np.arange(10) * np.timedelta64(1, "h")
    return train.Dataset({"image": image, "wind": wind}, origins={"time": hours}, stride={"y": 8, "x": 8})


class Net(nn.Module):
    """Convolutions over all images of the history, with the wind spread over them."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(HISTORY * CHANNELS + 1, 24, 5, padding=2),
            nn.ReLU(),
            nn.Conv2d(24, CHANNELS, 5, padding=2),
        )

    def forward(self, history: torch.Tensor, wind: torch.Tensor) -> torch.Tensor:
        """Return the next image of (samples, time, channel, y, x), with wind of (samples, time, lat, lon)."""
        spread = nn.functional.interpolate(wind, size=history.shape[-2:])
        return history[:, -1] + self.layers(torch.cat([history.flatten(1, 2), spread], 1))


def main(path: str, steps: int = 60) -> list[float]:
    """Train, and return the loss of each step."""
    dataset = samples_of(path)
    print(f"{len(dataset)} samples; left out: {dataset.refused}")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    loader = train.Loader(dataset, batch_size=8, seed=1, to=device, drop_last=True)
    model = Net().to(device)
    optimiser = torch.optim.Adam(model.parameters(), lr=2e-3)
    losses: list[float] = []
    while len(losses) < steps:
        for batch in loader:
            history, wanted = batch["image"][:, :HISTORY], batch["image"][:, HISTORY]
            loss = nn.functional.mse_loss(model(history, batch["wind"]), wanted)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
    print(f"loss {losses[0]:.4f} to {losses[-1]:.4f}; {loader.stats()['samples']} samples")
    return losses


if __name__ == "__main__":
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        make_archive(f"{folder}/satellite.zarr")
        main(f"{folder}/satellite.zarr")
