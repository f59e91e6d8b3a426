#include "source/entry_point_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "source/entry_point.h"
#include "tests/unit/source/adversarial.h"
#include "tests/unit/source/marked.h"

namespace ridgeline::source {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::filesystem::path data_folder() {
#ifdef RIDGELINE_SOURCE_DIR
  const std::filesystem::path source = RIDGELINE_SOURCE_DIR;
#else
  const std::filesystem::path source = std::filesystem::path(__FILE__).parent_path() / "../../..";
#endif
  return source / "tests/data/entry_points";
}

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path << " is missing; UPDATE_EXPECTED=1 writes what is expected";
  return {std::istreambuf_iterator<char>(file), {}};
}

/// What every entry file is: Python with three providers and no mistake that can be seen.
void expect_entry_point(const std::string& text) {
  const SourceTree tree = parsed(text);
  const auto entry_point = find_entry_point(tree);
  ASSERT_TRUE(entry_point.has_value()) << text;
  EXPECT_TRUE(entry_point->mistakes.empty()) << entry_point->mistakes[0].message << "\n" << text;
  for (const auto& provider : entry_point->providers) {
    EXPECT_TRUE(provider.has_value() && provider->defined) << text;
  }
  EXPECT_TRUE(entry_point->batch_size.can_be_edited()) << text;
}

std::string written(std::string_view script, std::string_view file_name = "train.py", bool same_folder = true) {
  const auto result = entry_point_text(std::string(script), file_name, same_folder);
  if (!result) {
    return "error: " + result.error().message();
  }
  expect_entry_point(result->text);
  return result->text;
}

class EntryPointOf : public ::testing::TestWithParam<std::string> {};

TEST_P(EntryPointOf, Script) {
  const std::string script = content_of(data_folder() / (GetParam() + ".py"));
  const auto result = entry_point_text(script, GetParam() + ".py", true);
  ASSERT_TRUE(result) << result.error().message();
  expect_entry_point(result->text);
  for (const std::string& unknown : result->unknown) {
    EXPECT_THAT(result->text, HasSubstr(unknown));
  }
  const std::filesystem::path path = data_folder() / "expected" / (GetParam() + ".py");
  const char* update = std::getenv("UPDATE_EXPECTED");  // NOLINT(concurrency-mt-unsafe): never written
  if (update != nullptr && std::string_view(update) == "1") {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << result->text;
    return;
  }
  EXPECT_EQ(result->text, content_of(path)) << "differs from " << path << "; UPDATE_EXPECTED=1 rewrites it";
}

INSTANTIATE_TEST_SUITE_P(Each, EntryPointOf,
                         ::testing::Values("mnist", "notebook", "hugging_face", "trainer", "trainer_dataset",
                                           "lightning_module", "gan", "resnet_amp", "accelerate", "char_lm",
                                           "critic_steps", "full_batch", "model_only", "library", "micro_batches",
                                           "autoencoder", "backward_hooks", "slices", "nested_functions",
                                           "own_updates"),
                         [](const auto& script) { return script.param; });

constexpr std::string_view kNet =
    "import torch\nfrom torch import nn\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.fc = nn.Linear(20, 5)\n\n    def forward(self, x):\n        return self.fc(x)\n\n";

std::string with_loop(std::string_view body, std::string_view before = "") {
  return std::string(kNet) + "def main(loader):\n    model = Net()\n" + std::string(before) +
         "    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n    for x, y in loader:\n" + std::string(body);
}

constexpr std::string_view kStep =
    "        loss = nn.functional.cross_entropy(model(x), y)\n        loss.backward()\n        optimizer.step()\n";

