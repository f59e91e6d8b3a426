// A training script that runs as it is: the job of a request, and the profile of a process of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/profiling/profile_run.h"
#include "app/profiling/request.h"
#include "base/result.h"
#include "worker/job.h"

namespace ridgeline::app {

/// Further runs of a script, for other batch sizes.
struct SizesRequest {
  std::vector<int> sizes;     ///< of a training step; empty: half, one and a half times, and twice the script's own
  bool allow_writes = false;  ///< the command may change files; else it ends at the first, unchanged
};

struct ScriptRequest {
  ProfileRequest place;                 ///< of which interpreter, device, project root and time budget are used
  int steps = 0;                        ///< to record; 0: as many as fit into a second
  int batch_size = 0;                   ///< samples of a step, where the user says so; else 0
  bool stop = false;                    ///< whether the script ends once its steps are timed
  std::vector<std::string> command;     ///< a script with its arguments, or any command; not empty
  bool is_silent = false;               ///< without the user's streams, and not allowed to change files
  std::optional<SizesRequest> sizes{};  ///< absent: only the script's own batch size
  // In the background, as an editor runs it:
  std::string folder{};                  ///< the working folder; empty: the script's
  std::vector<std::string> variables{};  ///< "NAME=value", added to the environment
};

/// The first script that the command names; else a file that would be in the working folder.
std::string script_of(const std::vector<std::string>& command);

/// The job of a request: a script is run by the interpreter that is found for it. Starts nothing. Fails as
/// "entry-unreadable" where the script does not exist, and as "cache" without a cache folder.
base::Result<worker::JobOptions, RunFailure> plan_job(const ScriptRequest& request);

/// The profile of one process of the job. `began`: before anything of the user's was read. Takes long where recordings
/// are large; touches nothing else.
base::Result<ProfileRun, RunFailure> analyse_process(worker::JobProcess process, const worker::JobOptions& options,
                                                     const store::Moment& began);

/// The job of an editor's request for a script, in the background, which ends once its steps are timed. Fails as
/// plan_job() does.
base::Result<worker::JobOptions, RunFailure> plan_background_job(const ScriptRequest& request, const Target& target);

/// The command as a shell would read it, for the user.
std::string command_line(const std::vector<std::string>& command);

}  // namespace ridgeline::app
