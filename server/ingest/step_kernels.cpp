#include "ingest/step_kernels.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "protocol/graph_capture.h"

namespace ridgeline::ingest {

namespace {

using recording::kNone;

constexpr double kMostLost = 0.01;       ///< of a step's launches
constexpr double kFewKernels = 0.5;      ///< of the middle of those with any
constexpr double kManyOperations = 0.8;  ///< likewise

struct StepWork {
  std::size_t operations = 0;
  std::size_t kernels = 0;
  std::size_t launches = 0;
  std::size_t lost = 0;  ///< launches without a kernel
};

class StepCounter {
 public:
  StepCounter(const recording::Columns& columns, const std::vector<std::pair<std::uint64_t, std::uint64_t>>& steps)
      : from_(columns), steps_(steps), works_(steps.size()) {}

  std::vector<StepWork> run() {
    for (const std::uint64_t start : from_.op_start) {
      if (StepWork* const work = at(start)) {
        ++work->operations;
      }
    }
    std::vector<bool> has_activity(from_.call_start.size());
    for (std::size_t i = 0; i < from_.activity_start.size(); ++i) {
      const std::uint32_t call = from_.activity_call[i];
      if (call != kNone) {
        has_activity[call] = true;
      }
      if (StepWork* const work = at(call == kNone ? from_.activity_start[i] : from_.call_start[call])) {
        ++work->kernels;
      }
    }
    recording::GraphCapture capture;
    for (std::size_t call = 0; call < from_.call_start.size(); ++call) {
      const std::string_view name = text(from_.call_name[call]);
      const bool is_captured = capture.captures(from_.call_thread[call], name);
      StepWork* const work = is_launch(call, name) && !is_captured ? at(from_.call_start[call]) : nullptr;
      if (work != nullptr) {
        ++work->launches;
        work->lost += has_activity[call] ? 0U : 1U;
      }
    }
    return std::move(works_);
  }

 private:
  bool is_launch(std::size_t call, std::string_view name) const {
    return static_cast<recording::Call>(from_.call_kind[call]) == recording::Call::kLaunch &&
           !base::contains(name, "HostFunc");
  }

  std::string_view text(std::uint32_t index) const {
    const std::uint32_t begin = index == 0 ? 0 : from_.string_ends[index - 1];
    return {reinterpret_cast<const char*>(from_.string_bytes.data()) + begin, from_.string_ends[index] - begin};
  }

  StepWork* at(std::uint64_t time) {
    const auto after = std::ranges::upper_bound(steps_, time, {}, [](const auto& step) { return step.first; });
    const auto step = static_cast<std::size_t>(after - steps_.begin());
    return step == 0 || time >= steps_[step - 1].second ? nullptr : &works_[step - 1];
  }

  const recording::Columns& from_;
  const std::vector<std::pair<std::uint64_t, std::uint64_t>>& steps_;
  std::vector<StepWork> works_;
};

/// In the middle of the steps that have any; 0: none has.
double middle_count(const std::vector<StepWork>& works, std::size_t StepWork::*what) {
  std::vector<std::size_t> counts;
  for (const StepWork& work : works) {
    if (work.*what > 0) {
      counts.push_back(work.*what);
    }
  }
  if (counts.empty()) {
    return 0;
  }
  const auto at = counts.begin() + static_cast<std::ptrdiff_t>(counts.size() / 2);
  std::ranges::nth_element(counts, at);
  return static_cast<double>(*at);
}

}  // namespace

std::vector<bool> steps_that_lost_kernels(const recording::Columns& columns,
                                          const std::vector<std::pair<std::uint64_t, std::uint64_t>>& steps) {
  const std::vector<StepWork> works = StepCounter(columns, steps).run();
  const double kernels = middle_count(works, &StepWork::kernels);
  const double operations = middle_count(works, &StepWork::operations);
  const bool some_are_whole =
      std::ranges::any_of(works, [](const StepWork& work) { return work.kernels > 0 && work.lost == 0; });
  std::vector<bool> lost;
  for (const StepWork& work : works) {
    const bool is_empty = operations > 0 && static_cast<double>(work.operations) >= kManyOperations * operations &&
                          static_cast<double>(work.kernels) < kFewKernels * kernels;
    const bool lacks_some = static_cast<double>(work.lost) > kMostLost * static_cast<double>(work.launches);
    lost.push_back(is_empty || (some_are_whole && lacks_some));
  }
  return std::ranges::all_of(lost, [](bool one) { return one; }) ? std::vector<bool>(lost.size()) : lost;
}

}  // namespace ridgeline::ingest
