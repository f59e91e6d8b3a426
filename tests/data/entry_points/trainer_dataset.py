import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


class Words(torch.utils.data.Dataset):
    def __len__(self):
        return 160

    def __getitem__(self, i):
        words = torch.arange(i, i + 32) % 200
        return {"input_ids": words, "attention_mask": torch.ones_like(words), "label": i % 2}


def main():
    config = BertConfig(vocab_size=200, hidden_size=64, num_hidden_layers=2, num_attention_heads=2)
    model = BertForSequenceClassification(config)
    arguments = TrainingArguments("out", max_steps=10, per_device_train_batch_size=4, use_cpu=True)
    Trainer(model, arguments, train_dataset=Words()).train()


if __name__ == "__main__":
    main()
