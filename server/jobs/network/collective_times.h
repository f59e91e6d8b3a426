// How long collectives of all ranks of a cluster take: from what was measured of all-reduces, else from its links.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/values/profile.h"
#include "base/result.h"
#include "jobs/network/cluster_file.h"

namespace ridgeline::jobs {

/// Nanoseconds.
struct CollectiveTime {
  analysis::Measured ns{};       ///< from the last rank's start to the end
  analysis::Measured next_ns{};  ///< until the next one that waits is on its way; Gloo runs two at a time
  double processor_ns = 0;       ///< of a rank; 0: not known
};

/// Each of its times.
CollectiveTime scaled(const CollectiveTime& time, double by);

class CollectiveTimes {
 public:
  /// An error as ring_links() has it.
  static base::Result<CollectiveTimes> of(Cluster cluster);

  /// Whether the all-reduces of the file are used, and not its links.
  bool is_measured() const { return !cluster_.measured.empty(); }

  /// Whether they are used, and were measured with as many ranks as the job has.
  bool is_of_these_ranks() const { return is_measured() && cluster_.measured_ranks == cluster_.ranks(); }

  /// A ring: 2 (N − 1) steps, each of one N-th of the bytes. What was measured with another number of ranks is taken
  /// step by step.
  CollectiveTime all_reduce(double bytes) const;
  /// A binomial tree.
  CollectiveTime broadcast(double bytes) const;
  /// What one rank sends to its neighbour in the ring, over the slowest of the links.
  CollectiveTime step(double bytes) const;

 private:
  CollectiveTimes(Cluster cluster, std::vector<Link> links) : cluster_(std::move(cluster)), links_(std::move(links)) {}
  CollectiveTime measured_step(double bytes) const;

  Cluster cluster_;
  std::vector<Link> links_;  ///< of the ring
};

}  // namespace ridgeline::jobs
