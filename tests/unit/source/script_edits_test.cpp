#include "source/script_edits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "source/change_edits.h"
#include "tests/unit/source/marked.h"

namespace ridgeline::source {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kScript = R"(import argparse
import torch
from torch.utils.data import DataLoader

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=[[32]])
    args = parser.parse_args()
    model = Net()[[]]
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3[[]])
    loader = DataLoader(data, batch_size=args.batch_size)
    for images, labels in loader:
        optimizer.zero_grad()
[[]]        loss = loss_of(model(images), labels)
        loss.backward()
        optimizer.step()

main()
)";

std::string script_with(const std::vector<std::string>& texts) {
  const Marked marks = marked(kScript);
  std::vector<TextEdit> edits;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (!texts[i].empty()) {
      edits.push_back({marks.spans[i], texts[i]});
    }
  }
  return edited(marks.text, edits);
}

std::string script_changed(std::string_view text, const std::vector<std::string>& changes) {
  const auto edits = change_edits(parsed(text), changes, "cpu");
  return edits ? edited(std::string(text), *edits) : "refused: " + edits.error().message();
}

TEST(ScriptEdits, AreMadeWhereTheScriptHasThem) {
  const std::string text = script_with({});
  EXPECT_EQ(script_changed(text, {"batch-size:48"}), script_with({"48"}));
  EXPECT_EQ(script_changed(text, {"channels-last"}), script_with({"", ".to(memory_format=torch.channels_last)"}));
  EXPECT_EQ(script_changed(text, {"compile"}), script_with({"", "\n    model.compile()"}));
  EXPECT_EQ(script_changed(text, {"fused-optimizer"}), script_with({"", "", ", fused=True"}));
  EXPECT_EQ(script_changed(text, {"fused-optimizer", "batch-size:8"}), script_with({"8", "", ", fused=True"}));
}

TEST(ScriptEdits, FindTheModelThatIsHandedToWhatTrainsIt) {
  const std::string lightning =
      "import lightning\nimport torch\n\nclass Net(lightning.LightningModule):\n    def configure_optimizers(self):\n"
      "        return torch.optim.Adam(self.parameters())\n\ntrainer = lightning.Trainer()\n";
  EXPECT_EQ(script_changed(lightning + "trainer.fit(Net(), loader)\n", {"channels-last"}),
            lightning + "trainer.fit(Net().to(memory_format=torch.channels_last), loader)\n");
  EXPECT_THAT(script_changed(lightning + "trainer.fit(Net(), loader)\n", {"compile"}), HasSubstr("has no name there"));
  EXPECT_EQ(script_changed(lightning + "net = Net()\ntrainer.fit(model=net)\n", {"compile"}),
            lightning + "net = Net()\nnet.compile()\ntrainer.fit(model=net)\n");
  const std::string given = "def train(net):\n    trainer.fit(net, loader)\n\ntrain(";
  EXPECT_EQ(script_changed(lightning + given + "Net())\n", {"channels-last"}),
            lightning + given + "Net().to(memory_format=torch.channels_last))\n");
  const std::string trainer =
      "import torch\nfrom transformers import BertModel, Trainer\n\ndef main():\n    model = BertModel(config)";
  EXPECT_EQ(script_changed(trainer + "\n    Trainer(model, args).train()\n\nmain()\n", {"compile"}),
            trainer + "\n    model.compile()\n    Trainer(model, args).train()\n\nmain()\n");
}

TEST(ScriptEdits, PutAutocastAroundForward) {
  EXPECT_THAT(script_changed(script_with({}), {"bf16-autocast"}),
              HasSubstr("        with torch.autocast(\"cpu\", dtype=torch.bfloat16):\n"
                        "            loss = loss_of(model(images), labels)\n"
                        "        loss.backward()\n"));
}

TEST(ScriptEdits, SetThePrecisionOfLightningsTrainer) {
  const auto with = [](const std::string& arguments) {
    return "import lightning\n\nclass Net(lightning.LightningModule):\n    pass\n\ntrainer = lightning.Trainer(" +
           arguments + ")\ntrainer.fit(Net(), loader)\n";
  };
  const std::vector<std::string> autocast = {"bf16-autocast"};
  EXPECT_EQ(script_changed(with(""), autocast), with("precision=\"bf16-mixed\""));
  EXPECT_EQ(script_changed(with("max_epochs=3"), autocast), with("max_epochs=3, precision=\"bf16-mixed\""));
  EXPECT_EQ(script_changed(with("precision=32, max_epochs=3"), autocast),
            with("precision=\"bf16-mixed\", max_epochs=3"));
  EXPECT_THAT(script_changed(with("precision=chosen"), autocast), HasSubstr("sets `precision`"));
  EXPECT_THAT(script_changed(with("**options"), autocast), HasSubstr("not written in its call"));
}

