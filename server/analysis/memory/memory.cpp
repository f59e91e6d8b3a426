#include "analysis/memory/memory.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "analysis/memory/allocator_replay.h"

namespace ridgeline::analysis {

namespace {

using recording::kNone;
using recording::Recording;
using recording::Role;
using recording::Stage;

class Analyser {
 public:
  Analyser(const Recording& recording, const Attribution& attribution, const CallTree& tree,
           std::optional<std::uint64_t> moment)
      : recording_(recording), attribution_(attribution), tree_(tree), moment_(moment), replay_(recording) {}

  MemoryAnalysis run() {
    replay();
    start_ = recording_.iteration_start()[peak_.iteration];
    end_ = recording_.iteration_end()[peak_.iteration];
    find_backward_starts();
    find_parameter_owners();
    MemoryAnalysis result;
    result.iteration = peak_.iteration;
    for (const Block& block : replay_.blocks()) {
      const MemoryCost cost = classify(block);
      result.blocks.push_back(cost);
      if (alive_at_peak(block)) {
        result.at_peak.push_back(cost);
        result.peak_bytes += cost.bytes;
      }
      add_definitions(block, cost, result);
    }
    add_gradients(result);
    return result;
  }

 private:
  /// One pass: lives of blocks, roles, and the peak.
  void replay() {
    std::size_t role = 0;
    // Roles are noted between events: those up to an event's time speak of the blocks before it.
    peak_ = find_peak(recording_, replay_, [&](std::uint32_t event) {
      const bool last = event + 1 == recording_.memory_time().size();
      const std::uint64_t until = last ? kForever : recording_.memory_time()[event + 1];
      while (role < recording_.role_time().size() && recording_.role_time()[role] < until) {
        assign(role++);
      }
    });
    if (moment_.has_value()) {
      const auto times = recording_.memory_time();
      const auto until = std::ranges::upper_bound(times, *moment_) - times.begin();
      peak_ = {0, until == 0 ? kNone : static_cast<std::uint32_t>(until - 1), 0};
    }
  }

  void assign(std::size_t role) {
    Block* block = replay_.at(recording_.role_address()[role]);
    if (block == nullptr) {
      return;
    }
    const auto kind = static_cast<Role>(recording_.role_kind()[role]);
    const std::uint32_t parameter = recording_.role_parameter()[role];
    if (!block->role.has_value() || kind < *block->role) {
      block->role = kind;
      block->parameter = parameter;
    }
    if (kind == Role::kGradient && parameter != kNone) {
      gradient_log_.push_back({recording_.role_time()[role], parameter, block->event});
    }
  }

  void find_backward_starts() {
    for (std::size_t op = 0; op < recording_.op_scope().size(); ++op) {
      if (static_cast<recording::Scope>(recording_.op_scope()[op]) == recording::Scope::kBackward) {
        backward_starts_.push_back(recording_.op_start()[op]);
      }
    }
    std::ranges::sort(backward_starts_);
  }

  void find_parameter_owners() {
    for (const Block& block : replay_.blocks()) {
      if ((block.role == Role::kParameter || block.role == Role::kBuffer) && block.parameter != kNone) {
        parameter_owner_.try_emplace(block.parameter, owner_of(block));
      }
    }
  }

  TreeNode owner_of(const Block& block) const {
    const std::uint32_t op = recording_.memory_op()[block.event];
    const std::uint32_t stack = recording_.memory_node()[block.event];
    if (op == kNone) {
      return tree_.node_of_stack(stack);
    }
    const bool own_stack = stack != recording_.op_node()[op] && !in_backward(attribution_.phase[op]);
    return own_stack ? tree_.node_of_stack(stack) : attribution_.owner[op];
  }

  Phase phase_of(const Block& block) const {
    const std::uint32_t op = recording_.memory_op()[block.event];
    if (op != kNone && (in_backward(attribution_.phase[op]) || !attribution_.runs_python[op])) {
      return attribution_.phase[op];
    }
    const Phase phase = python_phase(tree_[tree_.node_of_stack(recording_.memory_node()[block.event])]);
    return phase == Phase::kOther ? Phase::kForward : phase;
  }

  bool alive_at_peak(const Block& block) const {
    const bool born = peak_.event != kNone && block.event <= peak_.event;
    return born && (block.death_event == kNone || block.death_event > peak_.event);
  }

  /// Whether it is a bucket of DistributedDataParallel, whose reducer makes its buckets without Python code of its own.
  bool is_bucket(const Block& block) const {
    const TreeNode node = tree_.node_of_stack(recording_.memory_node()[block.event]);
    return node != 0 && tree_.traits(tree_[node].code).ddp;
  }

  /// When the forward pass that a block belongs to ended: at the first autograd node after it; never when none came.
  std::uint64_t forward_end(std::uint64_t birth) const {
    const auto next = std::ranges::upper_bound(backward_starts_, birth);
    return next == backward_starts_.end() || *next > iteration_end_after(birth) ? kForever : *next;
  }

