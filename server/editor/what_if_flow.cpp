#include "editor/what_if_flow.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>

#include "app/predict_changes.h"
#include "app/profiling/unsaved_text.h"
#include "app/search_changes.h"
#include "base/path.h"
#include "editor/progress_bar.h"
#include "source/change_edits.h"
#include "step/changes/change_table.h"

namespace ridgeline::editor {

namespace {

using protocol::ChangeRequest;
using protocol::Experiment;
using protocol::FailureKind;

constexpr double kMeasureSeconds = 60;
constexpr double kTrySeconds = 5;

app::RunFailure failure(FailureKind kind, std::string message) {
  return {protocol::failure_of(kind, "what-if", std::move(message)), ""};
}

/// To run the script as it ran before.
ScriptOptions same_run(const app::ScriptRequest& script) {
  return {std::vector<std::string>(script.command.begin() + 1, script.command.end()), script.folder, script.variables,
          nullptr};
}

analysis::ChangeAnswer unknown_row(const ChangeRequest& change) {
  return {.change = change,
          .title = step::title_of(change),
          .takes = step::takes_of(change),
          .reason = {},
          .can_be_tried = true};
}

}  // namespace

/// One request, and the experiments that it runs.
struct WhatIfFlow::Request final : app::ExperimentRunner {
  Request(Entries& entries_, Workspace& workspace_, app::Target target_)
      : entries(entries_),
        workspace(workspace_),
        request(workspace_.settings().request(target_.entry)),
        target(std::move(target_)) {}

  base::Task<app::ExperimentOutcome> run(Experiment experiment) override;
  base::Task<void> off_loop(std::function<void()> work) override;
  std::string cache() const override { return target.cache; }

