// ridgeline/profile, its command, and the profile after a save: consent, the request, progress, the end.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/lifetime.h"
#include "base/task.h"
#include "methods/workspace.h"
#include "session/cancel.h"

namespace ridgeline::methods {

/// What a request asks for beside the settings.
struct ProfileOptions {
  std::optional<std::vector<int>> batch_sizes;
  std::optional<double> time_budget_seconds;
  protocol::Json params;  ///< of the request; they may hold a progress token
};

/// Whether the editor has asked the user itself, and says so in its initializationOptions: then a gesture is consent
/// enough.
bool editor_vouches(const protocol::Json& options);

class ProfilingFlow {
 public:
  explicit ProfilingFlow(Entries& entries) : entries_(entries) {}

  /// Profiles the file: waits for the settings, asks the user where its code may not run yet, runs it with what is not
  /// saved, and shows progress. Throws OwnerGone when the session ends meanwhile; a profile that runs goes on.
  base::Task<ProfileEnd> profile(Workspace& workspace, std::string uri, ProfileOptions options,
                                 session::CancelToken cancel);
  /// A file was saved: the entries that the user has profiled here and that it is part of are profiled again, briefly;
  /// where what stands there now was not agreed to, the user is asked first.
  void saved(Workspace& workspace, const session::Document& document);
  /// The session is gone: nothing is started for it any more.
  void ended(const Workspace& workspace);

 private:
  using WorkspaceEntry = std::pair<const Workspace*, std::string>;

  base::Task<ProfileEnd> run(Workspace& workspace, profiling::ProfileRequest request, profiling::Target target,
                             protocol::Json params, session::CancelToken cancel);
  /// Whether the user has agreed that the code may run. Asks nobody.
  base::Task<bool> may_run(Workspace& workspace, const profiling::Target& target);
  /// The user, until what he agreed to is what stands there.
  base::Task<bool> ask(Workspace& workspace, profiling::Target target);
  base::Task<void> profile_saved(Workspace& workspace, std::string entry);

  Entries& entries_;
  std::map<WorkspaceEntry, std::unique_ptr<boost::asio::steady_timer>> saves_;  ///< that wait for the next one
  std::set<WorkspaceEntry> asking_;  ///< questions that have not been answered: a save does not ask again
  base::Lifetime lifetime_;
};

}  // namespace ridgeline::methods
