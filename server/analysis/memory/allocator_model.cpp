#include "analysis/memory/allocator_model.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/allocator/caching_allocator_conf.h"
#include "analysis/memory/allocation_growth.h"
#include "base/difference.h"

namespace ridgeline::analysis {

namespace {

using recording::kNone;
using recording::Recording;

constexpr std::size_t kMaxEditsBetweenSteps = 4000;
constexpr std::size_t kNobody = ~std::size_t{0};

std::size_t request_of(std::int32_t event) { return static_cast<std::size_t>(event < 0 ? ~event : event); }
std::int32_t making(std::size_t request) { return static_cast<std::int32_t>(request); }
std::int32_t freeing(std::size_t request) { return ~static_cast<std::int32_t>(request); }

/// Whose blocks a repeated step frees.
struct Lives {
  std::vector<bool> freed;  ///< in a later iteration, by request
  /// For each request: the one whose block of the iteration before is freed where its own would be; itself where it is
  /// made in the iteration; nobody's where there is none.
  std::vector<std::size_t> instead;
  std::vector<bool> lives_on;          ///< into the next iteration, by request: the other way round
  std::vector<std::size_t> piling_up;  ///< made in a later iteration, and freed in none
};

Lives lives_of(const AllocatorModel& model) {
  const std::size_t count = model.requests.size();
  Lives lives{std::vector<bool>(count), {}, std::vector<bool>(count), {}};
  std::vector<bool> made(count);
  for (const std::int32_t event : model.later) {
    (event < 0 ? lives.freed : made)[request_of(event)] = true;
  }
  const auto key = [&](std::size_t request) {
    return std::pair(model.requests[request].stream, model.requests[request].bytes);
  };
  std::map<std::pair<std::uint16_t, std::vector<std::uint64_t>>, std::deque<std::size_t>> left;  // at the end, by kind
  for (std::size_t i = model.alive; i < count; ++i) {
    if (made[i] && !lives.freed[i]) {
      left[key(i)].push_back(i);
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    lives.instead.push_back(i);
    if (i < model.alive && lives.freed[i]) {
      std::deque<std::size_t>& alike = left[key(i)];
      lives.instead.back() = alike.empty() ? kNobody : alike.front();
      if (!alike.empty()) {
        lives.lives_on[alike.front()] = true;
        alike.pop_front();
      }
    }
  }
  for (const auto& [kind, requests] : left) {
    lives.piling_up.insert(lives.piling_up.end(), requests.begin(), requests.end());
  }
  std::ranges::sort(lives.piling_up);
  return lives;
}

/// A first iteration like the later ones, after all that these find there and do not free.
AllocatorEvents first_like_later(const AllocatorModel& model) {
  const Lives lives = lives_of(model);
  AllocatorEvents first;
  for (std::size_t i = 0; i < model.alive; ++i) {
    if (!lives.freed[i] || lives.instead[i] == kNobody) {
      first.push_back(making(i));
    }
  }
  for (const std::int32_t event : model.later) {
    const std::size_t request = request_of(event);
    if (event >= 0 || request >= model.alive || lives.instead[request] == kNobody) {
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

  /// False when it is too unlike the later ones.
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
    std::size_t request = kNobody;
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
                            alive == alive_.end() ? kNobody : alive->second, false});
      }
    }
  }

