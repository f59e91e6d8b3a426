// ridgeline/whatIf and ridgeline/try: from consent to the answer, and what is known of each entry until it changes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/values/what_if.h"
#include "app/predict_changes.h"
#include "app/predict_devices.h"
#include "app/profiling/use_case_failure.h"
#include "app/profiling/what_if_base.h"
#include "base/result.h"
#include "base/task.h"
#include "editor/applied_change.h"
#include "editor/change_actions.h"
#include "editor/profiling_flow.h"
#include "editor/workspace.h"
#include "lsp/session/cancel.h"

namespace ridgeline::editor {

using WhatIfEnd = base::Result<analysis::WhatIf, app::RunFailure>;

/// Lives on the loop, as long as the server. Answers come from the last profile of an entry that was made in this
/// process, with the texts that ran: without one, or after an edit, the entry is profiled first.
class WhatIfFlow {
 public:
  WhatIfFlow(Entries& entries, ProfilingFlow& profiling) : entries_(entries), profiling_(profiling) {}

  /// Called with an answer that has one row.
  using ShowPart = std::function<void(const analysis::WhatIf&)>;

  /// Predicts `changes`, each a row. What is known already is answered without running anything. `uri`: an entry file,
  /// or a file of its profile. `params`: of the request; they may hold a progress token. `show`, where
  /// it is given, is called with the first answers as they come.
  base::Task<WhatIfEnd> ask(Workspace& workspace, std::string uri, std::vector<protocol::ChangeRequest> changes,
                            protocol::Json params, ShowPart show, lsp::CancelToken cancel);
  /// Predicts `changes`, then the best with one change more as long as that gains: a row for each. `memory_bytes`:
  /// app::search_changes().
  base::Task<app::Answer<analysis::WhatIf>> search(Workspace& workspace, std::string uri,
                                                   std::vector<protocol::ChangeRequest> changes,
                                                   std::optional<std::uint64_t> memory_bytes, protocol::Json params,
                                                   ShowPart show, lsp::CancelToken cancel);
  /// Runs the changed step in turns with the unchanged one: the answer has the row of `change` only, with what was
  /// predicted for it before.
  base::Task<WhatIfEnd> attempt(Workspace& workspace, std::string uri, protocol::ChangeRequest change,
                                protocol::Json params, lsp::CancelToken cancel);
  /// Predicts the step on other devices, from its operations.
  base::Task<app::Answer<app::DeviceAnswer>> compare_devices(Workspace& workspace, std::string uri,
                                                             app::DeviceQuestion question, protocol::Json params,
                                                             lsp::CancelToken cancel);
  /// What is known of the entry file at `path` to pay, and can be written; best first.
  std::vector<WrittenChange> written(const std::string& path);
  /// What brought the entry's last profile, if it is the one of before with a change written that was asked about.
  std::optional<AppliedChange> applied(const Entry& entry);
  /// A file was saved: what is known of entries of its project is dropped.
  void saved(const std::string& path);

 private:
  struct Row {
    analysis::ChangeAnswer answer;
    bool is_known = false;                  ///< predicted, or known not to apply; else only tried
    std::vector<std::string> warnings{};    ///< what is said of its prediction
    std::vector<source::TextEdit> edits{};  ///< of the text of the entry file that ran; empty: it cannot be written
  };
  /// What is known of an entry as it was profiled.
  struct EntryChanges {
    std::shared_ptr<const Figures> figures;
    std::map<protocol::ChangeRequest, Row> rows;
    int operations = 0;           ///< distinct ones, in all steps
    int operations_measured = 0;  ///< of those, timed for these rows
    int calibration_models = 0;   ///< as analysis::WhatIf has them
    double calibration_level = 0;
  };
  /// What was known of an entry before it changed.
  struct Before {
    std::shared_ptr<const Figures> figures;
    std::vector<WrittenChange> changes;
  };
  struct Request;
  using Prepared = base::Result<std::shared_ptr<Request>, app::RunFailure>;

  /// Drops what is known, but for what it says of changes that can be written.
  void drop(const std::string& entry);
  /// Does the same if what is known is about another profile than the entry's.
  void drop_older(const Entry& entry);
  std::string entry_of(const Workspace& workspace, const std::string& uri) const;
  /// What is known of an entry whose figures are of the present texts; null: it has to be profiled first.
  std::shared_ptr<EntryChanges> known(const std::string& entry);
  base::Task<Prepared> prepare(Workspace& workspace, std::string entry, protocol::Json params, lsp::CancelToken cancel);
  /// The step, for predictions.
  static app::PredictedStep step_of(const EntryChanges& known);
  static app::ShowFirst show_rows(const EntryChanges& known, ShowPart show);
  /// The rows of `changes`, which are known, as they are shown.
  static analysis::WhatIf answer_of(const EntryChanges& known, const std::vector<protocol::ChangeRequest>& changes);
  /// Adds the rows of the answer to what is known.
  base::Task<void> remember(std::shared_ptr<Request> query, analysis::WhatIf answer, bool is_whole);
  /// Adds the rows of `changes` to what is known; the failure when nothing was found.
  base::Task<base::Result<void, app::RunFailure>> predict(std::shared_ptr<Request> query,
                                                          std::vector<protocol::ChangeRequest> changes, ShowPart show);
  /// Finds the edits of the rows of `changes`.
  base::Task<void> write(std::shared_ptr<Request> query, std::vector<protocol::ChangeRequest> changes);

  Entries& entries_;
  ProfilingFlow& profiling_;
  std::map<std::string, std::shared_ptr<EntryChanges>> known_;  ///< by the entry's path
  std::map<std::string, Before> before_;                        ///< by the entry's path
};

}  // namespace ridgeline::editor
