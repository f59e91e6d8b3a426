"""An actor-critic learner (A3C, Mnih et al., ICML 2016), its environments stepped side by side instead of in threads.

Shapes: observations (N, 4, 84, 84), the last four frames of N environments; 6 actions; 677,943 parameters. An iteration
plays 5 steps without gradients, then learns from them. The environments are synthetic: each shows a ball on a noisy
field, and rewards the action that is the column that the ball is in.
"""

from collections.abc import Callable

import torch
from environments import ACTIONS, Environments
from torch import Tensor, nn
from torch.distributions import Categorical
from torch.nn import functional

STEPS = 5
DISCOUNT = 0.99
ENTROPY_WEIGHT = 0.01


class ActorCritic(nn.Module):
    """Maps observations (N, 4, 84, 84) to the policy's logits (N, ACTIONS) and the value (N,)."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(4, 16, kernel_size=8, stride=4)
        self.conv2 = nn.Conv2d(16, 32, kernel_size=4, stride=2)
        self.fc = nn.Linear(32 * 9 * 9, 256)
        self.policy = nn.Linear(256, ACTIONS)
        self.value = nn.Linear(256, 1)

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        x = functional.relu(self.conv1(observations))
        x = functional.relu(self.conv2(x))
        x = functional.relu(self.fc(x.flatten(1)))
        return self.policy(x), self.value(x).squeeze(1)


def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def model_provider() -> nn.Module:
    return ActorCritic().to(device())


def input_provider(batch_size: int = 16) -> tuple[Environments]:
    return (Environments(batch_size, device()),)


def iteration_provider(model: nn.Module) -> Callable[[Environments], None]:
    optimizer = torch.optim.RMSprop(model.parameters(), lr=7e-4, alpha=0.99, eps=0.1)

    def play(environments: Environments) -> tuple[Tensor, Tensor, Tensor]:
        """Observations (STEPS * N, 4, 84, 84), actions and discounted returns, (STEPS * N,) each."""
        observations, actions, rewards = [], [], []
        with torch.no_grad():
            for _ in range(STEPS):
                observations.append(environments.observations)
                logits, _ = model(environments.observations)
                actions.append(Categorical(logits=logits).sample())
                rewards.append(environments.step(actions[-1]))
            _, value = model(environments.observations)
        returns = []
        for reward in reversed(rewards):
            value = reward + DISCOUNT * value
            returns.append(value)
        return torch.cat(observations), torch.cat(actions), torch.cat(returns[::-1])

    def iteration(environments: Environments) -> None:
        observations, actions, returns = play(environments)
        logits, values = model(observations)
        policy = Categorical(logits=logits)
        advantages = returns - values
        policy_loss = -(policy.log_prob(actions) * advantages.detach()).mean()
        value_loss = advantages.square().mean()
        loss = policy_loss + 0.5 * value_loss - ENTROPY_WEIGHT * policy.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return iteration
