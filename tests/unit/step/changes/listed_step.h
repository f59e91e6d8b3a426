// A step that was recorded and listed, made by hand: its graph, and its operations as the runner captures them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "protocol/experiment.h"
#include "step/changes/predict_change.h"
#include "step/changes/unchanged_step.h"
#include "step/graph/graph.h"
#include "step/simulate/simulate.h"

namespace ridgeline::step::testing {

/// A step on one thread: Python and operations in turns.
class Step {
 public:
  Step() {
    graph.resources.push_back({"thread 0", step::Resource::Type::kHost});
    graph.names = {""};
    graph.lines.emplace_back();
    graph.modules = {""};
    graph.operations.emplace_back();
    captured.modules = {""};
    append({.kind = step::Kind::kMark});
  }

  /// `python_ns` of Python, then an operation whose key is `name` with `shape`.
  Step& operation(const std::string& name, const std::string& shape, std::int64_t ns, std::int64_t python_ns = 0,
                  protocol::StepPart part = protocol::StepPart::kForward) {
    if (python_ns > 0) {
      append({.duration_ns = python_ns, .kind = step::Kind::kPython});
    }
    const auto index = static_cast<std::uint32_t>(graph.operations.size());
    graph.operations.push_back({step::name_index(graph, name), 0});
    append({.duration_ns = ns, .operation = index, .kind = step::Kind::kOperation});
    capture(captured, name, shape, part);
    return *this;
  }

  /// An operation that the host launches and a device computes.
  Step& launched(const std::string& name, const std::string& shape, std::int64_t launch_ns, std::int64_t ns) {
    operation(name, shape, launch_ns);
    const step::TaskId launch = graph.end;
    const step::Task& task = graph.tasks[launch];
    if (graph.resources.size() == 1) {
      graph.resources.push_back({"device 0, stream 7", step::Resource::Type::kDevice});
    }
    const auto id = static_cast<step::TaskId>(graph.tasks.size());
    graph.tasks.push_back({.duration_ns = ns, .operation = task.operation, .resource = 1, .kind = step::Kind::kKernel});
    graph.dependencies.push_back({launch, id, 0});
    if (last_on_device_ != step::kNoTask) {
      graph.tasks[last_on_device_].next = id;
    }
    last_on_device_ = id;
    return *this;
  }

  /// For the device.
  Step& wait() {
    append({.kind = step::Kind::kWait});
    graph.dependencies.push_back({last_on_device_, graph.end, 0});
    return *this;
  }

  static void capture(protocol::CapturedStep& step, const std::string& name, const std::string& shape,
                      protocol::StepPart part = protocol::StepPart::kForward) {
    const auto index_in = [](std::vector<std::string>& texts, const std::string& text) {
      const auto found = std::ranges::find(texts, text);
      if (found == texts.end()) {
        texts.push_back(text);
        return static_cast<int>(texts.size()) - 1;
      }
      return static_cast<int>(found - texts.begin());
    };
    step.operations.push_back({index_in(step.keys, name + shape), index_in(step.names, name), 0, part});
  }

  UnchangedStep unchanged(StandaloneTimes times) const { return unchanged_step(graph, captured, times); }
  ChangeBasis basis(const Baseline& baseline, StandaloneTimes times) const {
    return *change_basis(graph, captured, baseline, times);
  }

  step::Graph graph;
  protocol::CapturedStep captured;

 private:
  void append(step::Task task) {
    const auto id = static_cast<step::TaskId>(graph.tasks.size());
    if (id > 0) {
      graph.tasks[graph.end].next = id;
    }
    graph.tasks.push_back(task);
    graph.end = id;
  }

  step::TaskId last_on_device_ = step::kNoTask;
};

inline protocol::CapturedStep captured(const std::vector<std::pair<std::string, std::string>>& operations) {
  protocol::CapturedStep step;
  step.modules = {""};
  for (const auto& [name, shape] : operations) {
    Step::capture(step, name, shape);
  }
  return step;
}

inline auto standalone_times(std::map<std::string, double> times, bool are_disturbed = false) {
  return [times = std::move(times), are_disturbed](const std::string& key) -> std::optional<StandaloneTime> {
    const auto found = times.find(key);
    return found == times.end() ? std::nullopt : std::optional(StandaloneTime{found->second, are_disturbed});
  };
}

inline std::int64_t total(const step::Graph& graph) {
  const auto schedule = step::simulate(graph);
  EXPECT_TRUE(schedule);
  return schedule->total_ns;
}

inline protocol::Captured capture_of(protocol::CapturedStep step, int batch_size,
                                     std::array<std::uint64_t, protocol::kStepParts> peaks = {}) {
  protocol::Captured captured;
  captured.step = std::move(step);
  captured.batch_size = batch_size;
  captured.peak_bytes = peaks;
  return captured;
}

}  // namespace ridgeline::step::testing