  Entries& entries;
  Workspace& workspace;
  app::ProfileRequest request;
  app::Target target;
  std::shared_ptr<const app::ScriptRequest> script{};  ///< null: of an entry point
  std::shared_ptr<EntryChanges> known{};
  std::shared_ptr<ProgressBar> bar{};
  app::ProfileQueue::Ticket ticket = 0;  ///< of the run that goes on
  bool is_cancelled = false;
};

base::Task<app::ExperimentOutcome> WhatIfFlow::Request::run(Experiment experiment) {
  if (is_cancelled) {
    co_return failure(FailureKind::kCancelled, "It was cancelled.");
  }
  ticket = entries.new_ticket();
  bar->restart();
  const bool vouches = editor_vouches(workspace.session().client().options);
  const auto show = [weak = std::weak_ptr(bar)](const protocol::Progress& step) {
    if (const auto shown = weak.lock()) {
      shown->show(step);
    }
  };
  auto running =
      workspace.while_open(entries.experiment(ticket, request, script, target, vouches, std::move(experiment), show));
  co_return co_await std::move(running);
}

base::Task<void> WhatIfFlow::Request::off_loop(std::function<void()> work) {
  const auto called = [work = std::move(work)] {
    work();
    return true;
  };
  auto working = workspace.while_open(entries.compute(called));
  co_await std::move(working);
}

std::string WhatIfFlow::entry_of(const Workspace& workspace, const std::string& uri) const {
  const std::string path = workspace.session().path_of(uri).value_or(uri);
  const auto entry = entries_.for_file(path);
  return entry == nullptr ? path : entry->path;
}

std::shared_ptr<WhatIfFlow::EntryChanges> WhatIfFlow::known(const std::string& path) {
  const auto entry = entries_.find(path);
  if (entry == nullptr || entry->figures == nullptr || entry->figures->profile_with_sources().what_if == nullptr ||
      entry->is_stale() || entry->batch_size_changed) {
    drop(path);
    return nullptr;
  }
  drop_older(*entry);
  std::shared_ptr<EntryChanges>& known = known_[path];
  if (known == nullptr) {
    known = std::make_shared<EntryChanges>(EntryChanges{entry->figures, {}});
  }
  return known;
}

void WhatIfFlow::drop(const std::string& path) {
  const auto of = known_.find(path);
  if (of == known_.end()) {
    return;
  }
  Before before{of->second->figures, {}};
  for (const auto& [change, row] : of->second->rows) {
    if (!row.edits.empty()) {
      before.changes.push_back({row.answer, row.edits});
    }
  }
  if (!before.changes.empty()) {
    before_[path] = std::move(before);
  }
  known_.erase(of);
}

void WhatIfFlow::drop_older(const Entry& entry) {
  const auto of = known_.find(entry.path);
  if (of != known_.end() &&
      of->second->figures->profile_with_sources().what_if != entry.figures->profile_with_sources().what_if) {
    drop(entry.path);
  }
}

std::optional<AppliedChange> WhatIfFlow::applied(const Entry& entry) {
  if (entry.figures == nullptr || entry.before_first != nullptr) {
    return std::nullopt;
  }
  drop_older(entry);
  const auto before = before_.find(entry.path);
  return before == before_.end()
             ? std::nullopt
             : applied_change(*before->second.figures, before->second.changes, *entry.figures, entry.path);
}

void WhatIfFlow::saved(const std::string& path) {
  std::vector<std::string> of_project;
  for (const auto& [known, of] : known_) {
    const auto entry = entries_.find(known);
    if (entry == nullptr || base::is_below(path, entry->project_root)) {
      of_project.push_back(known);
    }
  }
  std::ranges::for_each(of_project, [&](const std::string& known) { drop(known); });
}

base::Task<WhatIfFlow::Prepared> WhatIfFlow::prepare(Workspace& workspace, std::string path, protocol::Json params,
                                                     lsp::CancelToken cancel) {
  auto configured = workspace.configured();
  co_await std::move(configured);
  const auto before = entries_.find(path);
  std::shared_ptr<const app::ScriptRequest> script = before == nullptr ? nullptr : before->script;
  if (known(path) == nullptr) {
    const std::string uri = workspace.session().uri_of(path);
    auto profiled = script == nullptr ? profiling_.profile(workspace, uri, {}, cancel)
                                      : profiling_.run_script(workspace, uri, same_run(*script), cancel);
    const ProfileEnd end = co_await std::move(profiled);
    if (!end) {
      co_return end.error();
    }
    path = (*end)->path;
    if (script != nullptr && (*end)->figures->profile_with_sources().what_if == nullptr) {
      co_return failure(FailureKind::kNoTrainingStep,
                        "What changes bring is known of a script that trains in one process. See `ridgeline job "
                        "predict` for several.");
    }
    script = (*end)->script;
  }
  auto found = workspace.while_open(entries_.find_target(workspace.settings().request(path)));
  auto target = co_await std::move(found);
  if (!target) {
    co_return std::move(target).error();
  }
  auto consent = profiling_.has_consent(
      workspace, *target,
      "Predicting and trying changes runs the code of " + target->entry + " with " + target->interpreter.path + ".");
  if (!co_await std::move(consent)) {
    co_return not_trusted(*target);
  }
  auto query = std::make_shared<Request>(entries_, workspace, *target);
  const auto open_texts = workspace.open_texts(target->project_root);
  auto unsaved = workspace.while_open(entries_.read_files([open_texts] { return app::unsaved_of(open_texts); }));
  query->request.overlay = co_await std::move(unsaved);
  query->script = std::move(script);
  query->known = known(path);
  if (query->known == nullptr) {
    co_return failure(FailureKind::kSuperseded, "The code has changed meanwhile. Ask again.");
  }
  const auto stop = [this, weak = std::weak_ptr(query)] {
    if (const auto stopped = weak.lock()) {
      stopped->is_cancelled = true;
      entries_.cancel_experiment(stopped->ticket);
    }
  };
  query->bar = std::make_shared<ProgressBar>(workspace.session(), params,
                                             "What if: " + std::string(base::file_name(path)), stop);
  cancel.on_cancel(stop);
  co_return query;
}

app::PredictedStep WhatIfFlow::step_of(const EntryChanges& known) {
  return {known.figures->profile_with_sources().what_if,
          app::no_times(known.figures->profile().environment),
          {},
          kMeasureSeconds};
}

app::ShowFirst WhatIfFlow::show_rows(const EntryChanges& known, ShowPart show) {
  if (!show) {
    return {};
  }
  return [base = known.figures->profile_with_sources().what_if,
          show = std::move(show)](const analysis::ChangeAnswer& row) {
    analysis::WhatIf part = base->answer;
    part.changes = {row};
    show(part);
  };
}

base::Task<base::Result<void, app::RunFailure>> WhatIfFlow::predict(std::shared_ptr<Request> query,
                                                                    std::vector<ChangeRequest> changes, ShowPart show) {
  const EntryChanges& known = *query->known;
  auto predicting =
      app::predict_changes(*query, step_of(known), {std::move(changes)}, show_rows(known, std::move(show)));
  auto predicted = co_await std::move(predicting);
  if (!predicted) {
    co_return predicted.error();
  }
  auto remembering = remember(query, std::move(predicted->answer), predicted->is_whole);
  co_await std::move(remembering);
  co_return base::Result<void, app::RunFailure>();
}

base::Task<void> WhatIfFlow::remember(std::shared_ptr<Request> query, analysis::WhatIf answer, bool is_whole) {
  EntryChanges& known = *query->known;
  const auto of_step =
      static_cast<std::ptrdiff_t>(known.figures->profile_with_sources().what_if->answer.warnings.size());
  const std::vector<std::string> warnings(answer.warnings.begin() + of_step, answer.warnings.end());
  std::vector<ChangeRequest> changes;
  for (analysis::ChangeAnswer& row : answer.changes) {
    changes.push_back(row.change);
    Row& of_change = known.rows[row.change];
    row.tried = of_change.answer.tried;
    row.not_tried = of_change.answer.not_tried;
    of_change = {std::move(row), is_whole, warnings};
  }
  auto writing = write(query, std::move(changes));
  co_await std::move(writing);
  known.calibration_models = answer.calibration_models;
  known.calibration_level = answer.calibration_level;
  known.operations_measured += answer.operations_measured;
  known.operations = std::max(known.operations, answer.operations);
}

base::Task<void> WhatIfFlow::write(std::shared_ptr<Request> query, std::vector<ChangeRequest> changes) {
  const auto entry = entries_.find(query->request.entry);
  const FileFigures* const file = entry == nullptr ? nullptr : entry->figures->file(entry->path);
  if (file == nullptr || file->text == nullptr) {
    co_return;
  }
  const auto make = [changes, text = *file->text, device = entry->figures->profile().environment.device] {
    std::vector<std::vector<source::TextEdit>> edits(changes.size());
    if (const auto tree = source::SourceTree::parse(text)) {
      for (std::size_t i = 0; i < changes.size(); ++i) {
        if (auto made = source::change_edits(*tree, changes[i], device)) {
          edits[i] = std::move(*made);
        }
      }
    }
    return edits;
  };
  auto making = query->workspace.while_open(entries_.compute(make));
  std::vector<std::vector<source::TextEdit>> edits = co_await std::move(making);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Row& row = query->known->rows.at(changes[i]);
    row.answer.can_be_written = !edits[i].empty();
    row.edits = std::move(edits[i]);
  }
}

