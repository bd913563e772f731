"""An LSTM predicts the next hours at stations from time series of a gridded archive, and resumes half-way.

Run as ``python station_lstm.py``; it makes a small archive. On CUDA where that is there.
"""

import tempfile

import numpy as np
import swath
import torch
from swath import train
from torch import nn

HISTORY, FORECAST = 24, 6


def make_archive(path: str) -> None:
    """Write a day's warmth, hour by hour, of places that differ, stored for time series."""
    group, random = swath.create_group(path), np.random.default_rng(0)
    hours, rows, columns = np.arange(600), np.linspace(40, 60, 21), np.linspace(0, 30, 31)
    day = np.sin((hours[:, None, None] + columns[None, None] / 15) * 2 * np.pi / 24)
    values = (15 - rows[None, :, None] / 5 + 6 * day + random.normal(0, 0.3, (600, 21, 31))).astype("float32")
    dims = ("time", "latitude", "longitude")
    array = group.create_array(
        "t2m", shape=values.shape, chunks=(200, 7, 8), dtype="float32", dimension_names=dims
    )
    array[...] = values
    for name, coordinates in zip(dims, (hours, rows, columns), strict=True):
        array = group.create_array(
            name,
            shape=coordinates.shape,
            chunks=coordinates.shape,
            dtype=coordinates.dtype,
            dimension_names=(name,),
        )
        array[...] = coordinates
    group["time"].attrs["units"] = "hours since 2020-01-01"


class Forecaster(nn.Module):
    """An LSTM over the history, and a line from its last state to all hours ahead."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.lstm = nn.LSTM(1, width, batch_first=True)
        self.out = nn.Linear(width, FORECAST)

    def forward(self, history: torch.Tensor) -> torch.Tensor:
        """Return (samples, hours ahead) of (samples, hours)."""
        states, _ = self.lstm(history[..., None])
        return self.out(states[:, -1])


def loader_of(path: str, device: str) -> train.Loader:
    """Return time series at stations, which lie between the cells of the grid."""
    stations = np.array([[51.5, 0.1], [52.5, 13.4], [48.9, 2.3], [59.9, 10.8]])
    source = train.source(
        swath.open_group(path),
        "t2m",
        crops={
            "time": train.Window("1h", history=HISTORY, forecast=FORECAST),
            "latitude": train.Point(),
            "longitude": train.Point(),
        },
        mean=5.0,
        std=5.0,
    )
    dataset = train.Dataset({"t2m": source}, origins={("latitude", "longitude"): stations})
    return train.Loader(dataset, batch_size=64, seed=2, to=device)


def main(path: str, steps: int = 80) -> list[float]:
    """Train, stop in mid-epoch, go on with a new loader, and return the loss of each step."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Forecaster().to(device)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses: list[float] = []
    state = None
    for until in (steps // 3, steps):
        loader = loader_of(path, device)
        if state is not None:
            loader.load_state_dict(state)
        while len(losses) < until:
            for batch in loader:
                series = batch["t2m"]
                loss = nn.functional.mse_loss(model(series[:, :HISTORY]), series[:, HISTORY:])
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                losses.append(loss.item())
                if len(losses) == until:
                    break
        state = loader.state_dict()
        print(f"step {len(losses)}: loss {losses[-1]:.4f}, saved at {state['epoch']}, {state['received']}")
    return losses


if __name__ == "__main__":
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        make_archive(f"{folder}/stations.zarr")
        main(f"{folder}/stations.zarr")
