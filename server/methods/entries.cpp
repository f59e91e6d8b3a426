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
      const std::string& kind = failure->failure.kind;
      const bool given_up = kind == "cancelled" || kind == "superseded" || kind == "not-trusted";
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
  }
}

void Entries::load(profiling::ProfileRequest request, const profiling::Target& target) {
  if (find(target.entry) != nullptr) {
    return;
  }
  at(target);
  asio::post(pool_, [this, request = std::move(request), target, &loop = loop_, alive = std::weak_ptr(alive_)] {
    std::string warning;
    std::shared_ptr<const Figures> figures;
    try {
      if (auto made = profiling::load_profile(request, target, warning)) {
        figures = std::make_shared<const Figures>(std::move(*made));
      }
    } catch (const std::exception&) {
      return;  // the store says why when a profile is kept; there are no figures until then
    }
    asio::post(loop, [this, figures, path = target.entry, alive] {
      if (alive.expired() || figures == nullptr) {
        return;
      }
      Entry& entry = entries_[path];
      if (entry.figures == nullptr) {
        entry.figures = figures;
        on_change_(entry);
      }
    });
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
