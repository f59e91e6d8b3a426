#include "analysis/breakdown/breakdown.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace ridgeline::analysis {

namespace {

using recording::kNone;

/// Modules in modules, of which deeper ones count with the last that is shown: everything that walks the breakdown may
/// recurse, and the reader of kept reports takes 256 levels.
constexpr std::uint32_t kMaxModuleDepth = 200;

/// Grows the tree with numbers in place of strings; names are made at the end.
class BreakdownBuilder {
 public:
  explicit BreakdownBuilder(const BreakdownInput& input)
      : input_(input), parts_(1), part_of_(input.tree.size(), kNone) {}

  Node run() {
    for (const auto& [key, cost] : input_.timeline.costs) {
      add_time(key, cost);
    }
    for (Part& part : parts_) {
      place(part);
    }
    for (const MemoryCost& cost : input_.memory.at_peak) {
      add_memory(cost);
    }
    add_device();
    return make_node(0);
  }

 private:
  /// What a module's calls by one line cost.
  struct Calls {
    ByPhase ms{};
    std::uint64_t bytes = 0;
    double device_ms = 0;
  };

  /// A module instance, or one of the groups and leaves below.
  struct Part {
    std::uint32_t parent = 0;
    std::uint32_t depth = 0;  ///< how many parts it is in
    std::uint32_t instance = 0;
    std::string name;         ///< of a group or a leaf
    LineId line = 0;          ///< where it is called
    std::uint64_t calls = 0;  ///< of a module: in one iteration; of an operation: in all that were used
    ByPhase ms{};
    std::uint64_t bytes = 0;
    double device_ms = 0;
    std::vector<std::uint32_t> children;
    std::map<LineId, Calls> calls_by_line;  ///< of a module
  };

  std::uint32_t add_part(std::uint32_t parent, Part part) {
    const auto index = static_cast<std::uint32_t>(parts_.size());
    part.parent = parent;
    part.depth = parts_[parent].depth + 1;
    parts_.push_back(std::move(part));
    parts_[parent].children.push_back(index);
    return index;
  }

  /// The module that a stack is in: the chain of its instances from the outside in. Without recursion: the stacks of a
  /// trace are as deep as its file says.
  std::uint32_t part_of(TreeNode stack) {
    std::vector<TreeNode> unknown;
    while (stack != 0 && part_of_[stack] == kNone) {
      unknown.push_back(stack);
      stack = input_.tree[stack].parent;
    }
    std::uint32_t part = stack == 0 ? 0 : part_of_[stack];
    for (std::size_t i = unknown.size(); i-- > 0;) {
      const CallTree::Node& frame = input_.tree[unknown[i]];
      const bool is_shown = frame.instance != 0 && parts_[part].depth < kMaxModuleDepth;
      part_of_[unknown[i]] = part = is_shown ? module(part, frame) : part;
    }
    return part;
  }

  std::uint32_t module(std::uint32_t outer, const CallTree::Node& frame) {
    const auto [found, inserted] = modules_.try_emplace({outer, frame.instance}, 0);
    if (inserted) {
      Part part;
      part.instance = frame.instance;
      part.line = input_.tree[frame.parent].self_line;
      part.calls = input_.recording.instance_calls()[frame.instance];
      found->second = add_part(outer, std::move(part));
      by_name_.try_emplace(std::string(full_name(frame.instance)), found->second);
    }
    return found->second;
  }

  std::uint32_t leaf(std::uint32_t parent, const std::string& name, LineId line) {
    const auto [found, inserted] = leaves_.try_emplace({parent, name, line}, 0);
    if (inserted) {
      Part part;
      part.name = name;
      part.line = line;
      found->second = add_part(parent, std::move(part));
    }
    return found->second;
  }

  std::string_view full_name(std::uint32_t instance) const {
    return input_.recording.string(input_.recording.instance_name()[instance]);
  }

  void add_time(const CostKey& key, const Cost& cost) {
    Part& part = parts_[leaf_of(key, cost.ns)];
    const auto phase = static_cast<std::size_t>(key.phase);
    const double ms = cost.ns * input_.scale / 1e6;
    part.ms[phase] += ms;
    part.calls += cost.calls;
    add_to_calls(key.owner, [&](Calls& calls) { calls.ms[phase] += ms; });
  }

