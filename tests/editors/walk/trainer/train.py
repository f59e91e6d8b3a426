from dataclasses import dataclass, field

import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, HfArgumentParser, Trainer, TrainingArguments


@dataclass
class Arguments(TrainingArguments):
    output_dir: str = field(default="out")
    per_device_train_batch_size: int = field(default=16)
    num_train_epochs: float = field(default=3)
    learning_rate: float = field(default=5e-5)
    report_to: str = field(default="none")
    sequence_length: int = field(default=64)


class Reviews(Dataset):
    def __init__(self, count: int, length: int, vocabulary: int) -> None:
        self.ids = torch.randint(vocabulary, (count, length))
        self.labels = torch.randint(2, (count,))

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, index: int):
        ids = self.ids[index]
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": self.labels[index]}


def main():
    (args,) = HfArgumentParser(Arguments).parse_args_into_dataclasses()
    config = BertConfig(
        vocab_size=8000, hidden_size=128, num_hidden_layers=2, num_attention_heads=2, intermediate_size=512
    )
    model = BertForSequenceClassification(config)
    Trainer(model, args, train_dataset=Reviews(4096, args.sequence_length, config.vocab_size)).train()


if __name__ == "__main__":
    main()
