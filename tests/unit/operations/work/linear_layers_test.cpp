#include "operations/work/linear_layers.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace ridgeline::operations {
namespace {

using protocol::StepPart;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Device processor(const std::string& name) {
  Device device;
  device.name = name;
  device.levels = {{"L1", 1 << 15, 1, 64, {}}, {"L2", 1 << 20, 1, 64, {}}, {"memory", 1e10, 1, 64, {}}};
  return device;
}

std::string tensor(int rows, int columns, bool transposed = false) {
  return fmt::format("\"t:float32:{},{}:{},{}\"", rows, columns, transposed ? 1 : columns, transposed ? rows : 1);
}

/// A step of linear layers, each of whose products takes a millisecond.
class LayeredStep {
 public:
  LayeredStep() {
    graph_.lines.emplace_back();
    captured_.modules = {""};
    graph_.modules = {""};
  }

  LayeredStep& layer(const std::string& name, int rows, int in, int out, bool reads_parameters = true) {
    graph_.modules.push_back("Net." + name);
    graph_.lines.push_back({"net.py", static_cast<std::uint32_t>(graph_.lines.size())});
    add(fmt::format("[\"aten::addmm.default\",[\"t:float32:{}:1\",{},{}],{{}}]", out, tensor(rows, in),
                    tensor(in, out, reads_parameters)),
        StepPart::kForward);
    add(product(tensor(rows, out), tensor(out, in)), StepPart::kBackward);
    add(product(tensor(out, rows, true), tensor(rows, in)), StepPart::kBackward);
    return *this;
  }

  std::vector<analysis::Padding> paddings(const std::string& device = "AMD EPYC", int threads = 1) const {
    return paddings_of(graph_, captured_, places_, processor(device), threads);
  }

 private:
  static std::string product(const std::string& left, const std::string& right) {
    return fmt::format("[\"aten::mm.default\",[{},{}],{{}}]", left, right);
  }

  void add(std::string key, StepPart part) {
    const auto index = static_cast<int>(captured_.keys.size());
    captured_.keys.push_back(std::move(key));
    captured_.operations.push_back({index, 0, 0, part});
    graph_.tasks.push_back({.line = static_cast<std::uint32_t>(graph_.lines.size()) - 1,
                            .module = static_cast<std::uint32_t>(graph_.modules.size()) - 1});
    places_.tasks.push_back({static_cast<step::TaskId>(index)});
    places_.ns.push_back(1e6);
  }

  step::Graph graph_;
  protocol::CapturedStep captured_;
  step::Places places_;
};

TEST(LinearLayers, AWidthIsFoundWithTheProductsOnBothOfItsSides) {
  const auto found = LayeredStep().layer("up", 64, 256, 63).layer("down", 64, 63, 256).paddings();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].modules, ElementsAre("up"));
  EXPECT_EQ(found[0].size, 63);
  EXPECT_EQ(found[0].padded, 64);
  EXPECT_EQ(found[0].location.line, 1U);
  EXPECT_DOUBLE_EQ(found[0].ms, 6);
  // Forward of `up`, dx and dW of `down` have 63 columns; the others a depth or rows.
  EXPECT_NEAR(found[0].saved_ms, 6 - (3 * 8 / 10.75 + 3 * 64.0 / 63), 1e-9);
}

TEST(LinearLayers, LayersOfOneWidthArePaddedTogether) {
  const auto found = LayeredStep().layer("a", 64, 256, 63).layer("b", 64, 63, 63).layer("head", 64, 63, 16).paddings();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].modules, ElementsAre("a", "b"));
  EXPECT_DOUBLE_EQ(found[0].ms, 9);
}

TEST(LinearLayers, NothingIsProposedWhereNothingIsKnown) {
  EXPECT_THAT(LayeredStep().layer("up", 64, 256, 64).paddings(), IsEmpty());  // it is aligned
  EXPECT_THAT(LayeredStep().layer("up", 64, 256, 63).layer("down", 64, 63, 256).paddings("Intel"), IsEmpty());
  EXPECT_THAT(LayeredStep().layer("up", 64, 256, 63).layer("down", 64, 63, 256).paddings("AMD EPYC", 3), IsEmpty());
  EXPECT_THAT(LayeredStep().layer("product", 64, 256, 63, false).paddings(), IsEmpty());  // of activations: no layer
}

}  // namespace
}  // namespace ridgeline::operations
