#include "analysis/breakdown/totals.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

namespace ridgeline::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Node leaf(std::string name, std::uint64_t calls, double ms, std::uint64_t bytes) {
  Node node;
  node.name = std::move(name);
  node.calls = calls;
  node.ms = ms;
  node.peak_bytes = bytes;
  return node;
}

/// Its cost is that of its parts.
Node module(std::string name, std::string type, std::vector<Node> parts) {
  Node node = leaf(std::move(name), 1, 0, 0);
  node.type = std::move(type);
  for (const Node& part : parts) {
    node.ms += part.ms;
    node.peak_bytes += part.peak_bytes;
  }
  node.children = std::move(parts);
  return node;
}

Node step() {
  Node inner = module("0", "Sequential", {leaf("conv2d", 2, 5, 10), leaf("relu", 2, 1, 30)});
  Node outer = module("body", "Sequential", {std::move(inner), leaf("add_", 1, 0.5, 0)});
  Node head = module("head", "Linear", {leaf("linear", 1, 2, 100)});
  return module("", "", {std::move(outer), std::move(head), leaf("conv2d", 1, 7, 0)});
}

std::vector<std::string> lines_of(const std::vector<Total>& totals) {
  std::vector<std::string> lines;
  for (const Total& total : totals) {
    lines.push_back(total.name + " " + std::to_string(total.calls) + " " + std::to_string(std::lround(10 * total.ms)) +
                    " " + std::to_string(total.peak_bytes));
  }
  return lines;
}

std::vector<std::string> labels_of(const std::vector<CostliestStep>& path) {
  std::vector<std::string> labels;
  for (const CostliestStep& step : path) {
    labels.push_back(step.label);
  }
  return labels;
}

TEST(Totals, OperationsAddUpToTheStep) {
  const Node root = step();
  const auto totals = operation_totals(root);
  EXPECT_THAT(lines_of(totals), ElementsAre("conv2d 3 120 10", "linear 1 20 100", "relu 2 10 30", "add_ 1 5 0"));
  EXPECT_EQ(totals[0].costliest, &root.children[2]);  // 7 ms, the other 5
  double ms = 0;
  std::uint64_t bytes = 0;
  for (const Total& total : totals) {
    ms += total.ms;
    bytes += total.peak_bytes;
  }
  EXPECT_DOUBLE_EQ(ms, root.ms);
  EXPECT_EQ(bytes, root.peak_bytes);
}

TEST(Totals, AClassInsideItselfCountsOnce) {
  const Node root = step();
  const auto totals = module_type_totals(root);
  EXPECT_THAT(lines_of(totals), ElementsAre("Sequential 1 65 40", "Linear 1 20 100"));
  EXPECT_EQ(totals[0].costliest, &root.children[0]);
}

TEST(Totals, CountSiblingsOfOneClassEach) {
  const Node root =
      module("", "", {module("a", "Block", {leaf("mul", 1, 1, 0)}), module("b", "Block", {leaf("mul", 1, 3, 0)})});
  const auto totals = module_type_totals(root);
  EXPECT_THAT(lines_of(totals), ElementsAre("Block 2 40 0"));
  EXPECT_EQ(totals[0].costliest, &root.children[1]);
}

TEST(Totals, AnEmptyStepHasNone) {
  const Node root;
  EXPECT_THAT(lines_of(operation_totals(root)), ElementsAre(" 0 0 0"));
  EXPECT_THAT(module_type_totals(root), IsEmpty());
  EXPECT_THAT(costliest_path(root, Resource::kTime), IsEmpty());
}

TEST(CostliestPath, GoesDownToALeaf) {
  const Node root = step();
  EXPECT_THAT(labels_of(costliest_path(root, Resource::kTime)), ElementsAre("conv2d"));
  EXPECT_THAT(labels_of(costliest_path(root, Resource::kMemory)), ElementsAre("head", "linear"));
  EXPECT_THAT(labels_of(costliest_path(root.children[0], Resource::kMemory)), ElementsAre("0", "relu"));
}

TEST(CostliestPath, TakesWhatIsAlikeTogether) {
  const auto block = [](const char* name, double ms) {
    return module(name, "Block", {leaf("linear", 1, ms, 0), leaf("gelu", 1, 1, 0)});
  };
  const Node root =
      module("", "", {module("blocks", "Sequential", {block("0", 2), block("1", 3)}), leaf("adamw", 1, 4, 0)});
  const auto path = costliest_path(root, Resource::kTime);
  EXPECT_THAT(labels_of(path), ElementsAre("blocks", "2 × Block", "linear"));
  EXPECT_EQ(path[2].node, &root.children[0].children[1].children[0]);
}

TEST(CostliestPath, EndsWhereNothingIsTaken) {
  EXPECT_THAT(costliest_path(module("", "", {leaf("a", 1, 0, 0)}), Resource::kTime), IsEmpty());
}

}  // namespace
}  // namespace ridgeline::analysis