std::vector<WrittenChange> WhatIfFlow::written(const std::string& path) {
  std::vector<WrittenChange> changes;
  if (const auto of = known_.contains(path) ? known(path) : nullptr) {
    for (const auto& [change, row] : of->rows) {
      if (!row.edits.empty() && pays(row.answer)) {
        changes.push_back({row.answer, row.edits});
      }
    }
  }
  std::ranges::stable_sort(changes, std::greater{},
                           [](const WrittenChange& one) { return known_speed_up(one.answer).value; });
  return changes;
}

base::Task<WhatIfEnd> WhatIfFlow::ask(Workspace& workspace, std::string uri, std::vector<ChangeRequest> changes,
                                      protocol::Json params, ShowPart show, lsp::CancelToken cancel) {
  const std::string path = entry_of(workspace, uri);
  std::vector<ChangeRequest> missing;
  const auto find_missing = [&](const EntryChanges& known) {
    missing.clear();
    std::ranges::copy_if(changes, std::back_inserter(missing), [&](const ChangeRequest& change) {
      const auto row = known.rows.find(change);
      return row == known.rows.end() || !row->second.is_known;
    });
  };
  std::shared_ptr<EntryChanges> of = known(path);
  if (of != nullptr) {
    find_missing(*of);
  }
  if (of == nullptr || !missing.empty()) {
    auto preparing = prepare(workspace, path, std::move(params), cancel);
    const Prepared query = co_await std::move(preparing);
    if (!query) {
      co_return query.error();
    }
    of = (*query)->known;
    find_missing(*of);
    if (!missing.empty()) {
      auto predicting = predict(*query, missing, std::move(show));
      if (const auto predicted = co_await std::move(predicting); !predicted) {
        co_return predicted.error();
      }
    }
  }
  co_return answer_of(*of, changes);
}

