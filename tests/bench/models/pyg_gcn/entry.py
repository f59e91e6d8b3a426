"""A graph convolutional network of PyTorch Geometric that classifies random graphs. The batch is a number of graphs.

Shapes: of each graph 8 to 24 nodes with 16 features and four times as many edges; three GCNConv of width 64. Graph i is
the same in every batch that holds it, so nodes and edges grow with the batch nearly, not exactly, in proportion.
The network has 9,668 parameters.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GCNConv, global_mean_pool

FEATURES = 16
CLASSES = 4


class GCN(nn.Module):
    """Maps graphs to logits (number of graphs, 4)."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.conv1 = GCNConv(FEATURES, width)
        self.conv2 = GCNConv(width, width)
        self.conv3 = GCNConv(width, width)
        self.classifier = nn.Linear(width, CLASSES)

    def forward(self, graphs: Batch) -> Tensor:
        hidden = self.conv1(graphs.x, graphs.edge_index).relu()
        hidden = self.conv2(hidden, graphs.edge_index).relu()
        hidden = self.conv3(hidden, graphs.edge_index)
        return self.classifier(global_mean_pool(hidden, graphs.batch, size=graphs.num_graphs))


def random_graph(generator: torch.Generator) -> Data:
    nodes = int(torch.randint(8, 25, (1,), generator=generator))
    return Data(
        x=torch.randn(nodes, FEATURES, generator=generator),
        edge_index=torch.randint(nodes, (2, 4 * nodes), generator=generator),
        y=torch.randint(CLASSES, (1,), generator=generator),
    )


def model_provider() -> nn.Module:
    return GCN()


def input_provider(batch_size: int = 128) -> tuple[Batch]:
    generator = torch.Generator().manual_seed(0)
    return (Batch.from_data_list([random_graph(generator) for _ in range(batch_size)]),)


def iteration_provider(model: nn.Module) -> Callable[[Batch], None]:
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def iteration(graphs: Batch) -> None:
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(graphs), graphs.y)
        loss.backward()
        optimizer.step()

    return iteration
