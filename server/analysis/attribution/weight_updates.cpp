#include "analysis/attribution/weight_updates.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace ridgeline::analysis {

namespace {

/// The operations of updates written by hand. Activations in place are not among them.
constexpr std::array kUpdates = {"add_", "sub_", "mul_", "div_", "addcmul_", "addcdiv_", "lerp_", "copy_", "zero_"};

bool is_update(std::string_view name) {
  constexpr std::string_view kPrefix = "aten::";
  if (!name.starts_with(kPrefix)) {
    return false;
  }
  name.remove_prefix(kPrefix.size());
  return (name.starts_with("_foreach_") && name.ends_with('_')) || std::ranges::find(kUpdates, name) != kUpdates.end();
}

}  // namespace

WeightUpdates::WeightUpdates(const recording::Recording& recording, std::vector<Phase>& phase)
    : recording_(recording), phase_(phase), place_(recording.op_name().size()) {
  for (std::uint32_t op = 0; op < place_.size() && !knows_gradients_; ++op) {
    const auto scope = static_cast<recording::Scope>(recording.op_scope()[op]);
    knows_gradients_ = scope == recording::Scope::kFunction && recording.op_sequence()[op] >= 0;
  }
}

void WeightUpdates::enter_iteration_of(std::uint32_t op) {
  const auto starts = recording_.iteration_start();
  const std::uint64_t start = recording_.op_start()[op];
  bool is_new = false;
  while (iteration_ < starts.size() && starts[iteration_] <= start) {
    ++iteration_;
    is_new = true;
  }
  if (is_new) {
    finish();
    after_backward_ = false;
  }
}

void WeightUpdates::on_backward_node(std::uint32_t op) {
  enter_iteration_of(op);
  end_run();
  late_.clear();
  after_backward_ = knows_gradients_;
}

void WeightUpdates::on_other_op(std::uint32_t op, bool is_plain, bool is_wrapper) {
  enter_iteration_of(op);
  if (!after_backward_) {
    return;
  }
  const std::uint32_t parent = recording_.op_parent()[op];
  if (!is_plain) {
    end_run();
    return;
  }
  if (parent != recording::kNone && place_[parent] == Place::kElsewhere) {
    return;  // what an operation with gradients runs
  }
  if (is_wrapper) {
    place_[op] = Place::kWrapper;
    return;
  }
  const bool with_gradients = recording_.op_sequence()[op] >= 0;
  const bool is_outermost = parent == recording::kNone || place_[parent] == Place::kWrapper;
  const bool changes = is_outermost && is_update(recording_.string(recording_.op_name()[op]));
  if (is_outermost && with_gradients && !changes) {
    end_run();
    return;
  }
  place_[op] = Place::kRun;
  run_.push_back(op);
  if (changes) {
    change_ = std::max(change_, with_gradients ? Change::kWithGradients : Change::kWithout);
  }
}

void WeightUpdates::end_run() {
  if (change_ == Change::kWithout) {
    for (const std::uint32_t op : run_) {
      phase_[op] = Phase::kOptimizer;
    }
  } else if (change_ == Change::kWithGradients) {
    late_.insert(late_.end(), run_.begin(), run_.end());
  }
  run_.clear();
  change_ = Change::kNone;
}

void WeightUpdates::finish() {
  end_run();
  for (const std::uint32_t op : late_) {
    phase_[op] = Phase::kOptimizer;
  }
  late_.clear();
}

}  // namespace ridgeline::analysis
