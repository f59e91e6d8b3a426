#include "analysis/out_of_memory.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "analysis/attribution/attribution.h"
#include "analysis/attribution/timeline.h"
#include "analysis/breakdown/breakdown.h"
#include "analysis/memory/memory.h"
#include "analysis/memory/peak_model.h"

namespace ridgeline::analysis {

namespace {

using recording::Recording;

bool is_in_iteration(const Recording& recording, std::uint64_t time) {
  return time >= recording.iteration_start().front() && time <= recording.iteration_end().front();
}

/// The operation of the iteration that began last.
std::optional<std::size_t> last_operation(const Recording& recording) {
  std::optional<std::size_t> last;
  for (std::size_t op = 0; op < recording.op_start().size(); ++op) {
    const std::uint64_t start = recording.op_start()[op];
    if (is_in_iteration(recording, start) && (!last.has_value() || start >= recording.op_start()[*last])) {
      last = op;
    }
  }
  return last;
}

std::uint64_t error_moment(const Recording& recording, std::optional<std::size_t> operation) {
  std::uint64_t moment = operation.has_value() ? recording.op_start()[*operation] : recording.iteration_start().front();
  for (std::size_t event = 0; event < recording.memory_time().size(); ++event) {
    const std::uint64_t time = recording.memory_time()[event];
    if (recording.memory_bytes()[event] > 0 && is_in_iteration(recording, time)) {
      moment = std::max(moment, time);
    }
  }
  return moment;
}

constexpr int kMostParts = 64;

/// What the error itself says.
OutOfMemoryError error_of(const FailedStep& step) {
  OutOfMemoryError found;
  found.batch_size = step.batch_size;
  found.asked_bytes = step.asked_bytes;
  found.free_bytes = step.free_bytes;
  if (step.reserved_bytes > 0) {
    found.reserved_bytes = step.reserved_bytes;
  }
  return found;
}

}  // namespace

OutOfMemoryError late_out_of_memory(const FailedStep& step, const Profile& profile) {
  OutOfMemoryError found = error_of(step);
  found.batch_size = profile.batch_size;
  found.location = *step.late_location;
  found.allocated_bytes = step.allocated_bytes;
  found.predicted_bytes = static_cast<double>(profile.peak_bytes);
  return found;
}

std::optional<OutOfMemoryError> predict_out_of_memory(const Profile& profile, int batch_size) {
  if (!profile.peak_model.has_value()) {
    return std::nullopt;
  }
  OutOfMemoryError found;
  found.batch_size = batch_size;
  found.was_run = false;
  for (const PeakPart& part : peak_parts(*profile.peak_model, batch_size)) {
    const auto bytes = static_cast<std::uint64_t>(std::llround(std::max(0.0, part.intercept)));
    found.lines.push_back({part.location, part.category, bytes});
    found.by_category[static_cast<std::size_t>(part.category)] += bytes;
    found.allocated_bytes += bytes;
  }
  std::ranges::stable_sort(found.lines, std::greater{}, &AliveLine::bytes);
  return found;
}

void add_what_fits(const Predictor& predictor, std::uint64_t capacity_bytes, OutOfMemoryError& found) {
  const auto peak_of = [&](int batch_size) { return best_peak_bytes(predict_batch(predictor, batch_size)); };
  found.predicted_bytes = peak_of(found.batch_size).value_or(0);
  for (int parts = 2; parts <= std::min(kMostParts, found.batch_size); ++parts) {
    if (found.batch_size % parts != 0) {
      continue;
    }
    const auto peak = peak_of(found.batch_size / parts);
    if (peak.has_value() && *peak <= static_cast<double>(capacity_bytes)) {
      found.fitting_parts = parts;
      found.parts_bytes = *peak;
      return;
    }
  }
}

OutOfMemoryError describe_out_of_memory(const FailedStep& step, const SourceScope& scope) {
  OutOfMemoryError found = error_of(step);
  const Recording& recording = *step.recording;
  if (recording.iteration_start().empty()) {
    return found;
  }
  const Attribution attribution = attribute(recording, scope);
  const Timeline timeline = build_timeline(recording, attribution);
  const CallTree& tree = timeline.tree;
  const auto place_of = [&](TreeNode owner) {
    const LineId line = tree[owner].self_line;
    return line == 0 ? Location{} : location_of(line, recording, tree, scope);
  };
  const auto operation = last_operation(recording);
  if (operation.has_value()) {
    found.location = place_of(attribution.owner[*operation]);
    found.operation = operation_name(recording.string(attribution.operation[*operation]));
  }
  const MemoryAnalysis memory = analyse_memory(recording, attribution, tree, error_moment(recording, operation));
  found.allocated_bytes = memory.peak_bytes;
  std::map<std::pair<LineId, Category>, std::uint64_t> lines;
  std::map<LineId, TreeNode> owners;
  for (const MemoryCost& block : memory.at_peak) {
    const LineId line = tree[block.owner].self_line;
    owners.try_emplace(line, block.owner);
    lines[{line, block.category}] += block.bytes;
    found.by_category[static_cast<std::size_t>(block.category)] += block.bytes;
  }
  for (const auto& [key, bytes] : lines) {
    found.lines.push_back({place_of(owners.at(key.first)), key.second, bytes});
  }
  std::ranges::stable_sort(found.lines, std::greater{}, &AliveLine::bytes);
  return found;
}

}  // namespace ridgeline::analysis
