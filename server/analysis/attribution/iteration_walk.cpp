#include "analysis/attribution/iteration_walk.h"

#include <algorithm>
#include <utility>

namespace ridgeline::analysis {

namespace {

using recording::kNone;
using recording::Recording;

struct Span {
  std::uint64_t start;
  std::uint64_t end;
};

/// Walks through sorted times once; the times of successive calls must not decrease.
class Sweep {
 public:
  Sweep() = default;
  explicit Sweep(std::vector<std::uint64_t> times) : times_(std::move(times)) {}
  void skip_before(std::uint64_t time) {
    while (next_ < times_.size() && times_[next_] < time) {
      ++next_;
    }
  }
  /// Indices of the times before `end` that were not yet passed.
  std::pair<std::size_t, std::size_t> take_before(std::uint64_t end) {
    const std::size_t first = next_;
    skip_before(end);
    return {first, next_};
  }

 private:
  std::vector<std::uint64_t> times_;
  std::size_t next_ = 0;
};

}  // namespace

class IterationWalk::Walk {
 public:
  Walk(const Recording& recording, const Attribution& attribution, std::uint16_t thread)
      : recording_(recording), attribution_(attribution), tree_(attribution.tree) {
    if (thread == 0) {
      pauses_ = sorted_pauses(recording);
      pause_sweep_ = Sweep(starts(pauses_));
      sample_sweep_ = Sweep({recording.sample_time().begin(), recording.sample_time().end()});
    }
    memory_sweep_ = Sweep(memory_times(recording, thread));
    const auto ops = std::ranges::equal_range(recording.op_thread(), thread);
    first_op_ = static_cast<std::uint32_t>(ops.begin() - recording.op_thread().begin());
    last_op_ = static_cast<std::uint32_t>(ops.end() - recording.op_thread().begin());
  }

  HostPieces take(std::size_t iteration) {
    result_ = {};
    walk({recording_.iteration_start()[iteration], recording_.iteration_end()[iteration]});
    return std::move(result_);
  }

  const CallTree& tree() const { return tree_; }

 private:
  struct Open {
    std::uint32_t op;
    std::uint64_t end;
  };

  static std::vector<Span> sorted_pauses(const Recording& recording) {
    std::vector<Span> pauses;
    for (std::size_t i = 0; i < recording.pause_start().size(); ++i) {
      pauses.push_back({recording.pause_start()[i], std::max(recording.pause_start()[i], recording.pause_end()[i])});
    }
    std::ranges::sort(pauses, {}, &Span::start);
    return pauses;
  }
  static std::vector<std::uint64_t> starts(const std::vector<Span>& spans) {
    std::vector<std::uint64_t> times;
    times.reserve(spans.size());
    for (const Span& span : spans) {
      times.push_back(span.start);
    }
    return times;
  }
  static std::vector<std::uint64_t> memory_times(const Recording& recording, std::uint16_t thread) {
    std::vector<std::uint64_t> times;
    for (std::size_t i = 0; i < recording.memory_time().size(); ++i) {
      if (recording.memory_thread()[i] == thread) {
        times.push_back(recording.memory_time()[i]);
      }
    }
    return times;
  }

  void walk(Span iteration) {
    pause_sweep_.skip_before(iteration.start);
    memory_sweep_.skip_before(iteration.start);
    sample_sweep_.skip_before(iteration.start);
    cursor_ = iteration.start;
    debt_ns_ = 0;
    open_.clear();
    const auto starts = recording_.op_start().first(last_op_).subspan(first_op_);
    const auto first =
        first_op_ + static_cast<std::uint32_t>(std::ranges::lower_bound(starts, iteration.start) - starts.begin());
    for (std::uint32_t op = first; op < last_op_ && recording_.op_start()[op] < iteration.end; ++op) {
      close_until(recording_.op_parent()[op]);
      begin(op, iteration.end);
    }
    close_until(kNone);
    add_gap(iteration.end, kNone, 0);
  }

