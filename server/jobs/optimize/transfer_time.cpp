#include "jobs/optimize/transfer_time.h"

#include <algorithm>
#include <compare>
#include <limits>
#include <utility>
#include <vector>

#include "analysis/time/models.h"

namespace ridgeline::jobs {

namespace {

/// Mean sizes that are closer are one size.
constexpr double kDistinct = 1.5;

/// Collectives that were on their way at once, one after the other begun: how many, and their bytes.
struct Burst {
  double count = 0;
  double bytes = 0;
  auto operator<=>(const Burst&) const = default;
};
using Bursts = std::map<Burst, std::vector<double>>;  // how long each took

/// count · latency + bytes · ns_per_byte with the least relative errors; a part that would be negative is 0.
TransferTime fitted(const std::vector<std::pair<Burst, double>>& points) {
  double cc = 0;
  double cb = 0;
  double bb = 0;
  double c = 0;
  double b = 0;
  for (const auto& [burst, ns] : points) {
    const double count = burst.count / ns;
    const double bytes = burst.bytes / ns;
    cc += count * count;
    cb += count * bytes;
    bb += bytes * bytes;
    c += count;
    b += bytes;
  }
  const double determinant = cc * bb - cb * cb;
  const double latency = (c * bb - b * cb) / determinant;
  const double per_byte = (b * cc - c * cb) / determinant;
  if (per_byte <= 0) {
    return {c / cc, 0, true};
  }
  if (latency <= 0) {
    return {0, b / bb, true};
  }
  return {latency, per_byte, true};
}

TransferTime time_of(const Bursts& bursts, TransferAssumption assumption) {
  std::vector<std::pair<Burst, double>> points;
  Burst all;
  double ns = 0;
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  for (const auto& [burst, times] : bursts) {
    points.emplace_back(burst, analysis::median(times));
    for (const double each : times) {
      ns += each;
      all.count += burst.count;
      all.bytes += burst.bytes;
    }
    least = std::min(least, burst.bytes / burst.count);
    most = std::max(most, burst.bytes / burst.count);
  }
  if (most > kDistinct * least) {
    return fitted(points);
  }
  if (assumption == TransferAssumption::kLatency || all.bytes <= 0) {
    return {ns / all.count, 0, false};
  }
  return {0, ns / all.bytes, false};
}

/// Adds the bursts of one rank. The calls of a group are in order.
void add_bursts(const EqualRanks& rank, std::map<CollectiveKind, Bursts>& all) {
  struct Open {
    CollectiveKind kind{};
    Burst burst{};
    double ns = 0;
  };
  std::map<std::uint32_t, Open> open;  // by group
  const auto close = [&](const Open& one) {
    if (one.ns > 0) {
      all[one.kind][one.burst].push_back(one.ns);
    }
  };
  for (const Call& call : rank.calls) {
    if (!call.recorded.has_value()) {
      continue;
    }
    Open& one = open[call.group];
    if (!call.recorded->overlaps || one.kind != call.kind) {
      close(one);
      one = {call.kind, {}, 0};
    }
    one.burst.count += 1;
    one.burst.bytes += call.bytes;
    one.ns += call.recorded->alone_ns;
  }
  for (const auto& [group, one] : open) {
    close(one);
  }
}

}  // namespace

std::map<CollectiveKind, TransferTime> transfer_times(const RecordedJob& job, TransferAssumption assumption) {
  std::map<CollectiveKind, Bursts> recorded;
  for (const EqualRanks& rank : job.ranks) {
    add_bursts(rank, recorded);
  }
  std::map<CollectiveKind, TransferTime> times;
  for (const auto& [kind, bursts] : recorded) {
    times[kind] = time_of(bursts, assumption);
  }
  const auto all_reduce = times.find(CollectiveKind::kAllReduce);
  if (all_reduce != times.end() && job.measured_all_reduce.has_value()) {
    all_reduce->second = *job.measured_all_reduce;
  }
  return times;
}

std::optional<TransferTime> measured_time(std::span<const AllReduceTime> all_reduces) {
  Bursts bursts;
  for (const AllReduceTime& one : all_reduces) {
    if (one.bytes > 0 && one.ns.value > 0) {
      bursts[{1, one.bytes}].push_back(one.ns.value);
    }
  }
  const TransferTime time = bursts.empty() ? TransferTime{} : time_of(bursts, TransferAssumption::kTransfer);
  return time.is_split ? std::optional(time) : std::nullopt;
}

}  // namespace ridgeline::jobs
