// The files of a recorded job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "jobs/record/job_file.h"

namespace ridgeline::app {

inline constexpr std::uintmax_t kMostJobBytes = std::uintmax_t{8} << 30U;

/// What one machine recorded, and where its file is.
struct NamedJob {
  std::string name;
  jobs::Job job;
};

/// The ranks of all machines as one job.
jobs::Job joined(std::vector<NamedJob> jobs);

/// The same of files. The error names the file.
base::Result<jobs::Job> read_jobs(const std::vector<std::string>& files);

/// What each of its ranks sent, by rank.
std::vector<jobs::RankRecord> records_of(const jobs::Job& job);

}  // namespace ridgeline::app
