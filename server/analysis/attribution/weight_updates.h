// Weights that a script updates itself: which operations are the optimizer's although no optimizer of torch runs them.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/values/profile.h"
#include "protocol/recording.h"

namespace ridgeline::analysis {

/// Follows the operations of a recording by time. After a backward pass, operations outside of modules that run without
/// gradients, one after the other, update weights when one of them changes a tensor in place; with gradients enabled,
/// as `p.data.add_()` is, those that do so after the last backward pass of an iteration.
class WeightUpdates {
 public:
  /// `phase`, by operation, is changed; it outlives this. Both do.
  WeightUpdates(const recording::Recording& recording, std::vector<Phase>& phase);

  void on_backward_node(std::uint32_t op);
  /// Outside of backward. `is_plain`: of no module, loader or optimizer; `is_wrapper`: only a range around others.
  void on_other_op(std::uint32_t op, bool is_plain, bool is_wrapper);
  void finish();

 private:
  enum class Place : std::uint8_t { kElsewhere, kWrapper, kRun };  ///< kWrapper: only a range that holds some of a run
  enum class Change : std::uint8_t { kNone, kWithGradients, kWithout };

  void enter_iteration_of(std::uint32_t op);
  void end_run();

  const recording::Recording& recording_;
  std::vector<Phase>& phase_;
  bool knows_gradients_ = false;  ///< whether operations carry the numbers of autograd nodes
  std::size_t iteration_ = 0;
  bool after_backward_ = false;
  std::vector<Place> place_;         ///< by operation
  std::vector<std::uint32_t> run_;   ///< that go on
  Change change_ = Change::kNone;    ///< of the run
  std::vector<std::uint32_t> late_;  ///< that update weights unless a backward pass follows in the iteration
};

}  // namespace ridgeline::analysis
