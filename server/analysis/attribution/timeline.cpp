#include "analysis/attribution/timeline.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace ridgeline::analysis {

namespace {

using recording::kNone;
using recording::Recording;

/// Recorded iterations that show how much shares vary.
constexpr std::size_t kLeastForSpread = 3;

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

class TimelineBuilder {
 public:
  TimelineBuilder(const Recording& recording, const Attribution& attribution)
      : recording_(recording), attribution_(attribution), result_{attribution.tree} {
    pauses_ = sorted_pauses(recording);
    pause_sweep_ = Sweep(starts(pauses_));
    memory_sweep_ = Sweep(main_memory(recording));
    sample_sweep_ = Sweep({recording.sample_time().begin(), recording.sample_time().end()});
    main_ops_ = static_cast<std::uint32_t>(std::ranges::upper_bound(recording.op_thread(), std::uint16_t{0}) -
                                           recording.op_thread().begin());
  }

  Timeline run() {
    const std::vector<std::size_t> chosen = chosen_iterations(recording_);
    const std::size_t all = recording_.iteration_start().size();
    auto next = chosen.begin();
    for (std::size_t iteration = 0; iteration < all; ++iteration) {
      const bool is_chosen = next != chosen.end() && *next == iteration;
      if (all < kLeastForSpread && !is_chosen) {
        continue;
      }
      add_iteration({recording_.iteration_start()[iteration], recording_.iteration_end()[iteration]});
      add_shares();
      if (is_chosen) {
        ++next;
        keep_costs(iteration);
      }
    }
    const auto count = static_cast<double>(chosen.size());
    result_.iterations = static_cast<int>(chosen.size());
    result_.recorded = static_cast<int>(all);
    result_.recorded_ns /= count;
    for (auto& [key, cost] : result_.costs) {
      cost.ns /= count;
      result_.total_ns += cost.ns;
    }
    return std::move(result_);
  }

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
  static std::vector<std::uint64_t> main_memory(const Recording& recording) {
    std::vector<std::uint64_t> times;
    for (std::size_t i = 0; i < recording.memory_time().size(); ++i) {
      if (recording.memory_thread()[i] == 0) {
        times.push_back(recording.memory_time()[i]);
      }
    }
    return times;
  }

  /// Adds what the lines have of the iteration in costs_ to the sums of their shares.
  void add_shares() {
    double total = 0;
    std::unordered_map<LineId, double> lines;
    for (const auto& [key, cost] : costs_) {
      total += cost.ns;
      if (const LineId line = result_.tree[key.owner].self_line; line != 0) {
        lines[line] += cost.ns;
      }
    }
    for (const auto& [line, ns] : lines) {
      const double share = total > 0 ? ns / total : 0;
      ShareSums& sums = result_.self_shares[line];
      sums.shares += share;
      sums.squares += share * share;
    }
  }

  /// Adds the iteration in costs_ to the result.
  void keep_costs(std::size_t iteration) {
    result_.recorded_ns +=
        static_cast<double>(recording_.iteration_end()[iteration] - recording_.iteration_start()[iteration]);
    for (const auto& [key, cost] : costs_) {
      Cost& sum = result_.costs[key];
      sum.ns += cost.ns;
      sum.calls += cost.calls;
    }
  }

  /// Fills costs_ with one iteration.
  void add_iteration(Span iteration) {
    costs_.clear();
    pause_sweep_.skip_before(iteration.start);
    memory_sweep_.skip_before(iteration.start);
    sample_sweep_.skip_before(iteration.start);
    cursor_ = iteration.start;
    debt_ns_ = 0;
    open_.clear();
    const auto first =
        static_cast<std::uint32_t>(std::ranges::lower_bound(recording_.op_start().first(main_ops_), iteration.start) -
                                   recording_.op_start().begin());
    for (std::uint32_t op = first; op < main_ops_ && recording_.op_start()[op] < iteration.end; ++op) {
      close_until(recording_.op_parent()[op]);
      begin(op, iteration.end);
    }
    close_until(kNone);
    add_gap(iteration.end, kNone, 0);
  }

  /// What recording costs, in nanoseconds.
  double price(recording::Cost kind) const { return recording_.cost()[static_cast<std::size_t>(kind)]; }

  double outside_cost(std::uint32_t op) const {
    const std::uint32_t depth = result_.tree[result_.tree.of_stack(recording_.op_node()[op])].depth;
    return price(recording::Cost::kOutsideOp) + price(recording::Cost::kPerFrame) * depth;
  }

