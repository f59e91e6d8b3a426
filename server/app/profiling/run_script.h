// The profile of a training script that runs as it is, from the request to the analysed processes: the same for
// commands and for editors.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/profiling/profile_run.h"
#include "app/profiling/profile_with_sources.h"
#include "app/profiling/script_profile.h"
#include "app/profiling/script_runner.h"
#include "app/profiling/use_case_failure.h"
#include "base/task.h"
#include "protocol/worker_messages.h"

namespace ridgeline::app {

struct ScriptQuestion {
  ScriptRequest script;
  protocol::BoundaryRequest boundary;
  std::vector<int> ranks;  ///< that are recorded, ascending; empty: all
};

/// A process that trained.
struct RankRun {
  int rank = 0;
  int world_size = 0;  ///< 0: no launcher numbered it
  ProfileRun run;      ///< with the texts of its lines
  std::string interpreter;
  std::optional<protocol::CommunicationTrace> communication;  ///< absent: it has no process group
  std::shared_ptr<const std::string> recording;               ///< the bytes of `run.recorded`
};

struct ScriptRun {
  int status = 0;                      ///< of the command, as from wait(2)
  bool joined = false;                 ///< whether any process imported torch
  std::string output{};                ///< in the background: the end of what the command wrote
  std::string project_root{};          ///< paths of failures are shown relative to it
  std::string note{};                  ///< run_note()
  std::size_t trained = 0;             ///< processes with figures
  std::vector<int> missing{};          ///< wanted ranks that no process had
  std::vector<RankRun> ranks{};        ///< of processes that were analysed, by rank
  std::vector<RunFailure> failures{};  ///< of the other processes
};

/// Runs the command to its end, and again for other batch sizes, and analyses each of its processes. Fails only where
/// it could not be started.
base::Task<Answer<ScriptRun>> run_script(ScriptRunner& runner, ScriptQuestion question);

/// Keeps the profile for `predict`, `report` and editors, as one of the script. Without a script's file there is
/// nothing to find it by. Returns a warning, mostly empty. Writes the store.
[[nodiscard]] std::string keep_script_profile(RankRun& rank, const ProfileRequest& place);

/// Runs an editor's script in the background until its steps are timed: the profile of its first process that trained.
/// Not kept in the store. `show`, where it is given, is called on the loop with the profile before other batch sizes
/// are measured.
base::Task<ProfileOutcome> make_script_profile(ScriptRunner& runner, ScriptRequest request, Target target,
                                               ProfileHandler show);

}  // namespace ridgeline::app
