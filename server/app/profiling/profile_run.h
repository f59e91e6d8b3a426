// One profile from the request to the value: what the worker is to run, and the analysis of its results.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "analysis/values/input.h"
#include "analysis/values/prediction.h"
#include "analysis/values/profile.h"
#include "app/profiling/kept_programs.h"
#include "app/profiling/project_settings.h"
#include "app/profiling/request.h"
#include "base/result.h"
#include "operations/device/device.h"
#include "protocol/worker_messages.h"
#include "store/fingerprint.h"
#include "worker/worker.h"

namespace ridgeline::app {

/// A requested run, with what is known of the machine at its start.
struct PlannedRun {
  protocol::RunSpec spec;
  worker::RunLimits limits;
  std::uint64_t capacity_bytes = 0;
  std::optional<double> co2_g_per_kwh{};  ///< as in ProfileRequest
  ProjectSettings settings{};
  std::string settings_problem;                 ///< why there are none; mostly empty
  std::optional<operations::Device> processor;  ///< as `ridgeline machine measure` measured it; absent where it did not
  std::string processor_problem;                ///< why what it measured cannot be read; mostly empty
  std::vector<KeptProgram> programs{};          ///< generated for operations, and timed on this processor
  std::string programs_problem{};               ///< why these cannot be read; mostly empty
  std::string commit;                           ///< that the project has checked out; empty: unknown
  store::Moment began;                          ///< when the plan was made: before anything of the user's was read
};

/// A profile, and what is needed to know later whether it is up to date.
struct ProfileRun {
  analysis::Profile profile;
  store::Moment began;
  std::vector<std::string> imported_files;  ///< as protocol::RunResult has them
  bool imported_files_complete = false;
  analysis::Outlook outlook;       ///< of the profile
  analysis::RecordedRun recorded;  ///< at the profile's batch size
};

/// What an exception of the analysis says to the user.
RunFailure analysis_failure(const std::exception& error);

/// Bytes that user code may have, of what is available now: the rest keeps the machine alive.
std::uint64_t memory_for_user_code();

/// Gives the plan what `ridgeline machine measure` and `ridgeline kernel --of` measured of this processor, or why that
/// cannot be read. Reads the cache folder.
void add_processor(PlannedRun& plan, const std::string& cache);
/// Takes the settings of the project of plan.spec, and its commit.
void take_settings(PlannedRun& plan);

PlannedRun plan_run(const ProfileRequest& request, const Target& target);

/// Parses and analyses what the worker measured. Takes long where recordings are large; touches nothing else.
base::Result<ProfileRun, RunFailure> analyse_run(worker::Finished finished, const PlannedRun& plan);

}  // namespace ridgeline::app
