#include "methods/profiling_flow.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "analysis/prediction/predictor.h"
#include "profiling/source_text.h"
#include "protocol/json_fields.h"

namespace ridgeline::methods {

namespace {

/// Editors that save several files at once do it within this.
constexpr std::chrono::milliseconds kDebounce{5};
constexpr const char* kYes = "Profile";

std::string name_of(const std::string& path) { return std::filesystem::path(path).filename().string(); }

std::string question(const profiling::Target& target, bool agreed_before) {
  return (agreed_before ? "What is at " + target.entry + " is not what you agreed to run: its project was replaced. "
                        : std::string()) +
         "Profiling runs the code of " + target.entry + " with " + target.interpreter.path +
         ", and again when you save it or settle on another batch size. Run it?";
}

profiling::RunFailure not_trusted(const profiling::Target& target) {
  return {protocol::failure_of(
              protocol::FailureKind::kNotTrusted, "start",
              "The code of " + name_of(target.entry) +
                  " was not run: permission was not given. Where the editor cannot ask, its settings for this "
                  "server can say so: initializationOptions {\"trust\": \"editor\"}."),
          ""};
}

/// One bar: never back, and without a figure while nobody knows how long it takes.
class Bar {
 public:
  Bar(session::Session& session, const protocol::Json& params, const std::string& name, std::function<void()> on_cancel)
      : progress_(session, params, begin_of(name), std::move(on_cancel)) {}

  void show(const protocol::Progress& step) {
    protocol::WorkDoneProgressReport report;
    report.message = step.message;
    if (step.stage != "start" && step.stage != "build") {
      percentage_ =
          std::max(percentage_, static_cast<std::uint32_t>(std::lround(100 * std::clamp(step.fraction, 0.0, 1.0))));
    }
    report.percentage = percentage_;
    if (report.message != message_ || percentage_ != shown_) {
      message_ = report.message;
      shown_ = percentage_;
      progress_.report(std::move(report));
    }
  }
  void end(const std::string& message) { progress_.end(message); }

 private:
  static protocol::WorkDoneProgressBegin begin_of(const std::string& name) {
    protocol::WorkDoneProgressBegin begin;
    begin.title = "Profiling " + name;
    begin.percentage = 0;
    begin.cancellable = true;
    return begin;
  }

