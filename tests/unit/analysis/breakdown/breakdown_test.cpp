#include "analysis/breakdown/breakdown.h"

#include <gmock/gmock.h>

#include "tests/unit/analysis/analysed.h"

namespace ridgeline::analysis {
namespace {

using testing::Analysed;
using testing::find_node;
using testing::kEngine;
using testing::kLibrary;
using testing::kLoader;
using testing::kMs;
using testing::kNone;
using testing::kOptimizer;
using testing::RecordingBuilder;
using testing::Role;
using testing::Scope;
using testing::Stage;

/// Every node with children is exactly their sum.
void expect_sums(const Node& node) {
  double phases = 0;
  for (const double ms : node.by_phase) {
    phases += ms;
  }
  EXPECT_NEAR(phases, node.ms, 1e-9) << node.name;
  if (node.children.empty()) {
    return;
  }
  double ms = 0;
  std::uint64_t bytes = 0;
  for (const Node& child : node.children) {
    ms += child.ms;
    bytes += child.peak_bytes;
    expect_sums(child);
  }
  EXPECT_NEAR(ms, node.ms, 1e-9) << node.name;
  EXPECT_EQ(bytes, node.peak_bytes) << node.name;
}

/// A network of two blocks of one class, called in a loop on model.py:20; each calls its own linear on block.py:9.
struct Network : RecordingBuilder {
  std::uint32_t net = instance("Net", "net", 1, "model.py", 3);
  std::uint32_t first = instance("Block", "net.blocks.0", 1, "block.py", 1);
  std::uint32_t second = instance("Block", "net.blocks.1", 1, "block.py", 1);
  std::uint32_t linear = instance("Linear", "net.blocks.1.linear", 2, "/env/torch/nn/modules/linear.py", 50);

