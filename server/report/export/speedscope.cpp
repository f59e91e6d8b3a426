#include "report/export/speedscope.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "analysis/analysed_run.h"
#include "report/export/exported_places.h"

namespace ridgeline::report {

namespace {

using analysis::AnalysedRun;
using analysis::CostKey;
using analysis::TreeNode;
using Json = nlohmann::ordered_json;
using Stack = std::vector<std::size_t>;  // frames, outermost first

constexpr double kNsPerMs = 1e6;

/// A name and a place; no two frames are alike.
class Frames {
 public:
  std::size_t add(const std::string& name, const std::string& file = {}, std::uint32_t line = 0) {
    const auto [found, inserted] = indices_.try_emplace({name, file, line}, indices_.size());
    if (inserted) {
      Json frame = {{"name", name}};
      if (!file.empty()) {
        frame["file"] = file;
        frame["line"] = line;
      }
      frames_.push_back(std::move(frame));
    }
    return found->second;
  }
  Json take() { return std::move(frames_); }

 private:
  std::map<std::tuple<std::string, std::string, std::uint32_t>, std::size_t> indices_;
  Json frames_ = Json::array();
};

/// By owner, so that the same run gives the same file.
template <typename Costs>
auto sorted(const Costs& costs) {
  std::vector<std::pair<CostKey, typename Costs::mapped_type>> list(costs.begin(), costs.end());
  std::ranges::sort(list, {}, [](const auto& entry) {
    const CostKey& key = entry.first;
    return std::tuple(key.owner, key.raw, key.operation, key.phase, key.tail);
  });
  return list;
}

class StackExporter {
 public:
  explicit StackExporter(const analysis::RecordedRun& recorded)
      : recorded_(recorded), analysed_(analysis::analyse_batch(recorded.run, recorded.scope)) {}

  std::string run(const analysis::Profile& profile) {
    Json profiles = {time(), memory()};
    if (analysed_.device) {
      profiles.push_back(device());
    }
    const Json file = {{"$schema", "https://www.speedscope.app/file-format-schema.json"},
                       {"exporter", "ridgeline"},
                       {"name", profile.entry_path},
                       {"activeProfileIndex", 0},
                       {"shared", {{"frames", frames_.take()}}},
                       {"profiles", std::move(profiles)}};
    return file.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }

 private:
  using Weights = std::map<Stack, double>;

  Json time() {
    Weights weights;
    for (const auto& [key, cost] : sorted(analysed_.timeline.costs)) {
      weights[stack_of(key)] += cost.ns * analysed_.scale / kNsPerMs;
    }
    return sampled("time of one iteration", "milliseconds", weights);
  }

  Json memory() {
    Weights weights;
    for (const analysis::MemoryCost& block : analysed_.memory.at_peak) {
      Stack stack = user_stack(block.owner);
      stack.push_back(frames_.add(analysis::kCategoryLabels[static_cast<std::size_t>(block.category)]));
      weights[std::move(stack)] += static_cast<double>(block.bytes);
    }
    return sampled("memory at the peak", "bytes", weights);
  }

  Json device() {
    const double to_ms = analysed_.device->scale / kNsPerMs;
    const analysis::DeviceTimeline& timeline = analysed_.device->timeline;
    Weights weights;
    for (const auto& [key, cost] : sorted(timeline.costs)) {
      weights[stack_of(key)] += (cost.kernel_ns + cost.copy_ns) * to_ms;
    }
    if (const double unknown = timeline.unknown.kernel_ns + timeline.unknown.copy_ns; unknown > 0) {
      weights[{frames_.add(analysis::kUnaskedDeviceWork)}] += unknown * to_ms;
    }
    return sampled("time of device " + std::to_string(timeline.device), "milliseconds", weights);
  }

  /// The stack that answers for a part, and the operation with its phase.
  Stack stack_of(const CostKey& key) {
    Stack stack = user_stack(key.owner);
    const std::string phase = analysis::kPhaseNames[static_cast<std::size_t>(key.phase)];
    const std::string operation = analysis::operation_name(recorded_.run.recording.string(key.operation));
    stack.push_back(frames_.add(key.tail            ? "end of the iteration"
                                : operation.empty() ? "Python (" + phase + ")"
                                                    : operation + " (" + phase + ")"));
    return stack;
  }

  /// Modules and lines of the user, outermost first.
  Stack user_stack(TreeNode node) {
    const auto [found, inserted] = stacks_.try_emplace(node);
    if (inserted) {
      for (TreeNode frame = node; frame != 0; frame = analysed_.timeline.tree[frame].parent) {
        add_frame(frame, found->second);
      }
      if (found->second.empty()) {
        found->second.push_back(frames_.add("outside user lines"));
      }
      std::ranges::reverse(found->second);
    }
    return found->second;
  }

  void add_frame(TreeNode node, Stack& stack) {
    const analysis::CallTree& tree = analysed_.timeline.tree;
    const recording::Recording& recording = recorded_.run.recording;
    if (const analysis::LineId line = tree[node].line; line != 0) {
      const analysis::Location place = analysis::location_of(line, recording, tree, recorded_.scope);
      const std::string function(recording.string(recording.code_name()[tree[node].code]));
      const std::string file = place.file.substr(place.file.find_last_of('/') + 1);
      stack.push_back(
          frames_.add(function + " (" + file + ":" + std::to_string(place.line) + ")", place.file, place.line));
    }
    if (const std::uint32_t instance = tree[node].instance; instance != 0) {
      stack.push_back(frames_.add(module_text(instance, recorded_)));
    }
  }

  static Json sampled(const std::string& name, const char* unit, const Weights& weights) {
    Json samples = Json::array();
    Json values = Json::array();
    double sum = 0;
    for (const auto& [stack, weight] : weights) {
      if (weight > 0) {
        samples.push_back(stack);
        values.push_back(weight);
        sum += weight;
      }
    }
    return {{"type", "sampled"},
            {"name", name},
            {"unit", unit},
            {"startValue", 0},
            {"endValue", sum},
            {"samples", std::move(samples)},
            {"weights", std::move(values)}};
  }

  const analysis::RecordedRun& recorded_;
  const AnalysedRun analysed_;
  Frames frames_;
  std::map<TreeNode, Stack> stacks_;
};

}  // namespace

std::string speedscope_profile(const analysis::RecordedRun& recorded, const analysis::Profile& profile) {
  return StackExporter(recorded).run(profile);
}

}  // namespace ridgeline::report
