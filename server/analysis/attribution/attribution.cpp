#include "analysis/attribution/attribution.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "analysis/attribution/compiled_regions.h"
#include "analysis/attribution/weight_updates.h"

namespace ridgeline::analysis {

namespace {

using recording::kNone;
using recording::Scope;

/// (forward thread, sequence number) → the last forward op that carried it.
class ForwardOps {
 public:
  void add(std::uint64_t thread, std::int64_t sequence, std::uint32_t op) {
    PerThread& ops = threads_[thread];
    if (ops.by_sequence.empty()) {
      ops.first = sequence;
    }
    if (sequence < ops.first || sequence - ops.first > kMaxSpan) {
      return;
    }
    const auto index = static_cast<std::size_t>(sequence - ops.first);
    if (index >= ops.by_sequence.size()) {
      ops.by_sequence.resize(index + 1, kNone);
    }
    ops.by_sequence[index] = op;
  }

  std::uint32_t find(std::uint64_t thread, std::int64_t sequence) const {
    const auto ops = threads_.find(thread);
    if (ops == threads_.end() || sequence < ops->second.first) {
      return kNone;
    }
    const auto index = static_cast<std::uint64_t>(sequence - ops->second.first);
    return index < ops->second.by_sequence.size() ? ops->second.by_sequence[index] : kNone;
  }

 private:
  /// Sequence numbers are dense: a gap this large means damaged data, which is ignored.
  static constexpr std::int64_t kMaxSpan = std::int64_t{1} << 26;
  struct PerThread {
    std::int64_t first = 0;
    std::vector<std::uint32_t> by_sequence;
  };
  std::unordered_map<std::uint64_t, PerThread> threads_;
};

class Attributor {
 public:
  Attributor(const recording::Recording& recording, const SourceScope& scope)
      : recording_(recording), result_{CallTree(recording, scope)} {}

  Attribution run() {
    const std::size_t count = recording_.op_name().size();
    result_.owner.resize(count);
    result_.operation.resize(count);
    result_.phase.resize(count);
    result_.runs_python.resize(count);
    result_.starts_operation.resize(count);
    node_of_.resize(count, kNone);
    script_part_.resize(count, kNone);
    part_is_known_.resize(count);
    last_nodes_.resize(recording_.thread_torch_id().size(), kNone);
    find_hooked_nodes();
    updates_.emplace(recording_, result_.phase);
    for (const std::uint32_t op : by_time()) {
      add(op);
    }
    updates_->finish();
    updates_.reset();
    return std::move(result_);
  }

 private:
  /// The engine opens one op for a node with its hooks, and inside it the node.
  void find_hooked_nodes() {
    hooked_node_.resize(recording_.op_name().size(), kNone);
    for (std::uint32_t op = 0; op < hooked_node_.size(); ++op) {
      const std::uint32_t parent = recording_.op_parent()[op];
      if (scope_of(op) == Scope::kBackward && parent != kNone && scope_of(parent) == Scope::kBackward &&
          recording_.op_sequence()[parent] < 0 && recording_.op_node()[parent] == recording_.op_node()[op]) {
        hooked_node_[parent] = op;
      }
    }
  }

  /// All ops by start time: a node may run on another thread than its forward op, of a lower or a higher number. The
  /// columns hold one thread after the other, and parents before children, which this keeps.
  std::vector<std::uint32_t> by_time() const {
    std::vector<std::uint32_t> order(recording_.op_name().size());
    std::iota(order.begin(), order.end(), 0U);
    const auto start = [this](std::uint32_t op) { return recording_.op_start()[op]; };
    if (!std::ranges::is_sorted(order, {}, start)) {
      std::ranges::stable_sort(order, {}, start);
    }
    return order;
  }

  std::uint32_t& last_node(std::uint32_t op) { return last_nodes_[recording_.op_thread()[op]]; }

  void add(std::uint32_t op) {
    const Scope scope = scope_of(op);
    const std::uint32_t parent = recording_.op_parent()[op];
    result_.runs_python[op] = scope != Scope::kFunction;
    if (scope == Scope::kBackward) {
      updates_->on_backward_node(op);
      add_backward_node(op);
      last_node(op) = op;
      return;
    }
    node_of_[op] = parent == kNone ? kNone : node_of_[parent];
    if (node_of_[op] != kNone) {
      add_inside_backward_node(op, node_of_[op]);
    } else {
      add_outside_backward(op);
    }
    note_sequence(op);
  }

  void add_backward_node(std::uint32_t op) {
    node_of_[op] = op;
    result_.phase[op] = Phase::kBackward;
    const std::uint32_t node = hooked_node_[op] == kNone ? op : hooked_node_[op];
    const std::int64_t sequence = recording_.op_sequence()[node];
    std::uint32_t made_by = sequence >= 0 ? forward_.find(recording_.op_forward_thread()[node], sequence) : kNone;
    if (made_by == kNone) {
      made_by = last_node(op);
    }
    if (made_by == kNone) {
      result_.owner[op] = result_.tree.node_of_stack(recording_.op_node()[op]);
      result_.operation[op] = recording_.op_name()[op];
    } else {
      result_.owner[op] = result_.owner[made_by];
      result_.operation[op] = result_.operation[made_by];
    }
  }

