#include "operations/work/recorded_work.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "operations/device/operation_work.h"

namespace ridgeline::operations {

namespace {

using step::Graph;

bool is_operator(std::string_view name) {
  return name.find("::") != std::string_view::npos && !name.starts_with("autograd::") &&
         !name.starts_with("torch::autograd::");
}

/// Names of the operations that count: wherever one of them is outermost, it is one operation of the step. `key`: by
/// operation of the graph, where the work is known; else -1.
std::set<std::uint32_t> counted_names(const Graph& graph, const std::vector<int>& key) {
  const std::vector<step::Operation>& all = graph.operations;
  std::set<std::uint32_t> known;
  std::vector<bool> has_inner(all.size());
  for (std::size_t i = 1; i < all.size(); ++i) {
    has_inner[all[i].parent] = true;
    if (key[i] >= 0) {
      known.insert(all[i].name);
    }
  }
  std::set<std::uint32_t> containers;  // of operations whose work is known
  std::vector<bool> contains(all.size());
  for (std::size_t i = all.size(); i-- > 1;) {
    if (contains[i]) {
      containers.insert(all[i].name);
    }
    contains[all[i].parent] = contains[all[i].parent] || contains[i] || known.contains(all[i].name);
  }
  std::set<std::uint32_t> counted = known;
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (!has_inner[i] && !containers.contains(all[i].name) && is_operator(graph.names[all[i].name])) {
      counted.insert(all[i].name);
    }
  }
  return counted;
}

}  // namespace

protocol::CapturedStep recorded_operations(const Graph& graph, const analysis::RecordedKeys& keys) {
  std::vector<bool> is_known(keys.keys.size());
  for (std::size_t i = 0; i < keys.keys.size(); ++i) {
    is_known[i] = work_of(std::string_view(keys.keys[i])).has_value();
  }
  std::vector<int> key(graph.operations.size(), -1);
  for (std::size_t i = 1; i < graph.operations.size(); ++i) {
    const int recorded = keys.of_op.at(graph.operations[i].op);
    key[i] = recorded >= 0 && is_known[static_cast<std::size_t>(recorded)] ? recorded : -1;
  }
  const std::set<std::uint32_t> counted = counted_names(graph, key);
  protocol::CapturedStep step{.keys = keys.keys, .names = {}, .modules = {""}, .operations = {}};
  std::map<std::uint32_t, int> names;
  std::vector<bool> inside(graph.operations.size());
  for (std::uint32_t i = 1; i < graph.operations.size(); ++i) {
    const step::Operation& operation = graph.operations[i];
    const bool counts = counted.contains(operation.name);
    inside[i] = counts || inside[operation.parent];
    if (counts && !inside[operation.parent]) {
      const auto [name, is_new] = names.try_emplace(operation.name, static_cast<int>(step.names.size()));
      if (is_new) {
        step.names.push_back(graph.names[operation.name]);
      }
      step.operations.push_back({key[i], name->second, 0, protocol::StepPart::kForward});
    }
  }
  return step;
}

}  // namespace ridgeline::operations