  session::Progress progress_;
  std::uint32_t percentage_ = 0;
  std::uint32_t shown_ = 0;
  std::string message_;
};

/// Throws InvalidValue.
ProfilingFlow::Wish wish_in(const protocol::Json& params) {
  ProfilingFlow::Wish wish;
  if (const auto sizes = protocol::optional_member<protocol::Json>(params, "batchSizes")) {
    wish.batch_sizes = batch_sizes_in(*sizes);
    if (!wish.batch_sizes.has_value()) {
      throw protocol::InvalidValue("batchSizes: at most 16, from 1 to " + std::to_string(analysis::kMaxBatchSize));
    }
  }
  wish.time_budget_seconds = protocol::optional_member<double>(params, "timeBudget");
  if (wish.time_budget_seconds.has_value() && !(*wish.time_budget_seconds > 0 && *wish.time_budget_seconds < 1e6)) {
    throw protocol::InvalidValue("timeBudget: must be a number of seconds above 0");
  }
  return wish;
}

}  // namespace

bool editor_vouches(const protocol::Json& options) {
  return options.is_object() && options.contains("trust") && options["trust"] == "editor";
}

void ProfilingFlow::start(Workspace& workspace, const std::string& uri, const protocol::Json& params,
                          const session::CancelToken& cancel, ProfileDone done) {
  const Wish wish = wish_in(params);  // what is wrong with it is told now, not once the settings are there
  workspace.when_configured([this, &workspace, uri, wish, params, cancel, done = std::move(done)] {
    ask_and_run(workspace, uri, wish, params, cancel, done);
  });
}

void ProfilingFlow::ask_and_run(Workspace& workspace, const std::string& uri, const Wish& wish,
                                const protocol::Json& params, const session::CancelToken& cancel, ProfileDone done) {
  session::Session& session = workspace.session();
  const auto path = session.path_of(uri);
  profiling::ProfileRequest request = workspace.settings().request(path.value_or(uri));
  request.batch_sizes = wish.batch_sizes.value_or(request.batch_sizes);
  request.time_budget_seconds = wish.time_budget_seconds.value_or(request.time_budget_seconds);
  auto found = profiling::find_target(request);
  if (const auto* failure = std::get_if<profiling::RunFailure>(&found)) {
    done(nullptr, failure);
    return;
  }
  const auto& target = std::get<profiling::Target>(found);
  Consent& consent = entries_.consent();
  const bool vouches = editor_vouches(session.client().options);
  if (vouches && !consent.holds(target, true)) {
    consent.vouch(target);
  }
  if (vouches || consent.holds(target, false)) {
    run(workspace, std::move(request), target, params, cancel, std::move(done));
  } else {
    ask(workspace, std::move(request), target, params, cancel, std::move(done));
  }
}

void ProfilingFlow::ask(Workspace& workspace, profiling::ProfileRequest request, const profiling::Target& target,
                        const protocol::Json& params, const session::CancelToken& cancel, ProfileDone done) {
  const auto asked_about = entries_.consent().identify(target);
  const auto answered =
      lifetime_.guard([this, &workspace, request = std::move(request), target, params, cancel, asked_about,
                       done = std::move(done)](const std::optional<std::string>& choice) {
        asking_.erase({&workspace, target.entry});
        if (choice != kYes || !asked_about.has_value()) {
          const profiling::RunFailure refused = not_trusted(target);
          done(nullptr, &refused);
          return;
        }
        std::string problem;
        if (!entries_.consent().agree(target, *asked_about, problem)) {
          ask(workspace, request, target, params, cancel, done);  // it was replaced while the question stood there
          return;
        }
        if (!problem.empty()) {
          workspace.session().log(protocol::MessageType::kWarning, problem);
        }
        run(workspace, request, target, params, cancel, done);
      });
  asking_.insert({&workspace, target.entry});
  workspace.session().ask(protocol::MessageType::kInfo, question(target, entries_.consent().held(target)),
                          {kYes, "Not now"}, answered);
}

void ProfilingFlow::run(Workspace& workspace, profiling::ProfileRequest request, const profiling::Target& target,
                        const protocol::Json& params, const session::CancelToken& cancel, ProfileDone done) {
  if (cancel.cancelled()) {
    const profiling::RunFailure cancelled{
        protocol::failure_of(protocol::FailureKind::kCancelled, "start", "The profile was cancelled."), ""};
    done(nullptr, &cancelled);
    return;
  }
  request.overlay = workspace.open_texts(target.project_root, true);
  const auto stop = lifetime_.guard([this, entry = target.entry] { entries_.cancel(entry); });
  cancel.on_cancel(stop);
  auto bar = std::make_shared<Bar>(workspace.session(), params, name_of(target.entry), stop);
  const auto finished = [this, &workspace, session = workspace.session().weak_from_this(), bar, request, target, cancel,
                         done = std::move(done)](const Entry& entry, const profiling::RunFailure* failure) {
    bar->end(failure == nullptr ? "" : failure->failure.message);
    const auto still_there = session.lock();
    if (failure != nullptr && failure->failure.kind == protocol::FailureKind::kNotTrusted && still_there != nullptr &&
        still_there->running()) {
      // It was replaced while the profile waited for its turn. The request's own progress has ended.
      ask(workspace, request, target, nullptr, cancel, done);
    } else {
      done(&entry, failure);
    }
  };
  const bool vouches = editor_vouches(workspace.session().client().options);
  entries_.profile(std::move(request), target, vouches, workspace.open_texts(target.project_root, false),
                   {[bar](const protocol::Progress& step) { bar->show(step); }, finished});
}

void ProfilingFlow::saved(Workspace& workspace, const session::Document& document) {
  if (document.in_sync() && profiling::text_of(document.path()) == document.bytes()) {
    entries_.consent().saved(document.path());
  }
  if (!workspace.settings().profile_on_save) {
    return;
  }
  for (const auto& [path, entry] : entries_.all()) {
    const bool part =
        path == document.path() || (entry.figures != nullptr && entry.figures->file(document.path()) != nullptr);
    if (!part || !entry.profiled_here) {
      continue;
    }
    auto& timer = waiting_[{&workspace, path}];
    timer = std::make_unique<boost::asio::steady_timer>(workspace.session().loop(), kDebounce);
    timer->async_wait(lifetime_.guard([this, &workspace, path = path](const auto& error) {
      // Not when the workspace has ended since: an expired timer cannot be cancelled any more.
      if (!error && waiting_.contains({&workspace, path})) {
        again(workspace, path);
      }
    }));
  }
}

void ProfilingFlow::again(Workspace& workspace, const std::string& entry) {
  waiting_.erase({&workspace, entry});
  profiling::ProfileRequest request = workspace.settings().request(entry);
  request.time_budget_seconds = std::min(request.time_budget_seconds, workspace.settings().save_time_budget_seconds);
  request.keep = false;
  auto found = profiling::find_target(request);
  const auto* target = std::get_if<profiling::Target>(&found);
  if (target == nullptr || asking_.contains({&workspace, target->entry})) {
    return;
  }
  if (entries_.consent().holds(*target, editor_vouches(workspace.session().client().options))) {
    run(workspace, std::move(request), *target, nullptr, {}, [](const Entry*, const profiling::RunFailure*) {});
    return;
  }
  ask(workspace, std::move(request), *target, nullptr, {},
      [this, entry = target->entry](const Entry*, const profiling::RunFailure* failure) {
        if (failure != nullptr && failure->failure.kind == protocol::FailureKind::kNotTrusted) {
          entries_.leave_saves_alone(entry);
        }
      });
}

void ProfilingFlow::ended(const Workspace& workspace) {
  std::erase_if(waiting_, [&](const auto& one) { return one.first.first == &workspace; });
  std::erase_if(asking_, [&](const auto& one) { return one.first == &workspace; });
}

}  // namespace ridgeline::methods
