// The file that describes a cluster: machines, the ranks on each, the links, and what all-reduces took on them.
//
// docs/user/job-predict.md has its keys. `ridgeline job network` writes such files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/values/profile.h"
#include "base/result.h"
#include "jobs/network/collective_cost.h"

namespace ridgeline::jobs {

/// Machines that are alike.
struct Machines {
  std::string name;
  int count = 1;
  int ranks = 1;               ///< on each
  std::optional<int> cores{};  ///< that the ranks of one may use
};

/// Processes that follow each other on one machine, or on machines that are alike.
struct Placed {
  std::size_t machines = 0;  ///< of Cluster::machines
  std::int64_t ranks = 1;    ///< of all these machines
};

struct NamedLink {
  std::string from;
  std::string to;  ///< equal to `from`: between two processes of a machine
  Link link{};     ///< all that a machine sends to the other one shares it
};

/// What was measured of all-reduces of all ranks of some job.
struct AllReduceTime {
  double bytes = 0;
  analysis::Measured ns{};                      ///< from the last rank's start
  double processor_ns = 0;                      ///< that the busiest rank's processor works for it
  std::optional<analysis::Measured> four_ns{};  ///< of four that begin at the same time, until the last is over
};

struct Cluster {
  std::vector<Machines> machines;
  std::vector<NamedLink> links;
  std::optional<Link> between{};          ///< any two machines that `links` does not name
  std::vector<Placed> placement;          ///< in the order of the ranks
  int measured_ranks = 0;                 ///< of `measured`
  std::vector<AllReduceTime> measured{};  ///< by size; empty: not measured

  std::int64_t ranks() const;
};

/// Untrusted. `name` is the file's, for errors, which name line and column.
base::Result<Cluster> parse_cluster(std::string_view text, const std::string& name);

/// The links of the ring over all ranks in their order, each kind once, with its share of the bandwidth where several
/// neighbours use one. Empty for one rank. An error when a link is needed that the file does not have.
base::Result<std::vector<Link>> ring_links(const Cluster& cluster);

}  // namespace ridgeline::jobs
