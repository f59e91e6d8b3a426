"""A data set of synthetic images, decoded and augmented when they are asked for, as files on a disk would be."""

import zlib

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

Image = np.ndarray
MEAN = np.array([0.485, 0.456, 0.406], dtype=np.float32)
DEVIATION = np.array([0.229, 0.224, 0.225], dtype=np.float32)


class StoredImages(Dataset[tuple[Tensor, int]]):
    """`count` images of `stored_size` pixels square, kept as bytes; an item is an image (3, size, size) and a label."""

    def __init__(self, count: int, stored_size: int, size: int, num_classes: int) -> None:
        self.stored_size = stored_size
        self.size = size
        generator = np.random.default_rng(0)
        self.labels = generator.integers(num_classes, size=count)
        self.files = [encode(smooth_noise(generator, stored_size)) for _ in range(count)]

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        generator = np.random.default_rng(index)
        image = decode(self.files[index], self.stored_size)
        image = random_crop(image, self.size, generator)
        image = (image.astype(np.float32) / 255 - MEAN) / DEVIATION
        return torch.from_numpy(image.transpose(2, 0, 1).copy()), int(self.labels[index])


def encode(image: Image) -> bytes:
    """Bytes as PNG keeps them: each row less the one above, modulo 256, deflated. Image (H, W, 3), bytes."""
    above = np.vstack((np.zeros_like(image[:1]), image[:-1]))
    return zlib.compress((image - above).tobytes(), level=1)


def decode(file: bytes, size: int) -> Image:
    """The image (size, size, 3) of a file."""
    differences = np.frombuffer(zlib.decompress(file), dtype=np.uint8).reshape(size, size, 3)
    return np.cumsum(differences, axis=0, dtype=np.uint8)


def random_crop(image: Image, size: int, generator: np.random.Generator) -> Image:
    """A random square of at least a quarter of the side, bilinear at (size, size, 3), mirrored half the time."""
    side = int(generator.integers(len(image) // 4, len(image)))
    top, left = generator.integers(len(image) - side, size=2)
    rows = np.linspace(top, top + side - 1, size)
    columns = np.linspace(left, left + side - 1, size)
    if generator.random() < 0.5:
        columns = columns[::-1]
    row, column = rows.astype(int), columns.astype(int)
    below, right = np.minimum(row + 1, len(image) - 1), np.minimum(column + 1, len(image) - 1)
    down, across = (rows - row)[:, None, None], (columns - column)[None, :, None]
    upper = image[np.ix_(row, column)] * (1 - across) + image[np.ix_(row, right)] * across
    lower = image[np.ix_(below, column)] * (1 - across) + image[np.ix_(below, right)] * across
    return upper * (1 - down) + lower * down


def smooth_noise(generator: np.random.Generator, size: int) -> Image:
    """An image (size, size, 3) of colours that wander from pixel to pixel."""
    steps = generator.integers(-3, 4, size=(size, size, 3))
    return (128 + np.cumsum(steps, axis=0)).clip(0, 255).astype(np.uint8)
