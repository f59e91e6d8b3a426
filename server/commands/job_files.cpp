#include "commands/job_files.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "base/file.h"

namespace ridgeline::commands {

namespace {

constexpr std::uintmax_t kMostJobBytes = std::uintmax_t{8} << 30U;

}  // namespace

base::Result<communication::Job> read_jobs(const std::vector<std::string>& files) {
  communication::Job all;
  for (const std::string& file : files) {
    const auto bytes = base::read_text(file, kMostJobBytes);
    if (!bytes) return bytes.error();
    auto job = communication::parse_job(*bytes);
    if (!job) return base::error(file + ": " + job.error().message());
    if (all.command.empty()) all.command = job->command;
    if (all.scope.project_root.empty()) all.scope = job->scope;
    std::ranges::move(job->warnings, std::back_inserter(all.warnings));
    std::ranges::move(job->ranks, std::back_inserter(all.ranks));
  }
  std::ranges::stable_sort(all.ranks, {}, [](const communication::JobRank& rank) { return rank.record.rank; });
  return all;
}

}  // namespace ridgeline::commands
