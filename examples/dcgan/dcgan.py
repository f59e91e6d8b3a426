"""DCGAN: Radford, Metz, Chintala, "Unsupervised Representation Learning with Deep Convolutional Generative Adversarial
Networks" (ICLR 2016).

The generator has the widths of Figure 1, with kernels of 4 where the paper has 5, so that each layer doubles the
resolution exactly; the discriminator mirrors it.
"""

from torch import Tensor, nn


class Generator(nn.Module):
    """Maps noise (N, 100) to images (N, 3, 64, 64) in [-1, 1]."""

    def __init__(self, noise_size: int = 100) -> None:
        super().__init__()
        self.project = nn.Linear(noise_size, 1024 * 4 * 4, bias=False)
        self.bn0 = nn.BatchNorm2d(1024)
        self.up1 = nn.ConvTranspose2d(1024, 512, kernel_size=4, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(512)
        self.up2 = nn.ConvTranspose2d(512, 256, kernel_size=4, stride=2, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(256)
        self.up3 = nn.ConvTranspose2d(256, 128, kernel_size=4, stride=2, padding=1, bias=False)
        self.bn3 = nn.BatchNorm2d(128)
        self.up4 = nn.ConvTranspose2d(128, 3, kernel_size=4, stride=2, padding=1)
        self.relu = nn.ReLU(inplace=True)
        self.tanh = nn.Tanh()
        initialize(self)

    def forward(self, noise: Tensor) -> Tensor:
        x = self.project(noise).unflatten(1, (1024, 4, 4))
        x = self.relu(self.bn0(x))
        x = self.relu(self.bn1(self.up1(x)))
        x = self.relu(self.bn2(self.up2(x)))
        x = self.relu(self.bn3(self.up3(x)))
        return self.tanh(self.up4(x))


class Discriminator(nn.Module):
    """Maps images (N, 3, 64, 64) to one logit each, (N,): positive for real ones."""

    def __init__(self) -> None:
        super().__init__()
        self.down1 = nn.Conv2d(3, 128, kernel_size=4, stride=2, padding=1)
        self.down2 = nn.Conv2d(128, 256, kernel_size=4, stride=2, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(256)
        self.down3 = nn.Conv2d(256, 512, kernel_size=4, stride=2, padding=1, bias=False)
        self.bn3 = nn.BatchNorm2d(512)
        self.down4 = nn.Conv2d(512, 1024, kernel_size=4, stride=2, padding=1, bias=False)
        self.bn4 = nn.BatchNorm2d(1024)
        self.score = nn.Conv2d(1024, 1, kernel_size=4)
        self.leaky = nn.LeakyReLU(0.2, inplace=True)
        initialize(self)

    def forward(self, images: Tensor) -> Tensor:
        x = self.leaky(self.down1(images))
        x = self.leaky(self.bn2(self.down2(x)))
        x = self.leaky(self.bn3(self.down3(x)))
        x = self.leaky(self.bn4(self.down4(x)))
        return self.score(x).flatten()


def initialize(model: nn.Module) -> None:
    """Draws the weights as section 4 does: normal, with a standard deviation of 0.02."""
    for module in model.modules():
        if isinstance(module, (nn.Linear, nn.Conv2d, nn.ConvTranspose2d)):
            nn.init.normal_(module.weight, std=0.02)
