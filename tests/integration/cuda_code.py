"""Code for CUDA under `--device cpu`, for test_device.py: runs every check below in one process and prints, as JSON,
what each one raised. `train` prints a digest of what CPU code learns, with or without the option."""

from __future__ import annotations

import copy
import hashlib
import io
import json
import pickle
import sys
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "profiler" / "runner"))

import torch
from ridgeline_runner.common.failure import Failure
from ridgeline_runner.cuda import cpu_for_cuda
from torch import nn

GPU = torch.device("cuda:0")
ORIGINALS = {"sum": torch.sum, "matmul": torch.matmul, "add": torch.Tensor.add, "linear": nn.functional.linear}


def on_cpu(*tensors: torch.Tensor) -> None:
    assert tensors and all(tensor.device.type == "cpu" for tensor in tensors)


def check_moves() -> None:
    x = torch.ones(2)
    on_cpu(x.cuda(), x.cuda(0), x.cuda("cuda:1", non_blocking=True), x.to(GPU), x.to("cuda", torch.float64), x.to(0))
    on_cpu(x.to(device="cuda", dtype=torch.half), x.pin_memory(), x.type("torch.cuda.HalfTensor"))
    on_cpu(x.type(torch.cuda.LongTensor), torch.cuda.FloatTensor([1, 2]), x.new_zeros(2, device="cuda"))
    on_cpu(x.new_tensor([1], device=GPU), x.untyped_storage().cuda(), torch.zeros(1, device=x.get_device()))
    assert x.to("cuda", torch.float64).dtype is torch.float64
    assert x.to("meta").device.type == "meta"
    assert x.to(torch.ones(1, dtype=torch.int)).dtype is torch.int


def check_every_constructor() -> None:
    on_cpu(torch.tensor([1.0], device="cuda"), torch.as_tensor([1], None, "cuda"), torch.as_tensor([1], device=GPU))
    on_cpu(torch.normal(0.0, 1.0, (2,), device="cuda"), torch.fft.fftfreq(4, device="cuda"))
    on_cpu(torch.nested.nested_tensor([torch.ones(2)], device="cuda", layout=torch.jagged))
    for name in ("zeros", "ones", "empty", "rand", "randn"):
        on_cpu(getattr(torch, name)(2, 3, device="cuda", pin_memory=True), getattr(torch, name)((2,), device=1))
    for name in ("zeros", "ones", "empty", "rand", "randn"):
        on_cpu(getattr(torch, f"{name}_like")(torch.ones(2), device=GPU))
    for name in ("arange", "eye", "randperm", "hann_window"):
        on_cpu(getattr(torch, name)(3, device="cuda"))
    on_cpu(
        torch.linspace(0, 1, 3, device="cuda"), torch.full((2,), 1.0, device="cuda"), torch.randint(3, (2,), device=0)
    )
    on_cpu(torch.full_like(torch.ones(2), 3, device="cuda"), torch.tril_indices(2, 2, device="cuda"))
    on_cpu(torch.sparse_coo_tensor([[0]], [1.0], (2,), device="cuda"), torch.asarray([1], device="cuda"))
    assert torch.zeros(1, device="meta").device.type == "meta"


def check_modules() -> None:
    model = nn.Sequential(nn.Linear(2, 2, device="cuda"), nn.BatchNorm1d(2)).cuda().to(0).to(GPU).to(device="cuda")
    on_cpu(*model.parameters(), *model.buffers())
    on_cpu(nn.DataParallel(model, device_ids=[0]).to(GPU)(torch.ones(3, 2).cuda()))
    assert pickle.loads(pickle.dumps(copy.deepcopy(model))) is not None
    assert pickle.loads(pickle.dumps(torch.zeros)) is torch.zeros