  /// The end of the recorded iteration that a block was made in, or before.
  std::uint64_t iteration_end_after(std::uint64_t birth) const {
    const auto ends = recording_.iteration_end();
    const auto end = std::ranges::lower_bound(ends, birth);
    return end == ends.end() ? end_ : *end;
  }

  bool outlives_forward(const Block& block) const {
    const std::uint64_t forward = forward_end(recording_.memory_time()[block.event]);
    return forward != kForever && block.death > forward;
  }

  Category category_of(const Block& block) const {
    if (block.role.has_value()) {
      switch (*block.role) {
        case Role::kParameter:
        case Role::kBuffer:
          return Category::kWeights;
        case Role::kGradient:
          return Category::kGradients;
        case Role::kInput:
          return Category::kInputs;
      }
    }
    if (is_bucket(block)) {
      return Category::kTemporaries;
    }
    const auto stage = static_cast<Stage>(recording_.memory_stage()[block.event]);
    const Phase phase = phase_of(block);
    const bool is_older = recording_.memory_time()[block.event] < start_;
    const bool is_loaded = stage == Stage::kLoad && (is_older || !moment_.has_value());
    if (stage == Stage::kInput || is_loaded || phase == Phase::kData) {
      return Category::kInputs;
    }
    if (is_older && stage != Stage::kIteration) {
      return stage == Stage::kModel ? Category::kWeights : Category::kOptimizerState;
    }
    const bool outlives_step = block.death > end_;
    if (phase == Phase::kOptimizer) {
      return is_older || outlives_step ? Category::kOptimizerState : Category::kTemporaries;
    }
    if (is_older && outlives_step) {
      return Category::kOptimizerState;
    }
    // What an earlier step left to this one, such as its output, is what it was there.
    const bool kept = phase == Phase::kForward || phase == Phase::kRecomputation;
    const bool is_cut_off = moment_.has_value() && forward_end(recording_.memory_time()[block.event]) == kForever;
    return kept && (is_cut_off || outlives_forward(block)) ? Category::kActivations : Category::kTemporaries;
  }

  MemoryCost classify(const Block& block) const {
    MemoryCost cost{category_of(block), owner_of(block),  block.parameter, recording_.memory_bytes()[block.event],
                    block.event,        block.death_event};
    if (cost.category == Category::kGradients) {
      const auto owner = parameter_owner_.find(block.parameter);
      cost.owner = owner == parameter_owner_.end() ? cost.owner : owner->second;
    }
    return cost;
  }

  void add_definitions(const Block& block, const MemoryCost& cost, MemoryAnalysis& result) const {
    const std::uint64_t birth = recording_.memory_time()[block.event];
    if (cost.category == Category::kActivations && birth >= start_ && birth <= end_ &&
        phase_of(block) == Phase::kForward) {
      result.activations.push_back(cost);
    }
    if (cost.category == Category::kWeights && birth < start_) {
      result.weights.push_back(cost);
    }
  }

  /// The last gradient of each parameter; a sparse one has several blocks, noted at one time.
  void add_gradients(MemoryAnalysis& result) const {
    std::map<std::uint32_t, std::vector<GradientMark>> last;
    for (const GradientMark& mark : gradient_log_) {
      if (mark.time < start_ || mark.time > end_ + kMarkSlackNs) {
        continue;
      }
      std::vector<GradientMark>& marks = last[mark.parameter];
      if (!marks.empty() && marks.front().time != mark.time) {
        marks.clear();
      }
      marks.push_back(mark);
    }
    for (const auto& [parameter, marks] : last) {
      const auto owner = parameter_owner_.find(parameter);
      for (const GradientMark& mark : marks) {
        result.gradients.push_back({Category::kGradients, owner == parameter_owner_.end() ? 0 : owner->second,
                                    parameter, recording_.memory_bytes()[mark.event], mark.event});
      }
    }
  }

  struct GradientMark {
    std::uint64_t time;
    std::uint32_t parameter;
    std::uint32_t event;
  };
  /// The agent notes the gradients right after it closes an iteration.
  static constexpr std::uint64_t kMarkSlackNs = 50'000'000;

  const Recording& recording_;
  const Attribution& attribution_;
  const CallTree& tree_;
  std::optional<std::uint64_t> moment_;
  Replay replay_;
  Peak peak_;
  std::uint64_t start_ = 0;
  std::uint64_t end_ = 0;
  std::vector<std::uint64_t> backward_starts_;
  std::unordered_map<std::uint32_t, TreeNode> parameter_owner_;
  std::vector<GradientMark> gradient_log_;
};

}  // namespace

MemoryAnalysis analyse_memory(const Recording& recording, const Attribution& attribution, const CallTree& tree,
                              std::optional<std::uint64_t> moment) {
  return Analyser(recording, attribution, tree, moment).run();
}

}  // namespace ridgeline::analysis
