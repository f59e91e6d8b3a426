// The files of a recorded job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "jobs/record/job_file.h"

namespace ridgeline::jobs {

inline constexpr std::uintmax_t kMostJobBytes = std::uintmax_t{8} << 30U;

/// What one machine recorded, and where its file is.
struct NamedJob {
  std::string name;
  communication::Job job;
};

/// The ranks of all machines as one job.
communication::Job joined(std::vector<NamedJob> jobs);

/// The same of files. The error names the file.
base::Result<communication::Job> read_jobs(const std::vector<std::string>& files);

/// What each of its ranks sent, by rank.
std::vector<communication::RankRecord> records_of(const communication::Job& job);

}  // namespace ridgeline::jobs
