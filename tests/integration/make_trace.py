"""Makes what tests/integration/test_import.py imports: a small training loop under torch.profiler.

`make_trace.py TRACE FIGURES`: writes the trace, and as JSON what torch.profiler itself says of it.
"""

import json
import sys

import torch
from torch.profiler import ProfilerActivity, profile, schedule

STEPS = 3


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(64, 256)
        self.second = torch.nn.Linear(256, 10)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


def step(net, optimizer):
    x = torch.randn(32, 64)
    optimizer.zero_grad()
    loss = net(x).square().mean()
    loss.backward()
    optimizer.step()


def main(trace, figures):
    torch.set_num_threads(1)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=1, warmup=2, active=STEPS),
        with_stack=True,
        profile_memory=True,
        record_shapes=True,
    ) as profiler:
        for _ in range(3 + STEPS):
            step(net, optimizer)
            profiler.step()
    profiler.export_chrome_trace(trace)
    averages = {
        row.key: {"count": row.count, "self_us": row.self_cpu_time_total, "total_us": row.cpu_time_total}
        for row in profiler.key_averages()
    }
    with open(figures, "w", encoding="utf-8") as file:
        json.dump({"steps": STEPS, "averages": averages}, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
