#include "editor/entries.h"

#include <algorithm>
#include <utility>

#include "analysis/compare/compare_profiles.h"
#include "app/profiling/entry_check.h"
#include "app/profiling/project_interpreter.h"
#include "base/path.h"
#include "editor/setting_names.h"
#include "report/labels.h"

namespace ridgeline::editor {

namespace asio = boost::asio;

namespace {

/// One analyses, one reads and writes the store: more would take the cores from the step that is timed.
constexpr std::size_t kPoolThreads = 2;

app::RunFailure for_editor(app::RunFailure failure) {
  failure.message = with_setting_names(std::move(failure.message));
  return failure;
}

/// Puts back the figures that the first ones of a profile had replaced. Files that have changed since stay changed.
void take_back(Entry& entry, const Entry& before) {
  entry.figures = before.figures;
  entry.changed.insert(before.changed.begin(), before.changed.end());
  entry.batch_size_changed = before.batch_size_changed;
  entry.not_profiled = before.not_profiled;
  entry.change = before.change;
  entry.comparison = before.comparison;
  entry.failed = before.failed;
  entry.trial = before.trial;
}

std::shared_ptr<const analysis::Comparison> comparison_of(const analysis::Profile& before,
                                                          const analysis::Profile& now) {
  if (before.batch_size != now.batch_size || before.iteration.ms.value <= 0 || now.iteration.ms.value <= 0) {
    return nullptr;
  }
  return std::make_shared<const analysis::Comparison>(analysis::compare({"", {&before}}, {"", {&now}}, {}));
}

}  // namespace

std::string Entry::stale_reason() const {
  if (failed.has_value()) {
    return "from before the last run, which failed";
  }
  if (changed.empty()) {
    return {};
  }
  const std::string name(base::file_name(*changed.begin()));
  return "from before " + name + (changed.size() == 1 ? " was changed" : " and other files were changed") +
         (not_profiled.empty() ? "" : ". The save was not profiled. " + not_profiled);
}

const analysis::TimeChange* Entry::change_of(const analysis::Location& now) const {
  if (comparison == nullptr) {
    return nullptr;
  }
  const auto found = std::ranges::find(comparison->lines, now, &analysis::LineChange::after);
  return found == comparison->lines.end() || !found->time ? nullptr : &*found->time;
}

Entries::Entries(asio::io_context& loop, EntriesListener& listener)
    : loop_(loop),
      listener_(listener),
      pool_(kPoolThreads),
      reaper_(loop),
      queue_(std::make_unique<app::ProfileQueue>(loop, pool_, reaper_)) {}

Entries::~Entries() {
  stop();
  files_.join();
  pool_.join();
}

void Entries::stop() {
  queue_.reset();
  reaper_.close();
}

std::shared_ptr<const Entry> Entries::find(std::string_view path) const {
  const auto found = entries_.find(path);
  return found == entries_.end() ? nullptr : found->second;
}

std::shared_ptr<const Entry> Entries::for_file(std::string_view path) const {
  if (auto own = find(path); own != nullptr && own->figures != nullptr) {
    return own;
  }
  std::shared_ptr<const Entry> best;
  for (const auto& [name, entry] : entries_) {
    if (entry->figures != nullptr && entry->figures->file(path) != nullptr &&
        (best == nullptr || entry->figures->created_s() > best->figures->created_s())) {
      best = entry;
    }
  }
  return best;
}

std::shared_ptr<const Entry> Entries::by_profile(std::string_view id) const {
  const auto has = [&](const auto& pair) {
    return pair.second->figures != nullptr && pair.second->figures->profile().id == id;
  };
  const auto found = std::ranges::find_if(entries_, has);
  return found == entries_.end() ? nullptr : found->second;
}

Entry& Entries::change(const std::string& path) {
  std::shared_ptr<const Entry>& entry = entries_[path];
  auto changed = entry == nullptr ? std::make_shared<Entry>() : std::make_shared<Entry>(*entry);
  changed->path = path;
  entry = changed;
  return *changed;
}

Entry& Entries::change(const app::Target& target) {
  Entry& entry = change(target.entry);
  entry.project_root = target.project_root;
  return entry;
}

void Entries::announce(const std::string& path) const {
  const auto entry = find(path);  // the listener may have it changed
  listener_.entry_changed(*entry);
}

base::Task<base::Result<app::Target, app::RunFailure>> Entries::find_target(app::ProfileRequest request) {
  auto finding = read_files([request = std::move(request)] { return app::find_target(request); });
  auto target = co_await std::move(finding);
  if (!target) {
    co_return for_editor(target.error());
  }
  co_return std::move(target);
}

namespace {

std::optional<std::string> open_text(const std::vector<protocol::SourceText>& open_texts, const std::string& path) {
  const auto open = std::ranges::find(open_texts, path, &protocol::SourceText::path);
  return open == open_texts.end() ? std::nullopt : std::optional(open->text);
}

}  // namespace

base::Task<bool> Entries::is_script(std::string path, std::vector<protocol::SourceText> open_texts) {
  auto text = open_text(open_texts, path);
  return read_files([path = std::move(path), text = std::move(text)] { return app::runs_as_script(path, text); });
}

base::Task<base::Result<void, app::RunFailure>> Entries::check(app::Target target,
                                                               std::vector<protocol::SourceText> open_texts) {
  auto checking =
      read_files([target, text = open_text(open_texts, target.entry)] { return app::check_entry(target, text); });
  auto checked = co_await std::move(checking);
  if (!checked) {
    checked = for_editor(checked.error());
    change(target).failed =
        FailedRun{checked.error(), std::make_shared<const std::vector<protocol::SourceText>>(std::move(open_texts))};
    announce(target.entry);
  }
  co_return checked;
}

base::Task<bool> Entries::consent_holds(app::Target target, bool editor_vouches) {
  return ask_consent([target = std::move(target), editor_vouches](const Consent& consent) {
    return consent.holds(target, editor_vouches);
  });
}

app::JobEvents Entries::events_of(const app::Target& target, app::ProfileQueue::Ticket ticket, bool editor_vouches,
                                  std::function<void(const protocol::Progress&)> progress) {
  const auto show = [this, path = target.entry, ticket,
                     progress = std::move(progress)](const protocol::Progress& step) {
    if (const auto entry = find(path); entry->active == ticket) {
      change(path).progress = step;
      if (entry->progress.message != step.message) {
        listener_.phase_changed(*find(path));
      }
    }
    progress(step);
  };
  return {consent_holds(target, editor_vouches), show};
}

base::Task<ProfileEnd> Entries::profile(app::ProfileRequest request, app::Target target, bool editor_vouches,
                                        std::vector<protocol::SourceText> open_texts,
                                        std::function<void(const protocol::Progress&)> progress) {
  if (queue_ == nullptr) {
    throw base::OwnerGone();
  }
  const app::ProfileQueue::Ticket ticket = queue_->new_ticket();
  const bool must_end_soon = request.finish_within_seconds > 0;
  app::JobEvents events = events_of(target, ticket, editor_vouches, std::move(progress));
  events.first = lifetime_.guard(
      [this, path = target.entry](app::ProfileWithSources first) { show_first(path, std::move(first)); });
  auto job = queue_->profile(ticket, std::move(request), target, std::move(events));
  Entry& entry = change(target);
  entry.profiled_here = true;
  entry.script.reset();
  auto end = follow(ticket, std::move(target), must_end_soon, std::move(open_texts), std::move(job));
  co_return co_await std::move(end);
}

base::Task<ProfileEnd> Entries::run_script(app::ScriptRequest request, app::Target target, bool editor_vouches,
                                           std::vector<protocol::SourceText> open_texts,
                                           std::function<void(const protocol::Progress&)> progress,
                                           std::function<void(std::string_view)> output) {
  if (queue_ == nullptr) {
    throw base::OwnerGone();
  }
  const app::ProfileQueue::Ticket ticket = queue_->new_ticket();
  app::JobEvents events = events_of(target, ticket, editor_vouches, std::move(progress));
  events.output = std::move(output);
  events.first = lifetime_.guard([this, path = target.entry](app::ProfileWithSources first) {
    std::set<std::string> changed(first.changed.begin(), first.changed.end());
    show(path, std::make_shared<const Figures>(std::move(first), nullptr), std::move(changed));
  });
  const auto script = std::make_shared<const app::ScriptRequest>(request);
  auto job = queue_->run_script(ticket, std::move(request), target, std::move(events));
  Entry& entry = change(target);
  entry.profiled_here = false;  // a save does not run a script again
  entry.script = script;
  auto end = follow(ticket, std::move(target), false, std::move(open_texts), std::move(job));
  co_return co_await std::move(end);
}

base::Task<ProfileEnd> Entries::follow(app::ProfileQueue::Ticket ticket, app::Target target, bool must_end_soon,
                                       std::vector<protocol::SourceText> open_texts,
                                       base::Task<app::ProfileOutcome> job) {
  Entry& entry = change(target.entry);
  entry.active = ticket;
  entry.progress = {"start", 0, "Waiting"};
  announce(target.entry);
  auto end = base::while_alive(lifetime_, std::move(job));
  app::ProfileOutcome outcome = co_await std::move(end);
  if (outcome.has_error()) {
    auto explained = explain(outcome.error(), target);
    outcome = co_await std::move(explained);
  }
  profiled(target.entry, ticket, outcome, must_end_soon, std::move(open_texts));
  if (outcome.has_error()) {
    co_return std::move(outcome).error();
  }
  co_return find(target.entry);
}

base::Task<app::RunFailure> Entries::explain(app::RunFailure failure, app::Target target) {
  auto looking = read_files([failure = protocol::Failure(failure), target = std::move(target)] {
    return app::interpreter_with_missing_module(failure, target);
  });
  failure.interpreter = co_await std::move(looking);
  if (!failure.interpreter.empty()) {
    failure.message += ". The project's own interpreter has it: " + failure.interpreter;
  }
  co_return for_editor(std::move(failure));
}

void Entries::profiled(const std::string& path, app::ProfileQueue::Ticket ticket, app::ProfileOutcome& outcome,
                       bool must_end_soon, std::vector<protocol::SourceText> open_texts) {
  Entry& entry = change(path);
  const bool latest = entry.active == ticket;
  if (latest) {
    entry.active.reset();
  }
  const auto before_first = std::exchange(entry.before_first, nullptr);
  if (before_first != nullptr) {
    take_back(entry, *before_first);
  }
  if (outcome.has_error()) {
    const bool too_slow = must_end_soon && outcome.error().kind == protocol::FailureKind::kTimeout;
    const bool given_up = too_slow || protocol::info_of(outcome.error().kind).ended_on_purpose();
    if (too_slow) {
      entry.not_profiled = outcome.error().message + " Profile it, or raise the setting `saveTimeLimit`";
    }
    if (!given_up) {
      entry.failed =
          FailedRun{outcome.error(), std::make_shared<const std::vector<protocol::SourceText>>(std::move(open_texts))};
    }
    if (!given_up || latest) {
      announce(path);
    }
    return;
  }
  std::set<std::string> changed(outcome->changed.begin(), outcome->changed.end());
  // A profile that does not have to end soon, and still has no models, says that there are none.
  auto models = must_end_soon && entry.figures != nullptr ? entry.figures->models() : nullptr;
  show(path, std::make_shared<const Figures>(std::move(*outcome), std::move(models)), std::move(changed));
}

void Entries::show_first(const std::string& path, app::ProfileWithSources first) {
  const auto before = find(path);
  std::set<std::string> changed(first.changed.begin(), first.changed.end());
  auto models = before->figures != nullptr ? before->figures->models() : nullptr;
  show(path, std::make_shared<const Figures>(std::move(first), std::move(models)), std::move(changed), before);
}

void Entries::show(const std::string& path, std::shared_ptr<const Figures> figures, std::set<std::string> changed,
                   std::shared_ptr<const Entry> before_first) {
  Entry& entry = change(path);
  entry.before_first = std::move(before_first);
  entry.changed = std::move(changed);
  entry.batch_size_changed = false;
  entry.not_profiled.clear();
  if (entry.trial.has_value() && !entry.trial->active.has_value()) {
    entry.trial.reset();  // it was about the figures before these
  }
  const auto before = std::exchange(entry.figures, std::move(figures));
  if (before == nullptr || entry.before_first != nullptr) {
    entry.change.clear();
    entry.comparison.reset();
  } else if (before->profile().id == entry.figures->profile().id) {
    ++entry.trials;
  } else {
    const analysis::Profile& now = entry.figures->profile();
    const std::string other_settings = analysis::thread_settings_note(before->profile().environment, now.environment);
    entry.comparison = other_settings.empty() ? comparison_of(before->profile(), now) : nullptr;
    entry.change = entry.comparison == nullptr ? other_settings
                                               : report::change_label(before->profile(), now, entry.comparison->step);
  }
  entry.failed.reset();
  announce(path);
}

app::ProfileQueue::Ticket Entries::new_ticket() {
  if (queue_ == nullptr) {
    throw base::OwnerGone();
  }
  return queue_->new_ticket();
}

base::Task<app::ExperimentOutcome> Entries::experiment(app::ProfileQueue::Ticket ticket, app::ProfileRequest request,
                                                       std::shared_ptr<const app::ScriptRequest> script,
                                                       app::Target target, bool editor_vouches,
                                                       protocol::Experiment experiment,
                                                       std::function<void(const protocol::Progress&)> progress) {
  if (queue_ == nullptr) {
    throw base::OwnerGone();
  }
  app::JobEvents events{consent_holds(target, editor_vouches), std::move(progress)};
  auto job = queue_->experiment(ticket, std::move(request), script == nullptr ? std::nullopt : std::optional(*script),
                                target, std::move(experiment), std::move(events));
  auto end = base::while_alive(lifetime_, std::move(job));
  app::ExperimentOutcome outcome = co_await std::move(end);
  if (outcome.has_error()) {
    auto explained = explain(outcome.error(), std::move(target));
    outcome = co_await std::move(explained);
  }
  co_return outcome;
}

void Entries::cancel_experiment(app::ProfileQueue::Ticket ticket) {
  if (queue_ != nullptr) {
    queue_->cancel(ticket);
  }
}

void Entries::cancel(std::string_view path) {
  if (const auto entry = find(path); queue_ != nullptr && entry != nullptr && entry->active.has_value()) {
    queue_->cancel(*entry->active);
  } else {
    cancel_trial(path);
  }
}

void Entries::cancel_trial(std::string_view path) {
  const auto entry = find(path);
  if (queue_ != nullptr && entry != nullptr && entry->trial.has_value() && entry->trial->active.has_value()) {
    queue_->cancel(*entry->trial->active);
  }
}

void Entries::explain_trial(std::string_view path, int batch_size, const std::string& why) {
  const auto entry = find(path);
  if (entry == nullptr || (entry->trial.has_value() && entry->trial->active.has_value())) {
    return;
  }
  const std::string before = entry->trial.has_value() ? entry->trial->message : "";
  if (before != why) {
    change(entry->path).trial = why.empty() ? std::nullopt : std::optional(TrialState{batch_size, std::nullopt, why});
    announce(entry->path);
  }
}

void Entries::try_batch_size(app::ProfileRequest request, const app::Target& target, bool editor_vouches,
                             int batch_size) {
  const auto entry = find(target.entry);
  if (queue_ == nullptr || entry == nullptr || entry->figures == nullptr) {
    return;
  }
  const std::shared_ptr<const Figures> held = entry->figures;
  const app::ProfileQueue::Ticket ticket = queue_->new_ticket();
  change(target).trial = TrialState{batch_size, ticket, "batch size " + std::to_string(batch_size) + " is being tried"};
  const std::shared_ptr<const app::ProfileWithSources> made(held, &held->profile_with_sources());
  app::JobEvents events{consent_holds(target, editor_vouches), [](const auto& /*step*/) {}};
  auto trial = queue_->try_batch_size(ticket, std::move(request), target, made, std::move(events));
  base::start(loop_, run_trial(target.entry, ticket, held, std::move(trial)));
  announce(target.entry);
}

base::Task<void> Entries::run_trial(std::string path, app::ProfileQueue::Ticket ticket,
                                    std::shared_ptr<const Figures> held, base::Task<app::ProfileOutcome> trial) {
  auto end = base::while_alive(lifetime_, std::move(trial));
  app::ProfileOutcome outcome = co_await std::move(end);
  const auto entry = find(path);
  if (entry->trial.has_value() && entry->trial->active == ticket) {
    end_trial(path, held, std::move(outcome));
  }
}

void Entries::end_trial(const std::string& path, const std::shared_ptr<const Figures>& held,
                        app::ProfileOutcome outcome) {
  Entry& entry = change(path);
  const int batch_size = entry.trial->batch_size;
  entry.trial.reset();
  if (outcome.has_error()) {
    const protocol::Failure& failure = outcome.error();
    if (!protocol::info_of(failure.kind).ended_on_purpose()) {
      entry.trial = TrialState{
          batch_size, std::nullopt,
          "batch size " + std::to_string(batch_size) + " could not be tried: " + with_setting_names(failure.message)};
    }
  } else if (entry.figures == held) {
    entry.figures = std::make_shared<const Figures>(std::move(*outcome), held->models());
    ++entry.trials;
  }
  announce(path);
}

void Entries::load(app::ProfileRequest request, const app::Target& target) {
  if (find(target.entry) == nullptr) {
    change(target);
    base::start(loop_, load_kept(std::move(request), target));
  }
}

base::Task<std::shared_ptr<const Figures>> Entries::kept(app::ProfileRequest request, app::Target target) {
  const auto read = [request = std::move(request), target = std::move(target)]() -> std::shared_ptr<const Figures> {
    try {
      auto made = app::load_profile(request, target);
      return made.has_value() ? std::make_shared<const Figures>(std::move(*made)) : nullptr;
    } catch (const std::exception&) {
      return nullptr;  // the store says why when a profile is kept; there are no figures until then
    }
  };
  auto loaded = base::while_alive(lifetime_, base::run_on(pool_, read));
  co_return co_await std::move(loaded);
}

base::Task<void> Entries::load_kept(app::ProfileRequest request, app::Target target) {
  auto loading = kept(std::move(request), target);
  std::shared_ptr<const Figures> figures = co_await std::move(loading);
  if (figures != nullptr && find(target.entry)->figures == nullptr) {
    change(target).figures = std::move(figures);
    announce(target.entry);
  }
}

base::Task<bool> Entries::use_stored_profile(app::ProfileRequest request, app::Target target) {
  auto loading = kept(std::move(request), target);
  std::shared_ptr<const Figures> figures = co_await std::move(loading);
  if (figures == nullptr || queue_ == nullptr) {
    co_return false;
  }
  if (const auto entry = find(target.entry); entry != nullptr && entry->active.has_value()) {
    queue_->cancel(*entry->active);
  }
  show(target.entry, std::move(figures), {});
  co_return true;
}

void Entries::file_changed(const std::string& path, const std::optional<std::string_view>& text) {
  for (const auto& [name, entry] : entries_) {
    const FileFigures* file = entry->figures == nullptr ? nullptr : entry->figures->file(path);
    if (file == nullptr || file->text == nullptr) {
      continue;
    }
    const bool differs = text != *file->text;
    const bool in_batch_size_only =
        differs && text.has_value() && entry->figures->differs_in_batch_size_only(path, *text);
    const bool other_size = path == name ? in_batch_size_only : entry->batch_size_changed;
    const bool changed = differs && !in_batch_size_only;
    if (changed == entry->changed.contains(path) && other_size == entry->batch_size_changed) {
      continue;
    }
    const bool was_other_size = entry->batch_size_changed;
    const std::string was = entry->stale_reason();
    Entry& now = change(name);
    now.batch_size_changed = other_size;
    if (!changed) {
      now.changed.erase(path);
    } else {
      now.changed.insert(path);
    }
    if (now.changed.empty()) {
      now.not_profiled.clear();
    }
    if (now.stale_reason() != was || other_size != was_other_size) {
      announce(name);
    }
  }
}

}  // namespace ridgeline::editor