  /// Half of the cost around an op's span falls before it, half after it; likewise inside it.
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
    debt_ns_ = price(recording::Cost::kInsideOp) / 2;
    if (attribution_.begins[op]) {
      ++costs_[key_of(op)].calls;
    }
  }

  void close_until(std::uint32_t parent) {
    while (!open_.empty() && open_.back().op != parent) {
      const Open closing = open_.back();
      add_inside(std::max(cursor_, closing.end), kNone, price(recording::Cost::kInsideOp) / 2);
      open_.pop_back();
      debt_ns_ = outside_cost(closing.op) / 2;
    }
  }

  CostKey key_of(std::uint32_t op) const {
    const TreeNode owner = attribution_.owner[op];
    const bool moved = in_backward(attribution_.phase[op]);
    return {owner, moved ? result_.tree.of_stack(recording_.op_node()[op]) : owner, attribution_.operation[op],
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
      costs_[key].ns += ns;
    } else {
      costs_[key_of(op)].ns += ns;
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
      costs_[key].ns += ns;
    } else {
      costs_[CostKey{0, 0, 0, Phase::kOther, true}].ns += ns;
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
      costs_[key_of_sample(recording_.sample_node()[i], context)].ns += static_cast<double>(to - from) * per_wall;
      from = to;
    }
  }

  /// `context` is the op that the sample was taken in, or that ended the gap it was taken in.
  CostKey key_of_sample(std::uint32_t stack, std::uint32_t context) {
    const TreeNode node = result_.tree.of_stack(stack);
    if (open_.empty() || !in_backward(attribution_.phase[context])) {
      return {node, node, 0, python_phase(result_.tree[node]), false};
    }
    // Python inside an autograd node, such as a custom backward: it is placed where its ops would be.
    const TreeNode owner = attribution_.owner[context];
    const std::uint32_t outer = recording_.op_node()[context];
    return result_.tree[node].recomputation
               ? CostKey{result_.tree.rejoin(owner, stack, outer), node, 0, Phase::kRecomputation, false}
               : CostKey{result_.tree.extend(owner, stack, outer), node, 0, Phase::kBackward, false};
  }

  const Recording& recording_;
  const Attribution& attribution_;
  std::vector<Span> pauses_;
  Sweep pause_sweep_;
  Sweep memory_sweep_;
  Sweep sample_sweep_;
  std::uint32_t main_ops_ = 0;
  std::uint64_t cursor_ = 0;
  double debt_ns_ = 0;
  std::vector<Open> open_;
  std::unordered_map<CostKey, Cost, CostKeyHash> costs_;  ///< of the iteration that is walked through
  Timeline result_;
};

}  // namespace

std::size_t CostKeyHash::operator()(const CostKey& key) const {
  std::uint64_t hash = (std::uint64_t{key.owner} << 32U) ^ key.raw;
  hash = (hash ^ (hash >> 31U)) * 0x9E3779B97F4A7C15ULL;
  hash ^= (std::uint64_t{key.operation} << 8U) ^ (std::uint64_t{static_cast<std::uint8_t>(key.phase)} << 1U) ^
          std::uint64_t{key.tail};
  return static_cast<std::size_t>((hash ^ (hash >> 29U)) * 0xBF58476D1CE4E5B9ULL);
}

std::optional<double> Timeline::self_spread(LineId line) const {
  const auto found = self_shares.find(line);
  if (recorded < static_cast<int>(kLeastForSpread) || found == self_shares.end() || found->second.shares <= 0) {
    return std::nullopt;
  }
  const double mean = found->second.shares / recorded;
  const double variance = (found->second.squares - recorded * mean * mean) / (recorded - 1);
  return std::sqrt(std::max(0.0, variance)) / mean;
}

std::vector<std::size_t> chosen_iterations(const Recording& recording) {
  std::vector<std::size_t> order(recording.iteration_start().size());
  std::iota(order.begin(), order.end(), 0);
  const auto length = [&](std::size_t i) { return recording.iteration_end()[i] - recording.iteration_start()[i]; };
  std::ranges::stable_sort(order, {}, length);
  const std::size_t outside = order.size() / 3;
  order.erase(order.end() - static_cast<std::ptrdiff_t>(outside), order.end());
  order.erase(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(outside));
  std::ranges::sort(order);
  return order;
}

Timeline build_timeline(const Recording& recording, const Attribution& attribution) {
  return TimelineBuilder(recording, attribution).run();
}

}  // namespace ridgeline::analysis