TEST(ScriptEdits, SetThePrecisionOfTransformersTrainer) {
  const auto with = [](const std::string& arguments) {
    return "from transformers import BertModel, Trainer, TrainingArguments\n\nmodel = BertModel(config)\n"
           "args = TrainingArguments(" +
           arguments + ")\nTrainer(model, args).train()\n";
  };
  const auto changed = [](const std::string& text, std::string_view device) {
    const auto edits = change_edits(parsed(text), std::vector<std::string>{"bf16-autocast"}, device);
    return edits ? edited(text, *edits) : "refused: " + edits.error().message();
  };
  EXPECT_EQ(changed(with("\"out\""), "cuda"), with("\"out\", bf16=True"));
  EXPECT_EQ(changed(with("\"out\", bf16=False"), "cuda"), with("\"out\", bf16=True"));
  EXPECT_EQ(changed(with("\"out\""), "cpu"), with("\"out\", use_cpu=True, bf16=True"));
  EXPECT_EQ(changed(with("\"out\", use_cpu=True"), "cpu"), with("\"out\", use_cpu=True, bf16=True"));
  EXPECT_THAT(changed(with("bf16=True"), "cuda"), HasSubstr("already"));
  EXPECT_THAT(changed(with("fp16=True"), "cuda"), HasSubstr("sets `fp16`"));
  EXPECT_THAT(changed(with("bf16=args.half"), "cuda"), HasSubstr("chosen by other code"));
  const auto with_class = [](const std::string& head, const std::string& fields) {
    return "from transformers import BertModel, HfArgumentParser, Trainer, TrainingArguments\n\n" + head +
           "class Arguments(TrainingArguments):\n    rate: float = field(default=1)" + fields +
           "\n\n(args,) = HfArgumentParser(Arguments).parse_args_into_dataclasses()\n"
           "Trainer(BertModel(config), args).train()\n";
  };
  EXPECT_EQ(changed(with_class("@dataclass\n", ""), "cpu"),
            with_class("@dataclass\n", "\n    use_cpu: bool = True\n    bf16: bool = True"));
  EXPECT_THAT(changed(with_class("@dataclass\n", "\n    bf16: bool = False"), "cuda"), HasSubstr("sets `bf16`"));
  EXPECT_THAT(changed(with_class("", ""), "cuda"), HasSubstr("not to be seen in this file"));
}

TEST(ScriptEdits, FindTheNumberBehindTheBatchSize) {
  const auto with_batch = [](const std::string& before, const std::string& value) {
    return "import torch\nfrom torch.utils.data import DataLoader\n" + before + "model = torch.nn.Linear(4, 4)\n" +
           "optimizer = torch.optim.SGD(model.parameters())\nloader = DataLoader(data, batch_size=" + value +
           ")\nfor x in loader:\n    model(x).sum().backward()\n    optimizer.step()\n";
  };
  EXPECT_EQ(script_changed(with_batch("", "16"), {"batch-size:48"}), with_batch("", "48"));
  EXPECT_EQ(script_changed(with_batch("BATCH = 16\n", "BATCH"), {"batch-size:48"}),
            with_batch("BATCH = 48\n", "BATCH"));
  const std::string fields = "@dataclass\nclass Config:\n    batch: int = ";
  EXPECT_EQ(script_changed(with_batch(fields + "16\n", "config.batch"), {"batch-size:48"}),
            with_batch(fields + "48\n", "config.batch"));
  EXPECT_THAT(script_changed(with_batch("", "2 * n"), {"batch-size:48"}), HasSubstr("no number in this file"));
  EXPECT_THAT(script_changed(with_batch("", "read()"), {"batch-size:48"}), HasSubstr("no number in this file"));
}

TEST(ScriptEdits, GiveTheTrainingLoaderWorkers) {
  const auto with_loader = [](const std::string& before, const std::string& workers) {
    return "import torch\nfrom torch.utils.data import DataLoader\n" + before + "model = torch.nn.Linear(4, 4)\n" +
           "optimizer = torch.optim.SGD(model.parameters())\ntest = DataLoader(other, 8)\n" +
           "loader = DataLoader(data, batch_size=16" + workers +
           ")\nfor x in loader:\n    model(x).sum().backward()\n    optimizer.step()\n";
  };
  const std::vector<std::string> four = {"loader-workers:4,1"};
  EXPECT_EQ(script_changed(with_loader("", ""), four), with_loader("", ", num_workers=4"));
  EXPECT_EQ(script_changed(with_loader("", ", num_workers=0"), four), with_loader("", ", num_workers=4"));
  EXPECT_EQ(script_changed(with_loader("WORKERS = 2\n", ", num_workers=WORKERS"), four),
            with_loader("WORKERS = 4\n", ", num_workers=WORKERS"));
  EXPECT_THAT(script_changed(with_loader("", ", num_workers=cpus()"), four), HasSubstr("no number in this file"));
  EXPECT_THAT(script_changed(with_loader("", ", **options()"), four), HasSubstr("not written in its call"));
}

TEST(ScriptEdits, AreRefusedWhereTheyAreNotCertain) {
  const std::string twice = script_with({}) + "model.parameters()\nmodel = Other()\n";
  EXPECT_THAT(script_changed(twice, {"compile"}), HasSubstr("several places"));
  EXPECT_THAT(script_changed("import torch\ntrainer.fit(x)\n", {"bf16-autocast"}), HasSubstr("not to be seen"));
  EXPECT_THAT(script_changed("import torch\nm = N(); x = 1\nm.parameters()\n", {"compile"}),
              HasSubstr("shares its line"));
  EXPECT_THAT(script_changed(script_with({"", ".to(memory_format=torch.channels_last)"}), {"channels-last"}),
              HasSubstr("already"));
}

}  // namespace
}  // namespace ridgeline::source
