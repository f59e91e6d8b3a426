#include "analysis/device/lost_kernels.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/attribution/timeline.h"
#include "base/text.h"
#include "protocol/graph_capture.h"

namespace ridgeline::analysis {

namespace {

using recording::Call;
using recording::kNone;
using recording::Recording;

/// Finds the iteration that a time is in, for times in order.
class Iterations {
 public:
  explicit Iterations(const Recording& recording) : recording_(recording), chosen_(chosen_iterations(recording)) {}

  bool contain(std::uint64_t time) const {
    const auto next =
        std::ranges::upper_bound(chosen_, time, {}, [&](std::size_t i) { return recording_.iteration_start()[i]; });
    return next != chosen_.begin() && time < recording_.iteration_end()[*std::prev(next)];
  }

 private:
  const Recording& recording_;
  std::vector<std::size_t> chosen_;
};

bool launches_kernel(Call kind, std::string_view name) {
  return kind == Call::kLaunch && !base::contains(name, "Graph") && !base::contains(name, "HostFunc");
}

/// Kernels by call; and how many, while the iterations run, are of no call that launches.
struct Kernels {
  std::vector<bool> of_call;
  std::vector<bool> has_activity;  ///< by call: of any kind
  std::size_t unlinked = 0;
};

Kernels kernels_of(const Recording& recording, const Iterations& iterations) {
  Kernels kernels{std::vector<bool>(recording.call_name().size()), std::vector<bool>(recording.call_name().size())};
  for (std::size_t i = 0; i < recording.activity_kind().size(); ++i) {
    if (recording.activity_call()[i] != kNone) {
      kernels.has_activity[recording.activity_call()[i]] = true;
    }
    if (static_cast<recording::Activity>(recording.activity_kind()[i]) != recording::Activity::kKernel) {
      continue;
    }
    const std::uint32_t call = recording.activity_call()[i];
    if (call != kNone && static_cast<Call>(recording.call_kind()[call]) == Call::kLaunch) {
      kernels.of_call[call] = true;
    } else if (iterations.contain(recording.activity_start()[i])) {
      ++kernels.unlinked;
    }
  }
  return kernels;
}

}  // namespace

Launches count_launches(const Recording& recording) {
  const Iterations iterations(recording);
  const Kernels kernels = kernels_of(recording, iterations);
  Launches launches;
  std::size_t without = 0;
  std::uint64_t end = 0;  // of the last launch of the thread
  bool outer_lost = false;
  recording::GraphCapture capture;
  for (std::size_t call = 0; call < recording.call_name().size(); ++call) {
    if (call == 0 || recording.call_thread()[call] != recording.call_thread()[call - 1]) {
      end = 0;
    }
    const std::string_view name = recording.string(recording.call_name()[call]);
    const bool is_captured = capture.captures(recording.call_thread()[call], name);
    const std::uint64_t start = recording.call_start()[call];
    if (base::contains(name, "GraphLaunch") && iterations.contain(start)) {
      ++launches.graphs;
      launches.graphs_without += kernels.has_activity[call] ? 0U : 1U;
    }
    if (is_captured || !launches_kernel(static_cast<Call>(recording.call_kind()[call]), name) ||
        !iterations.contain(start)) {
      continue;
    }
    if (start < end) {  // inside the last one
      without -= outer_lost && kernels.of_call[call] ? 1U : 0U;
      outer_lost = outer_lost && !kernels.of_call[call];
      continue;
    }
    ++launches.count;
    end = recording.call_end()[call];
    outer_lost = !kernels.of_call[call];
    without += outer_lost ? 1U : 0U;
  }
  launches.without_kernel = without - std::min(without, kernels.unlinked);
  launches.graphs_without -= std::min(launches.graphs_without, kernels.unlinked);
  return launches;
}

}  // namespace ridgeline::analysis
