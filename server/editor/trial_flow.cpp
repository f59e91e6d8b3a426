// The server's side of trials: what is asked of its sessions, and the run.
#include <algorithm>
#include <utility>

#include "app/profiling/tried_change.h"
#include "app/profiling/unsaved_text.h"
#include "editor/server.h"
#include "worker/machine.h"

namespace ridgeline::editor {

namespace {

/// What a run has to be given so that it runs the entry file as it was profiled, and else what the user sees: the open
/// texts that differ from their files, and the entry file's. Nothing when that is too much. Reads files.
std::optional<std::vector<protocol::SourceText>> trial_overlay(std::vector<protocol::SourceText> open_texts,
                                                               const std::string& entry, const std::string& profiled) {
  std::vector<protocol::SourceText> overlay = app::unsaved_of(std::move(open_texts));
  std::erase_if(overlay, [&](const protocol::SourceText& one) { return one.path == entry; });
  if (app::text_of(entry) != profiled) {
    overlay.push_back({entry, profiled});
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

void Server::wake_at(Trials::Clock::time_point at) {
  trial_timer_.expires_at(at);
  // An expired timer cannot be cancelled any more: its handler may run after the server's end.
  trial_timer_.async_wait(lifetime_.guard([this](const auto& error) {
    if (!error) {
      trials_.wake();
    }
  }));
}

void Server::decide(const Trials::Document& document, std::function<void(TrialDecision)> decided) {
  base::start(entries_.loop(), decide_trial_of(document, std::move(decided)));
}

void Server::cancel(const std::string& path) { entries_.cancel_trial(path); }

void Server::explain(const std::string& path, int batch_size, const std::string& why) {
  entries_.explain_trial(path, batch_size, why);
}

std::optional<TrialDecision> Server::decision_on(const Trials::Document& document,
                                                 base::FunctionRef<bool()> has_consent) {
  const auto client = clients_.find(document.session);
  const SourceView* view = client == clients_.end() ? nullptr : client->second->workspace.view(document.uri);
  if (view == nullptr) {
    return std::nullopt;
  }
  const auto entry = entries_.find(document.path);
  TrialConditions conditions{client->second->workspace.settings(), entry.get(), view->document().bytes()};
  conditions.is_busy = !view->is_ready() || client->second->writer.is_writing(document.uri);
  if (!conditions.is_busy && view->document().in_sync() && view->facts()->entry_point.has_value()) {
    conditions.source = &*view->facts();
  }
  conditions.available_bytes = worker::memory_available();
  return decide_trial(conditions, has_consent);
}

base::Task<void> Server::decide_trial_of(Trials::Document document, std::function<void(TrialDecision)> decided) {
  bool depends_on_consent = false;
  const auto first = decision_on(document, [&] { return depends_on_consent = true; });
  if (!first.has_value() || !depends_on_consent) {
    decided(first.value_or(TrialDecision{}));
    co_return;
  }
  // What is read of files comes first: nothing can change between the decision and the trial.
  Workspace& workspace = clients_.at(document.session)->workspace;
  const auto entry = entries_.find(document.path);
  const std::shared_ptr<const Figures> figures = entry->figures;
  const FileFigures* file = figures->file(entry->path);
  const bool vouched = is_vouched(workspace, *entry);
  const app::ProfileRequest settings = workspace.settings().request(document.path);
  auto found = workspace.while_open(entries_.find_target(settings));
  const auto target = co_await std::move(found);
  if (!target || file == nullptr || file->text == nullptr) {
    decided(decision_on(document, [] { return false; }).value_or(TrialDecision{}));
    co_return;
  }
  auto checked = workspace.while_open(entries_.consent_holds(*target, vouched));
  const bool holds = co_await std::move(checked);
  const auto read = [open = workspace.open_texts(entry->project_root), path = entry->path, text = file->text] {
    return trial_overlay(open, path, *text);
  };
  auto texts = workspace.while_open(entries_.read_files(read));
  const auto overlay = co_await std::move(texts);
  const bool may_start = holds && overlay.has_value() && entries_.find(document.path)->figures == figures;
  auto decision = decision_on(document, [&] { return may_start; }).value_or(TrialDecision{});
  decision.start = [&] {
    auto request = app::trial_request(settings, figures->profile(), decision.batch_size);
    request.overlay = *overlay;
    entries_.try_batch_size(std::move(request), *target, vouched, decision.batch_size);
  };
  decided(decision);
}

}  // namespace ridgeline::editor
