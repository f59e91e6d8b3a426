#include "jobs/predict/sharded_buffers.h"

#include <algorithm>

namespace ridgeline::jobs {

ShardedBuffers::ShardedBuffers(std::span<const ShardedUnit> units, double ranks, bool keeps_gathered, bool with_copies)
    : units_(units), ranks_(ranks), keeps_gathered_(keeps_gathered), copies_(with_copies ? 1 : 0) {
  gathered_.resize(units_.size() + 1);
  for (std::size_t unit = units_.size(); unit-- > 0;) {
    gathered_[unit] = gathered_[unit + 1] + bytes(unit);
  }
}

/// The buffer of the unit before stays until its own weights are copied from a buffer of its own.
double ShardedBuffers::forward_gather(std::size_t unit) const {
  const double earlier = keeps_gathered_ ? gathered_from(unit + 1) : 0;
  return earlier + bytes(unit + 1) + 2 * bytes(unit);
}

double ShardedBuffers::forward(double from, double until) const {
  double most = 0;
  double latest = -1;
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    const std::optional<double>& begin = units_[unit].forward_begin;
    if (begin.has_value() && *begin >= until) {
      continue;
    }
    if (!begin.has_value() || *begin >= from) {
      most = std::max(most, forward_gather(unit));
    } else if (*begin > latest) {
      latest = *begin;
      most = std::max(most, (keeps_gathered_ ? gathered_from(unit) : bytes(unit)) + bytes(unit));
    }
  }
  return most;
}

std::size_t ShardedBuffers::unit_at(double made) const {
  const double left = gathered_.front() - made;
  std::size_t unit = 0;
  while (unit < units_.size() && gathered_[unit + 1] >= left) {
    ++unit;
  }
  return unit;
}

/// The copy of the reduction before may still be there: until the gather of the next weights, at stage 2 longer.
double ShardedBuffers::in_backward(std::size_t unit, double made) const {
  const double reduced = shards(unit) + made + before(unit);
  if (keeps_gathered_) {
    return reduced + gathered_from(unit) + copies_ * before(unit);
  }
  const double gathered = bytes(unit) + bytes(unit + 1);
  const double not_gathered = made > 0 ? 0 : bytes(unit) + copies_ * before(unit);
  return reduced + std::max(gathered, not_gathered);
}

double ShardedBuffers::backward(double made) const {
  const std::size_t unit = unit_at(made);
  if (unit >= units_.size()) {
    return shards(unit);
  }
  return in_backward(unit, std::max(0.0, made - (gathered_.front() - gathered_from(unit))));
}

double ShardedBuffers::reduction(double from, double until) const {
  double most = 0;
  for (std::size_t unit = unit_at(from); unit < unit_at(until); ++unit) {
    const double gathered = keeps_gathered_ ? gathered_from(unit + 1) : bytes(unit + 1);
    const double earlier = keeps_gathered_ ? copies_ * before(unit) : 0;
    const double copied = 2 * bytes(unit);
    const double scattered = bytes(unit) * (1 + copies_ + 1 / ranks_);
    most = std::max(most, in_backward(unit, bytes(unit)));
    most = std::max(most, shards(unit) + gathered + earlier + std::max(copied, scattered));
  }
  return most;
}

double ShardedBuffers::gathered_for_backward(double made) const {
  const std::size_t unit = unit_at(made);
  if (keeps_gathered_ || unit >= units_.size()) {
    return 0;
  }
  const double reduced = before(unit) * (1 + copies_);
  const double next = bytes(unit + 1) * (1 + copies_);
  return shards(unit) + reduced + bytes(unit) + std::max(bytes(unit), next);
}

}  // namespace ridgeline::jobs
