#include "analysis/memory/allocator_model.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/memory/block_lives.h"
#include "base/difference.h"

namespace ridgeline::analysis {

namespace {

using recording::kNone;
using recording::Recording;

constexpr std::size_t kMaxEditsBetweenSteps = 4000;

/// A first iteration like the later ones, preceded by everything that these find alive and do not free.
AllocatorEvents first_like_later(const AllocatorModel& model) {
  const BlockLives lives = lives_of(model);
  AllocatorEvents first;
  for (std::size_t i = 0; i < model.alive; ++i) {
    if (!lives.freed[i] || lives.freed_instead[i] == kNoRequest) {
      first.push_back(allocation_of(i));
    }
  }
  for (const std::int32_t event : model.later) {
    const std::size_t request = request_of(event);
    if (event >= 0 || request >= model.alive || lives.freed_instead[request] == kNoRequest) {
      first.push_back(event);
    }
  }
  return first;
}

/// The recorded first iteration in the model's requests.
class FirstIteration {
 public:
  /// `found` says which request each event of the recording that is alive before made.
  FirstIteration(AllocatorModel& model, const Recording& recording, std::size_t sample,
                 const std::map<std::uint32_t, std::size_t>& found)
      : model_(model), recording_(recording), sample_(sample) {
    for (const auto& [event, request] : found) {
      alive_[{recording.memory_time()[event], recording.memory_address()[event]}] = request;
    }
  }

  /// False when it differs too much from the later ones.
  bool add() {
    read();
    if (!match() || entries_.size() > kMaxAllocatorEvents / 2) {
      return false;
    }
    write();
    return model_.first.size() <= kMaxAllocatorEvents;
  }

 private:
  struct Entry {
    std::uint64_t bytes = 0;
    std::size_t request = kNoRequest;
    bool ends = false;
  };
  /// An entry is allocated or freed.
  struct Event {
    std::size_t entry = 0;
    bool allocates = false;
  };

  static std::uint64_t token(std::uint64_t bytes, bool allocates) { return 2 * bytes + (allocates ? 1 : 0); }

  void read() {
    std::map<std::uint64_t, std::size_t> live;  // by address
    const auto end = [&](std::uint64_t address) {
      if (const auto found = live.find(address); found != live.end()) {
        entries_[found->second].ends = true;
        events_.push_back({found->second, false});
        live.erase(found);
      }
    };
    for (std::size_t i = 0; i < recording_.first_time().size(); ++i) {
      const std::uint64_t address = recording_.first_address()[i];
      end(address);
      if (recording_.first_bytes()[i] > 0) {
        const std::uint64_t requested = recording_.first_requested()[i];
        const auto alive = alive_.find({recording_.first_time()[i], address});
        live[address] = entries_.size();
        events_.push_back({entries_.size(), true});
        entries_.push_back({requested > 0 ? requested : recording_.first_bytes()[i],
                            alive == alive_.end() ? kNoRequest : alive->second, false});
      }
    }
  }

  /// Finds the later iterations' requests for what is no longer there.
  bool match() {
    std::vector<std::uint64_t> ours;
    std::vector<std::size_t> our_entries;
    for (const Event& event : events_) {
      if (entries_[event.entry].request == kNoRequest) {
        ours.push_back(token(entries_[event.entry].bytes, event.allocates));
        our_entries.push_back(event.entry);
      }
    }
    std::vector<std::uint64_t> theirs;
    std::vector<std::int32_t> their_events;
    for (const std::int32_t event : model_.later) {
      const std::uint64_t bytes = model_.requests[request_of(event)].bytes[sample_];
      if (request_of(event) >= model_.alive && bytes > 0) {
        theirs.push_back(token(bytes, event >= 0));
        their_events.push_back(event);
      }
    }
    const auto pairs = base::common_subsequence(ours, theirs, kMaxEditsBetweenSteps);
    if (!pairs.has_value()) {
      return false;
    }
    for (const auto& [our, their] : *pairs) {
      if (their_events[their] >= 0) {
        entries_[our_entries[our]].request = request_of(their_events[their]);
      }
    }
    return true;
  }