def check_contexts() -> None:
    with torch.device("cuda"):
        on_cpu(torch.zeros(2), nn.Linear(2, 2).weight)
    torch.set_default_device("cuda")
    on_cpu(torch.zeros(2))
    torch.set_default_device(None)
    torch.set_default_tensor_type("torch.cuda.FloatTensor")
    torch.set_default_tensor_type(torch.cuda.FloatTensor)
    with torch.cuda.device(0), torch.cuda.stream(torch.cuda.Stream()), torch.cuda.nvtx.range("x"):
        on_cpu(torch.zeros(2))


def check_queries() -> None:
    cuda = torch.cuda
    assert (cuda.is_available(), cuda.device_count(), cuda.current_device(), cuda.is_initialized()) == (
        True,
        1,
        0,
        True,
    )
    assert cuda.get_device_name(GPU) and cuda.get_device_properties(0).total_memory > 1 << 20
    assert cuda.get_device_capability()[0] < 7 and cuda.is_bf16_supported()
    assert cuda.memory_allocated() == cuda.max_memory_reserved(0) == cuda.memory_stats()["active.all.peak"] == 0
    free, total = cuda.mem_get_info()
    assert 0 < free <= total
    assert isinstance(cuda.memory_summary(), str)


def check_torch_itself_sees_that_there_is_no_cuda() -> None:
    inside = {"__name__": "torch.somewhere", "torch": torch}
    exec("there = torch.cuda.is_available(), torch.cuda.device_count(), torch.cuda.is_initialized()", inside)  # noqa: S102
    assert inside["there"] == (False, 0, False)


def check_nothing_else_is_replaced() -> None:
    now = {"sum": torch.sum, "matmul": torch.matmul, "add": torch.Tensor.add, "linear": nn.functional.linear}
    assert now == ORIGINALS
    assert torch.zeros.__name__ == "zeros" and "size" in (torch.zeros.__doc__ or "")
    assert torch.cuda.is_available.__name__ == "is_available" and torch.cuda.is_available.__doc__


def check_random_state() -> None:
    torch.cuda.manual_seed_all(3)
    first = torch.rand(4, device="cuda")
    torch.manual_seed(3)
    assert torch.equal(first, torch.rand(4))
    state = torch.cuda.get_rng_state()
    one = torch.rand(2)
    torch.cuda.set_rng_state(state)
    assert torch.equal(one, torch.rand(2))
    with torch.random.fork_rng(devices=[0]):
        torch.rand(1)
    generator = torch.Generator(device="cuda").manual_seed(1)
    assert isinstance(generator, torch.Generator) and isinstance(torch.default_generator, torch.Generator)
    on_cpu(torch.randn(2, generator=generator, device="cuda"))


def check_events_take_the_hosts_time() -> None:
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    torch.cuda.current_stream().wait_event(start)
    end.record(torch.cuda.default_stream())
    end.synchronize()
    assert end.query() and 0 < start.elapsed_time(end) < 60_000


def check_mixed_precision() -> None:
    model, x = nn.Linear(2, 2).cuda(), torch.ones(1, 2).cuda()
    for context in (torch.autocast("cuda"), torch.amp.autocast(device_type="cuda", dtype=torch.float16)):
        with context:
            assert model(x).dtype is torch.bfloat16 and torch.is_autocast_enabled()
    with torch.cuda.amp.autocast(enabled=False):
        assert model(x).dtype is torch.float32
    with torch.autocast("cpu", dtype=torch.float16):
        assert torch.get_autocast_dtype("cpu") is torch.float16
    assert torch.autocast("cuda")(lambda: model(x))().dtype is torch.bfloat16
    assert torch.cuda.amp.GradScaler().is_enabled() and torch.amp.GradScaler("cuda").is_enabled()
    assert not torch.cuda.amp.GradScaler(enabled=False).is_enabled()


