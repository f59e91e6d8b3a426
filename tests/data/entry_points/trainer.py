from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments

model_name = "gpt2"
tokenizer = AutoTokenizer.from_pretrained(model_name)
model = AutoModelForCausalLM.from_pretrained(model_name)
dataset = load_dataset("wikitext", "wikitext-2-raw-v1")
tokenized = dataset.map(lambda x: tokenizer(x["text"]), batched=True)

training_args = TrainingArguments(output_dir="out", per_device_train_batch_size=4, learning_rate=2e-5, weight_decay=0.01)
trainer = Trainer(model=model, args=training_args, train_dataset=tokenized["train"])
trainer.train()
