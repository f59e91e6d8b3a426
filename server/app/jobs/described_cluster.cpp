#include "app/jobs/described_cluster.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "base/file.h"
#include "jobs/optimize/transfer_time.h"

namespace ridgeline::app {

namespace {

constexpr std::uintmax_t kMostClusterBytes = std::uintmax_t{4} << 20U;

}  // namespace

base::Result<jobs::Cluster> read_cluster(const std::string& path) {
  const auto text = base::read_text(path, kMostClusterBytes);
  if (!text) {
    return base::error("Cannot read " + path + " as the file of a cluster: there is none, or it is larger than 4 MiB.");
  }
  return jobs::parse_cluster(*text, path);
}

base::Result<AllReduceOfFile> all_reduce_time(const std::string& path, std::size_t ranks) {
  const auto described = read_cluster(path);
  if (!described) {
    return described.error();
  }
  const auto time = jobs::measured_time(described->measured);
  if (!time.has_value()) {
    return base::error(path + " has no all-reduces of several sizes: write it with `ridgeline job network`.");
  }
  if (static_cast<std::size_t>(described->measured_ranks) != ranks) {
    return base::error(fmt::format("{} has all-reduces of {} ranks, and the job has {}: measure with as many.", path,
                                   described->measured_ranks, ranks));
  }
  const bool shares = std::ranges::any_of(described->machines, [](const jobs::Machines& machines) {
    return machines.cores.has_value() && *machines.cores < 2 * machines.ranks;
  });
  const jobs::AllReduceTime& largest = described->measured.back();
  return AllReduceOfFile{*time, shares ? largest.processor_ns / largest.ns.value : 0};
}

}  // namespace ridgeline::app
