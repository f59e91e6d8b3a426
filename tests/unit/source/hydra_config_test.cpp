#include "source/hydra_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ridgeline::source {
namespace {

using testing::ElementsAre;

std::string script(const std::string& size, const std::string& decorator) {
  return "import hydra\nimport torch\nfrom torch.utils.data import DataLoader\n\n\n" + decorator +
         "\ndef main(cfg):\n    model = torch.nn.Linear(4, 4)\n    optimizer = torch.optim.SGD(model.parameters())\n"
         "    loader = DataLoader(data, batch_size=" +
         size + ")\n    for x in loader:\n        model(x).sum().backward()\n        optimizer.step()\n\n\nmain()\n";
}

TEST(HydraConfig, IsFoundFromTheDecorator) {
  const std::string decorator = "@hydra.main(version_base=None, config_path=\"conf\", config_name=\"config\")";
  const auto setting = hydra_batch_size(*SourceTree::parse(script("cfg.train.batch_size", decorator)));
  ASSERT_TRUE(setting.has_value());
  EXPECT_EQ(setting->folder, "conf");
  EXPECT_EQ(setting->name, "config");
  EXPECT_THAT(setting->keys, ElementsAre("train", "batch_size"));
  const auto by_key = hydra_batch_size(*SourceTree::parse(script("cfg[\"batch_size\"]", decorator)));
  ASSERT_TRUE(by_key.has_value());
  EXPECT_THAT(by_key->keys, ElementsAre("batch_size"));
  EXPECT_FALSE(hydra_batch_size(*SourceTree::parse(script("other.batch_size", decorator))).has_value());
  EXPECT_FALSE(hydra_batch_size(*SourceTree::parse(script("cfg.batch_size", "@cache"))).has_value());
}

TEST(HydraConfig, NumbersOfBlockMappingsAreFound) {
  const std::string yaml =
      "defaults:\n  - model: vit\n  - train: base  # the usual\n\nseed: 1\ntrain:\n  lr: 0.1\n"
      "  loader:\n    batch_size: 1_024  # samples\n  batch_size: 32\nother:\n  batch_size: 8\n";
  const auto digits = [&](const std::vector<std::string>& keys) {
    const auto number = yaml_number(yaml, keys);
    return number ? std::string(slice(yaml, number->literal)) : "none";
  };
  EXPECT_EQ(digits({"train", "batch_size"}), "32");
  EXPECT_EQ(digits({"train", "loader", "batch_size"}), "1_024");
  EXPECT_EQ(digits({"other", "batch_size"}), "8");
  EXPECT_EQ(digits({"seed"}), "1");
  EXPECT_EQ(digits({"batch_size"}), "none");
  EXPECT_EQ(digits({"train", "lr"}), "none");
  EXPECT_EQ(digits({"train"}), "none");
  EXPECT_EQ(yaml_number("train: {batch_size: 32}\n", std::vector<std::string>{"train", "batch_size"}), std::nullopt);
  EXPECT_EQ(hydra_choice(yaml, "train"), "base");
  EXPECT_EQ(hydra_choice(yaml, "model"), "vit");
  EXPECT_EQ(hydra_choice(yaml, "optimizer"), "");
}

}  // namespace
}  // namespace ridgeline::source
