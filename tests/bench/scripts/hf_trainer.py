"""The Trainer of transformers, with gradient accumulation, on a small BERT with random weights."""

from __future__ import annotations

import tempfile

import torch
from common import STEPS, print_digest
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


class Words(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 160

    def __getitem__(self, i: int) -> dict[str, torch.Tensor]:
        words = torch.arange(i, i + 32) % 200
        return {"input_ids": words, "attention_mask": torch.ones_like(words), "labels": torch.tensor(i % 2)}


def main() -> None:
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=200, hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=128
    )
    model = BertForSequenceClassification(config)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder,
            max_steps=STEPS,
            per_device_train_batch_size=4,
            gradient_accumulation_steps=2,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
            use_cpu=True,
            seed=1,
        )
        Trainer(model, arguments, train_dataset=Words()).train()
    print_digest(model)


if __name__ == "__main__":
    main()
