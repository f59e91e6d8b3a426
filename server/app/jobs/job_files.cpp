#include "app/jobs/job_files.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/file.h"

namespace ridgeline::app {

jobs::Job joined(std::vector<NamedJob> jobs) {
  jobs::Job all;
  for (NamedJob& one : jobs) {
    jobs::Job& job = one.job;
    if (all.command.empty()) {
      all.command = job.command;
    }
    if (all.torch.empty()) {
      all.torch = job.torch;
    }
    if (all.scope.project_root.empty()) {
      all.scope = job.scope;
    }
    std::ranges::move(job.warnings, std::back_inserter(all.warnings));
    std::ranges::move(job.ranks, std::back_inserter(all.ranks));
  }
  std::ranges::stable_sort(all.ranks, {}, [](const jobs::JobRank& rank) { return rank.record.rank; });
  return all;
}

base::Result<jobs::Job> read_jobs(const std::vector<std::string>& files) {
  std::vector<NamedJob> jobs;
  for (const std::string& file : files) {
    const auto bytes = base::read_text(file, kMostJobBytes);
    if (!bytes) {
      return bytes.error();
    }
    auto job = jobs::parse_job(*bytes);
    if (!job) {
      return base::error(file + ": " + job.error().message());
    }
    jobs.push_back({file, std::move(*job)});
  }
  return joined(std::move(jobs));
}

std::vector<jobs::RankRecord> records_of(const jobs::Job& job) {
  std::vector<jobs::RankRecord> records;
  for (const jobs::JobRank& rank : job.ranks) {
    records.push_back(rank.record);
  }
  return records;
}

}  // namespace ridgeline::app
