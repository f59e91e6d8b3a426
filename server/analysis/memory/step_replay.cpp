#include "analysis/memory/step_replay.h"

#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <string>

#include "analysis/allocator/caching_allocator_conf.h"
#include "analysis/memory/allocation_growth.h"
#include "analysis/memory/block_lives.h"

namespace ridgeline::analysis {

namespace {

/// A process that runs the step at one batch size.
class Process {
 public:
  Process(const AllocatorModel& model, const BlockLives& lives, int batch_size, const DeviceMemory& device)
      : model_(model), lives_(lives), allocator_(settings_of(model.setup), device) {
    for (const BlockRequest& request : model.requests) {
      bytes_.push_back(bytes_at(request.bytes, model.sizes, rounded_up(batch_size, model.parts_of_batch)));
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
  /// For each block: its segment's number, its offset there, its bytes, and the request that it serves.
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
    } else if (lives_.freed_instead[request] != kNoRequest) {
      allocator_.free(id(lives_.freed_instead[request], iteration - 1));
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
  const BlockLives& lives_;
  CachingAllocator allocator_;
  std::vector<std::uint64_t> bytes_;
  bool settled_ = false;
};

AllocatorNeed replay(const AllocatorModel& model, const BlockLives& lives, int batch_size, const DeviceMemory& device) {
  Process process(model, lives, batch_size, device);
  const bool fits = process.run();
  const CachingAllocator& allocator = process.allocator();
  return {allocator.peak().reserved, allocator.peak().allocated, allocator.retries(), fits, process.settled()};
}

/// The largest number up to `batch_size` that has at most kSignificantBits of its binary digits.
int looked_at(int batch_size) {
  constexpr int kSignificantBits = 8;
  const auto digits = static_cast<int>(std::bit_width(static_cast<unsigned>(batch_size)));
  const int shift = std::max(0, digits - kSignificantBits);
  return batch_size >> shift << shift;
}

}  // namespace

CachingAllocatorSettings settings_of(const AllocatorSetup& setup) {
  const auto settings = parse_allocator_conf(setup.conf);  // never an error: whoever makes a setup has checked it
  return settings ? *settings : CachingAllocatorSettings{};
}

DeviceMemory device_of(const AllocatorSetup& setup) { return {setup.device_bytes, setup.available_bytes}; }

AllocatorNeed replay_step(const AllocatorModel& model, int batch_size, const DeviceMemory& device) {
  return replay(model, lives_of(model), batch_size, device);
}

LargestBatch largest_that_fits(const AllocatorModel& model, const DeviceMemory& device, int most) {
  const BlockLives lives = lives_of(model);
  const auto fits = [&](int batch_size) { return replay(model, lives, batch_size, device).fits; };
  if (fits(most)) {
    return {most, false};
  }
  // What is allocated grows with the batch, and has to fit at least.
  const auto may_fit = [&](int batch_size) {
    return replay(model, lives, batch_size, {}).allocated <= device.available;
  };
  int low = 0;
  int high = most;
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    (may_fit(middle) ? low : high) = middle;
  }
  int next = low + 1;  // the smallest that was looked at above
  for (int batch_size = looked_at(low); batch_size > 0; next = batch_size, batch_size = looked_at(batch_size - 1)) {
    if (fits(batch_size)) {
      int largest = next - 1;
      while (!fits(largest)) {
        --largest;
      }
      return {largest, true};
    }
  }
  return {};
}

}  // namespace ridgeline::analysis
