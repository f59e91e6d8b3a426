// The ranks of a job that `ridgeline run` has recorded: their figures side by side, and the file of the job.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "communication/job_file.h"
#include "communication/rank_figures.h"
#include "profiling/run.h"
#include "protocol/communication_trace.h"
#include "store/fingerprint.h"
#include "worker/job.h"

namespace ridgeline::commands {

struct Rank {
  int rank = 0;
  int world_size = 0;  ///< 0: no launcher numbered it
  profiling::ProfileRun run;
  std::string interpreter;
  std::optional<protocol::CommunicationTrace> communication;  ///< absent: it has no process group
  std::shared_ptr<const std::string> recording;               ///< the bytes of `run.recorded`
};

/// What was measured of a process, as a run of the worker would have it; or what to say of its failure.
base::Result<Rank, std::string> analysed_rank(worker::JobProcess process, const worker::JobOptions& options,
                                              const store::Moment& began);

/// The job of those ranks that have a process group; no ranks where none has. `command`: as a shell would read it.
communication::Job job_of(const std::vector<Rank>& ranks, const std::string& command);

/// What each of them sent, by rank.
std::vector<communication::RankRecord> records_of(const communication::Job& job);

/// What a rank waits for, as reports show it. `steps`: how many the figures are of.
analysis::Communication communication_of(const communication::RankFigures& figures,
                                         const std::vector<communication::LineCommunication>& lines, int steps,
                                         const analysis::SourceScope& scope);

/// Adds to the profile of each rank what it waits for.
void add_communication(std::vector<Rank>& ranks, const communication::Job& job);

/// A line for each process, and what keeps the ranks of a job apart: below the report of the first. `job` has the ranks
/// with a process group. `numbered`: whether a launcher numbered the processes.
std::string ranks_text(const std::vector<Rank>& ranks, const communication::Job& job, bool numbered);

/// "Rank 1 is 18 % slower than the others in its own work".
std::string slower_text(const communication::Straggler& straggler);

/// How the ranks spend a step: a table, with the steps it is of. `figures` are those of `records`, and not empty.
std::string figures_text(const std::vector<communication::RankRecord>& records,
                         const std::vector<communication::RankFigures>& figures);

/// What communication costs by line, of one rank: a table.
std::string lines_text(int rank, const std::vector<communication::LineCommunication>& lines,
                       const analysis::SourceScope& scope);

/// Writes the file of the job. An exit code; what it says goes to standard error.
int write_job(const communication::Job& job, const std::string& file);

}  // namespace ridgeline::commands
