#include "jobs/network/collective_times.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace ridgeline::jobs {

namespace {

using analysis::Measured;

Measured scaled(const Measured& time, double by) { return {time.value * by, time.low * by, time.high * by}; }

/// The share of a data sheet's bandwidth that collectives mostly reach. As in whatif's data-parallel.
constexpr double kUsualBandwidth = 0.85;
/// How many times as long, or as short, collectives of NCCL were on A100 and H100 than what follows from a data sheet,
/// and from those of two GPUs: docs/dev/architecture/job-prediction.md has these, and the other systems that they were
/// tested on.
constexpr double kSheetFactor = 3;
constexpr double kOtherRanksFactor = 4;

Measured within(const Measured& time, double factor) {
  return {time.value, std::min(time.low, time.value / factor), std::max(time.high, time.value * factor)};
}

CollectiveTime within(const CollectiveTime& time, double factor) {
  return {within(time.ns, factor), within(time.next_ns, factor), time.processor_ns};
}

/// Those that begin at once are over one after the other.
CollectiveTime time_of(const AllReduceTime& time) {
  return {time.ns, time.four_ns.has_value() ? scaled(*time.four_ns, 0.25) : time.ns, time.processor_ns};
}

Measured between(const Measured& a, const Measured& b, double part) {
  return {std::lerp(a.value, b.value, part), std::lerp(a.low, b.low, part), std::lerp(a.high, b.high, part)};
}

CollectiveTime between(const AllReduceTime& low, const AllReduceTime& high, double bytes) {
  const double part = (bytes - low.bytes) / (high.bytes - low.bytes);
  const CollectiveTime a = time_of(low);
  const CollectiveTime b = time_of(high);
  return {between(a.ns, b.ns, part), between(a.next_ns, b.next_ns, part),
          std::lerp(a.processor_ns, b.processor_ns, part)};
}

/// Between two sizes by a line; below the smallest as that one, beyond the largest by its rate.
CollectiveTime at_size(const std::vector<AllReduceTime>& measured, double bytes) {
  if (bytes <= measured.front().bytes) {
    return time_of(measured.front());
  }
  if (bytes >= measured.back().bytes) {
    return scaled(time_of(measured.back()), bytes / measured.back().bytes);
  }
  const auto above = std::ranges::upper_bound(measured, bytes, {}, &AllReduceTime::bytes);
  return between(*std::prev(above), *above, bytes);
}

}  // namespace

CollectiveTime scaled(const CollectiveTime& time, double by) {
  return {scaled(time.ns, by), scaled(time.next_ns, by), time.processor_ns * by};
}

base::Result<CollectiveTimes> CollectiveTimes::of(Cluster cluster) {
  if (!cluster.measured.empty()) {
    return CollectiveTimes(std::move(cluster), {});
  }
  auto links = ring_links(cluster);
  if (!links) {
    return links.error();
  }
  return CollectiveTimes(std::move(cluster), std::move(*links));
}

CollectiveTime CollectiveTimes::measured_step(double bytes) const {
  const double ranks = cluster_.measured_ranks;
  const CollectiveTime time = scaled(at_size(cluster_.measured, ranks * bytes), 1 / (2 * (ranks - 1)));
  return is_of_these_ranks() ? time : within(time, kOtherRanksFactor);
}

CollectiveTime CollectiveTimes::step(double bytes) const {
  if (is_measured()) {
    return measured_step(bytes);
  }
  double slowest = 0;
  for (const Link& link : links_) {
    slowest = std::max(slowest, link.latency_ns + bytes / (link.bytes_per_ns * kUsualBandwidth));
  }
  const Measured exactly{slowest, slowest, slowest};
  return within(CollectiveTime{exactly, exactly}, kSheetFactor);
}

CollectiveTime CollectiveTimes::all_reduce(double bytes) const {
  const auto ranks = static_cast<double>(cluster_.ranks());
  return ranks < 2 ? CollectiveTime{} : scaled(step(bytes / ranks), 2 * (ranks - 1));
}

CollectiveTime CollectiveTimes::broadcast(double bytes) const {
  const std::int64_t ranks = cluster_.ranks();
  if (ranks < 2) {
    return {};
  }
  return scaled(step(bytes), static_cast<double>(std::bit_width(static_cast<std::uint64_t>(ranks - 1))));
}

}  // namespace ridgeline::jobs
