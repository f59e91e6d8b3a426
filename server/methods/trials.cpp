#include "methods/trials.h"

#include <optional>
#include <vector>

namespace ridgeline::methods {

void Trials::changed(const Document& document) {
  if (const auto found = going_.find(document.path); found != going_.end()) {
    going_.erase(found);
    ports_.cancel(document.path);
  }
  Watched& watched = watched_[document];
  watched.tried = 0;
  wait(watched);
  sleep();
}

void Trials::closed(const Document& document) {
  watched_.erase(document);
  if (const auto found = going_.find(document.path); found != going_.end() && found->second == document) {
    going_.erase(found);
    ports_.cancel(document.path);
  }
  sleep();
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
  if (!entry.trial.has_value() || !entry.trial->going.has_value()) {
    going_.erase(entry.path);
  }
  if (entry.going.has_value() || entry.figures == nullptr) {
    return;
  }
  for (auto& [document, watched] : watched_) {
    if (document.path == entry.path && !watched.is_due && watched.profile_id != entry.figures->profile().id) {
      wait(watched);
    }
  }
  sleep();
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
  sleep();
}

void Trials::settle(const Document& document) {
  const auto watched = watched_.find(document);
  if (watched == watched_.end()) {
    return;
  }
  watched->second.is_due = false;
  ports_.decide(document, [this, document](const TrialDecision& decision) {
    decided(document, decision);
    sleep();
  });
}

void Trials::decided(const Document& document, const TrialDecision& decision) {
  const auto found = watched_.find(document);
  if (found == watched_.end() || found->second.is_due) {
    return;  // it was closed, or edited again
  }
  Watched& watched = found->second;
  if (decision.kind == TrialDecision::Kind::kLater) {
    wait(watched);
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
    going_.insert_or_assign(document.path, document);
    decision.start();
  }
}

void Trials::wait(Watched& watched) {
  watched.due = ports_.now() + kPause;
  watched.is_due = true;
}

void Trials::sleep() {
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

}  // namespace ridgeline::methods
