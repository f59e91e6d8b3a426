"""A step that runs out of memory on a GPU: what was allocated, against what torch's own error says.

`python tests/gpu/errors.py` prints what passed and what failed; what was said is left in $OUT.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "integration"))

from block_entries import TRAINED_BY_SGD
from checks import show

OUT = Path(os.environ["OUT"])
BINARY = ROOT / "build" / "bin" / "ridgeline"
LIMIT_S = 120

MODEL = """import torch
from torch import nn

torch.cuda.set_per_process_memory_fraction((2 << 30) / torch.cuda.get_device_properties(0).total_memory)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(256, 1 << 14), nn.Linear(1 << 14, 256)

    def forward(self, x):
        x = self.up(x)  # up
        x = torch.tanh(x)  # tanh
        return self.down(x)
"""
ENTRY = (
    MODEL
    + """

def model_provider():
    return Net().cuda()


def input_provider(batch_size=BATCH):
    return (torch.randn(batch_size, 256, device="cuda"),)


"""
    + TRAINED_BY_SGD
)
SCRIPT = (
    MODEL
    + """

model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(100):
    x = torch.randn(BATCH if step >= FIRST else 64, 256, device="cuda")
    optimizer.zero_grad()
    model(x).mean().backward()
    optimizer.step()
"""
)
FORWARD, BACKWARD = 20_000, 12_000  # samples: 1.3 GiB for each of up and tanh, and 0.8 GiB, where backward makes more
_BYTES = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def said(folder: Path, name: str, text: str, command: list[str]) -> str:
    """What is written of the file `name`.py."""
    file = folder / f"{name}.py"
    file.write_text(text)
    options = ["--python", sys.executable, "--seconds", "0.5"]
    words = [str(BINARY), "profile", *options, *command, str(file)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    (OUT / f"error_{name}.txt").write_text(done.stdout + done.stderr)
    return " ".join((done.stdout + done.stderr).split())


def allocated(text: str) -> tuple[float, float]:
    """Ours and torch's, in bytes; 0 where it is not said."""
    ours = re.search(r"when ([0-9.]+) (KiB|MiB|GiB) were allocated", text)
    torchs = re.search(r"([0-9.]+) (KiB|MiB|GiB) is allocated by PyTorch", text)
    found = [float(one[1]) * _BYTES[one[2]] if one else 0.0 for one in (ours, torchs)]
    return found[0], found[1]


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        entry = said(folder, "entry", ENTRY.replace("BATCH", str(FORWARD)), [])
        runs = {
            "forward": said(folder, "forward", SCRIPT.replace("BATCH", str(FORWARD)).replace("FIRST", "0"), ["--"]),
            "backward": said(folder, "backward", SCRIPT.replace("BATCH", str(BACKWARD)).replace("FIRST", "0"), ["--"]),
            "later": said(folder, "later", SCRIPT.replace("BATCH", str(FORWARD)).replace("FIRST", "4"), ["--"]),
        }
    tanh = SCRIPT.splitlines().index("        x = torch.tanh(x)  # tanh") + 1
    checks = {
        "an entry point: the line that asked": f"Batch {FORWARD} ran out of memory: entry.py:{tanh} (tanh)" in entry,
        "an entry point: reserved bytes": "were reserved" in entry,
        "a script's forward: the line that asked": f"ran out of memory: forward.py:{tanh} asked for" in runs["forward"],
        "a script that warms up: the line": f"ran out of memory: later.py:{tanh} asked for" in runs["later"],
        "a script's backward: activations of forward": "activations" in runs["backward"],
    }
    for run, text in runs.items():
        ours, torchs = allocated(text)
        checks[f"{run}: allocated as torch says"] = torchs > 0 and abs(ours - torchs) < 0.01 * torchs
        print(f"{run}: ours {ours:.0f}, torch's {torchs:.0f} bytes")
    return show(checks)


if __name__ == "__main__":
    sys.exit(main())