analysis::WhatIf WhatIfFlow::answer_of(const EntryChanges& known, const std::vector<ChangeRequest>& changes) {
  analysis::WhatIf answer = known.figures->profile_with_sources().what_if->answer;
  for (const ChangeRequest& change : changes) {
    const Row& row = known.rows.at(change);
    answer.changes.push_back(row.answer);
    for (const std::string& warning : row.warnings) {
      if (std::ranges::find(answer.warnings, warning) == answer.warnings.end()) {
        answer.warnings.push_back(warning);
      }
    }
  }
  answer.operations = known.operations;
  answer.operations_measured = known.operations_measured;
  answer.calibration_models = known.calibration_models;
  answer.calibration_level = known.calibration_level;
  answer.try_seconds = app::seconds_to_try(answer, kTrySeconds);
  app::sort_by_gain(answer);
  return answer;
}

base::Task<app::Answer<analysis::WhatIf>> WhatIfFlow::search(Workspace& workspace, std::string uri,
                                                             std::vector<ChangeRequest> changes,
                                                             std::optional<std::uint64_t> memory_bytes,
                                                             protocol::Json params, ShowPart show,
                                                             lsp::CancelToken cancel) {
  auto preparing = prepare(workspace, entry_of(workspace, uri), std::move(params), cancel);
  const Prepared ready = co_await std::move(preparing);
  if (!ready) {
    co_return app::FailedProjectRun{ready.error(), {}};
  }
  const std::shared_ptr<Request> query = *ready;
  const std::shared_ptr<EntryChanges> of = query->known;
  if (const auto problem = app::fit_problem(*of->figures->profile_with_sources().what_if);
      memory_bytes && !problem.empty()) {
    co_return app::refusal(app::Cause::kRequest, "The memory limit cannot be kept to: " + std::string(problem) + ".");
  }
  auto searching =
      app::search_changes(*query, step_of(*of), {std::move(changes)}, memory_bytes, show_rows(*of, std::move(show)));
  auto found = co_await std::move(searching);
  if (!found) {
    co_return app::FailedProjectRun{found.error(), query->target.project_root};
  }
  std::vector<ChangeRequest> shown;
  std::ranges::transform(found->changes, std::back_inserter(shown), &analysis::ChangeAnswer::change);
  auto remembering = remember(query, std::move(*found), true);
  co_await std::move(remembering);
  co_return answer_of(*of, shown);
}

base::Task<app::Answer<app::DeviceAnswer>> WhatIfFlow::compare_devices(Workspace& workspace, std::string uri,
                                                                       app::DeviceQuestion question,
                                                                       protocol::Json params, lsp::CancelToken cancel) {
  auto preparing = prepare(workspace, entry_of(workspace, uri), std::move(params), cancel);
  const Prepared ready = co_await std::move(preparing);
  if (!ready) {
    co_return app::FailedProjectRun{ready.error(), {}};
  }
  const std::shared_ptr<Request> query = *ready;
  const app::Target& target = query->target;
  auto predicting = app::predict_devices(*query, target.entry, target.project_root,
                                         query->known->figures->profile_with_sources().what_if->answer.batch_size,
                                         std::move(question));
  co_return co_await std::move(predicting);
}

base::Task<WhatIfEnd> WhatIfFlow::attempt(Workspace& workspace, std::string uri, ChangeRequest change,
                                          protocol::Json params, lsp::CancelToken cancel) {
  auto preparing = prepare(workspace, entry_of(workspace, uri), std::move(params), cancel);
  const Prepared ready = co_await std::move(preparing);
  if (!ready) {
    co_return ready.error();
  }
  const std::shared_ptr<Request> query = *ready;
  EntryChanges& of = *query->known;
  Row& known = of.rows.try_emplace(change, Row{unknown_row(change)}).first->second;
  analysis::WhatIf before = of.figures->profile_with_sources().what_if->answer;
  before.changes = {known.answer};
  auto trying = app::try_these(*query, std::move(before), {change}, kTrySeconds);
  auto answer = co_await std::move(trying);
  if (!answer) {
    co_return answer.error();
  }
  known.answer = answer->changes.front();
  auto writing = write(query, {change});
  co_await std::move(writing);
  answer->changes = {known.answer};
  co_return std::move(*answer);
}

}  // namespace ridgeline::editor
