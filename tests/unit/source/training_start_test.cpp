#include "source/training_start.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/source/marked.h"

namespace ridgeline::source {
namespace {

/// The first line of the statement; empty: there is none.
std::string marked_line(const std::string& text) {
  const SourceTree tree = parsed(text);
  const auto span = find_training_start(tree);
  const std::string statement(span.has_value() ? slice(tree.text(), *span) : "");
  return statement.substr(0, statement.find('\n'));
}

TEST(FindTrainingStart, IsTheGuardElseTheFirstThatRuns) {
  EXPECT_EQ(marked_line("import torch\nmain = 1\nif __name__ == '__main__':\n  train()\n"),
            "if __name__ == '__main__':");
  EXPECT_EQ(marked_line("from torch import nn\ndef main():\n  loss.backward()\nmain()\n"), "main()");
  EXPECT_EQ(marked_line("import numpy, torch.nn as nn\nfor x in xs:\n  optimizer.step()\n"), "for x in xs:");
  EXPECT_EQ(marked_line("from transformers import Trainer\ntrainer.train()\n"), "trainer.train()");
  EXPECT_EQ(marked_line("import torch\nwith torch.no_grad():\n  model(x)\n"), "with torch.no_grad():");
}

TEST(FindTrainingStart, NeedsALibraryAndSomethingThatTrains) {
  EXPECT_EQ(marked_line("import torchvision\nif __name__ == '__main__':\n  train()\n"), "");
  EXPECT_EQ(marked_line("import torch\nprint(torch.__version__)\n"), "");
  EXPECT_EQ(marked_line("import torch\ndef main():\n  loss.backward()\n"), "");
  EXPECT_EQ(marked_line(""), "");
}

}  // namespace
}  // namespace ridgeline::source