  /// What recording costs, in nanoseconds.
  double price(recording::Cost kind) const { return recording_.cost()[static_cast<std::size_t>(kind)]; }

  bool is_further_part(std::uint32_t op) const {
    return !recording_.op_part().empty() && recording_.op_part()[op] != 0;
  }

  double inside_cost(std::uint32_t op) const { return is_further_part(op) ? 0 : price(recording::Cost::kInsideOp); }

  /// Nothing around what is only a part of one operation.
  double outside_cost(std::uint32_t op) const {
    if (is_further_part(op)) {
      return 0;
    }
    const std::uint32_t depth = tree_[tree_.node_of_stack(recording_.op_node()[op])].depth;
    return price(recording::Cost::kOutsideOp) + price(recording::Cost::kPerFrame) * depth;
  }

  /// Half of the cost around an op's span falls before it, half after it; the cost inside it is split in the same way.
  void begin(std::uint32_t op, std::uint64_t limit) {
    const std::uint64_t start = std::max(cursor_, recording_.op_start()[op]);
    const double half_outside = outside_cost(op) / 2;
    if (open_.empty()) {
      add_gap(start, op, half_outside);
    } else {
      add_inside(start, op, half_outside);
      limit = open_.back().end;
    }
    const std::uint64_t end = std::clamp(recording_.op_end()[op], start, std::max(start, limit));
    open_.push_back({op, end});
    debt_ns_ = inside_cost(op) / 2;
    if (attribution_.starts_operation[op]) {
      result_.begun.push_back(key_of(op));
    }
  }

  void close_until(std::uint32_t parent) {
    while (!open_.empty() && open_.back().op != parent) {
      const Open closing = open_.back();
      add_inside(std::max(cursor_, closing.end), kNone, inside_cost(closing.op) / 2);
      open_.pop_back();
      debt_ns_ = outside_cost(closing.op) / 2;
    }
  }

  CostKey key_of(std::uint32_t op) const {
    const TreeNode owner = attribution_.owner[op];
    const bool moved = in_backward(attribution_.phase[op]);
    return {owner, moved ? tree_.node_of_stack(recording_.op_node()[op]) : owner, attribution_.operation[op],
            attribution_.phase[op], false};
  }

  /// Length of [cursor, end) less what recording cost in it; moves the cursor.
  double take(std::uint64_t end, double further_debt) {
    double ns = static_cast<double>(end - cursor_) - debt_ns_ - further_debt;
    const auto [first_event, last_event] = memory_sweep_.take_before(end);
    ns -= static_cast<double>(last_event - first_event) * price(recording::Cost::kPerMemory);
    const auto [first_pause, last_pause] = pause_sweep_.take_before(end);
    for (std::size_t i = first_pause; i < last_pause; ++i) {
      ns -= static_cast<double>(std::min(pauses_[i].end, end) - pauses_[i].start);
    }
    cursor_ = end;
    debt_ns_ = 0;
    return std::max(0.0, ns);
  }

  void add(const CostKey& key, std::uint64_t begin, std::uint64_t end, double ns) {
    if (end > begin) {
      result_.pieces.push_back({key, begin, end, ns, !open_.empty()});
    }
  }

  /// Time inside the innermost open op, outside the ops within it; `next` is the op within it that ends the time.
  void add_inside(std::uint64_t end, std::uint32_t next, double further_debt) {
    const std::uint32_t op = open_.back().op;
    const std::uint64_t begin = cursor_;
    const double ns = take(end, further_debt);
    const auto samples = sample_sweep_.take_before(end);
    if (attribution_.runs_python[op] && ns >= kShortGapNs && samples.first < samples.second) {
      divide(begin, end, ns, samples, op);
    } else if (next != kNone && attribution_.runs_python[op] &&
               recording_.op_node()[next] != recording_.op_node()[op]) {
      // Python frames lie between the two: their time belongs to the line of the next op, as outside ops.
      CostKey key = key_of(next);
      key.operation = 0;
      add(key, begin, end, ns);
    } else {
      add(key_of(op), begin, end, ns);
    }
  }