TEST(EntryPointText, SaysWhyThereIsNone) {
  const auto error = [](std::string_view script) { return written(script); };
  EXPECT_EQ(error(""), "error: The file defines no model, and nothing in it calls `backward()`.");
  EXPECT_EQ(error("import torch\nx = 1\n"), "error: The file defines no model, and nothing in it calls `backward()`.");
  const std::string trainer =
      "class Trainer:\n  def fit(self):\n    for x in self.loader:\n      self.loss(x).backward()\n";
  EXPECT_THAT(error(trainer), HasSubstr("The training loop is in `Trainer.fit`"));
  EXPECT_THAT(error("import torch\nloss.backward()\n"), HasSubstr("in no loop that is understood"));
  EXPECT_EQ(error("import torch\nfor x in (1, 2:\n    loss.backward()\n"),
            "error: Line 2 has a syntax error. Correct it, then try again.");
  EXPECT_EQ(error("def model_provider(): pass\n"), "error: The file defines providers: it is an entry point already.");
  EXPECT_EQ(error(std::string(kMaxScriptBytes + 1, '#')), "error: The script is larger than 1 MiB.");
}

TEST(EntryPointText, ImportsFromTheScriptWhereThatDoesNotTrain) {
  const std::string script = with_loop(kStep);
  EXPECT_THAT(written(script), HasSubstr("from train import Net\n"));
  for (const std::string& text :
       {written(script, "train.py", false), written(script, "my-train.py"), written(script, "class.py"),
        written(script + "main([])\n"), written(script + "try:\n    main([])\nfinally:\n    pass\n")}) {
    EXPECT_THAT(text, HasSubstr("class Net(nn.Module):"));
    EXPECT_THAT(text, Not(HasSubstr("import Net")));
  }
  EXPECT_THAT(written(script + "if __name__ == '__main__':\n    main([])\n"), HasSubstr("from train import Net\n"));
}

TEST(EntryPointText, ShapesTheInputByTheFirstLayerAndTheLoss) {
  const std::string text = written(with_loop(kStep));
  EXPECT_THAT(text, HasSubstr("x = torch.randn(batch_size, 20)\n    y = torch.randint(5, (batch_size,))\n"));
  EXPECT_THAT(written(with_loop("        loss = nn.functional.mse_loss(model(x), y)\n        loss.backward()\n")),
              HasSubstr("y = torch.randn(batch_size, 5)\n"));
  EXPECT_THAT(written(with_loop("        model(x, y).backward()\n")),
              HasSubstr("raise NotImplementedError(\"TODO: the input"));
}

TEST(EntryPointText, KeepsWhatAStepCarriesToTheNext) {
  const std::string text = written(with_loop(
      "        count += 1\n" + std::string(kStep) + "        if count % 4 == 0:\n            optimizer.zero_grad()\n",
      "    count = 0\n"));
  EXPECT_THAT(text, HasSubstr("    count = 0\n"));
  EXPECT_THAT(text, HasSubstr("        nonlocal count\n        count += 1\n"));
}

TEST(EntryPointText, SaysWhereNothingStepsTheOptimizer) {
  const std::string text =
      written(with_loop("        nn.functional.cross_entropy(model(x), y).backward()\n    optimizer.step()\n"));
  EXPECT_THAT(text, HasSubstr("# TODO: the step of the optimizer: nothing in the loop takes it\n"));
  EXPECT_THAT(written(with_loop(kStep)), Not(HasSubstr("TODO")));
}

TEST(EntryPointText, TakesTheBatchSizeThatTheScriptStates) {
  const auto size = [](std::string_view before, std::string_view loader) {
    const std::string text =
        written(std::string(kNet) + std::string(before) +
                "def main():\n    model = Net()\n    optimizer = torch.optim.SGD(model.parameters())\n"
                "    for x, y in DataLoader(data, " +
                std::string(loader) + "):\n" + std::string(kStep));
    return text.substr(text.find("batch_size="), text.find("\n", text.find("batch_size=")) - text.find("batch_size="));
  };
  EXPECT_EQ(size("", "batch_size=24"), "batch_size=24):");
  EXPECT_EQ(size("", "24"), "batch_size=24):");
  EXPECT_EQ(size("options = {'batch_size': 24}\n", "**options"), "batch_size=24):");
  EXPECT_EQ(size("options = dict(batch_size=8 * 3)\n", "**options"), "batch_size=24):");
  EXPECT_EQ(size("parser.add_argument('-b', '--batch-size', default=24)\n", "batch_size=args.batch_size"),
            "batch_size=24):");
  EXPECT_EQ(size("class Config:\n    batch: int = 24\n", "batch_size=config.data.batch"), "batch_size=24):");
  EXPECT_EQ(size("class Config:\n    batch: int = field(default=24)\n", "batch_size=config.batch"), "batch_size=24):");
  EXPECT_EQ(size("config = {'train': {'batch': 24}}\n", "batch_size=config['train']['batch']"), "batch_size=24):");
  EXPECT_EQ(size("a = {'batch': 24}\nb = {'batch': 25}\n", "batch_size=a['batch']"), "batch_size=32):  # guessed");
  EXPECT_EQ(size("", "batch_size=unknown()"), "batch_size=32):  # guessed");
}