  void write() {
    for (Entry& entry : entries_) {
      if (entry.request == kNoRequest) {  // it occurs only once: assumed to have these bytes at any batch size
        entry.request = model_.requests.size();
        model_.requests.push_back({std::vector<std::uint64_t>(model_.sizes.size(), entry.bytes), 0});
      }
    }
    for (const Event& event : events_) {
      const std::size_t request = entries_[event.entry].request;
      model_.first.push_back(event.allocates ? allocation_of(request) : release_of(request));
    }
    const BlockLives lives = lives_of(model_);
    std::vector<bool> is_alive(model_.requests.size());
    for (const Entry& entry : entries_) {
      const bool stays = entry.request < model_.alive ? !lives.freed[entry.request] : lives.outlives[entry.request];
      is_alive[entry.request] = true;
      if (!entry.ends && !stays) {
        model_.first.push_back(
            release_of(entry.request));  // it was freed between the first iteration and the recorded one
      }
    }
    for (std::size_t i = 0; i < model_.alive; ++i) {
      if (!is_alive[i] && !lives.freed[i]) {
        model_.first.push_back(allocation_of(i));  // it was made there
      }
    }
  }

  AllocatorModel& model_;
  const Recording& recording_;
  std::size_t sample_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> alive_;  // by time and address
  std::vector<Entry> entries_;
  std::vector<Event> events_;
};

/// Those alive before first. In the ledger these are ordered by kind; here by when they were allocated.
std::vector<const Allocation*> in_order(const Ledger& ledger) {
  std::vector<const Allocation*> allocations;
  for (const Allocation& allocation : ledger.allocations) {
    allocations.push_back(&allocation);
  }
  std::ranges::stable_sort(allocations, {}, [](const Allocation* allocation) {
    return std::tuple(!allocation->before, allocation->before ? allocation->sample : 0,
                      allocation->before ? allocation->event() : allocation->birth);
  });
  return allocations;
}

/// The requests and the events of a later iteration.
void add_later(const std::vector<const Allocation*>& allocations, std::span<const Recording* const> recordings,
               AllocatorModel& model) {
  std::vector<std::pair<std::size_t, std::int32_t>> events;  // by instant
  for (const Allocation* allocation : allocations) {
    const std::size_t request = model.requests.size();
    model.requests.push_back(
        {allocation->requested, recordings[allocation->sample]->memory_stream()[allocation->event()]});
    if (allocation->before) {
      ++model.alive;
    } else {
      events.emplace_back(allocation->birth, allocation_of(request));
    }
    if (allocation->death != kNeverFreed) {
      events.emplace_back(allocation->death, release_of(request));
    }
  }
  std::ranges::stable_sort(events, {}, &std::pair<std::size_t, std::int32_t>::first);
  for (const auto& [instant, event] : events) {
    model.later.push_back(event);
  }
  for (const std::size_t request : lives_of(model).leaked) {
    model.later.push_back(release_of(request));  // the step is assumed to hold as much in every iteration
  }
}

/// The first iteration as the first sample that has it recorded it, if it is like the later ones.
void add_first(const std::vector<const Allocation*>& allocations, std::span<const Recording* const> recordings,
               AllocatorModel& model) {
  for (std::size_t sample = 0; sample < recordings.size() && model.first.empty(); ++sample) {
    if (recordings[sample]->first_time().empty()) {
      continue;
    }
    std::map<std::uint32_t, std::size_t> found;
    for (std::size_t i = 0; i < model.alive; ++i) {
      if (allocations[i]->events[sample] != kNone) {
        found[allocations[i]->events[sample]] = i;
      }
    }
    AllocatorModel with_first = model;
    if (FirstIteration(with_first, *recordings[sample], sample, found).add()) {
      model = std::move(with_first);
    }
  }
  if (model.first.empty()) {
    model.first = first_like_later(model);
  }
}

}  // namespace

base::Result<AllocatorModel> make_allocator_model(const Ledger& ledger, const std::vector<int>& sizes,
                                                  std::span<const Recording* const> recordings,
                                                  const AllocatorSetup& setup) {
  if (2 * ledger.allocations.size() > kMaxAllocatorEvents) {
    return base::error("the step allocates too often");
  }
  const std::vector<const Allocation*> allocations = in_order(ledger);
  AllocatorModel model;
  model.sizes = sizes;
  model.setup = setup;
  add_later(allocations, recordings, model);
  add_first(allocations, recordings, model);
  return model;
}

}  // namespace ridgeline::analysis
