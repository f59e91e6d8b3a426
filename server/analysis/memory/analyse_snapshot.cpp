#include "analysis/memory/analyse_snapshot.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/memory/snapshot_stacks.h"

namespace ridgeline::analysis {

namespace {

constexpr std::size_t kPoints = 240;  // over time
constexpr std::uint32_t kParts = 10;  // of a recording without steps
constexpr std::uint32_t kLeastSteps = 4;
constexpr std::uint32_t kLeastPeriods = 3;  // of which something is left, where a line grows
constexpr double kMostPeriods = 0.6;
constexpr std::size_t kMostGrowing = 10;
constexpr std::uint32_t kBefore = UINT32_MAX;  // the recording began

using Events = std::span<const MemoryEvent>;

/// A block that is allocated.
struct Live {
  std::uint64_t bytes = 0;
  MemoryStack stack = 0;
  std::uint32_t period = kBefore;
};
using LiveBlocks = std::unordered_map<std::uint64_t, Live>;

bool reserves(MemoryAction action) {
  return action == MemoryAction::kSegmentAlloc || action == MemoryAction::kSegmentMap;
}
bool releases(MemoryAction action) {
  return action == MemoryAction::kSegmentFree || action == MemoryAction::kSegmentUnmap;
}

Events events_of(const MemoryHistory& history, std::size_t device) {
  if (device >= history.devices.size()) {
    return {};
  }
  const MemoryTrace& trace = history.devices[device];
  return Events(history.events).subspan(trace.begin, trace.end - trace.begin);
}

std::uint64_t reserved_of(const MemoryHistory& history, std::size_t device) {
  std::uint64_t bytes = 0;
  for (const MemorySegment& segment : history.segments) {
    bytes += static_cast<std::size_t>(segment.device) == device ? segment.bytes : 0;
  }
  return bytes;
}

/// The greatest values in equal parts of the time.
class PointsOverTime {
 public:
  /// `whole`: the time that all points are in.
  explicit PointsOverTime(double whole) : whole_(whole) {}

  void add(double at, std::uint64_t allocated, std::uint64_t reserved) {
    const auto part =
        whole_ > 0 ? static_cast<std::size_t>(std::clamp(at / whole_, 0.0, 1.0) * (kPoints - 1)) : std::size_t{0};
    if (points_.empty() || part != part_) {
      points_.push_back({at, allocated, reserved});
    } else {
      points_.back().allocated = std::max(points_.back().allocated, allocated);
      points_.back().reserved = std::max(points_.back().reserved, reserved);
    }
    part_ = part;
  }
  std::vector<SnapshotPoint> take() { return std::move(points_); }

 private:
  double whole_;
  std::size_t part_ = 0;
  std::vector<SnapshotPoint> points_;
};

/// What happened on one device.
class DeviceHistory {
 public:
  DeviceHistory(const MemoryHistory& history, const SnapshotStacks& stacks, std::size_t device)
      : history_(history), stacks_(stacks), device_(device), events_(events_of(history, device)) {
    const auto is_requested = [](const MemoryEvent& event) { return event.action == MemoryAction::kFreeRequested; };
    free_ = std::ranges::any_of(events_, is_requested) ? MemoryAction::kFreeRequested : MemoryAction::kFreeCompleted;
    find_periods();
    rewind();
  }

  Events events() const { return events_; }
  bool has_times() const { return !events_.empty() && events_.back().time_us > 0; }
  double ms_at(std::size_t event) const {
    return has_times() ? static_cast<double>(events_[event].time_us - events_.front().time_us) / 1e3 : 0.0;
  }

  /// What is allocated after so many events.
  SnapshotMoment moment(std::size_t count) const {
    LiveBlocks live = before_;
    std::uint64_t reserved = reserved_before_;
    for (std::size_t i = 0; i < count; ++i) {
      apply(events_[i], i, live, reserved);
    }
    return moment_of(live, reserved, count);
  }

