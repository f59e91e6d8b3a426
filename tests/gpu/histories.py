"""What CUDA's caching allocator did in the first iterations of examples, from the creation of the model on.

`python tests/gpu/histories.py` on a machine with a GPU writes $OUT/EXAMPLE-SIZE.txt.gz for each of SIZES, as test
data for the model of the allocator. Each line is an event: `alloc ID BYTES STREAM` (a request; streams are numbered, 0
is the default one), `free ID`, `segment BYTES STREAM` (memory of the device taken) and `release BYTES STREAM` (given
back). The last line has the statistics of torch: `peak ALLOCATED RESERVED`, in bytes.
"""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from example_steps import step_of

ROOT = Path(__file__).resolve().parents[2]
OUT = Path(os.environ["OUT"])
SIZES = {
    "resnet50": (4, 8, 12, 16, 24, 32, 48),
    "gpt": (1, 2, 3, 4, 6, 8, 12),
    "dcgan": (8, 16, 24, 32, 48),
    "gnmt": (4, 8, 12, 16),
}
ITERATIONS = 3
KINDS = {"segment_alloc": "segment", "segment_map": "segment", "segment_free": "release", "segment_unmap": "release"}


def events_of(trace: list[dict[str, Any]]) -> Iterator[str]:
    streams = {0: 0}
    identifiers: dict[int, int] = {}
    for event in trace:
        action, address, size = event["action"], event["addr"], event["size"]
        stream = streams.setdefault(event["stream"], len(streams))
        if action == "alloc":
            identifiers[address] = count = identifiers.get(-1, 0)
            identifiers[-1] = count + 1
            yield f"alloc {count} {size} {stream} {address}"
        elif action == "free_completed":
            yield f"free {identifiers.pop(address)}"
        elif action in KINDS:
            yield f"{KINDS[action]} {size} {stream}"


def record(example: str, size: int) -> None:
    torch.cuda.memory._record_memory_history(enabled="all", context=None, stacks="python", max_entries=1_000_000)
    step = step_of(ROOT / "examples" / example, size)
    for _ in range(ITERATIONS):
        step()
    torch.cuda.synchronize()
    lines = [*events_of(torch.cuda.memory._snapshot()["device_traces"][0])]
    lines.append(f"peak {torch.cuda.max_memory_allocated()} {torch.cuda.max_memory_reserved()}")
    with gzip.open(OUT / f"{example}-{size}.txt.gz", "wt") as file:
        file.write("\n".join(lines) + "\n")


def main() -> int:
    children = {}
    for example, sizes in SIZES.items():
        for size in sizes:
            child = os.fork()  # torch is imported, CUDA is not yet used
            if child == 0:
                record(example, size)
                os._exit(0)
            children[child] = f"{example} at {size}"
    failed = [name for child, name in children.items() if os.waitpid(child, 0)[1] != 0]
    print("FAILED" if failed else "passed", f"histories of {len(children)} batch sizes", *failed)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