  /// Adds to the calls of all modules that a stack is in.
  template <typename Add>
  void add_to_calls(TreeNode stack, const Add& add) {
    for (; stack != 0; stack = input_.tree[stack].parent) {
      if (input_.tree[stack].instance != 0) {
        const std::uint32_t module = part_of(stack);
        add(parts_[module].calls_by_line[input_.tree[input_.tree[stack].parent].self_line]);
      }
    }
  }

  static double sum(const ByPhase& ms) { return std::accumulate(ms.begin(), ms.end(), 0.0); }

  /// A module that several lines call stands on the one whose calls take most time.
  static void place(Part& part) {
    const auto ms_of = [](const auto& calls) { return calls.first == 0 ? -1 : sum(calls.second.ms); };
    const auto most = std::ranges::max_element(part.calls_by_line, {}, ms_of);
    if (most != part.calls_by_line.end()) {
      part.line = most->first;
    }
  }

  void add_device() {
    if (input_.device == nullptr) {
      return;
    }
    const double to_ms = input_.device->scale / 1e6;
    for (const auto& [key, cost] : input_.device->timeline.costs) {
      const double ms = (cost.kernel_ns + cost.copy_ns) * to_ms;
      parts_[leaf_of(key, 0)].device_ms += ms;
      add_to_calls(key.owner, [&](Calls& calls) { calls.device_ms += ms; });
    }
    const DeviceCost& unknown = input_.device->timeline.unknown;
    if (const double ms = (unknown.kernel_ns + unknown.copy_ns) * to_ms; ms > 0) {
      parts_[leaf(0, kUnaskedDeviceWork, 0)].device_ms += ms;
    }
  }

  /// Where the cost of a stack stands; `ns` is its time on the host.
  std::uint32_t leaf_of(const CostKey& key, double ns) {
    if (key.tail) {
      return leaf(0, "end of the iteration", 0);
    }
    const CallTree::Node& frame = input_.tree[key.owner];
    std::uint32_t parent = part_of(key.owner);
    if (parent == 0 && (key.phase == Phase::kOptimizer || key.phase == Phase::kData)) {
      parent = group(key.phase, frame.self_line, ns);
    }
    return leaf(parent, key.operation == 0 ? kPythonNode : operation_name(input_.recording.string(key.operation)),
                frame.self_line);
  }

  /// Work of a phase outside modules; its place is the line that costs the most.
  std::uint32_t group(Phase phase, LineId line, double ns) {
    const std::uint32_t part = leaf(0, kPhaseNames[static_cast<std::size_t>(phase)], 0);
    double& most = group_ns_[part];
    if (line != 0 && ns > most) {
      most = ns;
      parts_[part].line = line;
    }
    return part;
  }

  /// Weights and their gradients belong to the module that holds the parameter; other blocks to their stack.
  void add_memory(const MemoryCost& cost) {
    const bool of_parameter = cost.category == Category::kWeights || cost.category == Category::kGradients;
    std::uint32_t parent = of_parameter ? holder_of(cost.parameter) : part_of(cost.owner);
    if (cost.category == Category::kOptimizerState && parent == 0) {
      parent = group(Phase::kOptimizer, input_.tree[cost.owner].self_line, 0);
    }
    const std::string name = category_name(cost.category);
    LineId line = parent == 0 ? 0 : parts_[parent].line;
    if (!of_parameter && parent != 0) {
      line = input_.tree[cost.owner].self_line;
    }
    parts_[leaf(parent, name, line)].bytes += cost.bytes;
    if (!of_parameter) {
      add_to_calls(cost.owner, [&](Calls& calls) { calls.bytes += cost.bytes; });
    }
  }

  static std::string category_name(Category category) {
    return category == Category::kOptimizerState ? "optimizer state"
                                                 : kCategoryNames[static_cast<std::size_t>(category)];
  }

  std::uint32_t holder_of(std::uint32_t parameter) const {
    if (parameter == kNone) {
      return 0;
    }
    std::string_view name = input_.recording.string(input_.recording.parameter_name()[parameter]);
    for (std::size_t dot = name.rfind('.'); dot != std::string_view::npos; dot = name.rfind('.')) {
      name = name.substr(0, dot);
      const auto found = by_name_.find(std::string(name));
      if (found != by_name_.end()) {
        return found->second;
      }
    }
    return 0;
  }