  /// Goes through all events once.
  void run(MemorySnapshot& snapshot) const {
    LiveBlocks live = before_;
    std::uint64_t allocated = 0;
    for (const auto& [address, block] : live) {
      allocated += block.bytes;
    }
    std::uint64_t reserved = reserved_before_;
    std::uint64_t most = allocated;
    std::size_t peak = 0;
    const double last_event = events_.empty() ? 0 : static_cast<double>(events_.size() - 1);
    PointsOverTime points(has_times() ? ms_at(events_.size() - 1) : last_event);
    for (std::size_t i = 0; i < events_.size(); ++i) {
      allocated += static_cast<std::uint64_t>(apply(events_[i], i, live, reserved));
      if (allocated > most) {
        most = allocated;
        peak = i + 1;
      }
      points.add(has_times() ? ms_at(i) : static_cast<double>(i), allocated, reserved);
    }
    snapshot.over_time = points.take();
    snapshot.at_peak = moment(peak);
    snapshot.at_end = moment_of(live, reserved, events_.size());
    find_growth(live, snapshot);
    const auto last = std::find_if(events_.rbegin(), events_.rend(),
                                   [](const MemoryEvent& event) { return event.action == MemoryAction::kOutOfMemory; });
    if (last != events_.rend()) {
      const auto index = static_cast<std::size_t>(std::distance(last, events_.rend()) - 1);
      snapshot.out_of_memory =
          SnapshotOutOfMemory{last->bytes, last->address, moment(index), stacks_.lines[stacks_.line_of[last->stack]]};
    }
  }

 private:
  /// Steps, where an optimizer allocates in them; else parts with as many events each.
  void find_periods() {
    bool was_optimizer = false;
    for (std::size_t i = 0; i < events_.size(); ++i) {
      if (events_[i].action != MemoryAction::kAlloc || events_[i].stack == 0) {
        continue;
      }
      const bool is_optimizer = stacks_.is_in_optimizer_step[events_[i].stack];
      if (was_optimizer && !is_optimizer) {
        period_begins_.push_back(i);
      }
      was_optimizer = is_optimizer;
    }
    are_steps_ = period_begins_.size() + 1 >= kLeastSteps;
    if (!are_steps_) {
      period_begins_.clear();
      for (std::uint32_t part = 1; part < kParts; ++part) {
        period_begins_.push_back(events_.size() * part / kParts);
      }
    }
  }

  std::uint32_t period_of(std::size_t event) const {
    return static_cast<std::uint32_t>(
        std::distance(period_begins_.begin(), std::ranges::upper_bound(period_begins_, event)));
  }

  /// From the state at the end back to what there was before the first event.
  void rewind() {
    reserved_before_ = reserved_of(history_, device_);
    for (const MemorySegment& segment : history_.segments) {
      for (const MemoryBlock& block : segment.blocks) {
        if (static_cast<std::size_t>(segment.device) == device_ && block.state == MemoryBlock::State::kAllocated) {
          before_[block.address] = {block.bytes, block.stack};
        }
      }
    }
    for (auto event = events_.rbegin(); event != events_.rend(); ++event) {
      if (event->action == MemoryAction::kAlloc) {
        before_.erase(event->address);
      } else if (event->action == free_) {
        before_[event->address] = {event->bytes, 0};
      } else if (reserves(event->action)) {
        reserved_before_ -= std::min(reserved_before_, event->bytes);
      } else if (releases(event->action)) {
        reserved_before_ += event->bytes;
      }
    }
  }

  /// By how much what is allocated grows.
  std::int64_t apply(const MemoryEvent& event, std::size_t index, LiveBlocks& live, std::uint64_t& reserved) const {
    if (event.action == MemoryAction::kAlloc) {
      const auto [found, is_new] = live.try_emplace(event.address);
      const std::uint64_t before = is_new ? 0 : found->second.bytes;  // not freed: its event is missing
      found->second = {event.bytes, event.stack, period_of(index)};
      return static_cast<std::int64_t>(event.bytes) - static_cast<std::int64_t>(before);
    }
    if (event.action == free_) {
      const auto found = live.find(event.address);
      if (found == live.end()) {
        return 0;
      }
      const auto bytes = static_cast<std::int64_t>(found->second.bytes);
      live.erase(found);
      return -bytes;
    }
    if (reserves(event.action)) {
      reserved += event.bytes;
    } else if (releases(event.action)) {
      reserved -= std::min(reserved, event.bytes);
    }
    return 0;
  }

