#include "analysis/breakdown/line_costs.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>

namespace ridgeline::analysis {

namespace {

class LineCostsBuilder {
 public:
  explicit LineCostsBuilder(const BreakdownInput& input)
      : input_(input), costs_(input.tree.line_count()), seen_(input.tree.line_count(), 0) {}

  LineTable run() {
    for (const auto& [key, cost] : input_.timeline.costs) {
      add_time(key, cost.ns * input_.scale / 1e6);
    }
    for (const MemoryCost& cost : input_.memory.at_peak) {
      add_peak(cost);
    }
    add_definitions();
    add_device();
    set_calls();
    return finish();
  }

 private:
  void add_time(const CostKey& key, double ms) {
    const LineId self = input_.tree[key.owner].self_line;
    if (self == 0) {
      other_[item_name(key)].ms += ms;
    } else {
      costs_[self].self_ms += ms;
      costs_[self].self_by_phase[static_cast<std::size_t>(key.phase)] += ms;
    }
    // Total: every line on the stacks that answer for the time, once.
    ++stamp_;
    const auto add = [&](LineCost& line) {
      line.total_ms += ms;
      line.total_by_phase[static_cast<std::size_t>(key.phase)] += ms;
    };
    add_total(key.owner, add);
    if (key.raw != key.owner) {
      add_total(key.raw, add);
    }
  }

  template <typename Add>
  void add_total(TreeNode stack, const Add& add) {
    for (; stack != 0; stack = input_.tree[stack].parent) {
      const LineId line = input_.tree[stack].line;
      if (line != 0 && seen_[line] != stamp_) {
        seen_[line] = stamp_;
        add(costs_[line]);
      }
    }
  }

  static std::string item_name(const CostKey& key) {
    if (key.tail) {
      return "end of the iteration";
    }
    switch (key.phase) {
      case Phase::kBackward:
      case Phase::kRecomputation:
        return "autograd outside user lines";
      case Phase::kOptimizer:
        return "optimizer outside user lines";
      case Phase::kData:
        return "data loading outside user lines";
      case Phase::kForward:
        return "operations outside user lines";
      case Phase::kOther:
        break;
    }
    return "Python outside user lines";
  }

  void add_peak(const MemoryCost& cost) {
    const LineId line = input_.tree[cost.owner].self_line;
    if (line == 0) {
      const auto category = static_cast<std::size_t>(cost.category);
      other_[std::string(kCategoryNames[category]) + " outside user lines"].peak_bytes += cost.bytes;
    } else {
      costs_[line].peak_bytes += cost.bytes;
    }
  }

  void add_definitions() {
    const auto add = [&](const std::vector<MemoryCost>& blocks, std::uint64_t LineCost::*field) {
      for (const MemoryCost& block : blocks) {
        costs_[input_.tree[block.owner].self_line].*field += block.bytes;
      }
    };
    add(input_.memory.weights, &LineCost::weights_bytes);
    add(input_.memory.gradients, &LineCost::gradients_bytes);
    add(input_.memory.activations, &LineCost::activations_bytes);
  }

  void add_device() {
    if (input_.device == nullptr) {
      return;
    }
    const DeviceTimeline& timeline = input_.device->timeline;
    const double to_ms = input_.device->scale / 1e6;
    for (const auto& [key, cost] : timeline.costs) {
      const double ms = (cost.kernel_ns + cost.copy_ns) * to_ms;
      if (const LineId self = input_.tree[key.owner].self_line; self != 0) {
        LineDeviceCost& device = costs_[self].device;
        device.ms += ms;
        device.copy_ms += cost.copy_ns * to_ms;
        device.by_phase[static_cast<std::size_t>(key.phase)] += ms;
      } else {
        other_[item_name(key)].device_ms += ms;
      }
      ++stamp_;
      const auto add = [&](LineCost& line) { line.device.total_ms += ms; };
      add_total(key.owner, add);
      add_total(key.raw, add);
    }
    if (const double unknown = (timeline.unknown.kernel_ns + timeline.unknown.copy_ns) * to_ms; unknown > 0) {
      other_[kUnaskedDeviceWork].device_ms += unknown;
    }
    for (const auto& [key, ns] : input_.device->waits.calls) {
      costs_[input_.tree[key.owner].self_line].device.wait_ms += ns / 1e6;
    }
  }

  /// A line that several code objects share, such as a comprehension's, ran as often as the outermost of them did.
  void set_calls() {
    const recording::Recording& recording = input_.recording;
    std::map<std::pair<std::string_view, std::uint32_t>, std::uint64_t> runs;
    for (std::size_t i = 0; i < recording.run_code().size(); ++i) {
      const std::string_view file = recording.string(recording.code_file()[recording.run_code()[i]]);
      const auto [found, inserted] = runs.try_emplace({file, recording.run_line()[i]}, recording.run_count()[i]);
      if (!inserted) {
        found->second = std::min(found->second, recording.run_count()[i]);
      }
    }
    for (LineId line = 1; line < costs_.size(); ++line) {
      const SourceLine& place = input_.tree.line(line);
      const auto found = runs.find({recording.string(place.file), place.line});
      if (found != runs.end()) {
        costs_[line].calls = found->second;
      }
    }
  }

  LineTable finish() {
    LineTable table;
    for (LineId line = 1; line < costs_.size(); ++line) {
      LineCost& cost = costs_[line];
      const bool empty = cost.total_ms <= 0 && cost.peak_bytes == 0 && cost.weights_bytes == 0 &&
                         cost.gradients_bytes == 0 && cost.activations_bytes == 0 && cost.device.total_ms <= 0;
      if (!empty) {
        cost.location = location_of(line, input_.recording, input_.tree, input_.scope);
        cost.self_spread = input_.timeline.self_spread(line);
        table.user_ms += cost.self_ms;
        table.lines.push_back(cost);
      }
    }
    std::ranges::sort(table.lines, [](const LineCost& a, const LineCost& b) {
      return std::tie(b.self_ms, b.total_ms, a.location.file, a.location.line) <
             std::tie(a.self_ms, a.total_ms, b.location.file, b.location.line);
    });
    for (auto& [name, cost] : other_) {
      if (cost.ms > 0 || cost.peak_bytes > 0 || cost.device_ms > 0) {
        cost.name = name;
        table.other.push_back(cost);
      }
    }
    std::ranges::sort(table.other, std::greater{}, &OtherCost::ms);
    return table;
  }

  const BreakdownInput& input_;
  std::vector<LineCost> costs_;      ///< by line
  std::vector<std::uint32_t> seen_;  ///< by line, the stamp of the cost that last counted it
  std::uint32_t stamp_ = 0;
  std::map<std::string, OtherCost> other_;
};

}  // namespace

LineTable build_lines(const BreakdownInput& input) { return LineCostsBuilder(input).run(); }

}  // namespace ridgeline::analysis
