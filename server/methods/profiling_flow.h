// ridgeline/profile, its command, and the profile after a save: consent, the request, progress, the end.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/lifetime.h"
#include "methods/workspace.h"
#include "session/cancel.h"

namespace ridgeline::methods {

/// What a profile that was asked for ended with: null, new figures; else why not.
using ProfileDone = std::function<void(const Entry*, const profiling::RunFailure*)>;

/// Whether the editor has asked the user itself, and says so in its initializationOptions: then a gesture is consent
/// enough.
bool editor_vouches(const protocol::Json& options);

class ProfilingFlow {
 public:
  /// What a request asks for beside the settings.
  struct Wish {
    std::optional<std::vector<int>> batch_sizes;
    std::optional<double> time_budget_seconds;
  };

  explicit ProfilingFlow(Entries& entries) : entries_(entries) {}

  /// Profiles the file. Asks the user first when its code may not run yet. `params` may name batch sizes and a progress
  /// token. `done` is called once, unless the session ends before.
  void start(Workspace& workspace, const std::string& uri, const protocol::Json& params,
             const session::CancelToken& cancel, ProfileDone done);
  /// A file was saved: the entries that the user has profiled here and that it is part of are profiled again, briefly;
  /// where what stands there now was not agreed to, the user is asked first.
  void saved(Workspace& workspace, const session::Document& document);
  /// The session is gone: nothing is started for it any more.
  void ended(const Workspace& workspace);

 private:
  void ask_and_run(Workspace& workspace, const std::string& uri, const Wish& wish, const protocol::Json& params,
                   const session::CancelToken& cancel, ProfileDone done);
  /// The user, whether it may run; then runs it.
  void ask(Workspace& workspace, profiling::ProfileRequest request, const profiling::Target& target,
           const protocol::Json& params, const session::CancelToken& cancel, ProfileDone done);
  void run(Workspace& workspace, profiling::ProfileRequest request, const profiling::Target& target,
           const protocol::Json& params, const session::CancelToken& cancel, ProfileDone done);
  void again(Workspace& workspace, const std::string& entry);

  Entries& entries_;
  /// By workspace and entry: a save that waits for the next one.
  std::map<std::pair<const Workspace*, std::string>, std::unique_ptr<boost::asio::steady_timer>> waiting_;
  /// By workspace and entry: a question that has not been answered. A save does not ask it again.
  std::set<std::pair<const Workspace*, std::string>> asking_;
  base::Lifetime lifetime_;
};

}  // namespace ridgeline::methods
