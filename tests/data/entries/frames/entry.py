"""A step that runs one operation in every kind of Python frame. No operation is used in two of the marked lines."""

import contextlib
import functools

import torch
from torch import nn


def generator(x):
    for _ in range(3):
        yield x.sin()  # generator


def delegating(x):
    yield from generator(x)
    yield x.cos()  # after yield from


def receiving(x):
    while True:
        count = yield
        for _ in range(count):
            x.tan()  # after send


def recursive(x, depth):
    if depth == 0:
        return
    x.sinh()  # recursion
    recursive(x, depth - 1)


def nested(x):
    count = 0

    def inner():
        nonlocal count
        count += 1
        return x.cosh()  # nested function

    inner()
    inner()


def comprehensions(x):
    [
        x.tanh()  # list comprehension
        for _ in range(4)
    ]
    {
        n: x.asin()  # dict comprehension
        for n in range(3)
    }
    sum(
        x.acos()  # generator expression
        for _ in range(2)
    )
    [[x.atan() for _ in range(2)] for _ in range(3)]  # nested comprehension


def class_body(x):
    class Local:
        value = x.exp()  # class body

    return Local


def decorator(function):
    @functools.wraps(function)
    def wrapper(x):
        x.exp2()  # wrapper
        return function(x)

    return wrapper


@decorator
def decorated(x):
    x.expm1()  # decorated function


def callbacks(x):
    def key(number):
        x.log1p()  # callback of sorted
        return -number

    def scaled(factor, value):
        value.log2()  # function of a partial

    sorted([2, 3, 1], key=key)
    functools.partial(scaled, 2)(x)
    list(map(lambda n: x.erf(), range(5)))  # lambda


def exceptions(x):
    for _ in range(2):
        try:
            raise ValueError
        except ValueError:
            x.sqrt()  # except
        finally:
            x.rsqrt()  # finally
    try:
        1 / 0
    except ZeroDivisionError as error:
        return x.erfc(), error  # return in except


@contextlib.contextmanager
def context(x):
    x.floor()  # enter
    yield
    x.ceil()  # exit


class Quantity:
    def __init__(self, x):
        self.x = x.round()  # constructor

    def __add__(self, other):
        return self.x.trunc()  # operator

    def __getattr__(self, name):
        return self.x.frac()  # missing attribute

    @property
    def value(self):
        return self.x.sign()  # property

    @classmethod
    def make(cls, x):
        x.signbit()  # class method
        return cls(x)


async def awaited(x):
    return x.reciprocal()  # awaited coroutine


async def coroutine(x):
    await awaited(x)
    return x.sigmoid()  # coroutine


class Suspends:
    def __await__(self):
        yield


async def suspended(x):
    await Suspends()
    x.logit()  # after a suspension


def drive(running):
    with contextlib.suppress(StopIteration):
        while True:
            running.send(None)


def matching(x, command):
    match command:
        case ["skip"]:
            pass
        case ["run", int(times)]:
            for _ in range(times):
                x.lgamma()  # case


def several_lines(x):
    torch.maximum(
        x.digamma(),  # first argument
        x.angle(),  # second argument
    )
    (
        x
        .isnan()
        .isinf()  # chained call
        .isfinite()
    )


def busy(count):
    sum(range(count))  # without an operation


class Base(nn.Module):
    def forward(self, x):
        return x.relu()  # method by super


class Model(Base):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(8))
        self.register_forward_hook(self.hook)

    def forward(self, x):
        return super().forward(x) * self.weight

    @staticmethod
    def hook(module, inputs, output):
        output.detach().nan_to_num()  # hook


def model_provider():
    return Model()


def input_provider(batch_size=8):
    return (torch.rand(batch_size, 8),)


def iteration_provider(model):
    def iteration(x):
        for _ in delegating(x):
            pass
        receiver = receiving(x)
        next(receiver)
        receiver.send(2)
        receiver.send(1)
        recursive(x, 4)
        nested(x)
        comprehensions(x)
        class_body(x)
        decorated(x)
        callbacks(x)
        exceptions(x)
        with context(x):
            x.isposinf()  # with
        quantity = Quantity.make(x)
        quantity + quantity
        quantity.missing
        quantity.value
        drive(coroutine(x))
        drive(suspended(x))
        matching(x, ["skip"])
        matching(x, ["run", 2])
        several_lines(x)
        list(map(busy, [1_000_000]))
        model(x).sum().backward()

    return iteration
