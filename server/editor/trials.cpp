#include "editor/trials.h"

#include <optional>
#include <vector>

namespace ridgeline::editor {

void Trials::changed(const Document& document) {
  if (const auto found = running_.find(document.path); found != running_.end()) {
    running_.erase(found);
    ports_.cancel(document.path);
  }
  Watched& watched = watched_[document];
  watched.tried = 0;
  restart_pause(watched);
  schedule_wake();
}

void Trials::closed(const Document& document) {
  watched_.erase(document);
  if (const auto found = running_.find(document.path); found != running_.end() && found->second == document) {
    running_.erase(found);
    ports_.cancel(document.path);
  }
  schedule_wake();
}

void Trials::ended(std::uint64_t session) {
  std::vector<Document> documents;
  for (const auto& [document, watched] : watched_) {
    if (document.session == session) {
      documents.push_back(document);
    }
  }
  for (const Document& document : documents) {
    closed(document);
  }
}

void Trials::entry_changed(const Entry& entry) {
  if (!entry.trial.has_value() || !entry.trial->active.has_value()) {
    running_.erase(entry.path);
  }
  if (entry.active.has_value() || entry.figures == nullptr) {
    return;
  }
  for (auto& [document, watched] : watched_) {
    if (document.path == entry.path && !watched.is_due && watched.profile_id != entry.figures->profile().id) {
      restart_pause(watched);
    }
  }
  schedule_wake();
}

void Trials::wake() {
  const Clock::time_point now = ports_.now();
  std::vector<Document> settled;
  for (const auto& [document, watched] : watched_) {
    if (watched.is_due && watched.due <= now) {
      settled.push_back(document);
    }
  }
  for (const Document& document : settled) {
    settle(document);
  }
  schedule_wake();
}

void Trials::settle(const Document& document) {
  const auto watched = watched_.find(document);
  if (watched == watched_.end()) {
    return;
  }
  watched->second.is_due = false;
  ports_.decide(document, [this, document](const TrialDecision& decision) {
    decided(document, decision);
    schedule_wake();
  });
}

void Trials::decided(const Document& document, const TrialDecision& decision) {
  const auto found = watched_.find(document);
  if (found == watched_.end() || found->second.is_due) {
    return;  // it was closed, or edited meanwhile
  }
  Watched& watched = found->second;
  if (decision.kind == TrialDecision::Kind::kLater) {
    restart_pause(watched);
    return;
  }
  if (watched.profile_id != decision.profile_id) {
    watched.profile_id = decision.profile_id;
    watched.tried = 0;
  }
  if (decision.kind != TrialDecision::Kind::kTry) {
    ports_.explain(document.path, decision.batch_size, decision.why);
  } else if (watched.tried != decision.batch_size) {
    watched.tried = decision.batch_size;
    running_.insert_or_assign(document.path, document);
    decision.start();
  }
}

void Trials::restart_pause(Watched& watched) {
  watched.due = ports_.now() + kPause;
  watched.is_due = true;
}

void Trials::schedule_wake() {
  std::optional<Clock::time_point> next;
  for (const auto& [document, watched] : watched_) {
    if (watched.is_due && (!next.has_value() || watched.due < *next)) {
      next = watched.due;
    }
  }
  if (next.has_value()) {
    ports_.wake_at(*next);
  }
}

}  // namespace ridgeline::editor
