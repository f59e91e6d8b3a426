"""Mixed precision with a gradient scaler, hooks of every kind, clipping, and a learning-rate schedule."""

import time

import torch
from torch import nn


def model_provider():
    return nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 256))


def input_provider(batch_size=64):
    return {"x": torch.randn(batch_size, 256)}, [torch.randn(batch_size, 256)]


def iteration_provider(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu")
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 100)

    def on_forward(module, inputs, output):
        return output * 1.0  # forward_hook

    def on_gradient(gradient):
        end = time.perf_counter() + 0.004
        while time.perf_counter() < end:  # tensor_hook
            pass
        return gradient

    def on_module_backward(module, into, out):
        torch.mm(out[0].float(), model[2].weight)  # backward_hook

    def on_accumulated(parameter):
        parameter.grad.mul_(0.5)  # accumulated_hook

    model[0].register_forward_hook(on_forward)
    model[2].register_full_backward_hook(on_module_backward)
    model[2].weight.register_post_accumulate_grad_hook(on_accumulated)

    def iteration(batch, targets):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            hidden = model[1](model[0](batch["x"]))
            hidden.register_hook(on_gradient)
            loss = nn.functional.mse_loss(model[2](hidden).float(), targets[0])
        scaler.scale(loss).backward()  # backward
        scaler.unscale_(optimizer)  # unscale
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # clip
        scaler.step(optimizer)  # step
        scaler.update()
        schedule.step()

    return iteration
