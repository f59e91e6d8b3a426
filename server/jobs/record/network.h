// What was measured of the links between machines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ridgeline::jobs {

/// A median with its 95 % interval.
struct Range {
  double value = 0;
  double low = 0;
  double high = 0;
};

struct MessageTime {
  std::uint64_t bytes = 0;
  int rounds = 0;
  Range ns;  ///< from the sender's first byte until it has an answer of one byte
};

/// One direction between two machines, or between two processes of one.
struct MeasuredLink {
  std::string from;
  std::string to;
  Range latency_ns;
  std::vector<MessageTime> times;               ///< by size; not empty
  double alone_bytes_per_s = 0;                 ///< the direction alone
  double both_ways_bytes_per_s = 0;             ///< of one direction, while the other one is used as well
  std::optional<double> two_pairs_bytes_per_s;  ///< of one of two pairs of ranks that send at once; absent: there are
                                                ///< too few ranks
};

struct MeasuredMachine {
  std::string name;
  int devices = 1;
  int cores = 1;  ///< that its ranks may use
};

/// An all-reduce over all ranks.
struct MeasuredAllReduce {
  std::uint64_t bytes = 0;
  int rounds = 0;
  Range ns;            ///< from the last rank's start to its end
  Range processor_ns;  ///< that the busiest rank's processor works for it; of four at once, a quarter
  std::optional<Range> four_at_once_ns{};  ///< until the last of four that begin at the same time is over
};

struct MeasuredNetwork {
  std::vector<MeasuredMachine> machines;
  std::vector<std::string> ranks;  ///< the machine of each
  std::vector<MeasuredLink> links;
  std::vector<MeasuredAllReduce> all_reduces;  ///< by size; not empty
};

/// What profiler/runner/ridgeline_runner/measure/network.py writes. Untrusted. The error is a clause.
base::Result<MeasuredNetwork> parse_network(std::string_view json);

/// The bandwidth for large messages: the median over the sizes from 1 MiB on whose transfer takes longer than two
/// latencies. Where none does, the rate of the largest one, its latency included: a lower bound.
double bandwidth_gbit_s(const MeasuredLink& link);

/// The machines, links and ranks as the TOML of a cluster. How links are shared stands in comments.
std::string network_toml(const MeasuredNetwork& network);

/// A table of the times of each link, for people.
std::string network_text(const MeasuredNetwork& network);

}  // namespace ridgeline::jobs
