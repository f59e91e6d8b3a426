"""Entry point for Ridgeline, from model_only.py: a model, its input and one training iteration."""

from model_only import AutoEncoder


def model_provider():
    raise NotImplementedError("TODO: the arguments of AutoEncoder: size")
    return AutoEncoder(...)


def input_provider(batch_size=32):  # guessed
    raise NotImplementedError("TODO: the input of AutoEncoder")


def iteration_provider(model):
    def iteration(*inputs):
        raise NotImplementedError("TODO: the iteration: loss, backward(), step of an optimizer")

    return iteration
