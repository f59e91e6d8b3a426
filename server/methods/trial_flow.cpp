// The server's side of trials: what is asked of its sessions, and the run.
#include <algorithm>
#include <utility>

#include "methods/server.h"
#include "profiling/source_text.h"
#include "profiling/trial.h"
#include "worker/machine.h"

namespace ridgeline::methods {

namespace {

/// What a run has to be given so that it runs the entry file as it was profiled, and else what the user sees.
std::optional<std::vector<protocol::SourceText>> trial_overlay(const Workspace& workspace, const Entry& entry) {
  const FileFigures* file = entry.figures->file(entry.path);
  if (file == nullptr || file->text == nullptr) {
    return std::nullopt;
  }
  std::vector<protocol::SourceText> overlay = workspace.open_texts(entry.project_root, true);
  std::erase_if(overlay, [&](const protocol::SourceText& one) { return one.path == entry.path; });
  if (profiling::text_of(entry.path) != *file->text) {
    overlay.push_back({entry.path, *file->text});
  }
  std::size_t bytes = 0;
  for (const protocol::SourceText& one : overlay) {
    bytes += one.text.size();
  }
  return bytes <= protocol::kMaxOverlayBytes ? std::optional(std::move(overlay)) : std::nullopt;
}

/// A kept profile alone is no gesture: of editors that vouch, only what was profiled here.
bool is_vouched(const Workspace& workspace, const Entry& entry) {
  return entry.profiled_here && editor_vouches(workspace.session().client().options);
}

}  // namespace

Trials::Ports Server::trial_ports() {
  return {Trials::Clock::now,
          [this](Trials::Clock::time_point at) {
            trial_timer_.expires_at(at);
            // An expired timer cannot be cancelled any more: its handler may run after the server's end.
            trial_timer_.async_wait(lifetime_.guard([this](const auto& error) {
              if (!error) {
                trials_.wake();
              }
            }));
          },
          [this](const Trials::Document& document) { return decide_trial_of(document); },
          [this](const Trials::Document& document, int batch_size) { start_trial(document, batch_size); },
          [this](const std::string& path) { entries_.cancel_trial(path); },
          [this](const std::string& path, int batch_size, const std::string& why) {
            entries_.explain_trial(path, batch_size, why);
          }};
}

TrialDecision Server::decide_trial_of(const Trials::Document& document) {
  const auto client = clients_.find(document.session);
  const SourceView* view = client == clients_.end() ? nullptr : client->second->workspace.view(document.uri);
  if (view == nullptr) {
    return {};
  }
  const Workspace& workspace = client->second->workspace;
  TrialQuestion question{workspace.settings(), entries_.find(document.path), view->document().bytes()};
  question.is_busy = !view->is_ready() || client->second->writer.is_writing(document.uri);
  if (!question.is_busy && view->document().in_sync() && view->entry_point().has_value()) {
    question.entry_point = &*view->entry_point();
  }
  question.available_bytes = worker::memory_available();
  question.has_consent = [&] {
    const auto found = profiling::find_target(workspace.settings().request(document.path));
    const auto* target = std::get_if<profiling::Target>(&found);
    return target != nullptr && entries_.consent().holds(*target, is_vouched(workspace, *question.entry));
  };
  return decide_trial(question);
}

void Server::start_trial(const Trials::Document& document, int batch_size) {
  const Workspace& workspace = clients_.at(document.session)->workspace;
  const Entry* entry = entries_.find(document.path);
  auto overlay = trial_overlay(workspace, *entry);
  const auto found = profiling::find_target(workspace.settings().request(document.path));
  const auto* target = std::get_if<profiling::Target>(&found);
  if (!overlay.has_value() || target == nullptr) {
    return;
  }
  profiling::ProfileRequest request =
      profiling::trial_request(workspace.settings().request(document.path), entry->figures->profile(), batch_size);
  request.overlay = std::move(*overlay);
  entries_.try_batch_size(std::move(request), *target, is_vouched(workspace, *entry), batch_size);
}

}  // namespace ridgeline::methods
