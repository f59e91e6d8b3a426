#include "cluster/collective_times.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace ridgeline::cluster {

CollectiveTime scaled(const CollectiveTime& time, double by) {
  return {time.ns * by,      time.low_ns * by,      time.high_ns * by,     time.processor_ns * by,
          time.next_ns * by, time.next_low_ns * by, time.next_high_ns * by};
}

namespace {

/// Of the bandwidth of a data sheet, what collectives mostly reach. As in whatif's data-parallel.
constexpr double kUsualBandwidth = 0.85;
/// How many times as long, or as short, collectives of NCCL were on A100 and H100 than what follows from a data sheet,
/// and from those of two GPUs: docs/dev/benchmarks-cluster.md has these, and the other systems that they were tested
/// on.
constexpr double kSheetFactor = 3;
constexpr double kOtherRanksFactor = 4;

CollectiveTime within(const CollectiveTime& time, double factor) {
  return {time.ns,
          std::min(time.low_ns, time.ns / factor),
          std::max(time.high_ns, time.ns * factor),
          time.processor_ns,
          time.next_ns,
          std::min(time.next_low_ns, time.next_ns / factor),
          std::max(time.next_high_ns, time.next_ns * factor)};
}

/// Those that begin at once are over one after the other.
CollectiveTime time_of(const AllReduceTime& time) {
  if (time.four_ns <= 0) {
    return {time.ns, time.low_ns, time.high_ns, time.processor_ns, time.ns, time.low_ns, time.high_ns};
  }
  return {time.ns,          time.low_ns,          time.high_ns,         time.processor_ns,
          time.four_ns / 4, time.four_low_ns / 4, time.four_high_ns / 4};
}

CollectiveTime between(const AllReduceTime& low, const AllReduceTime& high, double bytes) {
  const double part = (bytes - low.bytes) / (high.bytes - low.bytes);
  const auto at = [&, a = time_of(low), b = time_of(high)](double CollectiveTime::*member) {
    return std::lerp(a.*member, b.*member, part);
  };
  return {at(&CollectiveTime::ns),           at(&CollectiveTime::low_ns),  at(&CollectiveTime::high_ns),
          at(&CollectiveTime::processor_ns), at(&CollectiveTime::next_ns), at(&CollectiveTime::next_low_ns),
          at(&CollectiveTime::next_high_ns)};
}

/// Between two sizes by a line; below the smallest as that one, beyond the largest by its rate.
CollectiveTime at_size(const std::vector<AllReduceTime>& measured, double bytes) {
  if (bytes <= measured.front().bytes) return time_of(measured.front());
  if (bytes >= measured.back().bytes) return scaled(time_of(measured.back()), bytes / measured.back().bytes);
  const auto above = std::ranges::upper_bound(measured, bytes, {}, &AllReduceTime::bytes);
  return between(*std::prev(above), *above, bytes);
}

}  // namespace

base::Result<CollectiveTimes> CollectiveTimes::of(Cluster cluster) {
  if (!cluster.measured.empty()) return CollectiveTimes(std::move(cluster), {});
  auto links = ring_links(cluster);
  if (!links) return links.error();
  return CollectiveTimes(std::move(cluster), std::move(*links));
}

CollectiveTime CollectiveTimes::measured_step(double bytes) const {
  const double ranks = cluster_.measured_ranks;
  const CollectiveTime time = scaled(at_size(cluster_.measured, ranks * bytes), 1 / (2 * (ranks - 1)));
  return is_of_these_ranks() ? time : within(time, kOtherRanksFactor);
}

CollectiveTime CollectiveTimes::step(double bytes) const {
  if (is_measured()) return measured_step(bytes);
  double slowest = 0;
  for (const Link& link : links_) {
    slowest = std::max(slowest, link.latency_ns + bytes / (link.bytes_per_ns * kUsualBandwidth));
  }
  return within({slowest, slowest, slowest, 0, slowest, slowest, slowest}, kSheetFactor);
}

CollectiveTime CollectiveTimes::all_reduce(double bytes) const {
  const auto ranks = static_cast<double>(cluster_.ranks());
  return ranks < 2 ? CollectiveTime{} : scaled(step(bytes / ranks), 2 * (ranks - 1));
}

CollectiveTime CollectiveTimes::broadcast(double bytes) const {
  const std::int64_t ranks = cluster_.ranks();
  if (ranks < 2) return {};
  return scaled(step(bytes), static_cast<double>(std::bit_width(static_cast<std::uint64_t>(ranks - 1))));
}

}  // namespace ridgeline::cluster
