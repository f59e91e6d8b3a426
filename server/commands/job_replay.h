// The replay of a recorded job, and its changes.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "analysis/values/job_report.h"
#include "base/result.h"
#include "cluster/recorded_job.h"
#include "communication/job_file.h"
#include "protocol/communication.h"
#include "protocol/recording.h"

namespace ridgeline::commands {

/// Of each rank. The error names the rank whose recording is damaged.
base::Result<std::vector<recording::Recording>> recordings_of(const communication::Job& job);

/// The graph of the job, which its replay needs. `aligned` are its records by one clock, `recordings` its recordings.
/// `network` is the file of `ridgeline network` that says what of an all-reduce is latency; empty: there is none. The
/// error says why it cannot be replayed.
base::Result<cluster::RecordedJob> job_graph(const communication::Job& job,
                                             const std::vector<communication::RankRecord>& aligned,
                                             const std::vector<recording::Recording>& recordings,
                                             const std::string& network);

/// The option for that file.
void add_network_option(CLI::App& command, std::string& network);

struct ReplayedJob {
  analysis::JobReplay replay;
  std::vector<analysis::ChangedStep> changes;
  std::vector<std::vector<analysis::LineTime>> computing;  ///< by rank: what its thread does, of a recorded step
};

/// How long a step takes as the graph of the job says, next to what was recorded, what decides it, and how long it
/// takes with each of `changes` (job_change.h) and, where there are several, with all. The error says which change the
/// job cannot be replayed with.
base::Result<ReplayedJob> replayed_job(const cluster::RecordedJob& job, const std::vector<std::string>& changes);

/// For people.
std::string replay_text(const ReplayedJob& job);

}  // namespace ridgeline::commands