  /// Time outside all ops; `next` is the op that ends it.
  void add_gap(std::uint64_t end, std::uint32_t next, double further_debt) {
    const std::uint64_t begin = cursor_;
    const double ns = take(end, further_debt);
    const auto samples = sample_sweep_.take_before(end);
    if (ns >= kShortGapNs && samples.first < samples.second) {
      divide(begin, end, ns, samples, next);
    } else if (next != kNone) {
      CostKey key = key_of(next);
      key.operation = 0;
      add(key, begin, end, ns);
    } else {
      add({0, 0, 0, Phase::kOther, true}, begin, end, ns);
    }
  }

  /// Each sample represents the time from halfway to the previous one to halfway to the next one.
  void divide(std::uint64_t begin, std::uint64_t end, double ns, std::pair<std::size_t, std::size_t> samples,
              std::uint32_t context) {
    const double per_wall = ns / static_cast<double>(end - begin);
    std::uint64_t from = begin;
    for (std::size_t i = samples.first; i < samples.second; ++i) {
      const std::uint64_t time = recording_.sample_time()[i];
      const std::uint64_t to = i + 1 < samples.second ? time + (recording_.sample_time()[i + 1] - time) / 2 : end;
      add(key_of_sample(recording_.sample_node()[i], context), from, to, static_cast<double>(to - from) * per_wall);
      from = to;
    }
  }

  /// `context` is the op that the sample was taken in, or that ended the gap it was taken in.
  CostKey key_of_sample(std::uint32_t stack, std::uint32_t context) {
    const TreeNode node = tree_.node_of_stack(stack);
    if (open_.empty() || !in_backward(attribution_.phase[context])) {
      return {node, node, 0, python_phase(tree_[node]), false};
    }
    // Python inside an autograd node, such as a custom backward: it is placed where its ops would be.
    const TreeNode owner = attribution_.owner[context];
    const std::uint32_t outer = recording_.op_node()[context];
    return tree_[node].recomputation
               ? CostKey{tree_.extend_recomputation(owner, stack, outer), node, 0, Phase::kRecomputation, false}
               : CostKey{tree_.extend(owner, stack, outer), node, 0, Phase::kBackward, false};
  }

  const Recording& recording_;
  const Attribution& attribution_;
  CallTree tree_;
  std::vector<Span> pauses_;
  Sweep pause_sweep_;
  Sweep memory_sweep_;
  Sweep sample_sweep_;
  std::uint32_t first_op_ = 0;  ///< of the thread
  std::uint32_t last_op_ = 0;   ///< behind its last
  std::uint64_t cursor_ = 0;
  double debt_ns_ = 0;
  std::vector<Open> open_;
  HostPieces result_;
};

IterationWalk::IterationWalk(const Recording& recording, const Attribution& attribution, std::uint16_t thread)
    : walk_(std::make_unique<Walk>(recording, attribution, thread)) {}
IterationWalk::~IterationWalk() = default;
IterationWalk::IterationWalk(IterationWalk&&) noexcept = default;
IterationWalk& IterationWalk::operator=(IterationWalk&&) noexcept = default;

HostPieces IterationWalk::take(std::size_t iteration) { return walk_->take(iteration); }

const CallTree& IterationWalk::tree() const { return walk_->tree(); }

std::size_t CostKeyHash::operator()(const CostKey& key) const {
  std::uint64_t hash = (std::uint64_t{key.owner} << 32U) ^ key.raw;
  hash = (hash ^ (hash >> 31U)) * 0x9E3779B97F4A7C15ULL;
  hash ^= (std::uint64_t{key.operation} << 8U) ^ (std::uint64_t{static_cast<std::uint8_t>(key.phase)} << 1U) ^
          std::uint64_t{key.tail};
  return static_cast<std::size_t>((hash ^ (hash >> 29U)) * 0xBF58476D1CE4E5B9ULL);
}

}  // namespace ridgeline::analysis
