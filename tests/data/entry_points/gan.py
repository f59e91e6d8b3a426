import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

latent_dim = 100


class Rings(Dataset):
    def __len__(self):
        return 512

    def __getitem__(self, index):
        return torch.rand(2), 0


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(latent_dim, 128), nn.ReLU(), nn.Linear(128, 2))

    def forward(self, noise):
        return self.main(noise)


class Discriminator(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(2, width), nn.LeakyReLU(0.2), nn.Linear(width, 1), nn.Sigmoid())

    def forward(self, points):
        return self.main(points)


def main():
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    dataloader = DataLoader(Rings(), batch_size=32, shuffle=True, num_workers=2)
    netG, netD = Generator().to(device), Discriminator(width=128).to(device)
    adversarial_loss = nn.BCELoss()
    optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
    optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
    iters = 0
    G_losses = []
    for epoch in range(5):
        for i, data in enumerate(dataloader, 0):
            netD.zero_grad()
            real = data[0].to(device)
            size = real.size(0)
            label = torch.full((size, 1), 1.0, device=device)
            errD_real = adversarial_loss(netD(real), label)
            errD_real.backward()
            noise = torch.randn(size, latent_dim, device=device)
            fake = netG(noise)
            label.fill_(0.0)
            errD_fake = adversarial_loss(netD(fake.detach()), label)
            errD_fake.backward()
            D_x = errD_real.mean().item()
            optimizerD.step()
            netG.zero_grad()
            label.fill_(1.0)
            errG = adversarial_loss(netD(fake), label)
            errG.backward()
            optimizerG.step()
            if i % 50 == 0:
                print(f"[{epoch}/{5}] {D_x}")
            G_losses.append(errG.item())
            iters += 1


if __name__ == "__main__":
    main()
