"""A compiled step on a GPU: kernels of Triton on the lines that they came from.

`python tests/gpu/compiled.py` prints what passed and what failed; the reports are left in $OUT.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "integration"))

from checks import show  # noqa: E402
from test_compiled_code import ENTRY, NET, line_of  # noqa: E402

OUT = Path(os.environ["OUT"])
BINARY = ROOT / "build" / "bin" / "ridgeline"
LOSS = "loss_of = lambda model, x: model(x.cuda()).square().mean()"
LIMIT_S = 140


def report_of(folder: Path, name: str, wrapped: str) -> dict[str, Any]:
    (folder / "net.py").write_text(NET)
    (folder / "entry.py").write_text(ENTRY.format(wrapped=wrapped, loss=LOSS))
    command = [str(BINARY), "profile", str(folder / "entry.py"), "--python", sys.executable, "--format", "json"]
    command += ["--batch-sizes", "512", "--seconds", "1", "--output", str(OUT / f"compiled_{name}.json")]
    subprocess.run(command, check=True, timeout=LIMIT_S)
    return json.loads((OUT / f"compiled_{name}.json").read_text())


def device_ms(report: dict[str, Any], mark: str) -> float:
    return sum(
        line["deviceMs"]["self"]
        for line in report["lines"]
        if line["file"] == "net.py" and line["line"] == line_of(mark)
    )


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        eager = report_of(Path(folder), "eager", "net.Net().cuda()")
        compiled = report_of(Path(folder), "generated", "torch.compile(net.Net().cuda())")
    in_model = sum(line["deviceMs"]["self"] for line in compiled["lines"] if line["file"] == "net.py")
    (call,) = [line for line in compiled["lines"] if line["text"].startswith("loss = loss_of")]
    kernels = [kernel["name"] for kernel in compiled["device"]["kernels"]]
    checks = {
        "kernels of Triton were recorded": any(name.startswith("triton_") for name in kernels),
        "95 % of the device's time in the model is on its lines": in_model >= 0.95 * call["deviceMs"]["total"],
        "every line has time": all(device_ms(compiled, mark) > 0 for mark in ("norm", "up", "gelu", "tanh", "down")),
        "products take what they take without the compiler": all(
            0.5 < device_ms(compiled, mark) / device_ms(eager, mark) < 2 for mark in ("up", "down")
        ),
    }
    return show(checks)


if __name__ == "__main__":
    sys.exit(main())
