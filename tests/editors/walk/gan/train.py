import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

batch_size = 32
latent = 64

generator = nn.Sequential(
    nn.ConvTranspose2d(latent, 128, 4),
    nn.BatchNorm2d(128),
    nn.ReLU(),
    nn.ConvTranspose2d(128, 64, 4, stride=2, padding=1),
    nn.BatchNorm2d(64),
    nn.ReLU(),
    nn.ConvTranspose2d(64, 32, 4, stride=2, padding=1),
    nn.BatchNorm2d(32),
    nn.ReLU(),
    nn.ConvTranspose2d(32, 3, 4, stride=2, padding=1),
    nn.Tanh(),
)
discriminator = nn.Sequential(
    nn.Conv2d(3, 32, 4, stride=2, padding=1),
    nn.LeakyReLU(0.2),
    nn.Conv2d(32, 64, 4, stride=2, padding=1),
    nn.BatchNorm2d(64),
    nn.LeakyReLU(0.2),
    nn.Conv2d(64, 128, 4, stride=2, padding=1),
    nn.BatchNorm2d(128),
    nn.LeakyReLU(0.2),
    nn.Conv2d(128, 1, 4),
)

loss_of = nn.BCEWithLogitsLoss()
optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
optimizer_g = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
loader = DataLoader(TensorDataset(torch.rand(2048, 3, 32, 32) * 2 - 1), batch_size=batch_size, shuffle=True)

for epoch in range(20):
    for (real,) in loader:
        n = len(real)
        optimizer_d.zero_grad()
        fake = generator(torch.randn(n, latent, 1, 1))
        real_loss = loss_of(discriminator(real).flatten(), torch.ones(n))
        fake_loss = loss_of(discriminator(fake.detach()).flatten(), torch.zeros(n))
        (real_loss + fake_loss).backward()
        optimizer_d.step()

        optimizer_g.zero_grad()
        loss = loss_of(discriminator(fake).flatten(), torch.ones(n))
        loss.backward()
        optimizer_g.step()
    print(f"epoch {epoch}: generator {loss.item():.3f}")
