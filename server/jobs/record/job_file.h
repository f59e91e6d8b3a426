// The file of a job: what each rank recorded of the same steps.
//
// "RIDGEJOB", the version and the length of the header; the header in JSON; the recordings of the ranks, one after the
// other; and a hash of all that. Little-endian.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analysis/values/input.h"
#include "base/result.h"
#include "protocol/communication.h"

namespace ridgeline::jobs {

struct JobRank {
  RankRecord record;
  int batch_size = 0;
  std::vector<double> times_ns;                  ///< of bare steps, after the recording
  double data_wait_ns = 0;                       ///< mean of a bare step; 0 without a data loader of torch
  std::shared_ptr<const std::string> recording;  ///< its bytes, as recording::Recording::parse() takes them; null:
                                                 ///< of a trace, which is written to no file
};

struct Job {
  std::string command;                ///< as a shell would read it
  std::string torch;                  ///< its version
  analysis::SourceScope scope{};      ///< whose lines are the user's; without packages
  std::vector<std::string> warnings;  ///< what is missing, as sentences
  std::vector<JobRank> ranks;         ///< by rank; not empty
  std::string profiler{};             ///< of traces, which are in no file: what made them
};

inline constexpr std::uint32_t kJobVersion = 1;
inline constexpr std::size_t kMaxJobRanks = 4096;

/// The bytes of the file.
std::string serialise_job(const Job& job);

/// Checks the bytes: indices are in range, and what ends does not end before it starts. Recordings are not parsed. The
/// error is a sentence that says what is wrong and what to do.
base::Result<Job> parse_job(const std::string& bytes);

/// The steps that all ranks recorded, ascending. Empty: there is none.
std::vector<std::int64_t> common_steps(const std::vector<RankRecord>& ranks);

}  // namespace ridgeline::jobs