  /// A child module is named by what its parent calls it.
  std::string module_name(const Part& part) const {
    const std::string_view name = full_name(part.instance);
    if (name.empty()) {
      return std::string(type_name(part.instance));
    }
    for (std::uint32_t outer = part.parent; outer != 0; outer = parts_[outer].parent) {
      const std::string_view prefix = parts_[outer].instance == 0 ? "" : full_name(parts_[outer].instance);
      if (!prefix.empty() && name.size() > prefix.size() && name.starts_with(prefix) && name[prefix.size()] == '.') {
        return std::string(name.substr(prefix.size() + 1));
      }
    }
    return std::string(name);
  }

  std::string_view type_name(std::uint32_t instance) const {
    return input_.recording.string(input_.recording.instance_type()[instance]);
  }

  Node make_node(std::uint32_t index) const {
    const Part& part = parts_[index];
    Node node;
    node.name = index == 0 ? "iteration" : (part.instance == 0 ? part.name : module_name(part));
    const auto iterations = static_cast<std::uint64_t>(std::max(1, input_.timeline.iterations));
    node.calls = part.instance == 0 ? (part.calls + iterations / 2) / iterations : part.calls;
    node.by_phase = part.ms;
    node.peak_bytes = part.bytes;
    node.device_ms = part.device_ms;
    node.location = location_of(part.line, input_.recording, input_.tree, input_.scope);
    if (part.instance != 0) {
      node.type = type_name(part.instance);
      const std::string_view file = input_.recording.string(input_.recording.instance_file()[part.instance]);
      node.definition = {display_path(file, input_.scope), input_.recording.instance_line()[part.instance]};
    }
    for (const std::uint32_t child : part.children) {
      Node made = make_node(child);
      if (made.ms <= 0 && made.peak_bytes == 0 && made.calls == 0 && made.device_ms <= 0) {
        continue;
      }
      node.children.push_back(std::move(made));
      for (std::size_t phase = 0; phase < kPhaseCount; ++phase) {
        node.by_phase[phase] += node.children.back().by_phase[phase];
      }
      node.peak_bytes += node.children.back().peak_bytes;
      node.device_ms += node.children.back().device_ms;
    }
    node.ms = sum(node.by_phase);
    node.callers = callers_of(part, node);
    std::ranges::sort(node.children, [](const Node& a, const Node& b) {
      return std::tie(b.ms, b.peak_bytes, a.name) < std::tie(a.ms, a.peak_bytes, b.name);
    });
    return node;
  }

  /// The lines that call the module, most time first; empty when there is only one.
  std::vector<Caller> callers_of(const Part& part, const Node& node) const {
    std::vector<Caller> callers;
    std::uint64_t parameter_bytes = node.peak_bytes;
    for (const auto& [line, calls] : part.calls_by_line) {
      parameter_bytes -= calls.bytes;
      if (line != 0) {
        callers.push_back({location_of(line, input_.recording, input_.tree, input_.scope), sum(calls.ms), calls.ms,
                           calls.bytes, calls.device_ms});
      }
    }
    if (callers.size() < 2) {
      return {};
    }
    std::ranges::stable_sort(callers, std::greater{}, &Caller::ms);
    callers.front().peak_bytes += parameter_bytes;
    return callers;
  }

  const BreakdownInput& input_;
  std::vector<Part> parts_;             ///< 0 is the iteration
  std::vector<std::uint32_t> part_of_;  ///< by stack
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> modules_;
  std::map<std::tuple<std::uint32_t, std::string, LineId>, std::uint32_t> leaves_;
  std::unordered_map<std::uint32_t, double> group_ns_;      ///< most of one owner, by group
  std::unordered_map<std::string, std::uint32_t> by_name_;  ///< module's full name → its first part
};

}  // namespace

std::string operation_name(std::string_view recorded) {
  for (const std::string_view prefix : {"aten::", "torch::autograd::"}) {
    if (recorded.starts_with(prefix)) {
      recorded.remove_prefix(prefix.size());
    }
  }
  return std::string(recorded);
}

Location location_of(LineId line, const recording::Recording& recording, const CallTree& tree,
                     const SourceScope& scope) {
  if (line == 0) {
    return {};
  }
  const SourceLine& place = tree.line(line);
  return {display_path(recording.string(place.file), scope), place.line};
}

Node build_breakdown(const BreakdownInput& input) { return BreakdownBuilder(input).run(); }

}  // namespace ridgeline::analysis
