// The ranks of a job that `ridgeline profile` has recorded: their figures side by side, and the file of the job.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/profiling/profile_run.h"
#include "base/result.h"
#include "jobs/record/job_file.h"
#include "jobs/record/rank_figures.h"
#include "protocol/communication_trace.h"
#include "report/warnings.h"
#include "store/fingerprint.h"
#include "worker/job.h"

namespace ridgeline::cli {

struct Rank {
  int rank = 0;
  int world_size = 0;  ///< 0: no launcher numbered it
  app::ProfileRun run;
  std::string interpreter;
  std::optional<protocol::CommunicationTrace> communication;  ///< absent: it has no process group
  std::shared_ptr<const std::string> recording;               ///< the bytes of `run.recorded`
};

/// What was measured of a process, as a run of the worker would have it; or what to say of its failure.
base::Result<Rank, std::string> analysed_rank(worker::JobProcess process, const worker::JobOptions& options,
                                              const store::Moment& began);

/// The job of those ranks that have a process group; no ranks where none has. `command`: as a shell would read it.
jobs::Job job_of(const std::vector<Rank>& ranks, const std::string& command);

/// Adds to the profile of each rank what it waits for.
void add_communication(std::vector<Rank>& ranks, const jobs::Job& job);

/// A line for each process, and what keeps the ranks of a job apart: below the report of the first. `job` has the ranks
/// with a process group. `numbered`: whether a launcher numbered the processes.
std::string ranks_text(const std::vector<Rank>& ranks, const jobs::Job& job, bool numbered,
                       report::ShownWarnings warnings);

/// Writes the file of the job. An exit code; what it says goes to standard error.
int write_job(const jobs::Job& job, const std::string& file);

}  // namespace ridgeline::cli
