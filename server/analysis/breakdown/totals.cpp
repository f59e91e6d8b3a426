#include "analysis/breakdown/totals.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace ridgeline::analysis {

namespace {

using Totals = std::map<std::string, Total, std::less<>>;

void add_to(Totals& totals, const std::string& name, const Node& node) {
  Total& total = totals[name];
  total.calls += node.calls;
  total.ms += node.ms;
  total.peak_bytes += node.peak_bytes;
  const auto cost = [](const Node& which) { return std::tuple(which.ms, which.peak_bytes); };
  if (total.costliest == nullptr || cost(*total.costliest) < cost(node)) {
    total.costliest = &node;
  }
}

std::vector<Total> ordered(Totals totals) {
  std::vector<Total> list;
  list.reserve(totals.size());
  for (auto& [name, total] : totals) {
    total.name = name;
    list.push_back(std::move(total));
  }
  std::ranges::stable_sort(list, std::ranges::greater(),
                           [](const Total& total) { return std::tuple(total.ms, total.peak_bytes); });
  return list;
}

}  // namespace

std::vector<Total> operation_totals(const Node& root) {
  Totals totals;
  std::vector<const Node*> waiting = {&root};  // as deep as the user's modules: no recursion
  while (!waiting.empty()) {
    const Node& node = *waiting.back();
    waiting.pop_back();
    if (node.children.empty()) {
      add_to(totals, node.name, node);
    }
    for (const Node& child : node.children) {
      waiting.push_back(&child);
    }
  }
  return ordered(std::move(totals));
}

std::vector<Total> module_type_totals(const Node& root) {
  Totals totals;
  std::map<std::string, int, std::less<>> around;  // how many modules of a class the walk is inside of
  struct Step {
    const Node* node;
    bool leaves;
  };
  std::vector<Step> waiting = {{&root, false}};
  while (!waiting.empty()) {
    const auto [node, leaves] = waiting.back();
    waiting.pop_back();
    if (leaves) {
      --around[node->type];
      continue;
    }
    if (!node->type.empty()) {
      if (around[node->type]++ == 0) {
        add_to(totals, node->type, *node);
      }
      waiting.push_back({node, true});
    }
    for (const Node& child : node->children) {
      waiting.push_back({&child, false});
    }
  }
  return ordered(std::move(totals));
}

std::vector<const Node*> costliest_path(const Node& node, Resource resource) {
  const auto taken = [&](const Node& of) {
    return resource == Resource::kTime ? of.ms : static_cast<double>(of.peak_bytes);
  };
  std::vector<const Node*> path;
  for (const Node* at = &node; !at->children.empty();) {
    const auto most = std::ranges::max_element(at->children, {}, taken);
    if (taken(*most) <= 0) {
      break;
    }
    at = &*most;
    path.push_back(at);
  }
  return path;
}

}  // namespace ridgeline::analysis
