// What a use case asks of who profiles entry points for it.
#pragma once

#include <string>

#include "app/profiling/profile_run.h"
#include "app/profiling/request.h"
#include "base/result.h"
#include "base/task.h"

namespace ridgeline::app {

/// Lives on the loop of the tasks that use it, and outlives them.
class EntryProfiler {
 public:
  EntryProfiler() = default;
  EntryProfiler(const EntryProfiler&) = delete;
  EntryProfiler& operator=(const EntryProfiler&) = delete;
  virtual ~EntryProfiler() = default;

  /// Profiles the entry in an interpreter of its own. A cancelled profile is a failure, and so is each one after it.
  /// The failure has not been shown to the user.
  virtual base::Task<base::Result<ProfileRun, RunFailure>> profile(ProfileRequest request, Target target) = 0;
  /// Tells the user what is done next.
  virtual void announce(const std::string& text) = 0;
};

}  // namespace ridgeline::app
