"""One rank that trains examples/bert with DistributedDataParallel, one thread and two samples: `bert_rank.py STEPS`."""

import gc
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples" / "bert"))
import entry


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    model = DistributedDataParallel(entry.model_provider())
    step = entry.iteration_provider(model)
    inputs = entry.input_provider(2)
    for _ in range(int(sys.argv[1])):
        step(*inputs)
    del model, step
    gc.collect()
    dist.destroy_process_group()


main()
