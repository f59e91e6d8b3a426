#include "methods/what_if_flow.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/path.h"
#include "methods/progress_bar.h"
#include "profiling/kept_profiles.h"
#include "profiling/other_devices.h"
#include "profiling/source_text.h"
#include "report/what_if.h"
#include "source/change_edits.h"
#include "whatif/calibration.h"
#include "whatif/change_table.h"
#include "worker/machine.h"

namespace ridgeline::methods {

namespace {

using protocol::ChangeRequest;
using protocol::Experiment;
using protocol::FailureKind;

constexpr double kMeasureSeconds = 60;
constexpr double kTrySeconds = 5;

std::string name_of(const std::string& path) { return std::filesystem::path(path).filename().string(); }

profiling::RunFailure failure(FailureKind kind, std::string message) {
  return {protocol::failure_of(kind, "what-if", std::move(message)), ""};
}

analysis::ChangeAnswer unknown_row(const ChangeRequest& change) {
  return {.change = change,
          .title = whatif::title_of(change),
          .takes = whatif::takes_of(change),
          .reason = {},
          .can_be_tried = true};
}

/// The table, or nothing: then all operations are measured. Reads and writes files.
std::optional<operations::OperationTable> table_in(const std::string& cache) {
  auto table = operations::OperationTable::open(profiling::operation_table_path(cache));
  return table ? std::optional(std::move(*table)) : std::nullopt;
}

}  // namespace

struct WhatIfFlow::Asking {
  Workspace& workspace;
  profiling::ProfileRequest request;
  profiling::Target target;
  std::shared_ptr<Known> known;
  session::CancelToken cancel;
  std::unique_ptr<ProgressBar> bar{};
  profiling::ProfileQueue::Ticket ticket = 0;  ///< of the run that goes on
  bool is_cancelled = false;
  std::string first_text{};  ///< what is known before the whole answer; mostly empty
};

struct WhatIfFlow::Times : profiling::TimesForAnswer {};

std::string WhatIfFlow::entry_of(const Workspace& workspace, const std::string& uri) const {
  const std::string path = workspace.session().path_of(uri).value_or(uri);
  const auto entry = entries_.for_file(path);
  return entry == nullptr ? path : entry->path;
}

std::shared_ptr<WhatIfFlow::Known> WhatIfFlow::known(const std::string& path) {
  const auto entry = entries_.find(path);
  if (entry == nullptr || entry->figures == nullptr || entry->figures->made().what_if == nullptr || entry->is_stale() ||
      entry->batch_size_changed) {
    drop(path);
    return nullptr;
  }
  drop_older(*entry);
  std::shared_ptr<Known>& known = known_[path];
  if (known == nullptr) {
    const analysis::Environment& environment = entry->figures->profile().environment;
    known = std::make_shared<Known>(
        Known{entry->figures, profiling::conditions_of(environment, environment.threads), {}, 0});
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
  if (of != known_.end() && of->second->figures->made().what_if != entry.figures->made().what_if) {
    drop(entry.path);
  }
}

std::optional<AppliedChange> WhatIfFlow::applied(const Entry& entry) {
  if (entry.figures == nullptr) {
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

base::Task<WhatIfFlow::Ready> WhatIfFlow::prepare(Workspace& workspace, std::string path, protocol::Json params,
                                                  session::CancelToken cancel) {
  auto configured = workspace.configured();
  co_await std::move(configured);
  if (const auto entry = entries_.find(path); entry != nullptr && entry->is_script) {
    co_return failure(FailureKind::kProviderMissing, name_of(path) +
                                                         " was profiled as a script. What changes bring is known of an "
                                                         "entry file with providers: write one for its model.");
  }
  if (known(path) == nullptr) {
    auto profiled = profiling_.profile(workspace, workspace.session().uri_of(path), {}, cancel);
    const ProfileEnd end = co_await std::move(profiled);
    if (!end) {
      co_return end.error();
    }
    path = (*end)->path;
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
  auto asking =
      std::make_shared<Asking>(Asking{workspace, workspace.settings().request(path), *target, nullptr, cancel});
  const auto open_texts = workspace.open_texts(target->project_root);
  auto unsaved = workspace.while_open(entries_.read_files([open_texts] { return profiling::unsaved_of(open_texts); }));
  asking->request.overlay = co_await std::move(unsaved);
  asking->known = known(path);
  if (asking->known == nullptr) {
    co_return failure(FailureKind::kSuperseded, "The code has changed meanwhile. Ask again.");
  }
  const auto stop = [this, weak = std::weak_ptr(asking)] {
    if (const auto stopped = weak.lock()) {
      stopped->is_cancelled = true;
      entries_.cancel_experiment(stopped->ticket);
    }
  };
  asking->bar = std::make_unique<ProgressBar>(workspace.session(), params, "What if: " + name_of(path), stop);
  cancel.on_cancel(stop);
  co_return asking;
}

base::Task<profiling::ExperimentOutcome> WhatIfFlow::run(std::shared_ptr<Asking> asking, Experiment experiment) {
  if (asking->is_cancelled) {
    co_return failure(FailureKind::kCancelled, "It was cancelled.");
  }
  asking->ticket = entries_.new_ticket();
  asking->bar->restart();
  const bool vouches = editor_vouches(asking->workspace.session().client().options);
  const auto show = [weak = std::weak_ptr(asking)](const protocol::Progress& step) {
    if (const auto shown = weak.lock()) {
      protocol::Progress named = step;
      named.message += shown->first_text.empty() ? "" : " (" + shown->first_text + ")";
      shown->bar->show(named);
    }
  };
  auto running = asking->workspace.while_open(
      entries_.experiment(asking->ticket, asking->request, asking->target, vouches, std::move(experiment), show));
  co_return co_await std::move(running);
}

base::Task<base::Result<std::shared_ptr<WhatIfFlow::Times>, profiling::RunFailure>> WhatIfFlow::times_of(
    std::shared_ptr<Asking> asking, std::vector<std::string> keys) {
  auto times = std::make_shared<Times>();
  const auto read = [cache = asking->target.cache, conditions = asking->known->conditions, keys] {
    std::pair<std::vector<std::string>, profiling::KnownTimes> found;
    auto table = table_in(cache);
    auto unknown = table ? profiling::unknown_operations(*table, conditions, keys, found.second)
                         : base::Result<std::vector<std::string>>(keys);
    if (unknown) {
      found.first = std::move(*unknown);
    } else {
      found.first = keys;
    }
    return found;
  };
  auto reading = asking->workspace.while_open(entries_.read_files(read));
  auto found = co_await std::move(reading);
  std::vector<std::string> unknown = std::move(found.first);
  times->known = std::move(found.second);
  for (int attempt = 0; attempt < profiling::kMostMeasurements && !unknown.empty(); ++attempt) {
    const std::vector<std::string> asked = profiling::with_references(unknown, times->known);
    auto measuring = run(asking, {.kind = Experiment::Kind::kMeasure, .operations = asked, .seconds = kMeasureSeconds});
    const profiling::ExperimentOutcome findings = co_await std::move(measuring);
    if (!findings) {
      co_return findings.error();
    }
    const std::vector<operations::OperationTime> measured = profiling::take_times(*findings, *times, asked, unknown);
    const auto keep = [cache = asking->target.cache, conditions = asking->known->conditions, measured] {
      auto table = table_in(cache);
      return table && table->add(conditions, measured, profiling::seconds_since_1970(std::chrono::system_clock::now()),
                                 worker::host_name());
    };
    auto keeping = asking->workspace.while_open(entries_.read_files(keep));
    co_await std::move(keeping);
  }
  co_return times;
}

base::Task<void> WhatIfFlow::show_first(std::shared_ptr<Asking> asking, std::vector<ChangeRequest> changes) {
  std::vector<ChangeRequest> of_optimizers;
  std::ranges::copy_if(changes, std::back_inserter(of_optimizers),
                       [](const ChangeRequest& change) { return whatif::kind_of(change) == "optimizer"; });
  if (of_optimizers.empty() || of_optimizers.size() == changes.size()) {
    co_return;
  }
  auto capturing = run(asking, {.kind = Experiment::Kind::kCapture, .changes = of_optimizers});
  const profiling::ExperimentOutcome findings = co_await std::move(capturing);
  if (!findings || findings->captured.empty() || !findings->captured.front().step) {
    co_return;  // the whole answer says why
  }
  std::set<std::string> keys;
  for (const protocol::Captured& changed : findings->captured) {
    if (changed.step) {
      const auto differ = profiling::operations_that_differ(*findings->captured.front().step, *changed.step);
      keys.insert(differ.begin(), differ.end());
    }
  }
  auto timing = times_of(asking, {keys.begin(), keys.end()});
  const auto times = co_await std::move(timing);
  if (!times) {
    co_return;
  }
  const auto answer = [base = asking->known->figures->made().what_if, of_optimizers, captured = findings->captured,
                       known = (*times)->known] {
    analysis::WhatIf first = profiling::answer_what_if(*base, of_optimizers, captured, known);
    profiling::judge_predictions(first);
    return first;
  };
  auto answering = asking->workspace.while_open(entries_.compute(answer));
  const analysis::WhatIf first = co_await std::move(answering);
  std::string text;
  for (const analysis::ChangeAnswer& row : first.changes) {
    if (row.predicted.has_value()) {
      text += (text.empty() ? "" : "; ") + row.title + ": " + report::predicted_text(row);
    }
  }
  if (!text.empty()) {
    asking->first_text = std::move(text);
  }
}

base::Task<base::Result<void, profiling::RunFailure>> WhatIfFlow::predict(std::shared_ptr<Asking> asking,
                                                                          std::vector<ChangeRequest> changes) {
  auto first = show_first(asking, changes);
  co_await std::move(first);
  auto capturing = run(asking, {.kind = Experiment::Kind::kCapture, .changes = changes});
  const profiling::ExperimentOutcome findings = co_await std::move(capturing);
  if (!findings) {
    co_return findings.error();
  }
  auto timing = times_of(asking, profiling::operations_of(findings->captured));
  const auto times = co_await std::move(timing);
  if (!times) {
    co_return times.error();
  }
  const auto answer = [base = asking->known->figures->made().what_if, changes, captured = findings->captured,
                       known = (*times)->known] {
    analysis::WhatIf made = profiling::answer_what_if(*base, changes, captured, known);
    profiling::judge_predictions(made);
    return made;
  };
  auto answering = asking->workspace.while_open(entries_.compute(answer));
  analysis::WhatIf predicted = co_await std::move(answering);
  const bool is_disturbed = (*times)->disturbed > 0;
  for (analysis::ChangeAnswer& row : predicted.changes) {
    const ChangeRequest change = row.change;
    Row& known = asking->known->rows[change];
    row.tried = known.answer.tried;
    row.not_tried = known.answer.not_tried;
    known = {std::move(row), !findings->ended_early.has_value(), is_disturbed};
  }
  auto writing = write(asking, changes);
  co_await std::move(writing);
  asking->known->calibration_models = predicted.calibration_models;
  asking->known->calibration_level = predicted.calibration_level;
  asking->known->operations_measured += (*times)->measured;
  asking->known->operations = std::max(asking->known->operations, predicted.operations);
  co_return base::Result<void, profiling::RunFailure>();
}

base::Task<void> WhatIfFlow::write(std::shared_ptr<Asking> asking, std::vector<ChangeRequest> changes) {
  const auto entry = entries_.find(asking->request.entry);
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
  auto making = asking->workspace.while_open(entries_.compute(make));
  std::vector<std::vector<source::TextEdit>> edits = co_await std::move(making);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Row& row = asking->known->rows.at(changes[i]);
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
                                      protocol::Json params, session::CancelToken cancel) {
  const std::string path = entry_of(workspace, uri);
  std::vector<ChangeRequest> missing;
  const auto find_missing = [&](const Known& known) {
    missing.clear();
    std::ranges::copy_if(changes, std::back_inserter(missing), [&](const ChangeRequest& change) {
      const auto row = known.rows.find(change);
      return row == known.rows.end() || !row->second.is_known;
    });
  };
  std::shared_ptr<Known> of = known(path);
  if (of != nullptr) {
    find_missing(*of);
  }
  if (of == nullptr || !missing.empty()) {
    auto preparing = prepare(workspace, path, std::move(params), cancel);
    const Ready asking = co_await std::move(preparing);
    if (!asking) {
      co_return asking.error();
    }
    of = (*asking)->known;
    find_missing(*of);
    if (!missing.empty()) {
      auto predicting = predict(*asking, missing);
      if (const auto predicted = co_await std::move(predicting); !predicted) {
        co_return predicted.error();
      }
    }
  }
  analysis::WhatIf answer = of->figures->made().what_if->answer;
  bool is_disturbed = false;
  for (const ChangeRequest& change : changes) {
    const Row& row = of->rows.at(change);
    answer.changes.push_back(row.answer);
    is_disturbed = is_disturbed || row.is_disturbed;
  }
  answer.operations = of->operations;
  answer.operations_measured = of->operations_measured;
  answer.calibration_models = of->calibration_models;
  answer.calibration_level = of->calibration_level;
  answer.try_seconds = profiling::seconds_to_try(answer, kTrySeconds);
  if (is_disturbed) {
    answer.warnings.emplace_back(
        "Other processes ran while operations were timed: predictions are less certain. Profile and ask again on a "
        "quiet machine.");
  }
  profiling::sort_by_gain(answer);
  co_return answer;
}

base::Task<ListedEnd> WhatIfFlow::list_sizes(Workspace& workspace, std::string uri, bool for_cuda,
                                             protocol::Json params, session::CancelToken cancel) {
  auto preparing = prepare(workspace, entry_of(workspace, uri), std::move(params), cancel);
  const Ready asking = co_await std::move(preparing);
  if (!asking) {
    co_return asking.error();
  }
  auto capturing =
      run(*asking, {.kind = Experiment::Kind::kCapture,
                    .changes = profiling::larger_batches((*asking)->known->figures->made().what_if->answer.batch_size),
                    .for_cuda = for_cuda});
  profiling::ExperimentOutcome findings = co_await std::move(capturing);
  if (!findings) {
    co_return findings.error();
  }
  if (findings->captured.empty() || !findings->captured.front().step) {
    co_return failure(FailureKind::kException, "The operations of the step cannot be listed.");
  }
  co_return ListedSizes{(*asking)->target.entry, (*asking)->target.cache, std::move(findings->captured)};
}

base::Task<WhatIfEnd> WhatIfFlow::attempt(Workspace& workspace, std::string uri, ChangeRequest change,
                                          protocol::Json params, session::CancelToken cancel) {
  auto preparing = prepare(workspace, entry_of(workspace, uri), std::move(params), cancel);
  const Ready asking = co_await std::move(preparing);
  if (!asking) {
    co_return asking.error();
  }
  auto trying = run(*asking, {.kind = Experiment::Kind::kTry, .changes = {change}, .seconds = kTrySeconds});
  const profiling::ExperimentOutcome findings = co_await std::move(trying);
  if (!findings) {
    co_return findings.error();
  }
  Known& of = *(*asking)->known;
  Row& known = of.rows.try_emplace(change, Row{unknown_row(change)}).first->second;
  analysis::WhatIf answer = of.figures->made().what_if->answer;
  answer.changes = {known.answer};
  answer.changes.front().tried.reset();
  answer.changes.front().not_tried.clear();
  profiling::add_trials(answer, {change}, findings->tried);
  if (analysis::ChangeAnswer& row = answer.changes.front(); !row.tried.has_value() && row.not_tried.empty()) {
    row.not_tried = findings->ended_early.has_value() ? findings->ended_early->message : "it did not come to its end";
  }
  known.answer = answer.changes.front();
  auto writing = write(*asking, {change});
  co_await std::move(writing);
  answer.changes = {known.answer};
  co_return answer;
}

}  // namespace ridgeline::methods