  SnapshotMoment moment_of(const LiveBlocks& live, std::uint64_t reserved, std::size_t count) const {
    SnapshotMoment moment;
    moment.reserved = reserved;
    moment.ms = count == 0 ? 0 : ms_at(count - 1);
    std::vector<SnapshotLine> lines = stacks_.lines;
    for (const auto& [address, block] : live) {
      moment.bytes += block.bytes;
      moment.by_use[static_cast<std::size_t>(stacks_.use_of[block.stack])] += block.bytes;
      SnapshotLine& line = lines[stacks_.line_of[block.stack]];
      line.bytes += block.bytes;
      ++line.blocks;
    }
    std::erase_if(lines, [](const SnapshotLine& line) { return line.blocks == 0; });
    std::ranges::stable_sort(lines, std::ranges::greater(), &SnapshotLine::bytes);
    moment.lines = std::move(lines);
    return moment;
  }

  void find_growth(const LiveBlocks& live, MemorySnapshot& snapshot) const {
    const auto periods = static_cast<std::uint32_t>(period_begins_.size() + 1);
    snapshot.periods = static_cast<int>(periods);
    snapshot.periods_are_steps = are_steps_;
    std::map<std::uint32_t, std::map<std::uint32_t, SnapshotLine>> left;  // by line, then period
    for (const auto& [address, block] : live) {
      // What the first period makes may stay, and what the last one makes may be in use.
      if (block.period != kBefore && block.period > 0 && block.period + 1 < periods) {
        SnapshotLine& line = left[stacks_.line_of[block.stack]][block.period];
        line.bytes += block.bytes;
        ++line.blocks;
      }
    }
    const std::uint32_t middle = periods > 2 ? periods - 2 : 0;
    for (const auto& [number, of_periods] : left) {
      if (of_periods.size() < kLeastPeriods || static_cast<double>(of_periods.size()) < kMostPeriods * middle) {
        continue;
      }
      SnapshotGrowth growth{stacks_.lines[number], 0, static_cast<int>(of_periods.size())};
      for (const auto& [period, line] : of_periods) {
        growth.line.bytes += line.bytes;
        growth.line.blocks += line.blocks;
      }
      growth.bytes_a_period = static_cast<double>(growth.line.bytes) / middle;
      snapshot.growth.push_back(std::move(growth));
    }
    std::ranges::stable_sort(snapshot.growth, std::ranges::greater(), &SnapshotGrowth::bytes_a_period);
    snapshot.growth.resize(std::min(snapshot.growth.size(), kMostGrowing));
  }

