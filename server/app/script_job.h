// A command that trains, in one process or as a job of several ranks: profiled, kept, and its ranks compared.
#pragma once

#include <string>

#include "analysis/values/job_report.h"
#include "app/profiling/run_script.h"
#include "app/profiling/script_runner.h"
#include "app/profiling/use_case_failure.h"
#include "base/task.h"
#include "jobs/record/job_file.h"

namespace ridgeline::app {

struct ScriptJob {
  ScriptRun run;          ///< whose ranks have what they wait for, where a launcher numbered them
  bool numbered = false;  ///< by a launcher; else ranks are numbered as they joined
  jobs::Job job;          ///< of those ranks that have a process group; without ranks where none has
  std::string warning;    ///< of the store; mostly empty
};

/// Runs the command, and keeps the profile of its first rank.
base::Task<Answer<ScriptJob>> profile_script(ScriptRunner& runner, ScriptQuestion question);

/// What keeps the ranks of the job apart.
analysis::JobReport compared_ranks(const ScriptJob& script);

}  // namespace ridgeline::app
