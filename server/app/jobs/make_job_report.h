// What a recorded job shows, for commands and for editors.
#pragma once

#include <optional>
#include <vector>

#include "analysis/values/job_report.h"
#include "app/jobs/job_replay.h"
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

/// Adds the replay of the job, with what the lines of each rank compute.
void add_replay(analysis::JobReport& report, const Replayed& replayed);

/// Which rank the others wait for, and the line that makes it so where `report` has what the lines compute.
std::optional<analysis::SlowerRank> slower_rank(const analysis::JobReport& report, const jobs::OneClock& aligned);

/// All that the job shows: with its replay, or why there is none among the warnings. Pure.
analysis::JobReport whole_report(jobs::Job job);

/// The same as reports show it. `lines_known`: whether it was found with the work of the lines.
analysis::SlowerRank slower_rank(const jobs::Straggler& straggler, bool lines_known);

/// As reports name it; an empty file where no line of the user's called.
analysis::Location location_of(const jobs::LineCommunication& line, const analysis::SourceScope& scope);

/// What a rank waits for, as reports show it. `steps`: how many the figures are of.
analysis::Communication communication_of(const jobs::RankFigures& figures,
                                         const std::vector<jobs::LineCommunication>& lines, int steps,
                                         const analysis::SourceScope& scope);

}  // namespace ridgeline::app
