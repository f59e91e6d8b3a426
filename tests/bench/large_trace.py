"""`large_trace.py FILE MEBIBYTES`: a trace of training steps on a GPU, with stacks and memory, of about that size."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TextIO

HEAD = """{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100", "totalGlobalMem": 85000000000}],
"baseTimeNanoseconds": 1790857026000000000, "displayTimeUnit": "ms", "traceEvents": [
"""
TEMPLATE = """  {{
    "ph": "X", "cat": "{category}", "name": "{name}", "pid": {pid}, "tid": {tid},
    "ts": {ts:.3f}, "dur": {dur:.3f},
    "args": {{
      {args}
    }}
  }},
"""
MEMORY = """  {{
    "ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 4242, "tid": 4242, "ts": {ts:.3f},
    "args": {{
      "Total Reserved": 8589934592, "Total Allocated": {total}, "Bytes": {size}, "Addr": {address},
      "Device Id": 0, "Device Type": 1, "Ev Idx": {index}
    }}
  }},
"""
OP_ARGS = (
    '"External id": {id}, "Record function id": 0, "Sequence number": {id}, "Fwd thread id": 0, "Ev Idx": {id},'
    ' "Input Dims": [[64, 1024], [1024, 4096], []], "Input type": ["float", "float", "Scalar"]'
)
KERNEL_ARGS = (
    '"queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": {id}, "External id": {id},'
    ' "registers per thread": 32, "shared memory": 0, "blocks per SM": 2.5, "warps per SM": 10.0,'
    ' "grid": [512, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %": 60'
)
GEMM = "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_16x4_nn_align{}>(typename T::Params)"


def write_layer(file: TextIO, now: float, layer: int, number: int) -> float:
    """Frames, two ops, a launch, its kernel and two allocator events; the time after them."""

    def event(category: str, name: str, start: float, dur: float, args: str, pid: int = 4242, tid: int = 4242) -> None:
        file.write(TEMPLATE.format(category=category, name=name, pid=pid, tid=tid, ts=now + start, dur=dur, args=args))

    python = f'"Python parent id": {number}, "Python id": {number + 1}, "Ev Idx": {number}'
    event("python_function", f"nn.Module: Linear_{layer}", 0, 40, python + f', "Python module id": {layer}')
    event("python_function", "torch/nn/modules/module.py(1782): _call_impl", 0.5, 39, python)
    event("python_function", f"model.py({10 + layer}): forward", 1, 38, python)
    event("python_function", "<built-in function linear>", 2, 36, python)
    event("cpu_op", "aten::linear", 3, 34, OP_ARGS.format(id=number))
    event("cpu_op", "aten::addmm", 5, 30, OP_ARGS.format(id=number + 1))
    event("cuda_runtime", "cudaLaunchKernel", 20, 6, f'"External id": {number}, "cbid": 211, "correlation": {number}')
    event("kernel", GEMM.format(layer % 40), 30, 18, KERNEL_ARGS.format(id=number), 0, 7)
    address = 140000000000000 + 4096 * layer
    file.write(MEMORY.format(ts=now + 6, total=1 << 30, size=4096, address=address, index=number))
    file.write(MEMORY.format(ts=now + 33, total=1 << 30, size=-4096, address=address, index=number))
    return now + 50


def main(path: Path, mebibytes: int) -> None:
    now = 4461776200781.3
    number = 1
    with path.open("w", encoding="utf-8") as file:
        file.write(HEAD)
        step = 0
        while file.tell() < mebibytes << 20:
            start = now
            for layer in range(400):
                now = write_layer(file, now, layer, number)
                number += 3
            values = {"category": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 4242, "tid": 4242}
            file.write(TEMPLATE.format(**values, ts=start, dur=now - start, args=f'"Ev Idx": {number}'))
            now += 100
            step += 1
        file.write(
            '{"name": "process_name", "ph": "M", "ts": 0, "pid": 4242, "tid": 0, "args": {"name": "python"}}]}\n'
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
