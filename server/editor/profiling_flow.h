// ridgeline/profile, its command, and the profile after a save: from consent to the result.
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
#include "editor/workspace.h"
#include "lsp/session/cancel.h"

namespace ridgeline::editor {

/// Options of a request that override the settings.
struct ProfileOptions {
  std::optional<std::vector<int>> batch_sizes;
  std::optional<std::vector<std::string>> code{};
  std::optional<double> time_budget_seconds;
  protocol::Json params;  ///< of the request; they may hold a progress token
};

/// How a training script is run: what a command line would say.
struct ScriptOptions {
  std::optional<std::vector<std::string>> arguments;  ///< nothing: those of the settings
  std::string folder;                                 ///< empty: that of the settings
  std::vector<std::string> variables;                 ///< "NAME=value"
  protocol::Json params;                              ///< of the request; they may hold a progress token
};

/// A run that the user has not allowed.
app::RunFailure not_trusted(const app::Target& target);

/// Whether the editor asks the user for trust itself, and says so in its initializationOptions: then requesting a
/// profile is consent enough.
bool editor_vouches(const protocol::Json& options);

class ProfilingFlow {
 public:
  explicit ProfilingFlow(Entries& entries) : entries_(entries) {}

  /// Profiles the file, a training script by run_script(): waits for the settings, asks the user where there is no
  /// consent yet, runs the code with unsaved changes, and shows progress. Throws OwnerGone when the session ends
  /// meanwhile; a running profile continues.
  base::Task<ProfileEnd> profile(Workspace& workspace, std::string uri, ProfileOptions options,
                                 lsp::CancelToken cancel);
  /// Runs a training script as it is and profiles some of its steps: asks, runs, and shows progress as profile() does.
  /// What the script writes is sent to the client. The text on disk runs.
  base::Task<ProfileEnd> run_script(Workspace& workspace, std::string uri, ScriptOptions options,
                                    lsp::CancelToken cancel);
  /// Whether the entry's code may run: asks the user where there is no consent yet. `what`: what the user consents to,
  /// as sentences.
  base::Task<bool> has_consent(Workspace& workspace, app::Target target, std::string what);
  /// A file was saved: the entries that the user has profiled here and that it is part of are profiled once more,
  /// briefly, unless nothing but the batch size has changed; without consent to the present code, the user is asked
  /// first.
  void saved(Workspace& workspace, const lsp::Document& document);
  /// The session has ended: no profile is started for it afterwards.
  void ended(const Workspace& workspace);

 private:
  using WorkspaceEntry = std::pair<const Workspace*, std::string>;

  base::Task<ProfileEnd> run(Workspace& workspace, app::ProfileRequest request, app::Target target,
                             protocol::Json params, lsp::CancelToken cancel);
  /// Whether the user has consented to running the code. Does not ask.
  base::Task<bool> may_run(Workspace& workspace, const app::Target& target);
  /// Asks the user, until the answer is about what is there. False: refused. `what`: what the user consents to, the
  /// first words of a sentence.
  base::Task<bool> ask(Workspace& workspace, app::Target target, std::string what);
  /// False when a save changed nothing, or nothing but the batch size: figures for it are predicted, and whether to run
  /// it is the user's decision.
  bool needs_profile(const std::string& entry) const;
  /// Answers a save from the stored profile of the texts, where there is one.
  base::Task<bool> use_stored_profile(Workspace& workspace, app::ProfileRequest request, app::Target target);
  base::Task<void> profile_saved(Workspace& workspace, std::string entry);

  Entries& entries_;
  std::map<WorkspaceEntry, std::unique_ptr<boost::asio::steady_timer>>
      saves_;                        ///< of saves that wait for others to follow
  std::set<WorkspaceEntry> asking_;  ///< unanswered questions: a save does not ask a second time
  base::Lifetime lifetime_;
};

}  // namespace ridgeline::editor
