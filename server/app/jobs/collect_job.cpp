#include "app/jobs/collect_job.h"

#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/jobs/job_files.h"

namespace ridgeline::app {

namespace {

using jobs::Job;
using jobs::JobRank;

/// Why these cannot be the machines of one job; empty where they can.
std::string contradiction(const std::vector<NamedJob>& jobs) {
  std::map<int, std::string> places;  // by rank
  const int ranks = jobs.front().job.ranks.front().record.world_size;
  for (const NamedJob& one : jobs) {
    for (const JobRank& rank : one.job.ranks) {
      const auto [found, is_new] = places.try_emplace(rank.record.rank, one.name);
      if (!is_new) {
        return fmt::format("rank {} is in {} and in {}", found->first, found->second, one.name);
      }
      if (rank.record.world_size == ranks) {
        continue;
      }
      return fmt::format("{} is of a job of {} ranks, {} of one of {}", jobs.front().name, ranks, one.name,
                         rank.record.world_size);
    }
  }
  return "";
}

}  // namespace

base::Result<Job> collect_job(const std::vector<std::string>& places, FetchJob fetch) {
  std::vector<NamedJob> jobs;
  for (const std::string& place : places) {
    const auto bytes = fetch(place);
    auto job = bytes ? jobs::parse_job(*bytes) : base::Result<Job>(bytes.error());
    if (!job) {
      return base::error(place + ": " + job.error().message());
    }
    jobs.push_back({place, std::move(*job)});
  }
  const std::string problem = contradiction(jobs);
  return problem.empty() ? joined(std::move(jobs)) : base::Result<Job>(base::error(problem));
}

std::string ranks_summary(const Job& job) {
  std::vector<int> ranks;
  std::set<std::string> machines;
  for (const JobRank& rank : job.ranks) {
    ranks.push_back(rank.record.rank);
    machines.insert(rank.record.host);
  }
  const auto steps = jobs::common_steps(records_of(job));
  return fmt::format("ranks {} of {} machine{}; {}", fmt::join(ranks, ", "), machines.size(),
                     machines.size() == 1 ? "" : "s",
                     steps.empty() ? "no step was recorded by all of them"
                                   : fmt::format("all recorded steps {} to {}", steps.front(), steps.back()));
}

}  // namespace ridgeline::app
