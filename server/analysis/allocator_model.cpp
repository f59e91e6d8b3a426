#include "analysis/allocator_model.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/allocation_growth.h"
#include "analysis/caching_allocator_conf.h"

namespace ridgeline::analysis {

namespace {

constexpr std::size_t kNobody = ~std::size_t{0};

/// Whose blocks a repeated step frees.
struct Lives {
  /// For each request: the one whose block of the iteration before is freed where its own would be; itself where it is
  /// made in the iteration; nobody's where there is none.
  std::vector<std::size_t> instead;
  /// Made in every iteration and freed in none. They would pile up: the step is taken to hold as much in every
  /// iteration.
  std::vector<std::size_t> kept;
};

Lives lives_of(const AllocatorModel& model) {
  std::vector<bool> freed(model.requests.size());
  for (const std::int32_t event : model.order) {
    if (event < 0) {
      freed[static_cast<std::size_t>(~event)] = true;
    }
  }
  const auto key = [&](std::size_t request) {
    return std::pair(model.requests[request].stream, model.requests[request].bytes);
  };
  std::map<std::pair<std::uint16_t, std::vector<std::uint64_t>>, std::deque<std::size_t>> left;  // at the end, by kind
  for (std::size_t i = model.alive; i < model.requests.size(); ++i) {
    if (!freed[i]) {
      left[key(i)].push_back(i);
    }
  }
  Lives lives;
  for (std::size_t i = 0; i < model.requests.size(); ++i) {
    lives.instead.push_back(i);
    if (i < model.alive && freed[i]) {
      std::deque<std::size_t>& alike = left[key(i)];
      lives.instead.back() = alike.empty() ? kNobody : alike.front();
      alike.erase(alike.begin(), alike.begin() + (alike.empty() ? 0 : 1));
    }
  }
  for (const auto& [kind, requests] : left) {
    lives.kept.insert(lives.kept.end(), requests.begin(), requests.end());
  }
  std::ranges::sort(lives.kept);
  return lives;
}

CachingAllocatorSettings settings_of(const AllocatorSetup& setup) {
  std::string why_not;  // who makes a setup has asked that
  return parse_allocator_conf(setup.conf, why_not).value_or(CachingAllocatorSettings{});
}

/// The allocator in the hands of a step that is repeated.
class Steps {
 public:
  Steps(const AllocatorModel& model, int batch_size, const DeviceMemory& device)
      : model_(model), allocator_(settings_of(model.setup), device), lives_(lives_of(model)) {
    for (const BlockRequest& request : model.requests) {
      bytes_.push_back(bytes_at(request.bytes, model.sizes, batch_size));
    }
  }

  bool run() {
    for (std::size_t i = 0; i < model_.alive; ++i) {
      const bool comes_later = lives_.instead[i] != i && lives_.instead[i] != kNobody;
      if (!comes_later && !allocate(i, 0)) {
        return false;
      }
    }
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

  bool allocate(std::size_t request, std::size_t iteration) {
    return allocator_.allocate(id(request, iteration), bytes_[request], model_.requests[request].stream);
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
    for (std::size_t i = model_.alive; i < model_.order.size(); ++i) {
      const std::int32_t event = model_.order[i];
      if (event < 0) {
        free(static_cast<std::size_t>(~event), iteration);
      } else if (!allocate(static_cast<std::size_t>(event), iteration)) {
        return false;
      }
    }
    for (const std::size_t request : lives_.kept) {
      free(request, iteration);
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
                                                   std::span<const recording::Recording* const> recordings,
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
                      allocation->before ? allocation->event : allocation->birth);
  });
  AllocatorModel model;
  model.sizes = sizes;
  model.setup = setup;
  std::vector<std::pair<std::size_t, std::int32_t>> events;  // by instant
  for (const Allocation* allocation : allocations) {
    const auto index = static_cast<std::int32_t>(model.requests.size());
    model.alive += allocation->before ? 1 : 0;
    model.requests.push_back(
        {allocation->requested, recordings[allocation->sample]->memory_stream()[allocation->event]});
    events.emplace_back(allocation->before ? 0 : allocation->birth, index);
    if (allocation->death != kNeverFreed) {
      events.emplace_back(allocation->death, ~index);
    }
  }
  std::ranges::stable_sort(events, {}, &std::pair<std::size_t, std::int32_t>::first);
  for (const auto& [instant, event] : events) {
    model.order.push_back(event);
  }
  return model;
}

DeviceMemory device_of(const AllocatorSetup& setup) { return {setup.device_bytes, setup.available_bytes}; }

AllocatorNeed replay_step(const AllocatorModel& model, int batch_size, const DeviceMemory& device) {
  Steps steps(model, batch_size, device);
  const bool fits = steps.run();
  const CachingAllocator& allocator = steps.allocator();
  return {allocator.peak().reserved, allocator.peak().allocated, allocator.retries(), fits, steps.settled()};
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
