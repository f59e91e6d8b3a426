"""Entry point for Ridgeline, from trainer_dataset.py: a model, its input and one training iteration."""

import torch
from transformers import BertConfig, BertForSequenceClassification, TrainingArguments
from transformers import Trainer
from transformers import default_data_collator

from trainer_dataset import Words

dataset = Words()


def model_provider():
    config = BertConfig(vocab_size=200, hidden_size=64, num_hidden_layers=2, num_attention_heads=2)
    return BertForSequenceClassification(config)


def input_provider(batch_size=4):
    return (default_data_collator([dataset[index % len(dataset)] for index in range(batch_size)]),)


def iteration_provider(model):
    arguments = TrainingArguments("out", max_steps=10, per_device_train_batch_size=4, use_cpu=True)
    optimizer_class, options = Trainer.get_optimizer_cls_and_kwargs(arguments)
    optimizer = optimizer_class(model.parameters(), weight_decay=arguments.weight_decay, **options)

    def iteration(batch):
        inputs = {name: value.to(model.device) for name, value in batch.items()}
        loss = model(**inputs).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), arguments.max_grad_norm)
        optimizer.step()
        optimizer.zero_grad()

    return iteration
