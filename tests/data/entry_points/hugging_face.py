import torch
from datasets import load_dataset
from torch.optim import AdamW
from torch.utils.data import DataLoader
from transformers import AutoModelForSequenceClassification, AutoTokenizer, get_scheduler

CHECKPOINT = "bert-base-uncased"


def main():
    tokenizer = AutoTokenizer.from_pretrained(CHECKPOINT)
    raw = load_dataset("glue", "mrpc")
    tokenized = raw.map(lambda row: tokenizer(row["sentence1"], row["sentence2"], truncation=True), batched=True)
    loader = DataLoader(tokenized["train"], shuffle=True, batch_size=8)
    model = AutoModelForSequenceClassification.from_pretrained(CHECKPOINT, num_labels=3)
    optimizer = AdamW(model.parameters(), lr=3e-5)
    steps = 3 * len(loader)
    schedule = get_scheduler("linear", optimizer=optimizer, num_warmup_steps=0, num_training_steps=1000)
    device = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")
    model.to(device)
    model.train()
    for epoch in range(3):
        for step, batch in enumerate(loader):
            batch = {k: v.to(device) for k, v in batch.items()}
            outputs = model(**batch)
            loss = outputs.loss / 4
            loss.backward()
            if (step + 1) % 4 == 0:
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()


if __name__ == "__main__":
    main()