  const MemoryHistory& history_;
  const SnapshotStacks& stacks_;
  std::size_t device_;
  Events events_;
  MemoryAction free_ = MemoryAction::kFreeRequested;
  LiveBlocks before_;
  std::uint64_t reserved_before_ = 0;
  std::vector<std::size_t> period_begins_;  ///< the first event of each period but the first
  bool are_steps_ = false;
};

std::size_t device_count(const MemoryHistory& history) {
  std::size_t devices = history.devices.size();
  for (const MemorySegment& segment : history.segments) {
    devices = std::max(devices, static_cast<std::size_t>(segment.device) + 1);
  }
  return devices;
}

std::size_t device_to_show(const MemoryHistory& history) {
  const auto weight = [&](std::size_t device) {
    return std::pair(events_of(history, device).size(), reserved_of(history, device));
  };
  std::size_t best = 0;
  for (std::size_t device = 1; device < device_count(history); ++device) {
    best = weight(device) > weight(best) ? device : best;
  }
  return best;
}

std::size_t devices_in_use(const MemoryHistory& history) {
  std::size_t count = 0;
  for (std::size_t device = 0; device < device_count(history); ++device) {
    if (!events_of(history, device).empty() || reserved_of(history, device) > 0) {
      ++count;
    }
  }
  return count;
}

void add_fragments(const MemoryHistory& history, std::size_t device, MemorySnapshot& snapshot) {
  SnapshotFragments& fragments = snapshot.fragments;
  for (const MemorySegment& segment : history.segments) {
    if (static_cast<std::size_t>(segment.device) != device) {
      continue;
    }
    std::uint64_t free = 0;
    bool is_used = false;
    for (const MemoryBlock& block : segment.blocks) {
      if (block.state == MemoryBlock::State::kFree) {
        free += block.bytes;
        fragments.largest_free = std::max(fragments.largest_free, block.bytes);
      } else {
        is_used = true;
        snapshot.awaiting_free += block.state == MemoryBlock::State::kAwaitingFree ? block.bytes : 0;
      }
    }
    ++fragments.segments;
    fragments.free_bytes += free;
    fragments.is_expandable = fragments.is_expandable || segment.is_expandable;
    if (is_used && free > 0) {
      ++fragments.partly_used;
      fragments.partly_used_free += free;
    }
  }
}

void add_private_pools(const MemoryHistory& history, std::size_t device, MemorySnapshot& snapshot) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> pools;
  for (const MemorySegment& segment : history.segments) {
    if (static_cast<std::size_t>(segment.device) != device || segment.pool == decltype(segment.pool)()) {
      continue;
    }
    pools.insert(segment.pool);
    snapshot.private_pools.reserved += segment.bytes;
    for (const MemoryBlock& block : segment.blocks) {
      snapshot.private_pools.allocated += block.state == MemoryBlock::State::kAllocated ? block.bytes : 0;
    }
  }
  snapshot.private_pools.pools = pools.size();
}

void add_snapshot_warnings(const MemoryHistory& history, std::size_t device, MemorySnapshot& snapshot) {
  if (history.is_cut_off) {
    snapshot.warnings.emplace_back(
        "The file is cut off: what comes before its end is shown, and what is alive at the "
        "end may be missing.");
  }
  if (snapshot.events == 0) {
    snapshot.warnings.emplace_back(
        "No history was recorded, so that the peak is not known: call torch.cuda.memory._record_memory_history() "
        "before "
        "what is to be seen.");
  }
  std::uint64_t allocated = 0;
  for (const MemorySegment& segment : history.segments) {
    for (const MemoryBlock& block : segment.blocks) {
      const bool is_it = static_cast<std::size_t>(segment.device) == device;
      allocated += is_it && block.state == MemoryBlock::State::kAllocated ? block.bytes : 0;
    }
  }
  if (!history.is_cut_off && snapshot.events > 0 && allocated != snapshot.at_end.bytes) {
    snapshot.warnings.emplace_back("The events do not lead to the state at the end: some are missing.");
  }
}

}  // namespace

MemorySnapshot analyse_snapshot(const MemoryHistory& history, const std::string& project_root) {
  const SnapshotStacks stacks = read_stacks(history, project_root);
  const std::size_t device = device_to_show(history);
  const DeviceHistory of_device(history, stacks, device);
  MemorySnapshot snapshot;
  snapshot.device = static_cast<int>(device);
  snapshot.devices = devices_in_use(history);
  snapshot.events = of_device.events().size();
  snapshot.has_times = of_device.has_times();
  snapshot.recorded_ms = snapshot.events == 0 ? 0 : of_device.ms_at(snapshot.events - 1);
  of_device.run(snapshot);
  add_fragments(history, device, snapshot);
  add_private_pools(history, device, snapshot);
  add_snapshot_warnings(history, device, snapshot);
  return snapshot;
}

}  // namespace ridgeline::analysis