  void add_inside_backward_node(std::uint32_t op, std::uint32_t node) {
    const std::uint32_t stack = recording_.op_node()[op];
    const std::uint32_t outer = recording_.op_node()[node];
    const bool is_recomputed = result_.tree[result_.tree.node_of_stack(stack)].recomputation;
    result_.phase[op] = is_recomputed ? Phase::kRecomputation : Phase::kBackward;
    result_.owner[op] = is_recomputed ? result_.tree.extend_recomputation(result_.owner[node], stack, outer)
                                      : result_.tree.extend(result_.owner[node], stack, outer);
    if (stack == outer) {
      result_.operation[op] = result_.operation[node];
    } else {
      set_operation(op);
    }
  }

  void add_outside_backward(std::uint32_t op) {
    const TreeNode stack = result_.tree.node_of_stack(recording_.op_node()[op]);
    result_.owner[op] = stack;
    set_operation(op);
    const CallTree::Node& node = result_.tree[stack];
    if (node.engine && last_node(op) != kNone) {
      // The engine itself, between two nodes: it adds up gradients.
      result_.owner[op] = result_.owner[last_node(op)];
      result_.operation[op] = result_.operation[last_node(op)];
      result_.starts_operation[op] = false;
      result_.phase[op] = Phase::kBackward;
    } else if (node.engine) {
      result_.starts_operation[op] = false;
      result_.phase[op] = Phase::kBackward;
    } else if (node.optimizer) {
      result_.phase[op] = Phase::kOptimizer;
    } else {
      result_.phase[op] = node.data ? Phase::kData : Phase::kForward;
    }
    updates_->on_other_op(op, result_.phase[op] == Phase::kForward && !node.module && stack != 0, is_wrapper_op(op));
  }

  /// What the user called is the outermost op that is no mere wrapper around others.
  void set_operation(std::uint32_t op) {
    const std::uint32_t parent = recording_.op_parent()[op];
    const bool inside = parent != kNone && scope_of(parent) != Scope::kBackward && result_.operation[parent] != 0;
    result_.starts_operation[op] = !inside && !is_wrapper_op(op);
    result_.operation[op] =
        inside ? result_.operation[parent] : (result_.starts_operation[op] ? recording_.op_name()[op] : 0);
  }

  /// A range that the user named, a function of TorchScript, or what torch.compile puts around its graphs.
  bool is_wrapper_op(std::uint32_t op) const {
    const std::string_view text = recording_.string(recording_.op_name()[op]);
    return scope_of(op) == Scope::kUser || scope_of(op) == Scope::kScript || is_compiled_region(text);
  }

  Scope scope_of(std::uint32_t op) const { return static_cast<Scope>(recording_.op_scope()[op]); }

  /// Notes which op made the autograd node of a sequence number. An op carries the number of the node it may make. A
  /// differentiable part of TorchScript makes its node before its ops run; these make no node, and carry the number of
  /// the next node.
  void note_sequence(std::uint32_t op) {
    const std::uint32_t parent = recording_.op_parent()[op];
    const std::uint32_t part = parent == kNone ? kNone : script_part_[parent];
    const bool opens_part =
        scope_of(op) == Scope::kScript && recording_.string(recording_.op_name()[op]) == kScriptPart;
    script_part_[op] = opens_part ? op : part;
    const std::int64_t sequence = recording_.op_sequence()[op];
    if (sequence < 0) {
      return;
    }
    const std::uint64_t thread = recording_.thread_torch_id()[recording_.op_thread()[op]];
    if (part == kNone) {
      forward_.add(thread, sequence, op);
    } else if (!part_is_known_[part]) {
      forward_.add(thread, sequence - 1, part);
      part_is_known_[part] = true;
    }
  }

  const recording::Recording& recording_;
  ForwardOps forward_;
  static constexpr std::string_view kScriptPart = "<forward op>";
  std::vector<std::uint32_t> script_part_;  ///< by op: the differentiable part of TorchScript around it
  std::vector<bool> part_is_known_;         ///< by op that is such a part: its node's number is
  std::vector<std::uint32_t> hooked_node_;  ///< by op that holds a node with its hooks: the node
  std::vector<std::uint32_t> node_of_;      ///< innermost autograd node around each op
  std::vector<std::uint32_t> last_nodes_;   ///< by thread: the autograd node that it ran last
  std::optional<WeightUpdates> updates_;    ///< of result_
  Attribution result_;
};

}  // namespace

Attribution attribute(const recording::Recording& recording, const SourceScope& scope) {
  return Attributor(recording, scope).run();
}

int backward_passes(const recording::Recording& recording, const Attribution& attribution) {
  if (recording.iteration_start().empty()) {
    return 0;
  }
  std::vector<std::pair<std::uint64_t, bool>> operations;  // start, whether in backward
  for (std::size_t op = 0; op < recording.op_start().size(); ++op) {
    const std::uint64_t start = recording.op_start()[op];
    const Phase phase = attribution.phase[op];
    if (start >= recording.iteration_start().front() && start < recording.iteration_end().front() &&
        (phase == Phase::kForward || in_backward(phase))) {
      operations.emplace_back(start, in_backward(phase));
    }
  }
  std::ranges::stable_sort(operations, {}, &std::pair<std::uint64_t, bool>::first);
  int passes = 0;
  bool was_backward = false;
  for (const auto& [start, is_backward] : operations) {
    passes += is_backward && !was_backward ? 1 : 0;
    was_backward = is_backward;
  }
  return passes;
}

Phase python_phase(const CallTree::Node& node) {
  if (node.engine) {
    return node.recomputation ? Phase::kRecomputation : Phase::kBackward;
  }
  if (node.optimizer) {
    return Phase::kOptimizer;
  }
  if (node.data) {
    return Phase::kData;
  }
  return node.module ? Phase::kForward : Phase::kOther;
}

}  // namespace ridgeline::analysis
