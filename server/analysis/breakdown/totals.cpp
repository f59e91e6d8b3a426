#include "analysis/breakdown/totals.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace ridgeline::analysis {

namespace {

using Totals = std::map<std::string, Total, std::less<>>;

void add_to(Totals& totals, const std::string& name, const Node& node) {
  Total& total = totals[name];
  total.calls += node.calls;
  total.ms += node.ms;
  for (std::size_t phase = 0; phase < kPhaseCount; ++phase) {
    total.by_phase[phase] += node.by_phase[phase];
  }
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

double taken(const Node& of, Resource resource) {
  return resource == Resource::kTime ? of.ms : static_cast<double>(of.peak_bytes);
}

/// "0", "11": of a Sequential or a ModuleList.
bool is_numbered(const Node& node) {
  return !node.type.empty() && !node.name.empty() && std::isdigit(static_cast<unsigned char>(node.name.front())) != 0;
}

/// Nodes that are alike.
struct Alike {
  std::string name;  ///< of all; the class of numbered modules
  std::vector<const Node*> nodes;

  std::string label() const {
    return nodes.size() > 1 && is_numbered(*nodes.front()) ? fmt::format("{} × {}", nodes.size(), name)
                                                           : nodes.front()->name;
  }
};

/// The children of `nodes` that are alike and take most together; none where no child takes anything.
Alike costliest_children(const std::vector<const Node*>& nodes, Resource resource) {
  std::vector<Alike> all;
  for (const Node* node : nodes) {
    for (const Node& child : node->children) {
      const std::string& name = is_numbered(child) ? child.type : child.name;
      const auto found = std::ranges::find_if(all, [&](const Alike& alike) {
        return alike.name == name && is_numbered(*alike.nodes.front()) == is_numbered(child);
      });
      (found == all.end() ? all.emplace_back(Alike{name, {}}) : *found).nodes.push_back(&child);
    }
  }
  const auto sum = [&](const Alike& alike) {
    double total = 0;
    for (const Node* node : alike.nodes) {
      total += taken(*node, resource);
    }
    return total;
  };
  const auto most = std::ranges::max_element(all, {}, sum);
  return most == all.end() || sum(*most) <= 0 ? Alike{} : std::move(*most);
}

/// The costliest, of those inside of `outer` where there are any.
const Node& representative(const std::vector<const Node*>& nodes, const Node& outer, Resource resource) {
  const auto rank = [&](const Node* node) {
    const bool is_inside = std::ranges::any_of(outer.children, [&](const Node& child) { return &child == node; });
    return std::pair(is_inside, taken(*node, resource));
  };
  return **std::ranges::max_element(nodes, {}, rank);
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

std::vector<CostliestStep> costliest_path(const Node& node, Resource resource) {
  std::vector<CostliestStep> path;
  for (Alike at{"", {&node}}; !at.nodes.empty(); at = costliest_children(at.nodes, resource)) {
    if (at.nodes.front() != &node) {
      path.push_back({at.label(), &representative(at.nodes, path.empty() ? node : *path.back().node, resource)});
    }
  }
  return path;
}

}  // namespace ridgeline::analysis
