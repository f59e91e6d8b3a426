// Host time between operations: of Python, autograd and the dispatch, in changed steps too.
//
// The runner lists the operations of a changed step without computing them, and observes the time between them there
// (operation_log.py, host_times). What the listing itself takes of it, above all for handing the arguments to Python,
// is as long for each operation of a name, and known from the unchanged step, which is both listed and recorded. The
// machine may have been slower when the changed step was listed, by as much as for the operations that both steps have.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "protocol/experiment.h"

namespace ridgeline::step {

/// From what was observed while operations were listed to what it takes in the step.
class HostTime {
 public:
  /// `recorded_ns`: by operation of the step, the time on its thread since the operation before it.
  HostTime(const protocol::CapturedStep& step, const std::vector<double>& recorded_ns);

  /// Nanoseconds in the step before operation `i` of `step`, where it was observed; else the mean of its part. Below 0
  /// where less was observed than the listing usually takes: sums are right.
  /// `slower`: how much slower the machine was then than when the operations of the unchanged step were listed.
  double before(const protocol::CapturedStep& step, std::size_t i, double slower = 1) const;

 private:
  std::unordered_map<std::string, double> listing_ns_;  ///< by name: what the listing takes before each
  double usual_listing_ns_ = 0;                         ///< likewise, of other names
  std::array<double, protocol::kStepParts> mean_ns_{};  ///< recorded
  bool observed_;
};

/// How much slower the machine was when the operations of the changed step were listed: typically, before operations
/// that both steps have. `pairs`: of match_operations(). 1 where it was not observed of both.
double slower_listing(const protocol::CapturedStep& unchanged, const protocol::CapturedStep& changed,
                      const std::vector<std::pair<std::size_t, std::size_t>>& pairs);

/// Whether the host does something else before an operation that has the same one before it in both steps, as where
/// activation checkpointing notes which tensors backward needs. `slower`: as above.
bool has_other_host_time(double unchanged_ns, double changed_ns, double slower);

}  // namespace ridgeline::step
