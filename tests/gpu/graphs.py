"""A step that a CUDA graph replays, on a GPU: kernels on the lines that were captured.

`python tests/gpu/graphs.py` prints what passed and what failed; the reports are left in $OUT.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from checks import show

ROOT = Path(__file__).resolve().parents[2]
OUT = Path(os.environ["OUT"])
BINARY = ROOT / "build" / "bin" / "ridgeline"
LIMIT_S = 140

ENTRY = """import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(1024, 4096), nn.Linear(4096, 1024)

    def forward(self, x):
        x = self.up(x)  # up
        x = torch.relu(x)  # relu
        return self.down(x)  # down


def model_provider():
    return Net().cuda()


def input_provider(batch_size=1024):
    return (torch.randn(batch_size, 1024, device="cuda"),)


def iteration_provider(model):
    WRAP
    graphs = {}

    def work(x):
        for parameter in model.parameters():
            parameter.grad = None
        model(x).square().mean().backward()  # work

    def iteration(x):
        ITERATION

    return iteration
"""
EAGER = {"WRAP": "pass", "ITERATION": "work(x)"}
GRAPH = {
    "WRAP": "pass",
    "ITERATION": """if x.shape[0] not in graphs:
            kept = x.clone()
            side = torch.cuda.Stream()
            with torch.cuda.stream(side):
                work(kept)
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                work(kept)
            graphs[x.shape[0]] = graph, kept
        graph, kept = graphs[x.shape[0]]
        kept.copy_(x)
        graph.replay()  # replay""",
}
COMPILED = {"WRAP": 'model = torch.compile(model, mode="reduce-overhead")', "ITERATION": "work(x)"}


def report_of(folder: Path, name: str, parts: dict[str, str]) -> dict[str, Any]:
    text = ENTRY
    for mark, code in parts.items():
        text = text.replace(mark, code)
    (folder / "entry.py").write_text(text)
    command = [str(BINARY), "profile", str(folder / "entry.py"), "--python", sys.executable, "--format", "json"]
    command += ["--batch-sizes", "1024", "--seconds", "1", "--output", str(OUT / f"graph_{name}.json")]
    subprocess.run(command, check=True, timeout=LIMIT_S)
    return json.loads((OUT / f"graph_{name}.json").read_text())


def device_ms(report: dict[str, Any], *marks: str) -> float:
    return sum(
        line["deviceMs"]["self"] for line in report["lines"] if any(line["text"].endswith(f"# {one}") for one in marks)
    )


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        eager = report_of(Path(folder), "eager", EAGER)
        graph = report_of(Path(folder), "captured", GRAPH)
        compiled = report_of(Path(folder), "compiled", COMPILED)
    of_model = device_ms(eager, "up", "relu", "down")
    checks = {
        "the replayed kernels are on the model's lines": device_ms(graph, "up", "relu", "down") > 0.9 * of_model,
        "each line has what it has without the graph": all(
            0.7 < device_ms(graph, mark) / device_ms(eager, mark) < 1.4 for mark in ("up", "relu", "down")
        ),
        "the line that replays has little of its own": device_ms(graph, "replay") < 0.1 * of_model,
        "a compiled step that replays is on the model's lines": device_ms(compiled, "up", "relu", "down")
        > 0.8 * of_model,
        "kernels and copies add up to the device's time": abs(
            sum(line["deviceMs"]["self"] for line in graph["lines"])
            + sum(other["deviceMs"] for other in graph["other"])
            - graph["device"]["kernelMs"]
            - graph["device"]["copyMs"]
        )
        < 1e-6 * graph["device"]["kernelMs"] + 1e-9,
    }
    return show(checks)


if __name__ == "__main__":
    sys.exit(main())
