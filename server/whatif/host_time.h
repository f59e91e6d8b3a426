// Host time between operations: of Python, autograd and the dispatch, in changed steps too.
//
// The runner lists the operations of a changed step without computing them, and observes the time between them there
// (operation_log.py, host_times). Its own part of each is as long in every operation, and Python is as much slower
// there in the changed step as in the unchanged one, of which both the listed and the recorded time is known.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "protocol/experiment.h"

namespace ridgeline::whatif {

/// By protocol::StepPart: from what was observed while operations were listed to what it takes in the step.
class HostTime {
 public:
  /// `recorded_ns`: by operation of the step, the time on its thread since the operation before it.
  HostTime(const protocol::CapturedStep& step, const std::vector<double>& recorded_ns);

  /// Nanoseconds in the step before operation `i` of `step`, where it was observed; else the mean of its part.
  double before(const protocol::CapturedStep& step, std::size_t i) const;

 private:
  struct Part {
    double listing_ns = 0;  ///< of what was observed: of the listing itself
    double mean_ns = 0;     ///< recorded
  };
  std::array<Part, protocol::kStepParts> parts_{};
  double ratio_ = 1;  ///< the recorded time over the rest of what was observed, typically
  bool observed_;
};

}  // namespace ridgeline::whatif
