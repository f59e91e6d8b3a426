#include "source/script_batch_size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "source/change_edits.h"

namespace ridgeline::source {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

ScriptBatchSize found(const std::string& text) {
  const auto tree = SourceTree::parse(text);
  const auto size = find_script_batch_size(*tree);
  EXPECT_TRUE(size.has_value()) << text;
  return size.value_or(ScriptBatchSize{});
}

/// A script whose loader gets `value`, and that begins with `before`.
std::string with_loader(const std::string& value, const std::string& before = "", const std::string& name = "loader") {
  return "import torch\nfrom torch.utils.data import DataLoader\n" + before + "model = torch.nn.Linear(4, 4)\n" +
         "optimizer = torch.optim.SGD(model.parameters())\n" + name + " = DataLoader(data, batch_size=" + value +
         ")\nfor x in " + name + ":\n    model(x).sum().backward()\n    optimizer.step()\n";
}

TEST(ScriptBatchSize, IsWhatTheTrainingLoaderIsGiven) {
  EXPECT_EQ(found(with_loader("16")).size.value, 16U);
  EXPECT_THAT(found(with_loader("16")).options, IsEmpty());
  EXPECT_EQ(found(with_loader("BATCH", "BATCH = 1_000\n")).size.value, 1000U);
  EXPECT_EQ(found(with_loader("16", "validation = DataLoader(other, batch_size=64)\n")).size.value, 16U);
}

TEST(ScriptBatchSize, KnowsTheOptionsThatGoBeforeIt) {
  const ScriptBatchSize option =
      found(with_loader("args.batch_size", "parser.add_argument(\"-b\", \"--batch-size\", type=int, default=32)\n"));
  EXPECT_EQ(option.size.value, 32U);
  EXPECT_THAT(option.options, ElementsAre("-b", "--batch-size"));
  const ScriptBatchSize field =
      found(with_loader("config.batch_size", "@dataclass\nclass Config:\n    batch_size: int = 8\n"));
  EXPECT_EQ(field.size.value, 8U);
  EXPECT_THAT(field.options, ElementsAre("--batch_size", "--batch-size"));
  EXPECT_THAT(options_behind(*SourceTree::parse(with_loader("config.batch_size")), "batch-size:4"), IsEmpty());
}

TEST(ScriptBatchSize, IsThatOfTheTrainerOrWhatTheScriptCallsSo) {
  const std::string trainer =
      "from transformers import Trainer, TrainingArguments\nmodel = AutoModel.from_pretrained(name)\n"
      "args = TrainingArguments(\"out\", per_device_train_batch_size=24)\nTrainer(model, args, data).train()\n";
  EXPECT_EQ(found(trainer).size.value, 24U);
  const std::string sampled =
      "import torch\nbatch_size = 12\nmodel = torch.nn.Linear(4, 4)\noptimizer = torch.optim.SGD(model.parameters())\n"
      "for i in range(9):\n    x = data[torch.randint(99, (batch_size,))]\n    model(x).sum().backward()\n"
      "    optimizer.step()\n";
  EXPECT_EQ(found(sampled).size.value, 12U);
  const std::string lightning =
      "import lightning\nclass Net(lightning.LightningModule):\n    def training_step(self, batch, i):\n"
      "        return self(batch).sum()\n    def train_dataloader(self):\n"
      "        return DataLoader(self.a, batch_size=6)\n    def val_dataloader(self):\n"
      "        return DataLoader(self.b, batch_size=7)\nlightning.Trainer().fit(Net())\n";
  EXPECT_EQ(found(lightning).size.value, 6U);
}

TEST(ScriptBatchSize, SaysWhyThereIsNone) {
  EXPECT_EQ(found(with_loader("read()")).size.obstacle, BatchSizeObstacle::kNotInFile);
  const std::string two = with_loader("16", "other = DataLoader(data, batch_size=8)\n") +
                          "for y in zip(loader, other):\n" + "    model(y).backward()\n";
  EXPECT_FALSE(find_script_batch_size(*SourceTree::parse("x = 3\n")).has_value());
  EXPECT_FALSE(find_script_batch_size(*SourceTree::parse("import torch\nclass Net(torch.nn.Module):\n    pass\n")));
  EXPECT_TRUE(find_script_batch_size(*SourceTree::parse(two)).has_value());
}

}  // namespace
}  // namespace ridgeline::source
