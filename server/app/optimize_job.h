// The fastest strategy of a recorded job, for commands and for editors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/values/best_strategy.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "jobs/record/job_file.h"

namespace ridgeline::app {

struct OptimizeQuestion {
  std::vector<std::string> changes;           ///< what to search besides what is usual (step/changes/change_table.h)
  std::vector<std::string> change_files;      ///< changes that the user wrote, likewise
  std::string python;                         ///< for those in Python; empty: found
  std::string network;                        ///< a file (changed_steps.h); empty: none
  std::optional<std::uint64_t> memory_bytes;  ///< of each rank at most; absent: any
  double seconds = 60;                        ///< for the search at most
};

/// Of the strategies replayed so far; false: the search is to end with the best until then.
using GoOn = base::FunctionRef<bool(std::size_t done, std::size_t most)>;

/// Searches by replays; the training code is not run. The answer has the edits of the best strategy where it pays, and
/// no strategies where none fits in the memory. Reads the user's sources, and runs change files in Python: the caller
/// has the consent. Takes as long as the question allows. The error is a sentence for the user.
base::Result<analysis::OptimizedJob> optimize_job(const jobs::Job& job, const OptimizeQuestion& question, GoOn go_on);

}  // namespace ridgeline::app
