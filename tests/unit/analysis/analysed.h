// Every stage of the analysis of one recording, and short questions to it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/attribution/attribution.h"
#include "analysis/attribution/timeline.h"
#include "analysis/breakdown/breakdown.h"
#include "analysis/breakdown/line_costs.h"
#include "analysis/memory/memory.h"
#include "tests/unit/analysis/recording_builder.h"

namespace ridgeline::analysis::testing {

inline SourceScope project_scope(std::vector<CodePackage> code = {}) {
  return {std::string(kProject), {std::string(kEnvironment)}, std::move(code)};
}

struct Analysed {
  recording::Recording recording;
  SourceScope scope;
  Attribution attribution = attribute(recording, scope);
  Timeline timeline = build_timeline(recording, attribution);
  const CallTree& tree = timeline.tree;
  MemoryAnalysis memory = analyse_memory(recording, attribution, tree);
  std::optional<DeviceParts> device = analyse_device(recording, attribution, tree, timeline.recorded_ns);
  BreakdownInput parts{recording, scope, tree, timeline, memory, 1, device ? &*device : nullptr};
  LineTable lines = build_lines(parts);
  Node breakdown = build_breakdown(parts);

  /// `code`: packages whose lines have figures, too.
  explicit Analysed(const RecordingBuilder& builder, std::vector<CodePackage> code = {})
      : recording(builder.build()), scope(project_scope(std::move(code))) {}
  Analysed(const Analysed&) = delete;
  Analysed& operator=(const Analysed&) = delete;

  /// "model.py:12", or "" for no line.
  std::string place(LineId line) const {
    const Location location = location_of(line, recording, tree, scope);
    return location.file.empty() ? "" : location.file + ":" + std::to_string(location.line);
  }
  /// Innermost user line of the stack that answers for an op.
  std::string owner(std::uint32_t op) const { return place(tree[attribution.owner[op]].self_line); }
  /// All user lines of that stack, outermost first: "train.py:3 model.py:5".
  std::string owner_lines(std::uint32_t op) const {
    std::string lines_text;
    for (TreeNode node = attribution.owner[op]; node != 0; node = tree[node].parent) {
      if (tree[node].line != 0) {
        lines_text.insert(0, place(tree[node].line).append(lines_text.empty() ? "" : " "));
      }
    }
    return lines_text;
  }
  std::string operation(std::uint32_t op) const { return std::string(recording.string(attribution.operation[op])); }
  Phase phase(std::uint32_t op) const { return attribution.phase[op]; }

  /// Nanoseconds by innermost user line; "" is what no line owns, "tail" the end of the iteration.
  std::map<std::string, double> ns_by_line(std::optional<Phase> phase = std::nullopt) const {
    std::map<std::string, double> sums;
    for (const auto& [key, cost] : timeline.costs) {
      if (!phase.has_value() || key.phase == *phase) {
        sums[key.tail ? "tail" : place(tree[key.owner].self_line)] += cost.ns;
      }
    }
    std::erase_if(sums, [](const auto& entry) { return entry.second == 0; });
    return sums;
  }
  double ns(std::string_view line) const {
    const auto sums = ns_by_line();
    const auto found = sums.find(std::string(line));
    return found == sums.end() ? 0 : found->second;
  }

  /// Bytes at the peak by category, only those that are not zero: {"weights", 100}.
  std::map<std::string, std::uint64_t> peak_by_category() const {
    std::map<std::string, std::uint64_t> sums;
    for (const MemoryCost& cost : memory.at_peak) {
      sums[kCategoryNames[static_cast<std::size_t>(cost.category)]] += cost.bytes;
    }
    return sums;
  }

  const LineCost* line(std::string_view wanted) const {
    for (const LineCost& cost : lines.lines) {
      if (cost.location.file + ":" + std::to_string(cost.location.line) == wanted) {
        return &cost;
      }
    }
    return nullptr;
  }
};

/// The node at a path of names from the root: "block/conv2d". Null when there is none.
inline const Node* find_node(const Node& root, std::string_view path) {
  const std::size_t slash = path.find('/');
  const std::string_view name = path.substr(0, slash);
  for (const Node& child : root.children) {
    if (child.name == name) {
      return slash == std::string_view::npos ? &child : find_node(child, path.substr(slash + 1));
    }
  }
  return nullptr;
}

}  // namespace ridgeline::analysis::testing
