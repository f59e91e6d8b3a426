"""How a script loads its data. Durations of sleeps are lower bounds, however busy the machine is."""

from __future__ import annotations

from pathlib import Path

import pytest
from training_scripts import report_of, write

STOP = ("--stop", "--seconds", "1")

LOADS = """
import time
import torch
from torch.utils.data import DataLoader, Dataset

class Slow(Dataset):
    seen = set()

    def __len__(self):
        return 48

    def __getitem__(self, i):
        if {sleeps}:
            time.sleep({seconds})
        self.seen.add(i)
        return torch.randn(64)

def main():
    model = torch.nn.Linear(64, 64)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    loader = DataLoader(Slow(), batch_size=4, {options})
    while True:
        for x in loader:
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()

if __name__ == "__main__":
    main()
"""


def test_workers_and_what_the_step_waits_for(tmp_path: Path) -> None:
    script = write(tmp_path, LOADS.format(sleeps="True", seconds=0.01, options="num_workers=2"))
    loading = report_of(script, options=STOP)["script"]["loading"]
    assert loading["workers"] == 2
    assert loading["batchesPerStep"] == 1
    assert loading["batchMs"] >= 40, "four samples of 10 ms"
    assert loading["waitMs"] > 0
    assert 0 < loading["workersBusy"] <= 1


def test_without_workers_the_step_loads(tmp_path: Path) -> None:
    script = write(tmp_path, LOADS.format(sleeps="True", seconds=0.005, options="num_workers=0"))
    report = report_of(script, options=STOP)
    loading = report["script"]["loading"]
    assert loading["workers"] == 0
    assert loading["batchMs"] == pytest.approx(loading["waitMs"])
    assert loading["batchMs"] >= 20
    assert loading["workersBusy"] is None


def test_workers_that_are_spawned_are_not_followed(tmp_path: Path) -> None:
    options = "num_workers=1, persistent_workers=True, multiprocessing_context='spawn'"
    script = write(tmp_path, LOADS.format(sleeps="False", seconds=0, options=options))
    loading = report_of(script, options=STOP)["script"]["loading"]
    assert loading["workers"] == 1
    assert loading["batchMs"] is None and loading["workersBusy"] is None


@pytest.mark.parametrize(
    "options", [pytest.param("num_workers=0", marks=pytest.mark.long), "num_workers=1, persistent_workers=True"]
)
def test_a_first_pass_that_fills_a_cache(tmp_path: Path, options: str) -> None:
    script = write(tmp_path, LOADS.format(sleeps="i not in self.seen", seconds=0.05, options=options))
    loading = report_of(script, options=STOP)["script"]["loading"]
    assert loading["firstPassBatchMs"] >= 200
    assert loading["laterPassesBatchMs"] < loading["firstPassBatchMs"]
