#include "editor/profiling_flow.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "app/profiling/unsaved_text.h"
#include "base/path.h"
#include "editor/progress_bar.h"
#include "editor/script_output.h"
#include "protocol/json_fields.h"

namespace ridgeline::editor {

namespace {

/// Editors that save several files at once do it within this.
constexpr std::chrono::milliseconds kDebounce{5};
constexpr const char* kYes = "Profile";

std::string question(const app::Target& target, const std::string& what, bool agreed_before) {
  return (agreed_before ? "What is at " + target.entry + " is not what you agreed to run: its project was replaced. "
                        : std::string()) +
         what + " Run it?";
}

/// What the user consents to, as sentences.
std::string what_a_profile_runs(const app::Target& target) {
  return "Profiling runs the code of " + target.entry + " with " + target.interpreter.path +
         ", and again when you save it or settle on another batch size.";
}

std::string what_a_script_runs(const app::Target& target, const app::ScriptRequest& request) {
  std::vector<std::string> command = {target.interpreter.path};
  command.insert(command.end(), request.command.begin(), request.command.end());
  std::string variables;
  for (const std::string& variable : request.variables) {
    variables += variable + " ";
  }
  return "Profiling this script runs, in " + request.folder + ": " + variables + app::command_line(command) +
         ". It is ended once some training steps were timed; what it does until then, such as writing files, it does. "
         "It runs again for other batch sizes and for changes, when it may write no files.";
}

app::RunFailure cancelled() {
  return {protocol::failure_of(protocol::FailureKind::kCancelled, "start", "The profile was cancelled."), ""};
}

/// The one that is named; else the client's folder that the script is in, as a debugger takes it; else the script's.
std::string folder_of_script(const Workspace& workspace, const app::Target& target, const std::string& named) {
  if (!named.empty()) {
    return named;
  }
  for (const protocol::WorkspaceFolder& folder : workspace.session().folders()) {
    const auto path = workspace.session().path_of(folder.uri);
    if (path.has_value() && base::is_below(target.entry, *path)) {
      return *path;
    }
  }
  return std::filesystem::path(target.entry).parent_path().string();
}

/// Those of `texts` that differ from their files.
base::Task<std::vector<protocol::SourceText>> unsaved(Entries& entries, std::vector<protocol::SourceText> texts) {
  return entries.read_files([texts = std::move(texts)] { return app::unsaved_of(texts); });
}

/// The user's choice; nothing: the question was dismissed.
base::Task<std::optional<std::string>> choice_of(lsp::Session& session, std::string text) {
  const auto begin = [&](std::function<void(std::optional<std::string>)> done) {
    session.ask(protocol::MessageType::kInfo, text, {kYes, "Not now"}, std::move(done));
  };
  auto choice = base::callback<std::optional<std::string>>(begin);
  co_return co_await std::move(choice);
}

/// An editor has saved `text`: if that is what the file contains, consent carries over to it.
base::Task<void> keep_consent(Entries& entries, std::string path, std::string text) {
  auto kept = entries.ask_consent([path = std::move(path), text = std::move(text)](Consent& consent) {
    if (app::text_of(path) == text) {
      consent.saved(path);
    }
    return true;
  });
  co_await std::move(kept);
}

}  // namespace

app::RunFailure not_trusted(const app::Target& target) {
  return {protocol::failure_of(
              protocol::FailureKind::kNotTrusted, "start",
              "The code of " + std::string(base::file_name(target.entry)) +
                  " was not run: permission was not given. Where the editor cannot ask, its settings for this "
                  "server can say so: initializationOptions {\"trust\": \"editor\"}."),
          ""};
}

bool editor_vouches(const protocol::Json& options) {
  return options.is_object() && options.contains("trust") && options["trust"] == "editor";
}

base::Task<ProfileEnd> ProfilingFlow::profile(Workspace& workspace, std::string uri, ProfileOptions options,
                                              lsp::CancelToken cancel) {
  auto configured = workspace.configured();
  co_await std::move(configured);
  app::ProfileRequest request = workspace.settings().request(workspace.session().path_of(uri).value_or(uri));
  request.batch_sizes = options.batch_sizes.value_or(request.batch_sizes);
  request.code = options.code.value_or(request.code);
  request.time_budget_seconds = options.time_budget_seconds.value_or(request.time_budget_seconds);
  auto found = workspace.while_open(entries_.find_target(request));
  auto target = co_await std::move(found);
  if (!target) {
    co_return std::move(target).error();
  }
  auto kind = workspace.while_open(entries_.is_script(target->entry, workspace.open_texts(target->project_root)));
  if (co_await std::move(kind)) {
    auto end = run_script(workspace, uri, {std::nullopt, "", {}, std::move(options.params)}, cancel);
    co_return co_await std::move(end);
  }
  auto check = workspace.while_open(entries_.check(*target, workspace.open_texts(target->project_root)));
  if (const auto checked = co_await std::move(check); !checked) {
    co_return checked.error();
  }
  auto consent = has_consent(workspace, *target, what_a_profile_runs(*target));
  if (!co_await std::move(consent)) {
    co_return not_trusted(*target);
  }
  auto end = run(workspace, std::move(request), std::move(*target), std::move(options.params), cancel);
  co_return co_await std::move(end);
}

base::Task<bool> ProfilingFlow::has_consent(Workspace& workspace, app::Target target, std::string what) {
  if (editor_vouches(workspace.session().client().options)) {
    auto vouched = workspace.while_open(entries_.ask_consent([target](Consent& consent) {
      if (!consent.holds(target, true)) {
        consent.vouch(target);
      }
      return true;
    }));
    co_await std::move(vouched);
  }
  auto permission = may_run(workspace, target);
  if (co_await std::move(permission)) {
    co_return true;
  }
  auto agreement = ask(workspace, std::move(target), std::move(what));
  co_return co_await std::move(agreement);
}

base::Task<ProfileEnd> ProfilingFlow::run_script(Workspace& workspace, std::string uri, ScriptOptions options,
                                                 lsp::CancelToken cancel) {
  auto configured = workspace.configured();
  co_await std::move(configured);
  const Settings& settings = workspace.settings();
  app::ScriptRequest request;
  request.place = settings.request(workspace.session().path_of(uri).value_or(uri));
  auto found = workspace.while_open(entries_.find_target(request.place));
  auto target = co_await std::move(found);
  if (!target) {
    co_return std::move(target).error();
  }
  request.command = options.arguments.value_or(settings.run_arguments);
  request.command.insert(request.command.begin(), target->entry);
  request.folder = folder_of_script(workspace, *target, options.folder.empty() ? settings.run_folder : options.folder);
  request.variables = std::move(options.variables);
  request.sizes = app::SizesRequest{settings.batch_sizes, settings.run_allow_writes};
  auto consent = has_consent(workspace, *target, what_a_script_runs(*target, request));
  if (!co_await std::move(consent)) {
    co_return not_trusted(*target);
  }
  if (cancel.cancelled()) {
    co_return cancelled();
  }
  const auto stop = lifetime_.guard([this, entry = target->entry] { entries_.cancel(entry); });
  cancel.on_cancel(stop);
  const auto bar = std::make_shared<ProgressBar>(workspace.session(), options.params,
                                                 "Profiling " + std::string(base::file_name(target->entry)), stop);
  const auto show = [bar](const protocol::Progress& step) { bar->show(step); };
  const auto sent = std::make_shared<ScriptOutput>(workspace.session(), uri);
  const auto output = [sent](std::string_view text) { sent->write(text); };
  auto profiled = workspace.while_open(entries_.run_script(std::move(request), *target,
                                                           editor_vouches(workspace.session().client().options),
                                                           workspace.open_texts(target->project_root), show, output));
  ProfileEnd end = co_await std::move(profiled);
  bar->end(end.has_error() ? end.error().message : "");
  for (const protocol::SourceText& open : workspace.open_texts(target->project_root)) {
    entries_.file_changed(open.path, open.text);  // what ran is what was saved
  }
  co_return end;
}

base::Task<ProfileEnd> ProfilingFlow::run(Workspace& workspace, app::ProfileRequest request, app::Target target,
                                          protocol::Json params, lsp::CancelToken cancel) {
  const auto stop = lifetime_.guard([this, entry = target.entry] { entries_.cancel(entry); });
  const bool vouches = editor_vouches(workspace.session().client().options);
  for (;;) {
    const std::vector<protocol::SourceText> open_texts = workspace.open_texts(target.project_root);
    auto overlay = workspace.while_open(unsaved(entries_, open_texts));
    request.overlay = co_await std::move(overlay);
    if (cancel.cancelled()) {
      co_return cancelled();
    }
    cancel.on_cancel(stop);
    const auto bar = std::make_shared<ProgressBar>(workspace.session(), params,
                                                   "Profiling " + std::string(base::file_name(target.entry)), stop);
    const auto show = [bar](const protocol::Progress& step) { bar->show(step); };
    auto profiled = workspace.while_open(entries_.profile(request, target, vouches, app::as_overlay(open_texts), show));
    ProfileEnd end = co_await std::move(profiled);
    bar->end(end.has_error() ? end.error().message : "");
    if (end.has_value() && (*end)->figures != nullptr && !(*end)->figures->profile_with_sources().warning.empty()) {
      workspace.session().log(protocol::MessageType::kWarning, (*end)->figures->profile_with_sources().warning);
    }
    if (end.has_value() || end.error().kind != protocol::FailureKind::kNotTrusted) {
      co_return end;
    }
    // The project was replaced while the profile waited for its turn.
    auto agreement = ask(workspace, target, what_a_profile_runs(target));
    if (!co_await std::move(agreement)) {
      co_return not_trusted(target);
    }
    params = nullptr;  // the request's own progress has ended
  }
}

base::Task<bool> ProfilingFlow::may_run(Workspace& workspace, const app::Target& target) {
  const bool vouches = editor_vouches(workspace.session().client().options);
  return workspace.while_open(entries_.ask_consent([target, vouches](Consent& consent) {
    if (!consent.holds(target, vouches)) {
      return false;
    }
    consent.rely_on(target);
    return true;
  }));
}

base::Task<bool> ProfilingFlow::ask(Workspace& workspace, app::Target target, std::string what) {
  asking_.insert({&workspace, target.entry});  // before anything is awaited: a save meanwhile must not ask as well
  for (;;) {
    auto identified = workspace.while_open(entries_.ask_consent(
        [target](Consent& consent) { return std::pair(consent.identify(target), consent.held(target)); }));
    const auto [asked_about, held] = co_await std::move(identified);
    auto chosen = choice_of(workspace.session(), question(target, what, held));
    const auto choice = co_await std::move(chosen);
    if (choice != kYes || !asked_about.has_value()) {
      asking_.erase({&workspace, target.entry});
      co_return false;
    }
    auto kept = workspace.while_open(entries_.ask_consent(
        [target, identity = *asked_about](Consent& consent) { return consent.agree(target, identity); }));
    const Consent::Agreement agreement = co_await std::move(kept);
    if (agreement.holds) {
      asking_.erase({&workspace, target.entry});
      if (!agreement.warning.empty()) {
        workspace.session().log(protocol::MessageType::kWarning, agreement.warning);
      }
      co_return true;
    }
  }
}

void ProfilingFlow::saved(Workspace& workspace, const lsp::Document& document) {
  if (document.in_sync()) {
    base::start(entries_.loop(), keep_consent(entries_, document.path(), document.bytes()));
  }
  if (!workspace.settings().profile_on_save) {
    return;
  }
  for (const auto& [path, entry] : entries_.all()) {
    const bool part =
        path == document.path() || (entry->figures != nullptr && entry->figures->file(document.path()) != nullptr);
    if (!part || !entry->profiled_here) {
      continue;
    }
    auto& timer = saves_[{&workspace, path}];
    timer = std::make_unique<boost::asio::steady_timer>(entries_.loop(), kDebounce);
    timer->async_wait(lifetime_.guard([this, &workspace, path = path](const auto& error) {
      // Not when the workspace has ended since: an expired timer cannot be cancelled any more.
      if (!error && saves_.erase({&workspace, path}) > 0) {
        base::start(entries_.loop(), profile_saved(workspace, path));
      }
    }));
  }
}

bool ProfilingFlow::needs_profile(const std::string& entry) const {
  const auto known = entries_.find(entry);
  // Figures that are up to date and not kept are those of a text that was not saved: now it is.
  return known == nullptr || known->figures == nullptr || known->is_stale() ||
         (!known->batch_size_changed && !known->figures->profile_with_sources().kept);
}

base::Task<bool> ProfilingFlow::use_stored_profile(Workspace& workspace, app::ProfileRequest request,
                                                   app::Target target) {
  const std::vector<protocol::SourceText> open_texts = workspace.open_texts(target.project_root);
  auto differing = workspace.while_open(unsaved(entries_, open_texts));
  if (!(co_await std::move(differing)).empty()) {
    co_return false;
  }
  auto found = workspace.while_open(entries_.use_stored_profile(std::move(request), target));
  const bool is_known = co_await std::move(found);
  if (is_known) {  // what was typed meanwhile makes the figures stale at once
    for (const protocol::SourceText& open : workspace.open_texts(target.project_root)) {
      entries_.file_changed(open.path, open.text);
    }
  }
  co_return is_known;
}

base::Task<void> ProfilingFlow::profile_saved(Workspace& workspace, std::string entry) {
  if (!needs_profile(entry)) {
    co_return;
  }
  const Settings& settings = workspace.settings();
  app::ProfileRequest request = settings.request(entry);
  request.time_budget_seconds = std::min(request.time_budget_seconds, settings.save_time_budget_seconds);
  request.finish_within_seconds = settings.save_time_limit_seconds;
  auto found = workspace.while_open(entries_.find_target(request));
  const auto target = co_await std::move(found);
  if (!target || asking_.contains({&workspace, target->entry})) {
    co_return;
  }
  auto permission = may_run(workspace, *target);
  if (!co_await std::move(permission)) {
    if (asking_.contains({&workspace, target->entry})) {
      co_return;  // another save has asked meanwhile
    }
    auto agreement = ask(workspace, *target, what_a_profile_runs(*target));
    if (!co_await std::move(agreement)) {
      entries_.stop_profiling_saves(target->entry);
      co_return;
    }
  }
  auto known = use_stored_profile(workspace, request, *target);
  if (co_await std::move(known)) {
    co_return;
  }
  auto profiled = run(workspace, std::move(request), *target, nullptr, {});
  const ProfileEnd end = co_await std::move(profiled);
  if (end.has_error() && end.error().kind == protocol::FailureKind::kNotTrusted) {
    entries_.stop_profiling_saves(target->entry);
  }
}

void ProfilingFlow::ended(const Workspace& workspace) {
  std::erase_if(saves_, [&](const auto& one) { return one.first.first == &workspace; });
  std::erase_if(asking_, [&](const auto& one) { return one.first == &workspace; });
}

}  // namespace ridgeline::editor
