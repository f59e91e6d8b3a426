// What a recorded job shows, for commands and for editors.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/values/job_report.h"
#include "app/jobs/job_replay.h"
#include "base/result.h"
#include "jobs/clocks/one_clock.h"
#include "jobs/record/job_file.h"
#include "jobs/record/rank_figures.h"

namespace ridgeline::app {

/// The records of the job by one clock. Where they cannot be aligned, they are as they were, of no machines, and why is
/// a warning of the job.
jobs::OneClock aligned(jobs::Job& job);

/// What each rank does in the steps that all have. Without a replay, and without who is slower. `aligned` is of the
/// job.
analysis::JobReport job_report(const jobs::Job& job, const jobs::OneClock& aligned);

struct JobQuestion {
  std::vector<std::string> changes{};  ///< to replay the job with (step/changes/change_table.h)
  std::string network{};               ///< a file (changed_steps.h); empty: none
};

/// All that the job shows: with its replay and that of changes. Where nothing is asked that needs a replay, why there
/// is none is among the warnings. The error says which change the job cannot be replayed with, or why it cannot be.
/// Reads the file of the network; else pure.
base::Result<analysis::JobReport> whole_report(jobs::Job job, const JobQuestion& question = {});

/// Which rank the others wait for, as reports show it. `lines_known`: whether it was found with the work of the lines.
analysis::SlowerRank slower_rank(const jobs::Straggler& straggler, bool lines_known);

/// As reports name it; an empty file where no line of the user's called.
analysis::Location location_of(const jobs::LineCommunication& line, const analysis::SourceScope& scope);

/// What a rank waits for, as reports show it. `steps`: how many the figures are of.
analysis::Communication communication_of(const jobs::RankFigures& figures,
                                         const std::vector<jobs::LineCommunication>& lines, int steps,
                                         const analysis::SourceScope& scope);

}  // namespace ridgeline::app