TEST(EntryPointText, LeavesTheLoopByReturn) {
  const std::string text = written(
      with_loop("        if x is None:\n            optimizer.zero_grad()\n            continue\n        for i in x:\n"
                "            optimizer.zero_grad()\n            break\n" +
                std::string(kStep)));
  EXPECT_THAT(text, HasSubstr("            optimizer.zero_grad()\n            return\n"));
  EXPECT_THAT(text, HasSubstr("        for i in x:\n            optimizer.zero_grad()\n            break\n"));
}

TEST(EntryPointText, LeavesStringsAsTheyAre) {
  const std::string text = written(
      with_loop("        loss = model(x)\n        loss.note = \"\"\"a\n  b\n\"\"\"\n        loss.backward()\n"));
  EXPECT_THAT(text, HasSubstr("\"\"\"a\n  b\n\"\"\"\n        loss.backward()"));
}

TEST(EntryPointText, NamesOfFilesAreOnlyText) {
  const std::string script = with_loop(kStep);
  for (const std::string_view name : {"a\"\"\"\nimport os\n.py", "../x.py", "a b.py", "über.py", "$(id).py"}) {
    const std::string text = written(script, name);
    EXPECT_THAT(text, HasSubstr("Entry point for Ridgeline, from the training script:")) << name;
    EXPECT_THAT(text, Not(HasSubstr("import os")));
  }
}

TEST(EntryPointText, TakesHostileScripts) {
  const std::string deep = repeated("(", 20'000) + "1" + repeated(")", 20'000);
  written(with_loop(kStep, "    size = " + deep + "\n"));
  written(std::string(kNet) + "x = " + repeated("lambda: ", 20'000) + "1\n" + with_loop(kStep));
  written(with_loop(kStep, "    z = model" + repeated(".a", 20'000) + "\n"));
  written(
      "class A(A): pass\nclass B(Module): B(B())\nclass Module(B): pass\ndef f(): g()\ndef g(): f(); x.backward()\n");
  std::string doubled = "    n0 = 1\n";
  for (int i = 1; i < 40; ++i) {
    doubled += "    n" + std::to_string(i) + " = n" + std::to_string(i - 1) + " * n" + std::to_string(i - 1) + "\n";
  }
  written(with_loop("        for i in range(n39):\n            model(x).backward()\n", doubled));
  written(with_loop("        yield loss.backward()\n"));
  written("def train(train, *train2, **k):\n    for train in train:\n        train.backward()\ntrain(train)\n");
  for (unsigned seed = 0; seed < 64; ++seed) {
    written(adversarial(seed, 4096) + "\n" + with_loop(kStep));
  }
}

TEST(EntryPointText, TakesEveryPartOfAScript) {
  for (const char* name : {"gan.py", "char_lm.py", "trainer.py"}) {
    const std::string script = content_of(data_folder() / name);
    for (std::size_t line = script.find('\n'); line != std::string::npos; line = script.find('\n', line + 1)) {
      written(std::string_view(script).substr(0, line + 1));
      written(std::string_view(script).substr(line + 1));
    }
  }
}

}  // namespace
}  // namespace ridgeline::source
