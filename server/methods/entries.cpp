#include "methods/entries.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <filesystem>
#include <utility>

namespace ridgeline::methods {

namespace asio = boost::asio;

namespace {

/// One analyses, one reads and writes the store: more would take the cores from the step that is timed.
constexpr std::size_t kPoolThreads = 2;

}  // namespace

std::string Entry::stale_words() const {
  if (failed.has_value()) {
    return "from before the last run, which failed";
  }
  if (changed.empty()) {
    return {};
  }
  const std::string name = std::filesystem::path(*changed.begin()).filename().string();
  return changed.size() == 1 ? "from before " + name + " was changed"
                             : "from before " + name + " and other files were changed";
}

Entries::Entries(asio::io_context& loop, std::function<void(const Entry&)> on_change)
    : loop_(loop),
      on_change_(std::move(on_change)),
      pool_(kPoolThreads),
      reaper_(loop),
      queue_(std::make_unique<profiling::ProfileQueue>(loop, pool_, reaper_)) {}

Entries::~Entries() {
  stop();
  pool_.join();
}

void Entries::stop() {
  queue_.reset();
  reaper_.close();
}

const Entry* Entries::find(std::string_view path) const {
  const auto found = entries_.find(path);
  return found == entries_.end() ? nullptr : &found->second;
}

const Entry* Entries::for_file(std::string_view path) const {
  if (const Entry* own = find(path); own != nullptr && own->figures != nullptr) {
    return own;
  }
  const Entry* best = nullptr;
  for (const auto& [name, entry] : entries_) {
    if (entry.figures != nullptr && entry.figures->file(path) != nullptr &&
        (best == nullptr || entry.figures->created_s() > best->figures->created_s())) {
      best = &entry;
    }
  }
  return best;
}

const Entry* Entries::by_profile(std::string_view id) const {
  const auto has = [&](const auto& pair) {
    return pair.second.figures != nullptr && pair.second.figures->profile().id == id;
  };
  const auto found = std::ranges::find_if(entries_, has);
  return found == entries_.end() ? nullptr : &found->second;
}

Entry& Entries::at(const profiling::Target& target) {
  Entry& entry = entries_[target.entry];
  entry.path = target.entry;
  entry.project_root = target.project_root;
  return entry;
}

void Entries::profile(profiling::ProfileRequest request, const profiling::Target& target, bool editor_vouches,
                      std::vector<protocol::SourceText> open_texts, ProfileEvents events) {
  if (queue_ == nullptr) {
    return;
  }
  consent_.rely_on(target);
  Entry& entry = at(target);
  entry.profiled_here = true;
  auto ticket = std::make_shared<profiling::ProfileQueue::Ticket>();
  auto shared = std::make_shared<ProfileEvents>(std::move(events));
  auto texts = std::make_shared<std::vector<protocol::SourceText>>(std::move(open_texts));
  const auto progress = [&entry, shared, ticket](const protocol::Progress& step) {
    if (entry.going == *ticket) {
      entry.progress = step;
    }
    shared->progress(step);
  };
  const auto finished = [this, &entry, shared, texts, ticket](profiling::ProfileOutcome outcome) {
    const bool latest = entry.going == *ticket;
    if (latest) {
      entry.going.reset();
    }
    if (auto* failure = std::get_if<profiling::RunFailure>(&outcome)) {
      const bool given_up = protocol::info_of(failure->failure.kind).ended_on_purpose;
      if (!given_up) {
        entry.failed = Failed{*failure, texts};
      }
      if (!given_up || latest) {
        on_change_(entry);
      }
      shared->finished(entry, failure);
      return;
    }
    auto& made = std::get<profiling::MadeProfile>(outcome);
    entry.changed = std::set<std::string>(made.changed.begin(), made.changed.end());
    if (entry.trial.has_value() && !entry.trial->going.has_value()) {
      entry.trial.reset();  // it spoke of the figures before these
    }
    entry.figures = std::make_shared<const Figures>(std::move(made));
    entry.failed.reset();
    on_change_(entry);
    shared->finished(entry, nullptr);
  };
  entry.progress = {"start", 0, "Waiting"};
  *ticket = queue_->add(
      std::move(request), target,
      {[this, target, editor_vouches] { return consent_.holds(target, editor_vouches); }, progress, finished});
  entry.going = *ticket;
  on_change_(entry);
}

void Entries::cancel(std::string_view path) {
  if (const Entry* entry = find(path); queue_ != nullptr && entry != nullptr && entry->going.has_value()) {
    queue_->cancel(*entry->going);
  } else {
    cancel_trial(path);
  }
}

void Entries::cancel_trial(std::string_view path) {
  const Entry* entry = find(path);
  if (queue_ != nullptr && entry != nullptr && entry->trial.has_value() && entry->trial->going.has_value()) {
    queue_->cancel(*entry->trial->going);
  }
}

void Entries::explain_trial(std::string_view path, int batch_size, const std::string& why) {
  const auto found = entries_.find(path);
  if (found == entries_.end()) {
    return;
  }
  Entry& entry = found->second;
  if (entry.trial.has_value() && entry.trial->going.has_value()) {
    return;
  }
  const std::string before = entry.trial.has_value() ? entry.trial->message : "";
  if (before != why) {
    entry.trial = why.empty() ? std::nullopt : std::optional(TrialState{batch_size, std::nullopt, why});
    on_change_(entry);
  }
}

void Entries::try_batch_size(profiling::ProfileRequest request, const profiling::Target& target, bool editor_vouches,
                             int batch_size) {
  const auto found = entries_.find(target.entry);
  if (queue_ == nullptr || found == entries_.end() || found->second.figures == nullptr) {
    return;
  }
  Entry& entry = found->second;
  const std::shared_ptr<const Figures> held = entry.figures;
  auto ticket = std::make_shared<profiling::ProfileQueue::Ticket>();
  const auto finished = [this, &entry, held, ticket](profiling::ProfileOutcome outcome) {
    if (entry.trial.has_value() && entry.trial->going == *ticket) {
      end_trial(entry, held, std::move(outcome));
    }
  };
  *ticket = queue_->add_trial(std::move(request), target, {held, &held->made()},
                              {[this, target, editor_vouches] { return consent_.holds(target, editor_vouches); },
                               [](const protocol::Progress& /*step*/) {}, finished});
  entry.trial = TrialState{batch_size, *ticket, "batch size " + std::to_string(batch_size) + " is being tried"};
  on_change_(entry);
}

void Entries::end_trial(Entry& entry, const std::shared_ptr<const Figures>& held, profiling::ProfileOutcome outcome) {
  const int batch_size = entry.trial->batch_size;
  entry.trial.reset();
  if (auto* failure = std::get_if<profiling::RunFailure>(&outcome)) {
    const protocol::Failure& what = failure->failure;
    if (!protocol::info_of(what.kind).ended_on_purpose) {
      entry.trial = TrialState{batch_size, std::nullopt,
                               "batch size " + std::to_string(batch_size) + " could not be tried: " + what.message};
    }
  } else if (entry.figures == held) {
    entry.figures = std::make_shared<const Figures>(std::move(std::get<profiling::MadeProfile>(outcome)));
    ++entry.trials;
  }
  on_change_(entry);
}

void Entries::load(profiling::ProfileRequest request, const profiling::Target& target) {
  if (find(target.entry) != nullptr) {
    return;
  }
  at(target);
  const auto loaded = lifetime_.guard([this, path = target.entry](const std::shared_ptr<const Figures>& figures) {
    Entry& entry = entries_[path];
    if (entry.figures == nullptr) {
      entry.figures = figures;
      on_change_(entry);
    }
  });
  asio::post(pool_, [request = std::move(request), target, &loop = loop_, loaded] {
    std::string warning;
    std::shared_ptr<const Figures> figures;
    try {
      if (auto made = profiling::load_profile(request, target, warning)) {
        figures = std::make_shared<const Figures>(std::move(*made));
      }
    } catch (const std::exception&) {
      return;  // the store says why when a profile is kept; there are no figures until then
    }
    if (figures != nullptr) {
      asio::post(loop, [loaded, figures]() mutable { loaded(figures); });
    }
  });
}

void Entries::file_is(const std::string& path, const std::optional<std::string_view>& text) {
  for (auto& [name, entry] : entries_) {
    const FileFigures* file = entry.figures == nullptr ? nullptr : entry.figures->file(path);
    if (file == nullptr || file->text == nullptr) {
      continue;
    }
    const bool was = entry.is_stale();
    if (text == *file->text) {
      entry.changed.erase(path);
    } else {
      entry.changed.insert(path);
    }
    if (entry.is_stale() != was) {
      on_change_(entry);
    }
  }
}

}  // namespace ridgeline::methods
