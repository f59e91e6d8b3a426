// One iteration of a host thread, cut into pieces that have one owner each.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "analysis/attribution/attribution.h"
#include "analysis/attribution/call_tree.h"
#include "protocol/recording.h"

namespace ridgeline::analysis {

/// The owner of a piece of time.
struct CostKey {
  TreeNode owner = 0;
  TreeNode raw = 0;             ///< the stack that really ran, when it is another (backward); else `owner`
  std::uint32_t operation = 0;  ///< string of the recording; 0 for Python
  Phase phase = Phase::kOther;
  bool tail = false;  ///< after the last op of the iteration
  bool operator==(const CostKey&) const = default;
};

struct CostKeyHash {
  std::size_t operator()(const CostKey& key) const;
};

/// A span of a thread, by the recording's clock.
struct HostPiece {
  CostKey key;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  double ns = 0;              ///< its length without the cost of recording
  bool in_operation = false;  ///< an operation of PyTorch is open
};

/// The pieces of an iteration in order of time, without holes.
struct HostPieces {
  std::vector<HostPiece> pieces;
  std::vector<CostKey> begun;  ///< by operation of the user's that began
};

/// Gaps shorter than this are not divided.
inline constexpr double kShortGapNs = 200'000;

/// Between ops: a short gap goes to the next op's stack, a longer one to the stacks that the timer saw in it; those of
/// backward get owners as ops do. Refers to the recording and the attribution.
class IterationWalk {
 public:
  /// `thread` is an index of the recording's threads; 0 ran the iterations, and has samples.
  IterationWalk(const recording::Recording& recording, const Attribution& attribution, std::uint16_t thread = 0);
  ~IterationWalk();
  IterationWalk(IterationWalk&&) noexcept;
  IterationWalk& operator=(IterationWalk&&) noexcept;

  /// Successive calls must name later iterations.
  HostPieces take(std::size_t iteration);

  /// The attribution's stacks, and those that own samples of backward in the iterations taken so far.
  const CallTree& tree() const;

 private:
  class Walk;
  std::unique_ptr<Walk> walk_;
};

}  // namespace ridgeline::analysis