def check_custom_functions_in_mixed_precision() -> None:
    class Square(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float16)
        def forward(ctx, x):
            ctx.save_for_backward(x)
            assert x.dtype is torch.bfloat16
            return x * x

        @staticmethod
        @torch.amp.custom_bwd(device_type="cuda")
        def backward(ctx, gradient):
            return 2 * ctx.saved_tensors[0] * gradient

    x = torch.ones(2, device="cuda", requires_grad=True)
    with torch.autocast("cuda"):
        Square.apply(x).sum().backward()
    assert x.grad.tolist() == [2, 2]


def check_checkpointing_in_mixed_precision() -> None:
    from torch.utils.checkpoint import checkpoint

    weight = torch.ones(2, 2, device="cuda", requires_grad=True)
    seen = []

    def block(x):
        seen.append((x @ weight).dtype)
        return x @ weight

    for reentrant in (True, False):
        with torch.autocast("cuda"):
            out = checkpoint(block, torch.ones(1, 2, requires_grad=True).cuda(), use_reentrant=reentrant)
        out.sum().backward()
    assert seen == [torch.bfloat16] * 4


def check_files() -> None:
    file = io.BytesIO()
    torch.save({"weight": torch.ones(2).cuda()}, file)
    for location in (None, "cuda", "cuda:1", GPU, {"cpu": "cuda:0"}, lambda storage, _: storage.cuda()):
        file.seek(0)
        on_cpu(torch.load(file, map_location=location)["weight"])


def check_compiled_code() -> None:
    def step(x):
        if torch.cuda.is_available():
            x = x.cuda(non_blocking=True)
        with torch.autocast("cuda"):
            y = x.to("cuda") @ torch.ones(2, 2, device="cuda")
        torch.cuda.synchronize()
        return y + x.new_ones(2, device=0) + torch.zeros_like(y, device=GPU)

    x = torch.ones(1, 2)
    assert torch.equal(torch.compile(step, backend="aot_eager")(x), step(x))


def check_scripted_code() -> None:
    def more(x: torch.Tensor) -> torch.Tensor:
        return x + torch.zeros(2) + torch.rand_like(x) * 0

    assert torch.jit.script(more)(torch.ones(2)).tolist() == [1, 1]


def check_what_needs_a_device_is_refused() -> None:
    for make in (
        torch.cuda.CUDAGraph,
        lambda: torch.cuda.graph(None),
        lambda: torch.cuda.make_graphed_callables(1, ()),
    ):
        try:
            make()
        except Failure as failure:
            assert failure.kind == "no-cuda" and "cannot run on the CPU" in str(failure)
        else:
            raise AssertionError("not refused")


def train() -> str:
    """Five steps of code that names no device: dropout, shuffled data, seeds, every kind of random number."""
    torch.manual_seed(7)
    model = nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.3), nn.ReLU(), nn.Linear(16, 4))
    data = torch.utils.data.TensorDataset(torch.randn(40, 8), torch.randint(0, 4, (40,)))
    optimizer = torch.optim.Adam(model.parameters())
    for x, y in torch.utils.data.DataLoader(data, batch_size=8, shuffle=True):
        optimizer.zero_grad()
        with torch.autocast("cpu"):
            out = model(x + torch.zeros_like(x).normal_() + torch.randn(8))
        nn.functional.cross_entropy(out.float(), y).backward()
        optimizer.step()
    return hashlib.sha256(
        b"".join(parameter.detach().numpy().tobytes() for parameter in model.parameters())
    ).hexdigest()


def main(arguments: list[str]) -> None:
    if arguments == ["train"]:
        print(json.dumps({"digest": train()}))
        return
    cpu_for_cuda.install()
    if arguments == ["train", "stand-in"]:
        print(json.dumps({"digest": train(), "inPlaceOf": cpu_for_cuda.in_place_of()}))
        return
    results = {}
    for name, check in list(globals().items()):
        if name.startswith("check_"):
            try:
                check()
                results[name] = None
            except BaseException:  # noqa: BLE001 - the test says which
                results[name] = traceback.format_exc()
    print(json.dumps(results))


if __name__ == "__main__":
    main(sys.argv[1:])
