"""The networks of WGAN-GP: Gulrajani et al., "Improved Training of Wasserstein GANs" (NeurIPS 2017), in DCGAN's form.

The critic has no batch normalisation: the gradient penalty is on each image's own gradient (section 4).
"""

from torch import Tensor, nn


class Generator(nn.Module):
    """Maps noise (N, 128) to images (N, 3, 32, 32) in [-1, 1]."""

    def __init__(self, noise_size: int = 128, width: int = 128) -> None:
        super().__init__()
        self.width = width
        self.project = nn.Linear(noise_size, 4 * width * 4 * 4)
        self.up1 = nn.ConvTranspose2d(4 * width, 2 * width, kernel_size=4, stride=2, padding=1)
        self.norm1 = nn.BatchNorm2d(2 * width)
        self.up2 = nn.ConvTranspose2d(2 * width, width, kernel_size=4, stride=2, padding=1)
        self.norm2 = nn.BatchNorm2d(width)
        self.up3 = nn.ConvTranspose2d(width, 3, kernel_size=4, stride=2, padding=1)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, noise: Tensor) -> Tensor:
        x = self.relu(self.project(noise)).unflatten(1, (4 * self.width, 4, 4))
        x = self.relu(self.norm1(self.up1(x)))
        x = self.relu(self.norm2(self.up2(x)))
        return self.up3(x).tanh()


class Critic(nn.Module):
    """Maps images (N, 3, 32, 32) to one score each, (N,)."""

    def __init__(self, width: int = 128) -> None:
        super().__init__()
        self.down1 = nn.Conv2d(3, width, kernel_size=4, stride=2, padding=1)
        self.down2 = nn.Conv2d(width, 2 * width, kernel_size=4, stride=2, padding=1)
        self.down3 = nn.Conv2d(2 * width, 4 * width, kernel_size=4, stride=2, padding=1)
        self.leaky = nn.LeakyReLU(0.2)
        self.score = nn.Linear(4 * width * 4 * 4, 1)

    def forward(self, images: Tensor) -> Tensor:
        x = self.leaky(self.down1(images))
        x = self.leaky(self.down2(x))
        x = self.leaky(self.down3(x))
        return self.score(x.flatten(1)).squeeze(1)
