"""Launches kernels on the device that is made up by tests/integration/fake_cupti.cpp."""

import ctypes
import os

import torch

FAKE = ctypes.CDLL(os.environ["RIDGELINE_TEST_FAKE_CUPTI"])
torch.library.define("launching::scale", "(Tensor x) -> Tensor")


@torch.library.impl("launching::scale", "CPU")
def _scale(x):
    FAKE.fake_launch(b"scale_kernel", ctypes.c_uint64(200_000))
    return x * 2


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return torch.ops.launching.scale(x)

    @staticmethod
    def backward(context, gradient):
        FAKE.fake_launch(b"scale_backward_kernel", ctypes.c_uint64(300_000))
        return gradient * 2


def model_provider():
    return torch.nn.Linear(8, 8)


def input_provider(batch_size=4):
    return (torch.ones(batch_size, 8),)


def iteration_provider(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def iteration(x):
        y = Scale.apply(model(x))  # scale
        FAKE.fake_driver_launch(b"triton_kernel", ctypes.c_uint64(100_000))  # triton
        optimizer.zero_grad()
        y.sum().backward()
        optimizer.step()
        FAKE.fake_synchronise()

    return iteration
