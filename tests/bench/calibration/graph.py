"""Messages along the edges of a graph, gathered and scattered by index."""

import torch
from steps import Step, step
from torch import Tensor, nn
from torch.nn import functional as F

NODES = 64  # of each graph


class Layer(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.message = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU())
        self.update = nn.Linear(2 * width, width)

    def forward(self, nodes: Tensor, edges: Tensor) -> Tensor:
        begin, end = edges
        messages = self.message(torch.cat([nodes[begin], nodes[end]], 1))
        received = torch.zeros_like(nodes).index_add(0, end, messages.to(nodes.dtype))
        return nodes + self.update(torch.cat([nodes, received], 1)).to(nodes.dtype)


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.into = nn.Linear(16, 64)
        self.layers = nn.ModuleList(Layer(64) for _ in range(4))
        self.head = nn.Linear(64, 5)

    def forward(self, nodes: Tensor, edges: Tensor) -> Tensor:
        nodes = self.into(nodes)
        for layer in self.layers:
            nodes = layer(nodes, edges)
        return self.head(nodes)


def model_provider() -> nn.Module:
    return Network()


def input_provider(batch_size: int = 16) -> tuple[Tensor, Tensor, Tensor]:
    count = batch_size * NODES
    return torch.randn(count, 16), torch.randint(count, (2, 6 * count)), torch.randint(5, (count,))


def loss_of(model: nn.Module, nodes: Tensor, edges: Tensor, labels: Tensor) -> Tensor:
    return F.cross_entropy(model(nodes, edges), labels)


def iteration_provider(model: nn.Module) -> Step:
    return step(model, loss_of, torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4))
