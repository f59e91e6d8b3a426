#include "jobs/predict/sharded_memory.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace ridgeline::jobs {

using analysis::Category;

namespace {

double alive(const analysis::MemoryOverTime& memory, Category category, std::size_t instant) {
  return static_cast<double>(memory.bytes[static_cast<std::size_t>(category)][instant]);
}

/// At an instant, all but the gradients, the weights that are sharded, and what FSDP has of both.
double others(const analysis::MemoryOverTime& memory, std::size_t instant, const Sharding& sharding) {
  double sum = 0;
  for (const auto& category : memory.bytes) {
    sum += static_cast<double>(category[instant]);
  }
  const auto all = static_cast<double>(sharding.gradient_bytes);
  const double n_th = 1 / sharding.ranks;
  const double state = sharding.stage == 1 ? sharding.state_share.value_or(n_th) : n_th;
  if (sharding.stage >= 1) {
    sum -= alive(memory, Category::kOptimizerState, instant) * (1 - state);
  }
  if (sharding.has_buckets) {
    sum -= all;
  }
  if (sharding.stage < 2) {
    return sum + all;
  }
  sum -= std::min(alive(memory, Category::kGradients, instant), all);
  return sum - std::min(alive(memory, Category::kWeights, instant), all) * (1 - n_th);
}

/// The peak of stage 2 or 3.
class FullySharded {
 public:
  FullySharded(const analysis::MemoryOverTime& memory, const Sharding& sharding, bool with_copies)
      : memory_(memory),
        sharding_(sharding),
        all_(static_cast<double>(sharding.gradient_bytes)),
        buffers_(sharding.units, sharding.ranks, sharding.stage == 2, with_copies) {
    for (std::size_t i = 0; i < memory.ms.size(); ++i) {
      others_.push_back(others(memory, i, sharding));
    }
    const auto& gradients = memory.bytes[static_cast<std::size_t>(Category::kGradients)];
    lowest_ = static_cast<std::size_t>(std::ranges::min_element(gradients) - gradients.begin());
    least_ = gradients.empty() ? 0 : static_cast<double>(gradients[lowest_]);
  }

  double peak() const {
    if (least_ >= all_) {
      return of_any_unit();
    }
    const std::size_t first = first_gradient();
    const std::size_t last = last_gradient(first);
    double most = at_gathers(first, last);
    for (std::size_t i = 0; i < others_.size(); ++i) {
      const double buffers = i < first   ? buffers_.forward(share(i, first), share(i + 1, first))
                             : i <= last ? in_backward(i)
                                         : 0;
      const double kept = i >= first && i <= last ? least_ : alive(memory_, Category::kGradients, i);
      most = std::max(most, others_[i] + kept / sharding_.ranks + buffers);
    }
    return most;
  }

 private:
  /// Where gradients are there all the time, they do not tell which unit is in backward.
  double of_any_unit() const {
    double most = std::max(buffers_.forward(0, 1), buffers_.reduction(0, all_));
    double made = 0;
    for (const ShardedUnit& unit : sharding_.units) {
      most = std::max({most, buffers_.backward(made), buffers_.gathered_for_backward(made)});
      made += static_cast<double>(unit.bytes);
    }
    return *std::ranges::max_element(others_) + least_ / sharding_.ranks + most;
  }

  double made(std::size_t instant) const {
    return std::clamp(alive(memory_, Category::kGradients, instant) - least_, 0.0, all_ - least_) * all_ /
           (all_ - least_);
  }

  /// The first instant with a gradient of this step; behind the last instant: none has.
  std::size_t first_gradient() const {
    std::size_t i = lowest_;
    while (i < others_.size() && made(i) <= 0) {
      ++i;
    }
    return i;
  }

  /// The last instant with as many as there are at once.
  std::size_t last_gradient(std::size_t first) const {
    std::size_t last = first;
    for (std::size_t i = first; i < others_.size(); ++i) {
      if (made(i) >= made(last)) {
        last = i;
      }
    }
    return last;
  }

  double share(std::size_t instant, std::size_t first) const {
    if (first >= memory_.ms.size()) {
      return static_cast<double>(instant) / static_cast<double>(memory_.ms.size());
    }
    const double span = memory_.ms[first] - memory_.ms.front();
    return span > 0 ? (memory_.ms[instant] - memory_.ms.front()) / span : 1;
  }

  double in_backward(std::size_t instant) const {
    const double before = instant == 0 ? 0 : made(instant - 1);
    return std::max(buffers_.backward(made(instant)), buffers_.reduction(before, made(instant)));
  }

  /// Weights are gathered for a unit's backward after what the unit before needed has gone, and before its own is
  /// there: at the least between the gradients of both.
  double at_gathers(std::size_t first, std::size_t last) const {
    double most = 0;
    std::size_t i = first == 0 ? 0 : first - 1;
    while (i < others_.size() && i <= last) {
      const double now = made(i);
      double least = others_[i];
      for (++i; i <= last && i < others_.size() && made(i) == now; ++i) {
        least = std::min(least, others_[i]);
      }
      most = std::max(most, least + least_ / sharding_.ranks + buffers_.gathered_for_backward(now));
    }
    return most;
  }

  const analysis::MemoryOverTime& memory_;
  const Sharding& sharding_;
  double all_;
  ShardedBuffers buffers_;
  std::vector<double> others_;
  std::size_t lowest_ = 0;
  double least_ = 0;
};

}  // namespace

double largest_share(std::vector<std::uint64_t> tensor_bytes, double ranks) {
  const auto all = static_cast<double>(std::accumulate(tensor_bytes.begin(), tensor_bytes.end(), std::uint64_t{0}));
  if (all <= 0) {
    return 1;
  }
  std::ranges::sort(tensor_bytes, std::ranges::greater{});
  std::vector<std::uint64_t> of_rank(
      static_cast<std::size_t>(std::min(ranks, static_cast<double>(tensor_bytes.size()))));
  for (const std::uint64_t bytes : tensor_bytes) {
    *std::ranges::min_element(of_rank) += bytes;
  }
  return static_cast<double>(*std::ranges::max_element(of_rank)) / all;
}

ShardedPeak sharded_peak(const analysis::MemoryOverTime& memory, const Sharding& sharding) {
  if (memory.ms.empty()) {
    return {};
  }
  const auto whole = [](double bytes) { return static_cast<std::uint64_t>(std::llround(bytes)); };
  if (sharding.stage >= 2) {
    const double low = FullySharded(memory, sharding, false).peak();
    const double high = sharding.has_copies ? FullySharded(memory, sharding, true).peak() : low;
    return {whole(low), whole(high)};
  }
  double peak = 0;
  for (std::size_t instant = 0; instant < memory.ms.size(); ++instant) {
    peak = std::max(peak, others(memory, instant, sharding));
  }
  return {whole(peak), whole(peak)};
}

}  // namespace ridgeline::jobs
