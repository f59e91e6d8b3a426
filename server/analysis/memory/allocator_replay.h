// The allocator's events of a recording, replayed: the life of every block, and the peak of the iterations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "protocol/recording.h"

namespace ridgeline::analysis {

inline constexpr std::uint64_t kForever = ~std::uint64_t{0};

/// One allocation, from birth to death.
struct Block {
  std::uint32_t event = 0;         ///< that allocated it
  std::uint64_t death = kForever;  ///< time
  std::uint32_t death_event = recording::kNone;
  std::optional<recording::Role> role;
  std::uint32_t parameter = recording::kNone;
};

struct Peak {
  std::uint64_t bytes = 0;
  std::uint32_t event = recording::kNone;  ///< after which it is reached; kNone: at the start of the iteration
  std::size_t iteration = 0;
};

/// Replays the allocator: `visit(event, live_bytes)` after each event.
class Replay {
 public:
  explicit Replay(const recording::Recording& recording) : recording_(recording) {
    live_.reserve(recording.memory_time().size() / 4 + 16);
  }

  template <typename Visit>
  void run(Visit visit) {
    for (std::uint32_t event = 0; event < recording_.memory_time().size(); ++event) {
      const std::uint64_t address = recording_.memory_address()[event];
      const std::uint64_t bytes = recording_.memory_bytes()[event];
      if (bytes > 0) {
        end_of(address, event);  // a release that was lost: the address cannot be handed out twice
        live_[address] = static_cast<std::uint32_t>(blocks_.size());
        blocks_.push_back({event, kForever, recording::kNone, std::nullopt, recording::kNone});
        live_bytes_ += bytes;
      } else {
        end_of(address, event);  // of a block from before tracking: nothing
      }
      visit(event, live_bytes_);
    }
  }

  /// The live block at an address, or null.
  Block* at(std::uint64_t address) {
    const auto found = live_.find(address);
    return found == live_.end() ? nullptr : &blocks_[found->second];
  }
  std::vector<Block>& blocks() { return blocks_; }

 private:
  void end_of(std::uint64_t address, std::uint32_t event) {
    const auto found = live_.find(address);
    if (found == live_.end()) {
      return;
    }
    Block& block = blocks_[found->second];
    block.death = recording_.memory_time()[event];
    block.death_event = event;
    live_bytes_ -= recording_.memory_bytes()[block.event];
    live_.erase(found);
  }

  const recording::Recording& recording_;
  std::unordered_map<std::uint64_t, std::uint32_t> live_;
  std::vector<Block> blocks_;
  std::uint64_t live_bytes_ = 0;
};

/// Follows the live bytes through the iterations. An iteration starts with what is live after the event before it.
class PeakFinder {
 public:
  explicit PeakFinder(const recording::Recording& recording) : recording_(recording) {}

  /// Before an event changes anything; `live`: bytes up to then.
  void before(std::uint32_t event, std::uint64_t live) {
    const std::uint64_t time = recording_.memory_time()[event];
    const std::uint32_t previous = event == 0 ? recording::kNone : event - 1;
    while (iteration_ < recording_.iteration_end().size() && time > recording_.iteration_end()[iteration_]) {
      enter(live, previous);
      ++iteration_;
      entered_ = false;
    }
    if (iteration_ < recording_.iteration_start().size() && time >= recording_.iteration_start()[iteration_]) {
      enter(live, previous);
    }
  }
  /// After the event.
  void after(std::uint32_t event, std::uint64_t live) {
    if (entered_) {
      offer(live, event);
    }
  }
  /// After the last event.
  Peak finish(std::uint64_t live) {
    const auto events = static_cast<std::uint32_t>(recording_.memory_time().size());
    for (; iteration_ < recording_.iteration_end().size(); ++iteration_, entered_ = false) {
      enter(live, events == 0 ? recording::kNone : events - 1);
    }
    return peak_;
  }

 private:
  void enter(std::uint64_t live, std::uint32_t previous_event) {
    if (!entered_) {
      entered_ = true;
      offer(live, previous_event);
    }
  }
  void offer(std::uint64_t live, std::uint32_t event) {
    if (live > peak_.bytes) {
      peak_ = {live, event, iteration_};
    }
  }

  const recording::Recording& recording_;
  Peak peak_;
  std::size_t iteration_ = 0;
  bool entered_ = false;
};

/// Runs the replay to its end: the peak of the iterations. `after(event)` follows each event.
template <typename After>
Peak find_peak(const recording::Recording& recording, Replay& replay, After after) {
  PeakFinder finder(recording);
  std::uint64_t live = 0;
  replay.run([&](std::uint32_t event, std::uint64_t live_after) {
    finder.before(event, live);
    live = live_after;
    finder.after(event, live);
    after(event);
  });
  return finder.finish(live);
}

inline Peak find_peak(const recording::Recording& recording, Replay& replay) {
  return find_peak(recording, replay, [](std::uint32_t) {});
}

/// The most that a device's caching allocator held from the first iteration on; nothing where there is none.
inline std::optional<std::uint64_t> peak_reserved(const recording::Recording& recording) {
  std::uint64_t peak = 0;
  for (std::size_t i = 0; i < recording.memory_time().size(); ++i) {
    const bool before = recording.memory_time()[i] < recording.iteration_start().front();
    const bool after = recording.memory_time()[i] > recording.iteration_end().back();
    if (!after) {
      peak = before ? recording.memory_reserved()[i] : std::max(peak, recording.memory_reserved()[i]);
    }
  }
  return peak > 0 ? std::optional(peak) : std::nullopt;
}

}  // namespace ridgeline::analysis
