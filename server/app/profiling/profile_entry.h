// The profile of an entry point, from the request to what is kept: the same for commands and for editors.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "app/profiling/off_loop.h"
#include "app/profiling/profile_run.h"
#include "app/profiling/profile_with_sources.h"
#include "app/profiling/remaining_time.h"
#include "app/profiling/request.h"
#include "base/result.h"
#include "base/task.h"
#include "worker/worker.h"

namespace ridgeline::app {

/// Who has the interpreter and follows the run: a command, which may wait, or the queue of a server, whose loop may
/// not. Lives on the loop of the tasks that use it, and outlives them.
class EntryRunner : public OffLoop {
 public:
  /// Runs the plan to its end, and shows each of its steps as `remaining` has it. A run that was cancelled, also before
  /// it began, is a failure: nothing follows it.
  virtual base::Task<std::shared_ptr<worker::Finished>> run(PlannedRun plan, RemainingTime& remaining) = 0;
  /// `timed`: with the time that is left, which may change every second.
  virtual void show(const protocol::Progress& step, const protocol::Progress& timed) = 0;
  /// What the user should know, and the profile is good all the same; lines. An empty text is none.
  virtual void warn(const std::string& text) = 0;
};

/// Measures, analyses, and keeps the profile unless the request says not to.
base::Task<base::Result<ProfiledEntry, RunFailure>> profile_entry(EntryRunner& runner, ProfileRequest request,
                                                                  Target target);

/// The same for an editor, which keeps it in memory.
base::Task<ProfileOutcome> make_profile(EntryRunner& runner, ProfileRequest request, Target target);

/// What a run has measured of the user's batch size before it has measured the others, analysed. It is not kept.
/// Nothing where that is not enough. Reads files; for a thread that may wait.
std::optional<ProfileWithSources> first_profile(worker::RunOutput measured, ProfileRequest request,
                                                const Target& target, const PlannedRun& plan);

/// A trial (app/profiling/tried_change.h) of the batch size that the request checks.
base::Task<ProfileOutcome> try_batch_size(EntryRunner& runner, ProfileRequest request, Target target,
                                          std::shared_ptr<const ProfileWithSources> held);

}  // namespace ridgeline::app
