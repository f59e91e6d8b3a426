"""Deep Speech 2 training (Amodei et al., ICML 2016), with synthetic speech of fixed length.

Shapes: spectrograms (N, 1, 161, 100), a second in steps of 10 ms (the paper's are several times as long); transcripts
(N, 15) of 28 characters, and a blank; 41,187,904 parameters.
"""

from collections.abc import Callable

import torch
from deepspeech import DeepSpeech2
from torch import Tensor, nn

FREQUENCIES = 161
FRAMES = 100
CHARACTERS = 29  # a to z, space, apostrophe; 0 is the blank
TRANSCRIPT_LENGTH = 15


def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def model_provider() -> nn.Module:
    return DeepSpeech2(CHARACTERS).to(device())


def input_provider(batch_size: int = 2) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    spectrograms = torch.randn(batch_size, 1, FREQUENCIES, FRAMES, generator=generator)
    transcripts = torch.randint(1, CHARACTERS, (batch_size, TRANSCRIPT_LENGTH), generator=generator)
    return spectrograms.to(device()), transcripts.to(device())


def iteration_provider(model: nn.Module) -> Callable[[Tensor, Tensor], None]:
    loss_function = nn.CTCLoss(blank=0)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.99, nesterov=True)

    def iteration(spectrograms: Tensor, transcripts: Tensor) -> None:
        optimizer.zero_grad()
        log_probabilities = model(spectrograms)
        steps, batch_size, _ = log_probabilities.shape
        loss = loss_function(log_probabilities, transcripts, [steps] * batch_size, [TRANSCRIPT_LENGTH] * batch_size)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=400.0)
        optimizer.step()

    return iteration


def length_provider(spectrograms: Tensor, transcripts: Tensor) -> tuple[float, str]:
    return spectrograms.shape[0] * spectrograms.shape[3] * 0.01, "seconds of speech"