  Network() { iteration(0, 20 * kMs); }
  std::uint32_t in(std::uint32_t block) {
    return stack({{"train.py", "step", 3}, {"model.py", "forward", 20, net}, {"block.py", "forward", 9, block}});
  }
};

TEST(Breakdown, FoldsModulesThatAreDeeperThanItsReadersTake) {
  RecordingBuilder builder;
  builder.iteration(0, 20 * kMs);
  std::vector<testing::Frame> frames;
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    frames.push_back({"model.py", "forward", 20, builder.instance("Block", "b" + std::to_string(i), 1, "block.py", 1)});
  }
  builder.op({"aten::linear", builder.stack(frames), 0, 20 * kMs});
  const Analysed analysed(builder);
  const Node& root = analysed.breakdown;
  expect_sums(root);
  EXPECT_NEAR(root.ms, 20, 1e-9);
  std::size_t depth = 0;
  for (const Node* node = &root; !node->children.empty(); node = &node->children.front()) {
    ++depth;
  }
  EXPECT_EQ(depth, 201U) << "modules, and the operation in the innermost";
}

TEST(Breakdown, SeparatesTheInstancesOfALoop) {
  Network network;
  network.op({"aten::linear", network.in(network.first), 0, 4 * kMs});
  network.op({"aten::linear", network.in(network.second), 4 * kMs, 20 * kMs});
  const Analysed analysed(network);
  const Node* first = find_node(analysed.breakdown, "net/blocks.0");
  const Node* second = find_node(analysed.breakdown, "net/blocks.1");
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_DOUBLE_EQ(first->ms, 4);
  EXPECT_DOUBLE_EQ(second->ms, 16);
  EXPECT_EQ(second->type, "Block");
  EXPECT_EQ(second->location, (Location{"model.py", 20}));
  EXPECT_EQ(second->definition, (Location{"block.py", 1}));
  expect_sums(analysed.breakdown);
}

TEST(Breakdown, NamesAModuleAsItsParentDoes) {
  Network network;
  const auto inner = network.child(network.in(network.second), {kLibrary.file, "linear", 20, network.linear});
  network.op({"aten::linear", inner, 0, 20 * kMs});
  const Analysed analysed(network);
  const Node* linear = find_node(analysed.breakdown, "net/blocks.1/linear");
  ASSERT_NE(linear, nullptr);
  EXPECT_EQ(linear->calls, 2U);
  EXPECT_EQ(linear->definition.file, "/env/torch/nn/modules/linear.py");
  EXPECT_EQ(linear->location, (Location{"block.py", 9}));
}

TEST(Breakdown, NamesAModuleThatTheParentDoesNotHoldByItsFullName) {
  Network network;
  const auto loss = network.instance("Loss", "loss");
  const auto shared = network.child(network.in(network.first), {"model.py", "forward", 30, loss});
  network.op({"aten::mse", shared, 0, 20 * kMs});
  EXPECT_NE(find_node(Analysed(network).breakdown, "net/blocks.0/loss"), nullptr);
}

TEST(Breakdown, NamesAModuleWithoutANameByItsClass) {
  Network network;
  const auto root = network.instance("Sequential", "");
  network.op({"aten::a", network.stack({{"train.py", "step", 3}, {"model.py", "f", 1, root}}), 0, 20 * kMs});
  EXPECT_NE(find_node(Analysed(network).breakdown, "Sequential"), nullptr);
}

TEST(Breakdown, NamesOperationsWithoutTheirNamespace) {
  Network network;
  network.op({"aten::conv2d", network.in(network.first), 0, 10 * kMs});
  network.op({"mylib::swish", network.in(network.first), 10 * kMs, 20 * kMs});
  const Analysed analysed(network);
  const Node* conv = find_node(analysed.breakdown, "net/blocks.0/conv2d");
  ASSERT_NE(conv, nullptr);
  EXPECT_EQ(conv->calls, 1U);
  EXPECT_EQ(conv->location, (Location{"block.py", 9}));
  EXPECT_NE(find_node(analysed.breakdown, "net/blocks.0/mylib::swish"), nullptr);
}

TEST(Breakdown, PutsBackwardUnderTheModuleOfForward) {
  Network network;
  network.op({"aten::conv2d", network.in(network.first), 0, 5 * kMs, kNone, Scope::kFunction, 5});
  network.backward("ConvBackward", network.stack({{"train.py", "step", 7}, kEngine}), 5 * kMs, 20 * kMs, 5);
  const Analysed analysed(network);
  const Node* conv = find_node(analysed.breakdown, "net/blocks.0/conv2d");
  ASSERT_NE(conv, nullptr);
  EXPECT_DOUBLE_EQ(conv->by_phase[static_cast<std::size_t>(Phase::kForward)], 5);
  EXPECT_DOUBLE_EQ(conv->by_phase[static_cast<std::size_t>(Phase::kBackward)], 15);
  EXPECT_EQ(conv->calls, 1U);
}

TEST(Breakdown, GroupsTheOptimizerAndTheData) {
  Network network;
  network.op({"aten::stack", network.stack({{"train.py", "step", 2}, kLoader}), 0, 5 * kMs});
  network.op({"aten::add_", network.stack({{"train.py", "step", 9}, kOptimizer}), 5 * kMs, 12 * kMs});
  network.op({"aten::mul_", network.stack({{"train.py", "step", 9}, kOptimizer}), 12 * kMs, 20 * kMs});
  const Analysed analysed(network);
  EXPECT_NE(find_node(analysed.breakdown, "data/stack"), nullptr);
  const Node* optimizer = find_node(analysed.breakdown, "optimizer");
  ASSERT_NE(optimizer, nullptr);
  EXPECT_DOUBLE_EQ(optimizer->ms, 15);
  ASSERT_GE(optimizer->children.size(), 2U);
  EXPECT_EQ(optimizer->children[0].name, "mul_");  // most time first
  EXPECT_EQ(optimizer->children[1].name, "add_");
  expect_sums(analysed.breakdown);
}

TEST(Breakdown, CallsTimeBetweenOperationsPython) {
  Network network;
  network.op({"aten::a", network.in(network.first), 8 * kMs, 20 * kMs});
  const Analysed analysed(network);
  const Node* python = find_node(analysed.breakdown, "net/blocks.0/Python");
  ASSERT_NE(python, nullptr);
  EXPECT_DOUBLE_EQ(python->ms, 8);
}

TEST(Breakdown, NamesTheEndOfTheIteration) {
  Network network;
  network.op({"aten::a", network.in(network.first), 0, 12 * kMs});
  const Analysed analysed(network);
  ASSERT_NE(find_node(analysed.breakdown, "end of the iteration"), nullptr);
  EXPECT_DOUBLE_EQ(find_node(analysed.breakdown, "end of the iteration")->ms, 8);
}

TEST(Breakdown, HoldsWeightsAtTheModuleThatHasTheParameter) {
  Network network;
  network.op({"aten::linear", network.in(network.second), 0, 20 * kMs});
  const auto weight = network.parameter("net.blocks.1.linear.weight", 0xA0);  // linear itself was never called
  network.allocate({0, 0xA0, 512, network.at("model.py", 5), kNone, Stage::kModel});
  network.role(0, 0xA0, Role::kParameter, weight);
  const Analysed analysed(network);
  const Node* weights = find_node(analysed.breakdown, "net/blocks.1/weights");
  ASSERT_NE(weights, nullptr);
  EXPECT_EQ(weights->peak_bytes, 512U);
  EXPECT_EQ(analysed.breakdown.peak_bytes, 512U);
  expect_sums(analysed.breakdown);
}

TEST(Breakdown, HoldsActivationsAtTheModuleThatMadeThem) {
  Network network;
  const auto op = network.op({"aten::relu", network.in(network.first), 0, 10 * kMs, kNone, Scope::kFunction, 5});
  network.backward("ReluBackward0", network.stack({{"train.py", "step", 7}, kEngine}), 10 * kMs, 20 * kMs, 5);
  network.allocate({5 * kMs, 0xA0, 64, network.in(network.first), op});
  const Analysed analysed(network);
  const Node* activations = find_node(analysed.breakdown, "net/blocks.0/activations");
  ASSERT_NE(activations, nullptr);
  EXPECT_EQ(activations->peak_bytes, 64U);
  EXPECT_EQ(activations->location, (Location{"block.py", 9}));
}

TEST(Breakdown, HoldsWhatNoModuleOwnsAtTheRoot) {
  Network network;
  network.allocate({0, 0xA0, 8, network.at("train.py", 1), kNone, Stage::kPrepare});
  network.allocate({0, 0xB0, 16, network.at("train.py", 1), kNone, Stage::kInput});
  network.parameter("alone", 0xC0);
  network.allocate({0, 0xC0, 32, network.at("train.py", 1), kNone, Stage::kModel});
  network.role(0, 0xC0, Role::kParameter, 0);
  network.columns.iteration_start[0] = 1;
  const Analysed analysed(network);
  EXPECT_EQ(find_node(analysed.breakdown, "optimizer/optimizer state")->peak_bytes, 8U);
  EXPECT_EQ(find_node(analysed.breakdown, "inputs")->peak_bytes, 16U);
  EXPECT_EQ(find_node(analysed.breakdown, "weights")->peak_bytes, 32U);
}

TEST(Breakdown, DividesAModuleAmongTheLinesThatCallIt) {
  Network network;
  const auto norm = network.instance("Norm", "net.norm", 3, "/env/site-packages/torch/nn/modules/normalization.py", 90);
  const auto call = [&](std::uint32_t line) {
    return network.child(network.stack({{"train.py", "step", 3}, {"model.py", "forward", line, network.net}}),
                         {kLibrary.file, "forward", 20, norm});
  };
  const auto weight = network.parameter("net.norm.weight", 0xA0);
  network.allocate({0, 0xA0, 512, network.at("model.py", 5), kNone, Stage::kModel});
  network.role(0, 0xA0, Role::kParameter, weight);
  const auto first = network.op({"aten::norm", call(20), 0, 3 * kMs});
  network.op({"aten::norm", call(21), 3 * kMs, 18 * kMs});
  network.op({"aten::norm", call(22), 18 * kMs, 20 * kMs});
  network.allocate({2 * kMs, 0xB0, 64, call(20), first});
  const Analysed analysed(network);
  const Node* node = find_node(analysed.breakdown, "net/norm");
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(node->location, (Location{"model.py", 21})) << "where it takes most time";
  ASSERT_EQ(node->callers.size(), 3U);
  double ms = 0;
  for (const Caller& caller : node->callers) {
    ms += caller.ms;
    EXPECT_DOUBLE_EQ(caller.by_phase[static_cast<std::size_t>(Phase::kForward)], caller.ms);
  }
  EXPECT_DOUBLE_EQ(ms, node->ms);
  EXPECT_EQ(node->callers[0].location, (Location{"model.py", 21}));
  EXPECT_DOUBLE_EQ(node->callers[0].ms, 15);
  EXPECT_EQ(node->callers[0].peak_bytes, 512U) << "the weights";
  EXPECT_EQ(node->callers[1].location, (Location{"model.py", 20}));
  EXPECT_DOUBLE_EQ(node->callers[1].ms, 3);
  EXPECT_EQ(node->callers[1].peak_bytes, 64U);
  EXPECT_DOUBLE_EQ(node->callers[2].ms, 2);
  EXPECT_TRUE(find_node(analysed.breakdown, "net")->callers.empty()) << "one line calls it";
}

TEST(Breakdown, AModuleInsideItselfNests) {
  Network network;
  const auto again = network.child(network.in(network.first), {"block.py", "forward", 9, network.first});
  network.op({"aten::a", network.in(network.first), 0, 5 * kMs});
  network.op({"aten::a", again, 5 * kMs, 20 * kMs});
  const Analysed analysed(network);
  EXPECT_DOUBLE_EQ(find_node(analysed.breakdown, "net/blocks.0")->ms, 20);
  expect_sums(analysed.breakdown);
}

}  // namespace
}  // namespace ridgeline::analysis
