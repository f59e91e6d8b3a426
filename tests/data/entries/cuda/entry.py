"""Training code as it is written for a GPU: nearly every way to name CUDA. Nothing in it knows of Ridgeline."""

import random

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

if not torch.cuda.is_available():
    raise SystemExit("This code needs a GPU.")

torch.backends.cudnn.benchmark = True
torch.backends.cuda.matmul.allow_tf32 = True
random.seed(0)
torch.manual_seed(0)
torch.cuda.manual_seed(0)
torch.cuda.manual_seed_all(0)
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
torch.cuda.set_device(device)
print(torch.cuda.get_device_name(0), torch.cuda.get_device_properties(device).total_memory, torch.cuda.device_count())


class Scale(torch.autograd.Function):
    @staticmethod
    @torch.cuda.amp.custom_fwd(cast_inputs=torch.float16)
    def forward(ctx, x, by):
        ctx.by = by
        return x * by

    @staticmethod
    @torch.cuda.amp.custom_bwd
    def backward(ctx, gradient):
        return gradient * ctx.by, None


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Conv2d(3, 16, 3, padding=1, device="cuda")
        self.norm = nn.BatchNorm2d(16).cuda()
        self.head = nn.Linear(16 * 16, 10)
        self.register_buffer("mask", torch.ones(16, device=0))

    def forward(self, x):
        x = torch.relu(self.norm(self.features(x))) * self.mask.view(1, -1, 1, 1)
        x = nn.functional.adaptive_avg_pool2d(x, 4).flatten(1)
        return self.head(Scale.apply(x, 0.5))


def skyline_model_provider():
    model = nn.DataParallel(Net(), device_ids=[0]).to(device, non_blocking=True)
    assert all(parameter.device.type == "cpu" for parameter in model.parameters())  # what a tensor says stays true
    return model


def skyline_input_provider(batch_size=16):
    data = TensorDataset(torch.randn(batch_size, 3, 16, 16), torch.randint(0, 10, (batch_size,)))
    loader = DataLoader(data, batch_size, pin_memory=True)
    for images, labels in loader:
        return images.cuda(non_blocking=True), labels.to("cuda", non_blocking=True)


def skyline_iteration_provider(model):
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    scaler = torch.cuda.amp.GradScaler()
    stream = torch.cuda.Stream()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    generator = torch.Generator(device="cuda").manual_seed(1)

    def iteration(images, labels):
        start.record()
        optimizer.zero_grad(set_to_none=True)
        noise = torch.rand(4096, 512, device="cuda", generator=generator)  # made here
        staging = torch.empty(1024, pin_memory=True)
        with torch.cuda.stream(stream), torch.cuda.nvtx.range("forward"):
            staging.copy_(noise[0, 0].expand(1024)).cuda(non_blocking=True)
        torch.cuda.current_stream().wait_stream(stream)
        with torch.cuda.amp.autocast():
            loss = nn.functional.cross_entropy(model(images), labels)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        end.record()
        torch.cuda.synchronize()
        assert start.elapsed_time(end) > 0
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()

    return iteration
