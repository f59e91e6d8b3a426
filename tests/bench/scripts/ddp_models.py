"""Data-parallel training of one of some small models, one thread a rank.

`ddp_models.py MODEL STEPS BUCKET_MB [LATE_MS [WAY]]`: rank 1 sleeps LATE_MS in each step. WAY: "fp16" sends half the
bytes, "after" sends when backward is over, "checkpoint" runs forward of each Block again in backward, "micro4" sends
only after four micro-batches, "micro4+checkpoint" is both, and "server" is a parameter server.
Rank 0 prints the median step in milliseconds.
"""

import gc
import sys
import time
from collections.abc import Callable
from functools import partial
from statistics import median

import torch
import torch.distributed as dist
from mean_by_server import MeanByServer
from reduced_after_backward import ReducedAfterBackward
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        samples, length, width = x.shape
        qkv = self.qkv(self.norm1(x)).view(samples, length, 3, self.heads, width // self.heads)
        attended = nn.functional.scaled_dot_product_attention(*qkv.permute(2, 0, 3, 1, 4))
        x = x + self.out(attended.transpose(1, 2).reshape(samples, length, width))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


def mlp() -> tuple[nn.Module, torch.Tensor]:
    widths = (256, 1024, 1024, 1024)
    layers = [layer for a, b in zip(widths, widths[1:], strict=False) for layer in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(*layers, nn.Linear(1024, 10)), torch.randn(64, 256)


def cnn() -> tuple[nn.Module, torch.Tensor]:
    layers: list[nn.Module] = []
    for a, b in ((3, 32), (32, 64), (64, 128)):
        layers += [nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(), nn.MaxPool2d(2)]
    head = [nn.Flatten(), nn.Linear(128 * 16, 512), nn.ReLU(), nn.Linear(512, 10)]
    return nn.Sequential(*layers, *head), torch.randn(16, 3, 32, 32)


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.Sequential(*(Block(256, 4) for _ in range(4)))
        self.head = nn.Linear(256, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.blocks(x).mean(1))


def transformer() -> tuple[nn.Module, torch.Tensor]:
    return Transformer(), torch.randn(4, 64, 256)


def deep() -> tuple[nn.Module, torch.Tensor]:
    """32 MiB of gradients, and little work for each byte."""
    return nn.Sequential(*[nn.Linear(1024, 1024) for _ in range(8)], nn.Linear(1024, 10)), torch.randn(64, 1024)


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(128, 256, batch_first=True), nn.Linear(256, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.lstm(x)[0][:, -1])


def lstm() -> tuple[nn.Module, torch.Tensor]:
    return Recurrent(), torch.randn(16, 24, 128)


def autoencoder() -> tuple[nn.Module, torch.Tensor]:
    """Convolutions down and up again."""
    down = [nn.Conv2d(3, 32, 4, 2, 1), nn.ReLU(), nn.Conv2d(32, 64, 4, 2, 1), nn.ReLU()]
    up = [nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(32, 10, 4, 2, 1), nn.AdaptiveAvgPool2d(1)]
    return nn.Sequential(*down, *up, nn.Flatten()), torch.randn(16, 3, 32, 32)


MODELS = {
    "mlp": mlp,
    "cnn": cnn,
    "transformer": transformer,
    "deep": deep,
    "lstm": lstm,
    "autoencoder": autoencoder,
}


def parallel(network: nn.Module, bucket_mb: float, way: str) -> tuple[nn.Module, Callable[[], None]]:
    """The model, and what is to be called after backward."""
    if way == "after":
        return network, ReducedAfterBackward(network, int(bucket_mb * 2**20))
    if way == "server":
        return network, MeanByServer(network)
    if "checkpoint" in way:
        for block in [module for module in network.modules() if isinstance(module, Block)]:
            block.forward = partial(checkpoint, block.forward, use_reentrant=False)  # type: ignore[method-assign]
    model = DistributedDataParallel(network, bucket_cap_mb=bucket_mb)
    if way == "fp16":
        model._register_builtin_comm_hook(dist.BuiltinCommHookType.FP16_COMPRESS)  # noqa: SLF001 - it has no other name
    return model, lambda: None


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    network, x = MODELS[sys.argv[1]]()
    way = sys.argv[5] if len(sys.argv) > 5 else ""
    model, reduce = parallel(network, float(sys.argv[3]), way)
    micro_batches = 4 if "micro4" in way else 1
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    y = torch.randint(0, 10, (len(x),))
    late = float(sys.argv[4]) / 1e3 if len(sys.argv) > 4 and dist.get_rank() == 1 else 0
    times = []
    for _ in range(int(sys.argv[2])):
        start = time.perf_counter()
        if late > 0:
            time.sleep(late)
        optimizer.zero_grad()
        for _ in range(micro_batches - 1):
            with model.no_sync():
                nn.functional.cross_entropy(model(x), y).backward()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        reduce()
        optimizer.step()
        times.append(1e3 * (time.perf_counter() - start))
    if dist.get_rank() == 0:
        print(f"{median(times):.3f}")
    del model, optimizer, loss
    gc.collect()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
