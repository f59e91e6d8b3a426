// What FSDP has alive beside the shards of a rank, from moment to moment.
//
// PyTorch's fully_shard (torch.distributed.fsdp, 2.x): a unit's shards are gathered into one buffer, and copied from it
// into its weights; in backward its gradients are copied into a buffer that is reduced and scattered, and stays until
// the next unit's. Observed with Gloo on the CPU: docs/dev/architecture/job-prediction.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ridgeline::jobs {

/// Weights that are gathered, and whose gradients are reduced, together.
struct ShardedUnit {
  std::uint64_t bytes = 0;  ///< of its weights; its gradients are as large
  /// When forward first needs it, as a share of the time until the first gradient; absent: not known.
  std::optional<double> forward_begin{};
};

class ShardedBuffers {
 public:
  /// `units` in the order of backward. Weights stay gathered from forward until their backward where `keeps_gathered`
  /// (stage 2), else they are gathered twice (stage 3). Gloo has a copy of what a collective sends or receives, which
  /// goes after it, at the latest when the next one is over; `with_copies`: as late as that, else there is none.
  ShardedBuffers(std::span<const ShardedUnit> units, double ranks, bool keeps_gathered, bool with_copies);

  /// The most bytes between two moments before the first gradient, which are shares as in ShardedUnit; gathers of units
  /// of which these are not known may be at any time.
  double forward(double from, double until) const;
  /// The most bytes while the first unit whose gradients are not complete is in backward, of whose gradients `made`
  /// bytes are there; from units before it the shards of their gradients stay. Both are sums over all units.
  double backward(double made) const;
  /// The most while the gradients of the units become complete that are so with `until` bytes of all, but not with
  /// `from`: they are copied, reduced and scattered. 0 where no unit's do.
  double reduction(double from, double until) const;
  /// The most while the weights are gathered for the backward of the unit that is next with `made` bytes of gradients.
  double gathered_for_backward(double made) const;

 private:
  std::size_t unit_at(double made) const;
  double bytes(std::size_t unit) const { return unit < units_.size() ? static_cast<double>(units_[unit].bytes) : 0; }
  double before(std::size_t unit) const { return unit == 0 ? 0 : bytes(unit - 1); }
  double gathered_from(std::size_t unit) const { return unit < gathered_.size() ? gathered_[unit] : 0; }
  double shards(std::size_t unit) const { return (gathered_.front() - gathered_from(unit)) / ranks_; }
  double forward_gather(std::size_t unit) const;
  double in_backward(std::size_t unit, double made) const;

  std::span<const ShardedUnit> units_;
  double ranks_;
  bool keeps_gathered_;
  double copies_;
  std::vector<double> gathered_;  ///< by unit: bytes of this and all later units of backward; then 0
};

}  // namespace ridgeline::jobs