  /// Finds the later iterations' requests for what is no longer there.
  bool match() {
    std::vector<std::uint64_t> ours;
    std::vector<std::size_t> our_entries;
    for (const Event& event : events_) {
      if (entries_[event.entry].request == kNobody) {
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
      if (entry.request == kNobody) {  // it comes but once: its bytes are taken for those at any batch size
        entry.request = model_.requests.size();
        model_.requests.push_back({std::vector<std::uint64_t>(model_.sizes.size(), entry.bytes), 0});
      }
    }
    for (const Event& event : events_) {
      const std::size_t request = entries_[event.entry].request;
      model_.first.push_back(event.allocates ? making(request) : freeing(request));
    }
    const Lives lives = lives_of(model_);
    std::vector<bool> is_there(model_.requests.size());
    for (const Entry& entry : entries_) {
      const bool stays = entry.request < model_.alive ? !lives.freed[entry.request] : lives.lives_on[entry.request];
      is_there[entry.request] = true;
      if (!entry.ends && !stays) {
        model_.first.push_back(
            freeing(entry.request));  // it was freed between the first iteration and the recorded one
      }
    }
    for (std::size_t i = 0; i < model_.alive; ++i) {
      if (!is_there[i] && !lives.freed[i]) {
        model_.first.push_back(making(i));  // it was made there
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

CachingAllocatorSettings settings_of(const AllocatorSetup& setup) {
  std::string why_not;  // who makes a setup has asked that
  return parse_allocator_conf(setup.conf, why_not).value_or(CachingAllocatorSettings{});
}

/// The allocator in the hands of a process.
class Process {
 public:
  Process(const AllocatorModel& model, int batch_size, const DeviceMemory& device)
      : model_(model), allocator_(settings_of(model.setup), device), lives_(lives_of(model)) {
    for (const BlockRequest& request : model.requests) {
      bytes_.push_back(bytes_at(request.bytes, model.sizes, batch_size));
    }
  }

  bool run() {
    std::set<State> states;
    for (std::size_t iteration = 0; iteration < kMostIterations && !settled_; ++iteration) {
      if (!iterate(iteration)) {
        return false;
      }
      settled_ = !states.insert(state()).second;
    }
    return true;
  }

  const CachingAllocator& allocator() const { return allocator_; }
  bool settled() const { return settled_; }

 private:
  /// Of each block: its place, its bytes, and the request that it serves. Segments count by their order.
  using State = std::vector<std::array<std::uint64_t, 4>>;

  State state() const {
    State state;
    std::uint64_t order = 0;
    for (const SegmentView& segment : allocator_.segments()) {
      ++order;
      for (const CachedBlock& block : segment.blocks) {
        const bool in_use = block.state == BlockState::kAllocated;
        const std::uint64_t request = block.id < bytes_.size() ? block.id : block.id - bytes_.size();
        state.push_back({order, block.offset, block.bytes,
                         in_use ? request : bytes_.size() + static_cast<std::uint64_t>(block.state)});
      }
    }
    return state;
  }

  /// The name of an iteration's block. One that lives into the next iteration has another name there.
  std::size_t id(std::size_t request, std::size_t iteration) const {
    return request < model_.alive ? request : request + model_.requests.size() * (iteration % 2);
  }

  void free(std::size_t request, std::size_t iteration) {
    if (request >= model_.alive || iteration == 0) {
      allocator_.free(id(request, iteration));
    } else if (lives_.instead[request] != kNobody) {
      allocator_.free(id(lives_.instead[request], iteration - 1));
    }
  }

  bool iterate(std::size_t iteration) {
    for (const std::int32_t event : iteration == 0 ? model_.first : model_.later) {
      const std::size_t request = request_of(event);
      if (event < 0) {
        free(request, iteration);
      } else if (!allocator_.allocate(id(request, iteration), bytes_[request], model_.requests[request].stream)) {
        return false;
      }
    }
    return true;
  }

  const AllocatorModel& model_;
  CachingAllocator allocator_;
  Lives lives_;
  std::vector<std::uint64_t> bytes_;
  bool settled_ = false;
};

}  // namespace

std::optional<AllocatorModel> make_allocator_model(const Ledger& ledger, const std::vector<int>& sizes,
                                                   std::span<const Recording* const> recordings,
                                                   const AllocatorSetup& setup, std::string& why_not) {
  if (2 * ledger.allocations.size() > kMaxAllocatorEvents) {
    why_not = "the step allocates too often";
    return std::nullopt;
  }
  std::vector<const Allocation*> allocations;
  for (const Allocation& allocation : ledger.allocations) {
    allocations.push_back(&allocation);
  }
  // Those from before stand in the ledger by what they are, here in the order in which they were made.
  std::ranges::stable_sort(allocations, {}, [](const Allocation* allocation) {
    return std::tuple(!allocation->before, allocation->before ? allocation->sample : 0,
                      allocation->before ? allocation->event() : allocation->birth);
  });
  AllocatorModel model;
  model.sizes = sizes;
  model.setup = setup;
  std::vector<std::pair<std::size_t, std::int32_t>> events;  // by instant
  for (const Allocation* allocation : allocations) {
    const std::size_t request = model.requests.size();
    model.requests.push_back(
        {allocation->requested, recordings[allocation->sample]->memory_stream()[allocation->event()]});
    if (allocation->before) {
      ++model.alive;
    } else {
      events.emplace_back(allocation->birth, making(request));
    }
    if (allocation->death != kNeverFreed) {
      events.emplace_back(allocation->death, freeing(request));
    }
  }
  std::ranges::stable_sort(events, {}, &std::pair<std::size_t, std::int32_t>::first);
  for (const auto& [instant, event] : events) {
    model.later.push_back(event);
  }
  for (const std::size_t request : lives_of(model).piling_up) {
    model.later.push_back(freeing(request));  // the step is taken to hold as much in every iteration
  }
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
  return model;
}

DeviceMemory device_of(const AllocatorSetup& setup) { return {setup.device_bytes, setup.available_bytes}; }

AllocatorNeed replay_step(const AllocatorModel& model, int batch_size, const DeviceMemory& device) {
  Process process(model, batch_size, device);
  const bool fits = process.run();
  const CachingAllocator& allocator = process.allocator();
  return {allocator.peak().reserved, allocator.peak().allocated, allocator.retries(), fits, process.settled()};
}

LargestBatch largest_that_fits(const AllocatorModel& model, const DeviceMemory& device, int most) {
  const auto fits = [&](int batch_size) { return replay_step(model, batch_size, device).fits; };
  if (!fits(1)) {
    return {};
  }
  int low = 1;
  int high = std::clamp(model.sizes.back(), 1, most);
  while (fits(high)) {
    low = high;
    if (high == most) {
      return {most, false};
    }
    high = high > most / 2 ? most : 2 * high;
  }
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return {low, true};
}

}  // namespace ridgeline::analysis
